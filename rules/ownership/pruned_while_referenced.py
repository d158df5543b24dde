"""Pruning deletes an object that workloads still reference

What it finds: an object that left the manifests and that pruning deletes, while a manifest of this or of another Application still
refers to it. Such as a Secret or ConfigMap in env, envFrom or volumes, an image pull secret, a service account, the TLS secret of an Ingress or
Gateway, a role of a binding, a storage class, a secret store, the issuer of a certificate, the Gateway of a route, the Service behind an
Ingress, route or webhook, a Secret in a custom resource. For a CustomResourceDefinition or a Namespace: while objects of that kind, or in that
namespace, are still managed. Also an object whose Secret, ConfigMap or the like is deleted with it, since it owns it: an ExternalSecret whose
Secret a Deployment still names.

Why it hurts: running pods continue for a while, so the change looks fine; the next pod that starts hangs in `CreateContainerConfigError` or
`ContainerCreating`. Deletion of a CRD or a Namespace deletes all its objects at once.

How to fix: name the object that takes its place, or keep the object until nothing refers to it. If a chart value now names "an existing Secret" that the chart itself created before,
create another Secret first and name that one. Or annotate the live one with `Prune=false` before the change is merged. If `CreateNamespace=true` is to replace the manifest of a Namespace, remove
the tracking data of the live one.

Example: `webserverSecretKeySecretName: airflow-webserver-secret-key` names the Secret that the chart rendered until now. The chart stops
rendering it, Argo CD prunes it, and the webserver cannot start again.

Sources: gitops-engine/pkg/sync/sync_context.go (pruneObject); kubernetes.io, configure a pod to use a ConfigMap, Secrets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from argolint import (
    App,
    AppRef,
    Edit,
    Finding,
    Fix,
    Fleet,
    Location,
    Rank,
    Related,
    Resource,
    ResourceId,
    Rule,
    Severity,
    Symptom,
    Want,
)
from argolint.application.tracked import tracking_of
from argolint.comparison import has_sync_option
from argolint.edits import manifest_text
from argolint.edits.handover import untrack
from argolint.edits.pruning import prunes
from argolint.relations.makers import made_secrets, makers
from argolint.relations.references import holders
from argolint.values import dig, enumerated
from argolint.values.kubernetes import is_deleting, is_secret

from ..shared.references import User, users
from ._dropped import keep_fix, prunable_objects
from ._replaced import renaming_fixes, replacement

_PODS = (("apps", "Deployment"), ("apps", "StatefulSet"), ("apps", "DaemonSet"), ("batch", "CronJob"), ("batch", "Job"))
_INGRESS = ("networking.k8s.io", "Ingress")
_BINDINGS = (("rbac.authorization.k8s.io", "RoleBinding"), ("rbac.authorization.k8s.io", "ClusterRoleBinding"))
_STORES = (("external-secrets.io", "SecretStore"), ("external-secrets.io", "ClusterSecretStore"))
_NAMED_BY: Mapping[str, tuple[tuple[str, str], ...]] = {
    "Secret": (*_PODS, _INGRESS, ("gateway.networking.k8s.io", "Gateway"), *_STORES),
    "ConfigMap": _PODS,
    "ServiceAccount": (*_PODS, *_STORES),
    "PersistentVolumeClaim": _PODS,
    "PriorityClass": _PODS,
    "Role": _BINDINGS,
    "ClusterRole": _BINDINGS,
    "StorageClass": (("", "PersistentVolumeClaim"), ("apps", "StatefulSet")),
    "IngressClass": (_INGRESS,),
    "Service": (_INGRESS,),
    "SecretProviderClass": _PODS,
}
"""Kinds of other applications that may refer to or make an object of this kind, in addition to references.yaml; their objects are read."""
_FROM_ANYWHERE = ("Gateway", "Middleware", "ServiceAccount")
"""Kinds that objects of other namespaces may refer to, with the namespace."""
_HOLDING = ("CustomResourceDefinition", "Namespace")
"""Kinds whose deletion takes other objects with it: their prune by hand is a warning, too."""
_PEERS = 40
"""Most objects of other applications that are read for one application."""


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """Objects of other applications that may refer to a dropped object, or make it again."""
    requested: set[Want] = set()
    for resource in prunable_objects(app, fleet):
        kinds = dict.fromkeys((resource.kind, *(owned.kind for owned in _owned(app, resource))))
        makes = makers() if is_secret(resource) or "Secret" in kinds else ()
        user_kinds = dict.fromkeys(
            (*makes, *(each for kind in kinds for each in (*_NAMED_BY.get(kind, ()), *holders(kind))))
        )
        for group, kind in user_kinds if prunes(app, resource, fleet) == "automatic" else ():
            for key in fleet.of_kind(app.cluster, group, kind):
                for owner in fleet.owners(key) if _is_within_reach(key.namespace, resource.id) else ():
                    if owner != app.ref and len(requested) < _PEERS and not fleet.by_ref[owner].deleting:
                        requested.add(Want("peer", key.id, app=owner))
    yield from sorted(requested, key=repr)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object to prune that another object still refers to."""
    dropped = list(prunable_objects(app, fleet))
    if not dropped:
        return
    named = users(app)
    for resource in dropped:
        lost = resource.id
        found = sorted(set(_users(named, lost)) | set(_dependents(resource, app, fleet)))
        if not found:
            lost = next((owned for owned in _owned(app, resource) if _users(named, owned)), lost)
            found = sorted(set(_users(named, lost)))
        if found:
            yield _finding(app, fleet, resource, lost, found)


def _finding(app: App, fleet: Fleet, resource: Resource, lost: ResourceId, found: Sequence[User]) -> Finding:
    """The finding for an object to prune, where `found` refer to `lost`: the object itself, or one that it owns."""
    id_, maker = resource.id, _maker(app, lost)
    automatic = prunes(app, resource, fleet) == "automatic"
    holds = lost.kind in _HOLDING and not app.leaving
    severity: Severity | None = None if automatic and not maker else "warning" if holds else "info"
    pruned_by = "auto-sync prunes it" if automatic else "the next sync with prune deletes it"
    left = "left Git"
    if app.leaving:
        left, pruned_by = f"goes with application {app.ref}", "it is deleted"
    who, verb, outcome = _users_text(found, app), _verb(lost, found), _outcome_text(lost, found, maker)
    goes = is_deleting(resource.live)
    if goes:
        kept = f"{id_} {left} and is being deleted" + ("" if lost == id_ else f" with its {lost.kind} {lost.name}")
        message = f"{kept}, but {who} still {verb} it{outcome}."
    elif lost == id_:
        message = f"{id_} {left}, but {who} still {verb} it: {pruned_by}{outcome}."
    else:
        message = f"{id_} {left}: {pruned_by} and its {lost.kind} {lost.name}, which {who} still {verb}{outcome}."
    return Finding(
        message=message,
        at=Location(app.ref, id_),
        severity=severity,
        evidence=tuple(_evidence(app, found)),
        related=tuple(Related(u.app, u.id, u.pointer, "dependent") for u in _first_references(found)),
        fixes=tuple(_late_fixes(resource, found[0]) if goes else _fixes(app, fleet, resource, found)),
        explains=(Symptom.extra(id_),) if automatic or holds else (),
    )


def _users(named: Mapping[tuple[str, str, str, str], Sequence[User]], id_: ResourceId) -> Sequence[User]:
    return named.get((id_.group, id_.kind, id_.namespace, id_.name), ())


def _owned(app: App, resource: Resource) -> Iterator[ResourceId]:
    """Objects that the garbage collector deletes with this one: the tree shows it as their owner, and no manifest has them."""
    if has_sync_option(app.raw, resource.live, "PrunePropagationPolicy=orphan"):
        return
    for node in app.descendants(resource.uid):
        managed = app.resource(node.id.key)
        if node.id.kind in _NAMED_BY and (managed is None or managed.desired is None):
            yield node.id
    if (resource.group, resource.kind) == _OWNING and dig(resource.live, "spec", "target", "creationPolicy") in _OWNS:
        for name in made_secrets(resource.live or {}):
            managed = app.find("", "Secret", resource.namespace, name)
            if managed is None or managed.desired is None:
                yield ResourceId("", "Secret", resource.namespace, name, "", resource.id.cluster)


_OWNING, _OWNS = ("external-secrets.io", "ExternalSecret"), (None, "", "Owner")
"""What owns its Secret by its own policy, also where the tree does not show it."""


def _first_references(found: Sequence[User]) -> Iterator[User]:
    seen: set[tuple[AppRef, ResourceId]] = set()
    for user in found:
        if (user.app, user.id) not in seen:
            seen.add((user.app, user.id))
            yield user


def _is_within_reach(namespace: str, dropped: ResourceId) -> bool:
    """True for an object that may refer to it: objects refer to their own namespace and to cluster-scoped ones, cluster-scoped objects to any."""
    return not dropped.namespace or namespace in ("", dropped.namespace) or dropped.kind in _FROM_ANYWHERE


def _dependents(resource: Resource, app: App, fleet: Fleet) -> Iterator[User]:
    """Objects that are deleted with a CRD or a Namespace, by the lists of all applications."""
    if (resource.group, resource.kind) == ("apiextensions.k8s.io", "CustomResourceDefinition"):
        group, kind = dig(resource.live, "spec", "group"), dig(resource.live, "spec", "names", "kind")
        keys = fleet.of_kind(app.cluster, str(group), str(kind)) if group and kind else ()
    elif (resource.group, resource.kind) == ("", "Namespace"):
        keys = fleet.in_namespace(app.cluster, resource.name)
    else:
        return
    for key in keys:
        for ref in fleet.owners(key):
            listed = fleet.resource(ref, key)
            if listed is None or not listed.claimed or fleet.by_ref[ref].deleting:
                continue
            if not (ref == app.ref and _is_gone(app, key)):
                yield User(ref, listed.id, "")


def _is_gone(app: App, key: object) -> bool:
    managed = next((r for r in app.resources if r.key == key), None)
    return managed is None or managed.extra


def _maker(app: App, id_: ResourceId) -> str:
    """An object of this or another application that creates the Secret again, such as an ExternalSecret."""
    if (id_.group, id_.kind) != ("", "Secret"):
        return ""
    peers = [(w.app, r) for w, r in app.evidence.items() if w.kind == "peer" and w.app and isinstance(r, Resource)]
    for owner, other in (*((app.ref, r) for r in app.resources), *peers):
        near = other.desired if other.namespace == id_.namespace else None
        if near is not None and id_.name in made_secrets(near):
            return _object_text(other.id, owner, app)
    return ""


def _object_text(id_: ResourceId, owner: AppRef, app: App) -> str:
    return str(id_) if owner == app.ref else f'{id_} of "{owner.name}"'


def _users_text(users: Sequence[User], app: App) -> str:
    names = list(dict.fromkeys(_object_text(u.id, u.app, app) for u in users))
    return enumerated(names, limit=1)


def _verb(lost: ResourceId, users: Sequence[User]) -> str:
    verb = "need" if lost.kind in _HOLDING else "name"
    return f"{verb}s" if len({(u.app, u.id) for u in users}) == 1 else verb


def _outcome_text(lost: ResourceId, users: Sequence[User], maker: str) -> str:
    if maker:
        return f", until {maker} makes it again"
    if lost.kind == "CustomResourceDefinition":
        return " with every object of that kind"
    if lost.kind == "Namespace":
        return " with everything inside"
    if lost.kind in ("Secret", "ConfigMap", "PersistentVolumeClaim", "ServiceAccount") and any(map(_is_in_pod, users)):
        return ", and no new pod starts"
    return ""


def _is_in_pod(user: User) -> bool:
    """Whether the reference is in a pod template."""
    return user.id.kind in ("Pod", "CronJob") or "/template/" in user.pointer


def _evidence(app: App, users: Sequence[User]) -> Iterator[str]:
    for user in users[:8]:
        where = f" at {user.pointer}" if user.pointer else ""
        yield f'{user.id} of "{user.app.name}"{where}'
    missing = sum(1 for w, found in app.evidence.items() if w.kind == "peer" and found is None)
    if missing:
        yield f"{missing} objects of other Applications could not be read"


def _late_fixes(resource: Resource, user: User) -> Iterator[Fix]:
    """Fixes for an object whose deletion has begun, which nothing takes back."""
    at = f"\n{user.pointer} of {user.id} names it\n" if user.pointer else ""
    yield manifest_text(
        user.id, f"Let {user.id} do without {resource.kind} {resource.name}", f"take it out of {user.id}{at}"
    )
    yield manifest_text(
        f"the source that held {resource.id}",
        "Or bring it back, so that a sync makes it again once it is gone",
        f"restore the manifest of {resource.id}\n",
        "what the deleted one holds is lost",
    )


def _fixes(app: App, fleet: Fleet, resource: Resource, found: Sequence[User]) -> Iterator[Fix]:
    yield from _namespace_fixes(app, fleet, resource)
    new = replacement(app, resource)
    if new is not None:
        yield from renaming_fixes(app, resource, new, found)
    if new is None or new.kind == resource.kind:  # else both would run
        yield keep_fix(app, resource, "once nothing names it")
    if is_secret(resource):
        yield manifest_text(
            "the values or manifests that name it",
            "Use another Secret, created beforehand",
            f"create a Secret under a new name with the keys of {resource.name}, then name that one\n",
            "the pods restart once",
        )
    elif not app.leaving:
        yield Fix(
            "Restore it in Git until nothing names it",
            "manifest",
            f"the source that held {resource.id}",
            Edit("text", f"restore the manifest of {resource.id}; drop it after its users\n"),
            safe=True,
        )


def _namespace_fixes(app: App, fleet: Fleet, resource: Resource) -> Iterator[Fix]:
    """The command that takes a Namespace out of the application, if CreateNamespace=true of one now provides for it."""
    tracking = tracking_of(resource.live, fleet)
    if tracking is None or app.leaving or (resource.group, resource.kind) != ("", "Namespace"):
        return
    for other in fleet.apps:
        place = (other.cluster, other.destination_namespace)
        if "CreateNamespace=true" in other.sync_options and place == (app.cluster, resource.name):
            yield Fix(
                f"Remove its tracking data before the next sync, so that {app.name} leaves it alone",
                "live",
                str(resource.id),
                Edit("command", untrack(resource.id, tracking.by) + "\n"),
                caveat=f"it then outlives {app.name}; CreateNamespace=true makes a missing namespace and keeps none",
                safe=True,
            )
            return


RULE = Rule(**Rule.page(__name__), severity="error", check=check, wants=wants, rank=Rank.CONSEQUENCE)
