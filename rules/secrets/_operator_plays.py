"""Replays the operator's work on an ExternalSecret after an edit, with the known objects, in its own order.

The order: the store is found, has the class, admits the namespace and is ready; then each entry of spec.dataFrom and spec.data is fetched and
decoded; then the Secret's owner, the template, the write. A step before today's failure that the edit does not affect succeeds again. A
provider's key is known for the `fake` provider, whose store has the values itself, and if a Ready ExternalSecret reads the same one.

Sources: pkg/controllers/externalsecret/externalsecret_controller.go (Reconcile, mutationFunc, updateSecret),
externalsecret_controller_secret.go (GetProviderSecretData), pkg/controllers/secretstore/client_manager.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec import structs

from argolint import GONE, Afterwards, App, Finding, Fix, Fleet, Json, Object, Resource, ResourceKey
from argolint.values import below, dig, items, mapping, text_at

from . import _external_secret as es
from . import _stores as stores
from ._provider import credentials_without_namespace
from ._sync_error_values import properties

_WRITING = ("owned-by-external-secret", "owned-by-other-controller", "immutable", "conflict", "merge-target-missing")
"""Causes that occur after the operator has every value."""
_TEMPLATED = ("immutable", "conflict")
"""Causes that occur after the template."""


_OF_REFERENCE = ("store-kind-omitted", "store-not-found")
"""Causes that lie in the reference alone: another fault shows only once it is right."""


@dataclass(frozen=True)
class FailedPlace:
    """The place of the operator's present failure: an entry, or the write of the Secret."""

    cause: str
    entry: str = ""
    index: int = 0


def then(fix: Fix, finding: Finding, after: App, fleet: Fleet, failed: FailedPlace) -> Afterwards | None:
    """The operator's result for the finding's ExternalSecret after the fix."""
    id_ = finding.at.resource
    resource = after.held(id_)
    if resource is not None and resource.missing and resource.desired:  # the object is created as in Git
        resource = structs.replace(resource, live_state=resource.desired, live_known=True)
    if resource is None or not resource.live or fix.target not in ("manifest", "live"):
        return None
    if not _triggers_operator(fix, resource, failed):
        return Afterwards(unknown=f"nothing of the edit makes the operator look at {resource.id} again")
    for refused, unknown in (
        *_store_failures(after, fleet, resource, failed),
        *_value_failures(after, fleet, resource, failed),
        *_secret_failures(fix, after, fleet, resource, failed),
    ):
        if refused and failed.cause in _OF_REFERENCE and fix.resource in (None, resource.id):
            return Afterwards(unknown=f"{refused} then, which is a fault of its own")
        return Afterwards(refused=refused, unknown=unknown)
    now = f"{after.observed_at:%Y-%m-%dT%H:%M:%SZ}"
    served = (stores.find(after, fleet, ref, resource.namespace).resource for ref in es.store_refs(resource.live))
    ready_stores = {store.key: _with_ready(store.live, "Valid", {}) for store in served if store and store.live}
    return Afterwards(
        live={**ready_stores, resource.key: _with_ready(resource.live, "SecretSynced", {"refreshTime": now})}
    )


def _triggers_operator(fix: Fix, resource: Resource, failed: FailedPlace) -> bool:
    """Whether the operator tries again: it reacts to changes of spec, labels, annotations and its Secret, and retries after a failure of a store
    or its provider."""
    if fix.edit == GONE:
        return True
    if fix.resource is not None and fix.resource.key != resource.key:
        return "needs-force-sync" in fix.effects or failed.cause not in ("unmanaged-store", *_WRITING)
    paths = [str(operation.get("path", "")) for operation in fix.edit.content]
    return any(below(path, place) for path in paths for place in _WATCHED_POINTERS)


_WATCHED_POINTERS = ("/spec", "/metadata/labels", "/metadata/annotations")
"""Its generation, and the hash of its labels and annotations (GetResourceVersion of pkg/controllers/util)."""


def _with_ready(live: Object, reason: str, more: Object) -> Object:
    ready = {"type": "Ready", "status": "True", "reason": reason, "message": ""}
    return {**live, "status": {**mapping(live, "status"), "conditions": [ready], **more}}


_Failures = Iterator[tuple[str, str]]
"""The reason why it still fails, or the unknown fact."""


def _store_failures(app: App, fleet: Fleet, resource: Resource, failed: FailedPlace) -> _Failures:
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


def _value_failures(app: App, fleet: Fleet, resource: Resource, failed: FailedPlace) -> _Failures:
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
            if not _is_value_known(app, fleet, resource, field, entry):
                key = es.remote_key(resource.live, field, index) or f"spec.{field}[{index}]"
                yield "", f'whether the provider holds "{key}" is not known here'
    if (
        failed.cause == "decode"
        and fetched
        and dig(items(resource.live, "spec", at[0])[at[1]], *_decoding_fields(at[0])) not in ("None", None, "")
    ):
        yield "", "whether the value can be decoded so is not known here"


def _decoding_fields(field: str) -> tuple[str, str]:
    return ("remoteRef" if field == "data" else "extract"), "decodingStrategy"


def _is_value_known(app: App, fleet: Fleet, resource: Resource, field: str, entry: Json) -> bool:
    """Whether the value is known to exist: the store has it, or another Ready ExternalSecret reads it from there or from the same generator."""
    if field == "dataFrom":
        return _is_generated(app, resource, entry)
    ref = _entry_store(resource.live, entry)
    remote = mapping(entry, "remoteRef")
    if ref is None or remote.get("decodingStrategy") not in (None, "None"):
        return False
    store = stores.find(app, fleet, ref, resource.namespace)
    if store.provider == "fake":
        return any(
            dig(each, "key") == remote.get("key")
            and str(dig(each, "version") or "") == str(remote.get("version") or "")
            and remote.get("property") in (None, "", *properties(text_at(each, "value")))
            for each in items(store.live, "spec", "provider", "fake", "data")
        )
    everywhere = (
        ref.kind == "ClusterSecretStore" and store.live is not None and not credentials_without_namespace(store)
    )
    wanted = _remote_identity(remote)
    return any(
        es.ready_condition(other.live).get("status") == "True"
        and (other.namespace == resource.namespace or everywhere)
        and any(
            _remote_identity(mapping(each, "remoteRef")) == wanted and _entry_store(other.live, each) == ref
            for each in items(other.live, "spec", "data")
        )
        for other in (*es.external_secrets(app), *_other_external_secrets(app, fleet, resource))
        if other.key != resource.key
    )


def _other_external_secrets(app: App, fleet: Fleet, resource: Resource) -> Iterator[Resource]:
    """ExternalSecrets of other applications that were read; even if they are not live, a ClusterSecretStore serves them."""
    yield from (each for _, each in app.peers() if each.kind == "ExternalSecret")


def _is_generated(app: App, resource: Resource, entry: Json) -> bool:
    """Whether an existing generator creates the value, as it does for another ExternalSecret now."""
    wanted = es.generator_refs({"spec": {"dataFrom": [entry]}})
    if not wanted or set(mapping(entry)) != {"sourceRef"} or wanted[0][0] not in es.RANDOM_GENERATORS:
        return False
    kind, name, _ = wanted[0]
    generator = app.find(es.GENERATORS, kind, resource.namespace, name)
    return (
        generator is not None
        and generator.live is not None
        and any(
            es.ready_condition(other.live).get("status") == "True"
            and (kind, name) in {ref[:2] for ref in es.generator_refs(other.live)}
            for other in es.external_secrets(app)
            if other.namespace == resource.namespace
        )
    )


def _remote_identity(remote: Object) -> tuple[str, ...]:
    return tuple(str(remote.get(name) or "") for name in ("key", "property", "version"))


def _entry_store(obj: Object | None, entry: Json) -> es.StoreRef | None:
    own = dig(entry, "sourceRef", "storeRef") or dig(obj, "spec", "secretStoreRef")
    name = str(dig(own, "name") or "")
    return es.StoreRef(str(dig(own, "kind") or "SecretStore"), name, "") if name else None


def _secret_failures(fix: Fix, app: App, fleet: Fleet, resource: Resource, failed: FailedPlace) -> _Failures:
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
