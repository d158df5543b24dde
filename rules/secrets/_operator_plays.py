"""Replays the operator's work on an ExternalSecret after an edit, with the known objects, in its own order.

The order: the store is found, has the class, admits the namespace and is ready; then each entry of spec.dataFrom and spec.data is fetched and
decoded; then the Secret's owner, the template, the write. A step before today's failure that the edit does not affect succeeds again. A
provider's key is known for the `fake` provider, whose store has the values itself, and if a Ready ExternalSecret reads the same one.

Sources: pkg/controllers/externalsecret/externalsecret_controller.go (Reconcile, mutationFunc, updateSecret),
externalsecret_controller_secret.go (GetProviderSecretData), pkg/controllers/secretstore/client_manager.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from argolint import GONE, Afterwards, App, Finding, Fix, Fleet, Json, Object, Resource, ResourceKey
from argolint.quick.records import dataclass
from argolint.values import below, dig, items, mapping

from . import _external_secret as es
from . import _stores as stores
from ._provider import unplaced

_WRITING = ("owned-by-external-secret", "owned-by-other-controller", "immutable", "conflict", "merge-target-missing")
"""Causes that occur after the operator has every value."""
_TEMPLATED = ("immutable", "conflict")
"""Causes that occur after the template."""


@dataclass(frozen=True)
class Failed:
    """The place of the operator's present failure: an entry, or the write of the Secret."""

    cause: str
    entry: str = ""
    index: int = 0


def then(fix: Fix, finding: Finding, after: App, fleet: Fleet, failed: Failed) -> Afterwards | None:
    """The operator's result for the finding's ExternalSecret after the fix."""
    id_ = finding.at.resource
    resource = after.resource(id_.key) if id_ else None
    if resource is not None and resource.missing and resource.desired:  # the object is created as in Git
        resource = structs.replace(resource, live_state=resource.desired, live_known=True)
    if resource is None or not resource.live or fix.target not in ("manifest", "live"):
        return None
    if not _wakes(fix, resource, failed):
        return Afterwards(unknown=f"nothing of the edit makes the operator look at {resource.id} again")
    for refused, unknown in (
        *_stores(after, fleet, resource, failed),
        *_values(after, fleet, resource, failed),
        *_secret(fix, after, fleet, resource, failed),
    ):
        return Afterwards(refused=refused, unknown=unknown)
    now = f"{after.observed_at:%Y-%m-%dT%H:%M:%SZ}"
    served = (stores.find(after, fleet, ref, resource.namespace).resource for ref in es.store_refs(resource.live))
    left = {store.key: _ready(store.live, "Valid", {}) for store in served if store and store.live}
    return Afterwards(live={**left, resource.key: _ready(resource.live, "SecretSynced", {"refreshTime": now})})


def _wakes(fix: Fix, resource: Resource, failed: Failed) -> bool:
    """Whether the operator tries again: it reacts to changes of spec, labels, annotations and its Secret, and retries after a failure of a store
    or its provider."""
    if fix.edit == GONE:
        return True
    if fix.resource is not None and fix.resource.key != resource.key:
        return "needs-force-sync" in fix.effects or failed.cause not in ("unmanaged-store", *_WRITING)
    paths = [str(operation.get("path", "")) for operation in fix.edit.content]
    return any(below(path, place) for path in paths for place in _SEEN)


_SEEN = ("/spec", "/metadata/labels", "/metadata/annotations")
"""Its generation, and the hash of its labels and annotations (GetResourceVersion of pkg/controllers/util)."""


def _ready(live: Object, reason: str, more: Object) -> Object:
    ready = {"type": "Ready", "status": "True", "reason": reason, "message": ""}
    return {**live, "status": {**mapping(live, "status"), "conditions": [ready], **more}}


_Says = Iterator[tuple[str, str]]
"""The reason why it still fails, or the unknown fact."""


def _stores(app: App, fleet: Fleet, resource: Resource, failed: Failed) -> _Says:
    """The failure in its stores, if no value has come from them so far."""
    for ref in es.store_refs(resource.live):
        if failed.cause in _WRITING or (failed.cause == "decode" and len(es.store_refs(resource.live)) == 1):
            continue
        store = stores.find(app, fleet, ref, resource.namespace)
        what = f'{ref.kind} "{ref.name}"'
        if store.resource is None or store.live is None:
            yield "", f"the state of {what} is not known"
        elif store.admits(resource.namespace) is not True:
            never = store.admits(resource.namespace) is False
            yield (
                (f"{what} would not admit {resource.namespace}", "")
                if never
                else ("", f"whether {what} admits {resource.namespace} is not known")
            )
        elif store.controller:
            stays = bool(dig(store.resource.desired, "spec", "controller"))
            text = f'no operator that is known serves the class "{store.controller}" of {what}'
            yield (text, "") if stays else ("", f"a sync may leave spec.controller of {what} as it is")
        elif store.is_ready is False:
            yield f"{what} is not ready", ""
        elif store.is_ready is None and store.provider != "fake":
            yield "", f"whether the operator can use {what} shows when it has looked at it"


def _values(app: App, fleet: Fleet, resource: Resource, failed: Failed) -> _Says:
    """The failure in the values that the operator has not fetched so far."""
    if failed.cause in _WRITING:
        return
    order = [*(("dataFrom", i) for i in range(len(items(resource.live, "spec", "dataFrom"))))]
    order += [("data", i) for i in range(len(items(resource.live, "spec", "data")))]
    at = (failed.entry, failed.index)
    fetched = order[: order.index(at) + 1] if failed.cause == "decode" and at in order else ()
    for field, index in order:
        if (field, index) not in fetched:
            entry = items(resource.live, "spec", field)[index]
            if not _held(app, fleet, resource, field, entry):
                key = es.remote_key(resource.live, field, index) or f"spec.{field}[{index}]"
                yield "", f'whether the provider holds "{key}" is not known here'
    if (
        failed.cause == "decode"
        and fetched
        and dig(items(resource.live, "spec", at[0])[at[1]], *_strategy(at[0])) not in ("None", None, "")
    ):
        yield "", "whether the value can be decoded so is not known here"


def _strategy(field: str) -> tuple[str, str]:
    return ("remoteRef" if field == "data" else "extract"), "decodingStrategy"


def _held(app: App, fleet: Fleet, resource: Resource, field: str, entry: Json) -> bool:
    """Whether the value is known to exist: the store has it, or another Ready ExternalSecret reads it from there or from the same generator."""
    if field == "dataFrom":
        return _generated(app, resource, entry)
    ref = _source(resource.live, entry)
    remote = mapping(entry, "remoteRef")
    if ref is None or remote.get("decodingStrategy") not in (None, "None"):
        return False
    store = stores.find(app, fleet, ref, resource.namespace)
    if store.provider == "fake":
        return any(
            dig(each, "key") == remote.get("key")
            and str(dig(each, "version") or "") == str(remote.get("version") or "")
            for each in items(store.live, "spec", "provider", "fake", "data")
        ) and not remote.get("property")
    everywhere = ref.kind == "ClusterSecretStore" and store.live is not None and not unplaced(store)
    wanted = _asked(remote)
    return any(
        es.ready(other.live).get("status") == "True"
        and (other.namespace == resource.namespace or everywhere)
        and any(
            _asked(mapping(each, "remoteRef")) == wanted and _source(other.live, each) == ref
            for each in items(other.live, "spec", "data")
        )
        for other in (*es.external_secrets(app), *_elsewhere(app, fleet, resource))
        if other.key != resource.key
    )


def _elsewhere(app: App, fleet: Fleet, resource: Resource) -> Iterator[Resource]:
    """ExternalSecrets of other applications that were read; even if they are not live, a ClusterSecretStore serves them."""
    found = (app.evidence.get(want) for want in app.evidence if want.kind == "peer")
    yield from (each for each in found if isinstance(each, Resource) and each.kind == "ExternalSecret")


def _generated(app: App, resource: Resource, entry: Json) -> bool:
    """Whether an existing generator creates the value, as it does for another ExternalSecret now."""
    wanted = es.generator_refs({"spec": {"dataFrom": [entry]}})
    if not wanted or set(mapping(entry)) != {"sourceRef"} or wanted[0][0] not in es.DRAWING:
        return False
    kind, name, _ = wanted[0]
    generator = app.find(es.GENERATORS, kind, resource.namespace, name)
    return (
        generator is not None
        and generator.live is not None
        and any(
            es.ready(other.live).get("status") == "True"
            and (kind, name) in {ref[:2] for ref in es.generator_refs(other.live)}
            for other in es.external_secrets(app)
            if other.namespace == resource.namespace
        )
    )


def _asked(remote: Object) -> tuple[str, ...]:
    return tuple(str(remote.get(name) or "") for name in ("key", "property", "version"))


def _source(obj: Object | None, entry: Json) -> es.StoreRef | None:
    own = dig(entry, "sourceRef", "storeRef") or dig(obj, "spec", "secretStoreRef")
    name = str(dig(own, "name") or "")
    return es.StoreRef(str(dig(own, "kind") or "SecretStore"), name, "") if name else None


def _secret(fix: Fix, app: App, fleet: Fleet, resource: Resource, failed: Failed) -> _Says:
    """The failure in its Secret: that must be free or its own, and the template must be valid."""
    name, policy = es.target_name(resource.live), es.creation_policy(resource.live)
    key = ResourceKey(app.cluster, "", "Secret", resource.namespace, name)
    node = next((n for n in app.nodes_of("Secret", "") if n.id.key == key), None)
    if not name or policy not in ("Owner", "Orphan"):
        yield "", "what becomes of a Secret that another one makes is not known here"
    owners = [o for o in (node.owners if node else ()) if o.kind == "ExternalSecret"]
    if owners and any(o.name != resource.name for o in owners):
        yield f'Secret "{name}" belongs to ExternalSecret "{owners[0].name}"', ""
    rivals = (
        d for d in es.declared(app) if d.resource.key != resource.key and d.resource.namespace == resource.namespace
    )
    if rival := next((d for d in rivals if es.target_name(d.manifest) == name), None):
        yield f'{rival.resource.id} writes Secret "{name}" too', ""
    if failed.cause == "immutable" and (node is not None or fix.edit != GONE):
        yield "", f'whether Secret "{name}" is still there, and immutable, is not known here'
    if (
        fix.edit != GONE
        and es.refresh_policy(resource.live) == "CreatedOnce"
        and dig(resource.live, "status", "refreshTime")
    ):
        yield "", "the operator looks no more at what it has created once"
    if app.resource(key) is not None or any(ref != app.ref for ref in fleet.owners(key)):
        yield "", f'an application renders Secret "{name}" too'
    if dig(resource.live, "spec", "target", "template") and failed.cause not in _TEMPLATED:
        yield "", "what the operator's engine makes of the template is not played here"
