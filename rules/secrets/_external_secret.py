"""Reads objects of External Secrets of any API version: the only module with their fields and defaults.

Functions accept the decoded object (desired or live) or a Resource, and never fail: a broken manifest gives defaults.
Field names and defaults: apis/externalsecrets/v1/externalsecret_types.go and, for old shapes, docs/guides/v1beta1.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from argolint import App, Fleet, Json, Object, Resource, ResourceId, Symptom, Want
from argolint.edits import consequences as operations
from argolint.edits import patch_command, set_field
from argolint.values import (
    condition,
    dig,
    items,
    mapping,
    parse_duration,
    parse_time,
    sh,
    text_at,
)
from argolint.values.kubernetes import reads
from argolint.values.memo import by_identity

from ..shared.hooks import live_hook_wants

GROUP = "external-secrets.io"
GENERATORS = "generators.external-secrets.io"
KES_GROUP = "kubernetes-client.io"
SEALED_GROUP = "bitnami.com"
FULL_NAME = "externalsecrets.external-secrets.io"
STORES = ("SecretStore", "ClusterSecretStore")
PLURAL = {"SecretStore": "secretstores", "ClusterSecretStore": "clustersecretstores"}
WRITTEN_BY_OPERATOR = ("ExternalSecret", "ClusterExternalSecret", "PushSecret", "ClusterPushSecret", *STORES)
ONE_HOUR = timedelta(hours=1)


def holds_external_secrets(app: App, fleet: Fleet, options: object = None) -> bool:
    """`reads` of the rules that also check healthy ExternalSecrets."""
    return GROUP in app.groups


def holds_old_external_secrets(app: App, fleet: Fleet) -> bool:
    """`reads` of the rules about Kubernetes External Secrets."""
    return KES_GROUP in app.groups


def external_secrets(app: App) -> Iterator[Resource]:
    return (app.as_read(r) for r in app.of_kind("ExternalSecret", GROUP))


def hook_wants(app: App) -> Iterator[Want]:
    """The live objects of ExternalSecrets that are hooks: the server does not list them among the managed objects."""
    return live_hook_wants(app.of_kind("ExternalSecret"))


def created_by_cluster(app: App) -> Iterator[Resource]:
    """Failing ExternalSecrets that a ClusterExternalSecret made: they are in the tree, and their live state must be requested."""
    for node in app.nodes_of("ExternalSecret", GROUP):
        if node.health.status == "Degraded" and app.resource(node.id.key) is None:
            live = app.evidence.get(Want("live", node.id))
            yield Resource(
                node.id,
                health=node.health,
                live_state=live,
                live_known=live is not None,
                uid=node.uid,
                created_at=node.created_at,
            )


@dataclass(frozen=True)
class Declared:
    """An ExternalSecret as written by its author: an object of its own, or the template in a ClusterExternalSecret.

    `manifest` has the form of an ExternalSecret in both cases; its pointers and edits must be translated into those of `resource`.
    """

    resource: Resource
    manifest: Object
    base: str = "/spec"

    def pointer(self, pointer: str) -> str:
        """The pointer in `resource` of a field of `manifest` below /spec."""
        return self.base + pointer.removeprefix("/spec")

    def set(self, pointer: str, value: Json) -> list[dict[str, Json]]:
        """RFC 6902 operations on `resource` that set a field of `manifest`."""
        return set_field(self.resource.any, self.pointer(pointer), value)

    @property
    def copies(self) -> int:
        """The number of namespaces that have it: those in a ClusterExternalSecret's status, at least one."""
        return max(1, len(items(self.resource.live, "status", "provisionedNamespaces"))) if self.base != "/spec" else 1


def declared(app: App) -> tuple[Declared, ...]:
    """Every ExternalSecret in the application's objects, with the templates of ClusterExternalSecrets.

    Objects to prune are left out.
    """
    return app.derive(_all_declared)


def _all_declared(app: App) -> tuple[Declared, ...]:
    return tuple(_declared(app))


def _declared(app: App) -> Iterator[Declared]:
    for resource in external_secrets(app):
        if resource.any and not is_leaving(app, resource):
            yield Declared(resource, resource.any)
    for resource in app.of_kind("ClusterExternalSecret", GROUP):
        if is_leaving(app, resource):
            continue
        spec = spec_of(resource.any)
        manifest = {
            "apiVersion": resource.any.get("apiVersion"),
            "kind": "ExternalSecret",
            "metadata": {"name": spec.get("externalSecretName") or resource.name},
            "spec": mapping(spec, "externalSecretSpec"),
        }
        if manifest["spec"]:
            yield Declared(resource, manifest, "/spec/externalSecretSpec")


def unreadable(app: App) -> tuple[Declared, ...]:
    """Those in the cluster whose refreshInterval is no Go duration: the operator cannot list the objects of their kind any more."""
    return app.derive(_unreadable)


def _unreadable(app: App) -> tuple[Declared, ...]:
    intervals = ((each, text_at(each.manifest, "spec", "refreshInterval")) for each in declared(app))
    return tuple(each for each, text in intervals if text and each.resource.live and parse_duration(text) is None)


def spec_of(obj: Object | None) -> Object:
    found = dig(obj, "spec")
    return found if isinstance(found, dict) else {}


def target_of(obj: Object | None) -> Object:
    found = dig(obj, "spec", "target")
    return found if isinstance(found, dict) else {}


def target_name(obj: Object | None) -> str:
    """The Secret that the ExternalSecret writes; empty for a generic target (`target.manifest`, v1.0)."""
    target = target_of(obj)
    return "" if target.get("manifest") else str(target.get("name") or dig(obj, "metadata", "name") or "")


def target_text(obj: Object | None) -> str:
    """`Secret "db"`, or `target` for a generic one: for messages, after `its` or `the`."""
    name = target_name(obj)
    return f'Secret "{name}"' if name else "target"


MERGING_POLICIES = ("Merge", "CreateOrMerge")
"""creationPolicies that add keys to a Secret, keep its other keys and own nothing."""


def creation_policy(obj: Object | None) -> str:
    return str(target_of(obj).get("creationPolicy") or "Owner")


def deletion_policy(obj: Object | None) -> str:
    return str(target_of(obj).get("deletionPolicy") or "Retain")


def refresh_policy(obj: Object | None) -> str:
    return str(spec_of(obj).get("refreshPolicy") or "Periodic")


def refresh_interval(obj: Object | None) -> timedelta:
    """spec.refreshInterval; the API's default of one hour if it is missing or no Go duration."""
    found = parse_duration(spec_of(obj).get("refreshInterval"))
    return ONE_HOUR if found is None else found


def ready_condition(obj: Object | None) -> Object:
    """The Ready condition, or an empty object."""
    return condition(obj, "Ready") or {}


def created_at(resource: Resource) -> datetime | None:
    return parse_time(dig(resource.live, "metadata", "creationTimestamp")) or resource.created_at


def seen_at(app: App) -> datetime:
    """The time of the shown states: that of the last comparison, which a server may delay for long."""
    compared = parse_time(app.status.get("reconciledAt"))
    return min(app.observed_at, compared) if compared else app.observed_at


def is_leaving(app: App, resource: Resource) -> bool:
    """Whether the object is live and no longer desired, so that pruning deletes it.

    Hooks and objects with copied tracking data are never desired, and an application that cannot be rendered shows all of its objects in this
    way (controller/state.go).
    """
    unwanted = resource.requires_pruning or (resource.extra and resource.status != "")
    return unwanted and app.desired_known and not resource.hook


@dataclass(frozen=True)
class StoreRef:
    """A reference to a store; `kind_omitted`: the manifest uses the operator's default kind (SecretStore)."""

    kind: str
    name: str
    pointer: str
    kind_omitted: bool = False

    def id(self, namespace: str, cluster: str) -> ResourceId:
        own = "" if self.kind == "ClusterSecretStore" else namespace
        return ResourceId(GROUP, self.kind, own, self.name, cluster=cluster)


@by_identity(32)
def store_refs(obj: Object | None) -> tuple[StoreRef, ...]:
    """Every store the ExternalSecret reads: spec.secretStoreRef and those of single entries, without repetition."""
    spec = spec_of(obj)
    entries = [
        (f"/spec/{field}/{index}/sourceRef/storeRef", dig(entry, "sourceRef", "storeRef"))
        for field in ("data", "dataFrom")
        for index, entry in enumerate(items(spec, field))
    ]
    found: dict[tuple[str, str], StoreRef] = {}
    for pointer, ref in (("/spec/secretStoreRef", spec.get("secretStoreRef")), *entries):
        name, kind = str(dig(ref, "name") or ""), str(dig(ref, "kind") or "")
        if name:
            stated = kind or "SecretStore"
            found.setdefault((stated, name), StoreRef(stated, name, pointer, not kind))
    return tuple(found.values())


def pushed_store_refs(obj: Object | None) -> tuple[StoreRef, ...]:
    """The stores that a PushSecret writes to by name."""
    refs = enumerate(items(obj, "spec", "secretStoreRefs"))
    named = ((index, str(dig(ref, "kind") or "SecretStore"), str(dig(ref, "name") or "")) for index, ref in refs)
    return tuple(StoreRef(kind, name, f"/spec/secretStoreRefs/{index}") for index, kind, name in named if name)


def generator_refs(obj: Object | None) -> tuple[tuple[str, str, str], ...]:
    """kind, name and pointer of every generator that spec.dataFrom uses."""
    found = []
    for index, entry in enumerate(items(obj, "spec", "dataFrom")):
        ref = dig(entry, "sourceRef", "generatorRef")
        if isinstance(ref, dict):
            pointer = f"/spec/dataFrom/{index}/sourceRef/generatorRef"
            found.append((str(ref.get("kind") or ""), str(ref.get("name") or ""), pointer))
    return tuple(found)


RANDOM_GENERATORS = ("Password", "UUID", "SSHKey")
"""Generators that create values themselves, a new one each time."""


def is_generated_only(obj: Object | None) -> bool:
    """True if every value comes from a generator and none from a provider."""
    sources = len(items(obj, "spec", "data")) + len(items(obj, "spec", "dataFrom"))
    return bool(sources) and sources == len(generator_refs(obj))


def keeps_first_value(obj: Object | None) -> bool:
    """`target.immutable`: the operator does not change the data of an existing Secret (in all versions, in different ways)."""
    return target_of(obj).get("immutable") is True


def written_keys(obj: Object | None) -> frozenset[str]:
    """The Secret's keys that the manifest names; keys from `find`, `extract` and `templateFrom` stay unknown.

    A template with content replaces the fetched keys by its own, unless it merges (ApplyTemplate).
    """
    template = mapping(target_of(obj), "template")
    rendered = frozenset(mapping(template, "data"))
    if (rendered or template.get("templateFrom")) and template.get("mergePolicy") != "Merge":
        return rendered
    fetched = (dig(entry, "secretKey") for entry in items(obj, "spec", "data"))
    return rendered | {str(key) for key in fetched if key}


def entries(obj: Object | None) -> Iterator[tuple[str, int]]:
    """Field and index of every entry of spec.data and spec.dataFrom."""
    for field in ("data", "dataFrom"):
        yield from ((field, index) for index in range(len(items(obj, "spec", field))))


def remote_key(obj: Object | None, field: str, index: int) -> str:
    """The provider's key of one entry of spec.data or spec.dataFrom."""
    entry = next(iter(items(obj, "spec", field)[index : index + 1]), None)
    return str(dig(entry, "remoteRef", "key") or dig(entry, "extract", "key") or dig(entry, "key") or "")


def secrets_used_by(obj: Object | None) -> frozenset[str]:
    """Names of Secrets that a workload cannot start without."""
    return frozenset(read.name for read in reads(obj) if read.kind == "Secret" and read.needed)


def users_of(app: App, namespace: str, secret: str) -> tuple[Resource, ...]:
    """Workloads of the application that need this Secret."""
    return app.derive(_users_by_secret).get((namespace, secret), ())


def _users_by_secret(app: App) -> dict[tuple[str, str], tuple[Resource, ...]]:
    found: dict[tuple[str, str], list[Resource]] = {}
    for resource in app.resources:
        if not resource.missing:
            for secret in sorted(secrets_used_by(resource.any)):
                found.setdefault((resource.namespace, secret), []).append(resource)
    return {place: tuple(users) for place, users in found.items()}


def optional_users(app: App, namespace: str, secret: str) -> tuple[Resource, ...]:
    """Workloads of the application with an optional reference to this Secret: they run without it, and show no symptom."""
    return tuple(
        resource
        for resource in app.resources
        if resource.namespace == namespace
        and resource.mentions('"optional"')
        and any(read.kind == "Secret" and read.name == secret and not read.needed for read in reads(resource.any))
    )


def waiting_workloads(app: App, namespace: str, secret: str) -> tuple[Resource, ...]:
    """Unhealthy workloads that need this Secret, while the tree does not show it: their pods cannot start."""
    is_in_tree = any(n.id.namespace == namespace and n.id.name == secret for n in app.nodes_of("Secret", ""))
    if not secret or is_in_tree or not app.nodes or app.find("", "Secret", namespace, secret) is not None:
        return ()
    return tuple(u for u in users_of(app, namespace, secret) if u.health.status in ("Progressing", "Degraded"))


STOP_KES = "kubectl -n KES_NAMESPACE scale deployment kubernetes-external-secrets --replicas=0"
"""The step that stops the old controller: it takes a Secret back while it runs."""


def release_secret(namespace: str, name: str) -> str:
    """The command that removes a Secret's owner; it deletes nothing."""
    secret = ResourceId("", "Secret", namespace, name)
    return patch_command(secret, [{"op": "remove", "path": "/metadata/ownerReferences"}])


def force_sync(kind: str, namespace: str, name: str) -> str:
    """The documented way to make the operator reconcile now; `kind` is the full plural name."""
    where = f"-n {sh(namespace)} " if namespace else ""
    return f'kubectl {where}annotate {sh(kind)} {sh(name)} force-sync="$(date +%s)" --overwrite'


SKIPPED = "then force a sync of its ExternalSecrets: they were skipped, and the operator does not retry them by itself"
"""The step after a change of a store's class: a skipped ExternalSecret is not queued again (externalsecret_controller.go)."""


def force_sync_works(obj: Object | None) -> bool:
    """False if the operator ignores the annotation: interval 0 after the first success, and CreatedOnce.

    docs/api/externalsecret.md; external-secrets issues 4167, 4447, 4568.
    """
    policy = refresh_policy(obj)
    synced = bool(dig(obj, "status", "refreshTime"))
    if policy == "CreatedOnce":
        return not synced
    return policy == "OnChange" or refresh_interval(obj) > timedelta() or not synced


def health_consequences(app: App, resource: ResourceId) -> tuple[Symptom, ...]:
    """The consequences of one object's bad health: its own health, and an operation that failed because of it.

    (An operation that still waits for it is added by the engine.) Objects that the same operation could not apply explain its failure themselves.
    """
    operation = app.operation
    results = operation.results_of(resource) if operation is not None else ()
    failed = any(r.get("hookPhase") in ("Failed", "Error") for r in results)
    refused = operation is not None and any(r.get("status") == "SyncFailed" for r in operation.results)
    return Symptom.health(resource), *(operations.consequences(app) if failed and not refused else ())
