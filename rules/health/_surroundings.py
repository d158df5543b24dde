"""The neighbours of an application's objects in their namespace: pod templates, Services and live pods; and whether all of them are known.

The server gets a request only if an object has no partner in its application while other applications have objects there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from argolint import App, AppRef, Fleet, Node, Object, Resource, ResourceId, ResourceKey, Want
from argolint.values import annotations_of, get, mapping
from argolint.values.knowledge import load
from argolint.values.kubernetes import pod_spec

from ..shared.labels import labels_at
from ..shared.peers import peer_want

_PEERS = 30
"""Most objects of other applications that are read for one namespace. With more of them, there is no finding."""


@dataclass(frozen=True, slots=True)
class Member:
    """A candidate for a selector: a pod template or a Service. `at`: the pointer of its labels; `spec`: that of the pods or the Service; `was`: the labels today,
    where a sync changes them.
    """

    app: AppRef
    id: ResourceId
    labels: Mapping[str, str]
    spec: Object
    at: str
    annotations: Mapping[str, str]
    was: Mapping[str, str] = field(default_factory=dict)


def shown_object(resource: Resource) -> Object:
    """The object from Git, or the live one if Git's is unknown; empty for a hook."""
    return {} if resource.hook else resource.any


def pod_templates(app: App, namespace: str) -> Sequence[Member]:
    """The known pod templates in the namespace."""
    return app.derive(_pod_templates).get(namespace, ())


def services(app: App, namespace: str) -> Sequence[Member]:
    """The known Services in the namespace."""
    return app.derive(_services).get(namespace, ())


def _known_objects(app: App) -> Iterator[tuple[AppRef, Resource]]:
    yield from ((app.ref, r) for r in app.resources)
    yield from app.peers()


def _pod_templates(app: App) -> Mapping[str, Sequence[Member]]:
    found: dict[str, list[Member]] = defaultdict(list)
    for ref, resource in _known_objects(app):
        if resource.namespace and (template := resource.derive(_template)) is not None:
            found[resource.namespace].append(Member(ref, resource.id, *template))
    return found


def _template(
    resource: Resource,
) -> tuple[Mapping[str, str], Object, str, Mapping[str, str], Mapping[str, str]] | None:
    """The labels of an object's pods, their spec, the place of the labels, the annotations, and the labels of today; None without pods."""
    at, spec = pod_spec(resource.any) if resource.may_have_pods() else ("", {})
    if not spec:
        return None
    above = at.removesuffix("/spec")
    metadata = mapping(get(resource.any, above, {}), "metadata")
    labels = labels_at(metadata)
    today = _labels_today(resource, above, labels)
    return labels, spec, f"{above}/metadata/labels", annotations_of({"metadata": metadata}), today


def _labels_today(resource: Resource, above: str, after: Mapping[str, str]) -> Mapping[str, str]:
    """The labels of the live template, if a sync is about to change them."""
    if resource.status != "OutOfSync" or not (resource.desired and resource.live):
        return {}
    labels = labels_at(mapping(get(resource.live, above, {}), "metadata"))
    return labels if labels != after else {}


def _services(app: App) -> Mapping[str, Sequence[Member]]:
    found: dict[str, list[Member]] = defaultdict(list)
    for ref, resource in _known_objects(app):
        if (resource.group, resource.kind) == ("", "Service") and resource.namespace:
            obj = resource.any
            labels = labels_at(mapping(obj, "metadata"))
            member = Member(ref, resource.id, labels, mapping(obj, "spec"), "/metadata/labels", {})
            found[resource.namespace].append(member)
    return found


def live_pods(app: App, namespace: str) -> Sequence[Node]:
    """The pods of the resource tree with known labels, with those of no application if Argo CD shows them."""
    return app.derive(_live_pods).get(namespace, ())


def _live_pods(app: App) -> Mapping[str, Sequence[Node]]:
    found: dict[str, list[Node]] = defaultdict(list)
    if any(n.kind == "Pod" for n in (*(app.tree.nodes or ()), *(app.tree.orphaned_nodes or ()))):
        for node in app.nodes:
            if node.id.kind == "Pod" and node.labels:
                found[node.id.namespace].append(node)
    return found


def is_in_tree(app: App, kind: str, namespace: str, name: str) -> bool:
    """Whether the tree has such an object: made by an operator, or without an owner."""
    nodes = (*(app.tree.nodes or ()), *(app.tree.orphaned_nodes or ()))
    return any(n.kind == kind and n.name == name and n.namespace == namespace for n in nodes)


def is_namespace_shown(app: App, fleet: Fleet, namespace: str) -> bool:
    """Whether the tree shows everything in the namespace, also objects of no application (spec.orphanedResources of the project).

    The tree omits objects that the project ignores or does not permit (controller/appcontroller.go, getResourceTree).
    """
    spec = mapping(fleet.projects.get(app.project), "spec")
    watched = spec.get("orphanedResources") is not None and not mapping(spec, "orphanedResources").get("ignore")
    whole = not spec.get("namespaceResourceBlacklist") and not spec.get("namespaceResourceWhitelist")
    return app.read and watched and whole and namespace == app.destination_namespace


def is_namespace_known(app: App, fleet: Fleet, namespace: str) -> bool:
    """Whether the application shows everything in the namespace, and nothing in it may make pods whose labels the tree does not show."""
    orphans = (n for n in app.tree.orphaned_nodes or () if n.namespace == namespace)
    return is_namespace_shown(app, fleet, namespace) and not any(
        (n.group, n.kind) not in _INERT_ORPHANS for n in orphans
    )


_INERT_ORPHANS = frozenset(
    {
        ("", kind)
        for kind in (
            "ConfigMap",
            "Secret",
            "ServiceAccount",
            "Pod",
            "PersistentVolumeClaim",
            "Event",
            "ResourceQuota",
            "LimitRange",
        )
    }
    | {("rbac.authorization.k8s.io", kind) for kind in ("Role", "RoleBinding")}
)
"""Kinds without an owner that make no pods and no Services."""


@cache
def _listed_kinds(name: str) -> frozenset[tuple[str, str]]:
    return frozenset((g, k) for e in load(__package__, "traffic.yaml")[name] for g, _, k in (e.partition("/"),))


def _namespace_keys(fleet: Fleet, cluster: str, namespace: str) -> Sequence[ResourceKey]:
    return fleet.in_namespace(cluster, namespace)


def peer_wants(app: App, fleet: Fleet, namespace: str, to: str) -> tuple[Want, ...]:
    """The objects of other applications in the namespace that a selector of `pod_templates` or `services` may match."""
    kinds = _listed_kinds("workloads") if to == "pods" else frozenset((("", "Service"),))
    found: list[Want] = []
    for key in fleet.derive(_namespace_keys, app.cluster, namespace):
        if (key.group, key.kind) not in kinds or app.resource(key) is not None:
            continue
        found += peer_want(fleet, key.id)
    return tuple(found)


def within_request_limit(wants: Sequence[Want]) -> Sequence[Want]:
    """The same requests; none if there are too many."""
    return wants if len(wants) <= _PEERS else ()


def are_members_known(app: App, fleet: Fleet, namespace: str, to: str) -> bool:
    """Whether all candidates for a selector are known: no unread object of another application, and no operator that makes unlisted ones."""
    if any(app.evidence.get(want) is None for want in peer_wants(app, fleet, namespace, to)):
        return False
    return not app.derive(_has_unseen_makers, fleet, namespace)


def _has_unseen_makers(app: App, fleet: Fleet, namespace: str) -> bool:
    """Whether an object there, or a cluster-scoped one of the application, may make pods or Services that the tree does not show."""
    inert, workloads = _listed_kinds("inert"), _listed_kinds("workloads")
    keys = (
        *fleet.derive(_namespace_keys, app.cluster, namespace),
        *(ResourceKey(app.cluster, r.group, r.kind, "", r.name) for r in app.rows if not r.namespace),
    )
    for key in dict.fromkeys(keys):
        of_kubernetes = "." not in key.group or (key.group.endswith(".k8s.io") and key.kind != "Gateway")
        known_kind = {(key.group, key.kind), (key.group, "*")} & inert or (key.group, key.kind) in workloads
        if not of_kubernetes and not known_kind and not _shows_its_pods(app, key):
            return True
    return False


def _shows_its_pods(app: App, key: ResourceKey) -> bool:
    found = app.resource(key)
    return found is not None and any(node.id.kind == "Pod" for node in app.descendants(found.uid))


def has_service(app: App, fleet: Fleet, key: ResourceKey) -> bool:
    """Whether an application of the cluster, or the resource tree, has this Service."""
    listed = app.resource(key) is not None or bool(fleet.owners(key))
    return listed or is_in_tree(app, "Service", key.namespace, key.name)


def may_have_service(app: App, fleet: Fleet, key: ResourceKey) -> bool:
    """Whether it is there, or an operator may make it of a custom resource with its name."""
    return has_service(app, fleet, key) or has_namesake_owner(fleet, key)


def has_namesake_owner(fleet: Fleet, key: ResourceKey) -> bool:
    """Whether the name begins with that of a custom resource or workload in the namespace: operators name their objects after it."""
    inert = _listed_kinds("inert")
    return any(
        "." in other.group
        and not other.group.endswith(".k8s.io")
        and not {(other.group, other.kind), (other.group, "*")} & inert
        and (key.name == other.name or key.name.startswith(f"{other.name}-") or key.name.endswith(f"-{other.name}"))
        for other in fleet.derive(_namespace_keys, key.cluster, key.namespace)
    )
