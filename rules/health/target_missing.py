"""The target of traffic or of a scaler does not exist

What it finds: an Ingress, route, webhook, API service, autoscaler or ScaledObject whose Service, Gateway or workload exists neither in an
application of the cluster nor in the resource tree; objects of Velero and CloudNativePG that name another storage location or cluster than there is. Also a workload, binding, Ingress or Gateway that a sync will create or change, and that misspells the name of
a Secret, ConfigMap, claim, service account, class, role or issuer, or takes one of a namespace for one of the cluster. Also a subject of a binding
in a namespace without that service account, where the application has it in another one.

Why it hurts: Argo CD calls most of them Healthy. The Ingress answers 503, a webhook refuses every change of its kinds, an autoscaler
scales nothing, a binding grants its rights to no pod.

How to fix: name the existing object, or add the missing one.

Example: an Ingress whose backend is Service `web-svc`, in a namespace that has Service `web`.

The rule reports only certain or nearly certain cases. A controller says in the status that it does not find the object. Or an object with almost
the same name exists, or one with the same name in another namespace. Or the project watches orphaned resources, so Argo CD shows everything in
the namespace. In other cases other tools may have made it, or an operator from a custom resource whose name is its beginning.

Sources: networking.k8s.io/v1; Gateway API (ResolvedRefs, BackendNotFound); kube-aggregator (ServiceNotFound); autoscaling/v2 (AbleToScale).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from argolint import (
    App,
    Finding,
    Fix,
    Fleet,
    Location,
    Object,
    Rank,
    Related,
    Resource,
    ResourceKey,
    Rule,
    Symptom,
)
from argolint.edits import Operation, manifest_patch, manifest_text
from argolint.relations.makers import made_secrets
from argolint.relations.references import Reference, may_refer, namespaced, references
from argolint.values import get, join_pointer, maps, text_at
from argolint.values.knowledge import load
from argolint.values.patterns import regex

from ..shared.labels import is_similar_name
from ..shared.triage import worth_reading
from ._surroundings import has_namesake_owner, is_in_tree, is_namespace_shown, shown_object

_CONSEQUENCES = {
    ("networking.k8s.io", "Ingress"): "requests to it fail",
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): "the API server cannot ask it",
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): "the API server cannot ask it",
    ("apiextensions.k8s.io", "CustomResourceDefinition"): "objects of the kind cannot be converted",
    ("apiregistration.k8s.io", "APIService"): "its API does not answer",
    ("autoscaling", "HorizontalPodAutoscaler"): "it scales nothing",
    ("autoscaling.k8s.io", "VerticalPodAutoscaler"): "it scales nothing",
    ("keda.sh", "ScaledObject"): "it scales nothing",
    ("gateway.networking.k8s.io", "HTTPRoute"): "requests to it fail",
    ("gateway.networking.k8s.io", "GRPCRoute"): "requests to it fail",
    ("gateway.networking.k8s.io", "TLSRoute"): "requests to it fail",
    ("gateway.networking.k8s.io", "TCPRoute"): "requests to it fail",
    ("gateway.networking.k8s.io", "UDPRoute"): "requests to it fail",
    ("velero.io", "Schedule"): "its backups fail",
    **{
        ("postgresql.cnpg.io", kind): "it does nothing"
        for kind in ("Database", "Pooler", "Publication", "ScheduledBackup", "Subscription")
    },
    ("traefik.io", "IngressRoute"): "requests to it fail",
    ("traefik.io", "IngressRouteTCP"): "requests to it fail",
    ("traefik.io", "IngressRouteUDP"): "requests to it fail",
}
"""Kinds that refer to others, and the consequence if those are missing."""
_NO_POD = "no new pod starts"
_NO_RIGHTS = "it grants nothing"
_NOT_ISSUED = {"Issuer": "no certificate is issued", "ClusterIssuer": "no certificate is issued"}
_NO_CONTROLLER = "no controller takes it"
_READERS: Mapping[tuple[str, str], Mapping[str, str]] = {
    **{("apps", kind): {"": _NO_POD} for kind in ("Deployment", "StatefulSet", "DaemonSet")},
    **{("batch", kind): {"": _NO_POD} for kind in ("Job", "CronJob")},
    ("", "PersistentVolumeClaim"): {"StorageClass": "no volume is made for it"},
    ("cert-manager.io", "Certificate"): _NOT_ISSUED,
    **{
        ("rbac.authorization.k8s.io", kind): {"": _NO_RIGHTS, "ServiceAccount": "no pod has these rights by it"}
        for kind in ("RoleBinding", "ClusterRoleBinding")
    },
    ("networking.k8s.io", "Ingress"): {
        "Secret": "its hosts have no certificate",
        "IngressClass": _NO_CONTROLLER,
        **_NOT_ISSUED,
    },
    ("gateway.networking.k8s.io", "Gateway"): {
        "Secret": "its listener has no certificate",
        "GatewayClass": _NO_CONTROLLER,
        **_NOT_ISSUED,
    },
}
"""Kinds that need what others often make by hand, and the consequence by the kind that is named (empty: any other one): only a new reference to
almost the name of a known object counts."""
_NEEDED = (
    "Secret",
    "ConfigMap",
    "PersistentVolumeClaim",
    "ServiceAccount",
    "PriorityClass",
    "StorageClass",
    "IngressClass",
    "GatewayClass",
    "Role",
    "ClusterRole",
    "Issuer",
    "ClusterIssuer",
)
_ISSUER_ANNOTATIONS = {"Issuer": "cert-manager.io/issuer", "ClusterIssuer": "cert-manager.io/cluster-issuer"}
_TWINS = {"Issuer": "ClusterIssuer", "ClusterIssuer": "Issuer", "Role": "ClusterRole", "ClusterRole": "Role"}
"""Kinds that a reference often confuses: one of a namespace, one of the whole cluster."""


@cache
def _target_kinds() -> frozenset[tuple[str, str]]:
    return frozenset((g, k) for e in load(__package__, "traffic.yaml")["targets"] for g, _, k in (e.partition("/"),))


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application has such kinds: Argo CD calls most of them Healthy, and the list does not show their references."""
    return any((row.group, row.kind) in _CONSEQUENCES for row in app.rows) and worth_reading(app, fleet)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each name."""
    if app.deleting or not app.desired_known:
        return
    for resource, consequence in app.of_kinds(_CONSEQUENCES):
        obj = shown_object(resource) if may_refer(resource) else {}
        reported: set[tuple[str, str, str]] = set()
        for named in references(obj) if obj else ():
            namespace = named.namespace or resource.namespace
            who = (named.kind, namespace, named.name)
            if (
                (named.group, named.kind) not in _target_kinds()
                or who in reported
                or _is_load_balancer_action(obj, named)
            ):
                continue
            reported.add(who)
            key = ResourceKey(app.cluster, named.group, named.kind, namespace, named.name)
            if (found := _absence(app, fleet, resource, key)) is not None:
                yield _finding(app, resource, named, key, found, consequence)
    for resource, consequences in app.of_kinds(_READERS):
        yield from _misspelt(app, fleet, resource, consequences)


def _new_references(resource: Resource) -> tuple[Reference, ...]:
    """What the manifest names and the live object does not; and the class of an object that no controller takes."""
    if not resource.desired or resource.requires_pruning:
        return ()
    waits = resource.health.status == "Progressing"
    named = (
        n
        for n in references(resource.desired)
        if get(resource.live, n.pointer, None) != n.name or (waits and n.kind in _CLASSES)
    )
    held = {_account(subject, resource.namespace) for subject in maps(resource.live, "subjects")}
    subjects = (
        Reference("", "ServiceAccount", *_account(subject, resource.namespace), f"/subjects/{number}/name")
        for number, subject in enumerate(maps(resource.desired, "subjects"))
        if subject.get("kind") == "ServiceAccount" and _account(subject, resource.namespace) not in held
    )
    return (*(n for n in named if n.kind in _NEEDED), *(n for n in subjects if n.name not in ("", _IN_EACH)))


_CLASSES = ("IngressClass", "GatewayClass")
_IN_EACH = "default"
"""The service account that each namespace has."""


def _account(subject: Object, namespace: str) -> tuple[str, str]:
    """Namespace and name of a subject: in a RoleBinding the namespace may be left out (rbac/v1)."""
    return text_at(subject, "namespace") or namespace, text_at(subject, "name")


def _misspelt(app: App, fleet: Fleet, resource: Resource, consequences: Mapping[str, str]) -> Iterator[Finding]:
    """A finding for each name that a sync brings, which no object has and one almost has."""
    reported: set[ResourceKey] = set()
    for named in resource.derive(_new_references):
        namespace = named.namespace or resource.namespace if named.kind in namespaced() else ""
        key = ResourceKey(app.cluster, named.group, named.kind, namespace, named.name)
        consequence = consequences.get(named.kind, consequences.get("", ""))
        if consequence and key not in reported:
            reported.add(key)
            near = None if _may_exist(app, fleet, key) else _almost(app, fleet, key)
            if near is not None and not _names_both(resource, near):
                yield _finding(app, resource, named, key, _Absence("", near), consequence)


def _names_both(resource: Resource, near: ResourceKey) -> bool:
    """Whether a binding has the near account among its subjects, too: the other one is then no slip for it."""
    subjects = maps(resource.desired, "subjects")
    return any(_account(subject, resource.namespace) == (near.namespace, near.name) for subject in subjects)


def _may_exist(app: App, fleet: Fleet, key: ResourceKey) -> bool:
    known = app.resource(key) is not None or bool(fleet.owners(key))
    return known or is_in_tree(app, key.kind, key.namespace, key.name) or has_namesake_owner(fleet, key)


def _almost(app: App, fleet: Fleet, key: ResourceKey) -> ResourceKey | None:
    """An object of the kind whose name differs by a letter or two, or a Secret that an object of the application makes."""
    made = {
        name for r in app.resources if r.namespace == key.namespace and r.desired for name in made_secrets(r.desired)
    }
    if key.kind == "Secret" and key.name in made:
        return None
    listed = {k.name for k in fleet.of_kind(key.cluster, key.group, key.kind) if k.namespace == key.namespace}
    near = sorted(
        name for name in listed | (made if key.kind == "Secret" else set()) if is_similar_name(name, key.name)
    )
    if near:
        return ResourceKey(key.cluster, key.group, key.kind, key.namespace, near[0])
    if twin := _twin(fleet, key):
        return twin
    elsewhere = [r.key for r in app.of_kind(key.kind, key.group) if r.name == key.name and key.namespace]
    return elsewhere[0] if len(elsewhere) == 1 else None  # the workload has moved without it


def _twin(fleet: Fleet, key: ResourceKey) -> ResourceKey | None:
    """The object of the other scope that has exactly this name."""
    known = fleet.of_kind(key.cluster, key.group, _TWINS.get(key.kind, ""))
    return next((k for k in known if k.name == key.name and k.namespace in ("", key.namespace)), None)


def _is_load_balancer_action(obj: Object, named: Reference) -> bool:
    """True for an action of AWS' load balancer controller, which has the form of a backend."""
    above = named.pointer.rpartition("/")[0]
    return text_at(get(obj, above, None), "port", "name") == "use-annotation"


@dataclass(frozen=True, slots=True)
class _Absence:
    """The evidence for an absence, by a controller or by the list of all objects; and the nearest object."""

    evidence: str = ""
    near: ResourceKey | None = None


def _absence(app: App, fleet: Fleet, resource: Resource, key: ResourceKey) -> _Absence | None:
    """None if the object exists, or may exist."""
    if app.resource(key) is not None or fleet.owners(key) or is_in_tree(app, key.kind, key.namespace, key.name):
        return None
    not_found = _not_found_message(resource.live, key.name)
    near = _nearest_object(fleet, key)
    if not_found:
        return _Absence(not_found, near or _only_unscaled(app, resource, key))
    if has_namesake_owner(fleet, key):
        return None
    if near is None and resource.group in _SCALERS:
        near = _scaled_today(app, fleet, resource, key)
    near = near or _only_one(app, resource, key)
    if near is not None or is_namespace_shown(app, fleet, key.namespace):
        return _Absence("", near)
    return None


_SCALERS = ("autoscaling", "keda.sh")
_OF_AN_OPERATOR = ("velero.io", "postgresql.cnpg.io")
"""Groups whose objects name each other: Git has them together, as a rule."""


def _only_one(app: App, resource: Resource, key: ResourceKey) -> ResourceKey | None:
    """The one object of the kind that the application has in the namespace, if its operator's objects name it."""
    held = [r for r in app.of_kind(key.kind, key.group) if r.namespace == key.namespace and not r.requires_pruning]
    return held[0].key if resource.group in _OF_AN_OPERATOR and len(held) == 1 else None


def _only_unscaled(app: App, scaler: Resource, key: ResourceKey) -> ResourceKey | None:
    """The one workload of the kind that the application has in the namespace of its one scaler."""
    if scaler.group not in _SCALERS:
        return None
    scalers = [r for r in app.resources if r.group in _SCALERS and r.namespace == scaler.namespace]
    held = [r for r in app.of_kind(key.kind, key.group) if r.namespace == key.namespace and not r.requires_pruning]
    return held[0].key if len(scalers) == len(held) == 1 else None


def _scaled_today(app: App, fleet: Fleet, resource: Resource, key: ResourceKey) -> ResourceKey | None:
    """The workload that a scaler has today and that stays, where a sync names another one."""
    today = text_at(resource.live, "spec", "scaleTargetRef", "name")
    old = ResourceKey(key.cluster, key.group, key.kind, key.namespace, today)
    held = app.resource(old)
    stays = not held.requires_pruning if held is not None else bool(fleet.owners(old))
    return old if today not in ("", key.name) and stays else None


_NOT_FOUND = regex(r"not ?found|does not exist", re.IGNORECASE)


def _not_found_message(live: Object | None, name: str) -> str:
    """The message of a False condition that an object of that name is not found; empty without one."""
    status = live.get("status") if live else None
    parents = maps(status, "parents")
    for condition in (*maps(status, "conditions"), *(c for p in parents for c in maps(p, "conditions"))):
        text = f"{text_at(condition, 'type')}=False {text_at(condition, 'reason')}: {text_at(condition, 'message')}"
        if condition.get("status") == "False" and name in text and _NOT_FOUND.search(text):
            return text[:400]
    return ""


def _nearest_object(fleet: Fleet, key: ResourceKey) -> ResourceKey | None:
    """An object with almost the same name in its namespace, or with exactly this name in another kind or namespace."""
    return fleet.derive(_near_key, key)


def _near_key(fleet: Fleet, key: ResourceKey) -> ResourceKey | None:
    known = fleet.of_kind(key.cluster, key.group, key.kind)
    neighbours = (k for k in known if k.namespace == key.namespace and is_similar_name(k.name, key.name, within=True))
    if (near := next(neighbours, None)) is not None:
        return near
    if (other := _of_another_kind(fleet, key)) is not None:
        return other
    elsewhere = [k for k in known if k.name == key.name]
    return elsewhere[0] if len(elsewhere) == 1 else None


_SCALED = {
    ("apps", "Deployment"): "apps/v1",
    ("apps", "StatefulSet"): "apps/v1",
    ("argoproj.io", "Rollout"): "argoproj.io/v1alpha1",
}
"""Workloads that a scaler may name, and their apiVersion."""


def _of_another_kind(fleet: Fleet, key: ResourceKey) -> ResourceKey | None:
    """A workload of this name and namespace, where another kind of workload is named."""
    found = (
        k
        for group, kind in (_SCALED if (key.group, key.kind) in _SCALED else ())
        for k in fleet.of_kind(key.cluster, group, kind)
        if (k.namespace, k.name) == (key.namespace, key.name)
    )
    return next(found, None)


def _finding(
    app: App, resource: Resource, named: Reference, key: ResourceKey, found: _Absence, consequence: str
) -> Finding:
    where = str(key)
    near = found.near
    hint, astray, home = "", None, ""
    elsewhere = near is not None and near.kind == key.kind and near.namespace != key.namespace and not found.evidence
    if near is not None:
        name = near.name if near.kind == key.kind else f"{near.kind} {near.name}"
        is_other = near.namespace != key.namespace and near.kind == key.kind
        own = app.resource(near) if is_other and near.name == key.name else None
        astray = own if own is not None and _is_astray(app, own, key) else None
        hint = f"; namespace {near.namespace} has one" if is_other else f"; {name} exists"
        if astray is not None:
            hint, home = f": its manifest writes namespace {near.namespace}", key.namespace
        elif own is not None and _follows_its_referrer(app, resource, named, near):
            astray, home = resource, near.namespace
            hint = f"; namespace {home}, the destination, has it"
    return Finding(
        message=f"{resource.id} names {where}, which does not exist{hint}, so {consequence}.",
        at=Location(app.ref, resource.id, named.pointer),
        severity="warning" if elsewhere or (resource.group in _OF_AN_OPERATOR and not found.evidence) else None,
        confidence="proven" if found.evidence else "possible" if elsewhere and astray is None else "likely",
        evidence=tuple(filter(None, (found.evidence, f"no application lists {where}, and the resource tree has none"))),
        related=tuple(_related(app, near)),
        fixes=(*_home_fixes(astray, home), *_fixes(resource, named, key, near)),
        explains=(Symptom.health(resource.id),) if resource.health.status not in ("", "Healthy") else (),
    )


def _related(app: App, near: ResourceKey | None) -> Iterator[Related]:
    if near is not None and (other := app.resource(near)) is not None:
        yield Related(app.ref, other.id, role="other")


def _is_astray(app: App, own: Resource, key: ResourceKey) -> bool:
    """Whether it is the only object that the application renders into its namespace, away from the destination, where what names it is."""
    alone = sum(1 for r in app.resources if r.claimed and r.namespace == own.namespace) == 1
    return own.desired is not None and alone and key.namespace == app.destination_namespace != own.namespace


def _follows_its_referrer(app: App, resource: Resource, named: Reference, near: ResourceKey) -> bool:
    """Whether the object that names it is astray itself, and would find it at home, since the reference has no namespace of its own."""
    own = get(resource.any, f"{named.pointer.rpartition('/')[0]}/namespace", None)
    return own is None and _is_astray(app, resource, near)


def _home_fixes(astray: Resource | None, home: str) -> Iterator[Fix]:
    """The fix for an object of this very application whose manifest writes another namespace."""
    if astray is not None:
        step: Operation = {"op": "replace", "path": "/metadata/namespace", "value": home}
        yield manifest_patch(
            astray.id, f"Write namespace {home} in the manifest of {astray.kind} {astray.name}", [step]
        )


def _fixes(resource: Resource, named: Reference, key: ResourceKey, near: ResourceKey | None) -> Iterator[Fix]:
    is_twin = near is not None and _TWINS.get(key.kind) == near.kind
    if (
        near is not None
        and near.kind == key.kind
        and named.pointer.startswith("/subjects/")
        and near.namespace != key.namespace
    ):
        at = f"{named.pointer.rpartition('/')[0]}/namespace"
        step: Operation = {"op": "add", "path": at, "value": near.namespace}
        yield manifest_patch(resource.id, f"Name the account in namespace {near.namespace}", [step])
    elif near is not None and (near.namespace == key.namespace or is_twin):
        yield manifest_patch(resource.id, f"Name {near.kind} {near.name}", _renaming(named, near))
    elif near is not None and near.kind == key.kind == "Gateway":
        at = f"{named.pointer.rpartition('/')[0]}/namespace"
        yield manifest_patch(
            resource.id,
            f"Name the Gateway of namespace {near.namespace}",
            [{"op": "add", "path": at, "value": near.namespace}],
            "its listeners must admit this namespace",
        )
    elif (
        near is not None
        and (near.kind, near.name) == (key.kind, key.name)
        and (get(resource.desired, at := f"{named.pointer.rpartition('/')[0]}/namespace", None) == key.namespace)
    ):
        yield manifest_patch(
            resource.id,
            f"Name the {near.kind} of namespace {near.namespace}",
            [{"op": "replace", "path": at, "value": near.namespace}],
            "a reference to another namespace may need a ReferenceGrant" if "Route" in resource.kind else "",
        )
    text = f"create {key!s}, or remove the reference from {resource.id}\n"
    yield manifest_text(resource.id, "Create what is missing, or remove the reference", text)


def _renaming(named: Reference, near: ResourceKey) -> list[Operation]:
    if near.kind == named.kind:
        return [{"op": "replace", "path": named.pointer, "value": near.name}]
    if named.pointer.startswith("/metadata/annotations/"):
        other = join_pointer("metadata", "annotations", _ISSUER_ANNOTATIONS[near.kind])
        return [{"op": "remove", "path": named.pointer}, {"op": "add", "path": other, "value": near.name}]
    above = named.pointer.rpartition("/")[0]
    kind: Operation = {"op": "add", "path": f"{above}/kind", "value": near.kind}
    if (near.group, near.kind) not in _SCALED:
        return [kind]
    return [
        {**kind, "op": "replace"},
        {"op": "add", "path": f"{above}/apiVersion", "value": _SCALED[near.group, near.kind]},
    ]


RULE = Rule(**Rule.page(__name__), severity="error", check=check, reads=reads, rank=Rank.CAUSE)
