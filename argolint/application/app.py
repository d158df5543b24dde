"""One Application from the server's answers: the main input of a rule.

An `App` is made from the list call alone; reading its states (managed-resources and resource-tree) gives a richer one through
`App.with_states`. Its objects are in `argolint.application.resource`, its operations and conditions in `argolint.application.operation`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal

from argolint.application.entry import Entry
from argolint.application.operation import Condition, Event, Operation
from argolint.application.resource import (
    Health,
    Listed,
    ManagedResource,
    Node,
    Resource,
    Row,
    T,
    Tree,
    health_of,
    tree_node,
    with_states,
)
from argolint.model import AppRef, Object, ResourceId, ResourceKey, Want
from argolint.values import annotations_of, comma_list, dig, items, mapping, maps, number_at, parse_time, text_at, texts
from argolint.values.kubernetes import COMPARE_OPTIONS, is_deleting

BLINDING = ("ComparisonError", "InvalidSpecError", "UnknownError")
"""Conditions with which the desired state is unknown: the server answers `targetState: "null"` for everything."""


@dataclass(frozen=True)
class App:
    """One Application as rules see it. `control_plane`: the namespace of Argo CD itself, from the server."""

    ref: AppRef
    entry: Entry
    cluster: str
    observed_at: datetime
    resources: Sequence[Resource] = ()
    tree: Tree = field(default_factory=Tree)
    unanswered: frozenset[str] = frozenset()
    """The states that the server did not send (managed-resources, resource-tree): a missing object may exist."""
    read: bool = False
    evidence: Mapping[Want, Any] = field(default_factory=dict)
    control_plane: str = "argocd"
    leaving: bool = False
    """A change in the gate deletes the Application itself, and its objects with it."""
    _derived: dict[tuple[Any, ...], Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.entry, Mapping):  # a plain Application, in tests of rules
            object.__setattr__(self, "entry", Entry(self.entry))

    def derive(self, function: Callable[..., T], *arguments: Hashable) -> T:
        """The function's result for this application and these arguments (for example the fleet), computed once for all rules.

        It must be pure, and have a name. The result should not hold this application: a circle stays in memory for long.
        """
        key = (function, *arguments)
        if key not in self._derived:
            self._derived[key] = function(self, *arguments)
        made: T = self._derived[key]
        return made

    @property
    def raw(self) -> Object:
        """The Application object in the server's list, without `status.resources` (see `resources`) and `metadata.managedFields`."""
        return self.entry.raw

    @property
    def brief(self) -> Object:
        """The Application object, possibly without `status.operationState` and `status.history`: for loops over a whole fleet."""
        return self.entry.brief

    def with_raw(self, raw: Object, **changes: Any) -> App:
        """This application with another Application object."""
        return replace(self, entry=Entry(raw), **changes)

    @cached_property
    def spec(self) -> Object:
        return mapping(self.brief, "spec")

    @cached_property
    def status(self) -> Object:
        return mapping(self.raw, "status")

    @property
    def name(self) -> str:
        return self.ref.name

    @property
    def project(self) -> str:
        """That of the spec, which a change in the gate may edit; `ref` keeps the one that the server lists."""
        return text_at(self.spec, "project") or "default"

    @property
    def destination_namespace(self) -> str:
        return text_at(self.spec, "destination", "namespace")

    @cached_property
    def sources(self) -> tuple[Object, ...]:
        """sourceHydrator's dry source, else spec.sources, else spec.source: in Argo CD's own order."""
        return sources_of(self.spec)

    @property
    def sync_status(self) -> str:
        return text_at(self.brief, "status", "sync", "status")

    @cached_property
    def revisions(self) -> tuple[str, ...]:
        """The revisions that Argo CD compares with, one per source."""
        one = text_at(self.status, "sync", "revision")
        return texts(self.status, "sync", "revisions") or ((one,) if one else ())

    @property
    def health(self) -> Health:
        return health_of(mapping(self.brief, "status"))

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        return tuple(
            Condition(text_at(c, "type"), text_at(c, "message"), parse_time(c.get("lastTransitionTime")))
            for c in maps(self.brief, "status", "conditions")
        )

    @cached_property
    def desired_known(self) -> bool:
        """False with a condition that keeps Argo CD from rendering or comparing."""
        return not any(c.type in BLINDING and not c.of_health for c in self.conditions)

    @property
    def rows(self) -> Sequence[Row] | Sequence[Resource]:
        """The objects for counting or comparing identities: no Resource is created."""
        return self.resources.rows if isinstance(self.resources, Listed) else self.resources

    @property
    def deleting(self) -> bool:
        """A deletion was requested; Argo CD no longer updates the application's status."""
        return is_deleting(self.brief)

    @cached_property
    def operation(self) -> Operation | None:
        raw = mapping(self.status, "operationState")
        if not raw:
            return None
        return Operation(
            text_at(raw, "phase"),
            text_at(raw, "message"),
            parse_time(raw.get("startedAt")),
            parse_time(raw.get("finishedAt")),
            number_at(raw, "retryCount"),
            raw,
        )

    def is_awaiting(self, resource: ResourceId) -> bool:
        """True if the running operation waits for this object."""
        awaited = self.operation.awaited if self.operation else None
        return awaited is not None and awaited.is_(resource)

    @cached_property
    def sync_options(self) -> frozenset[str]:
        """Exact strings; Argo CD ignores a typo."""
        return frozenset(o for o in items(self.spec, "syncPolicy", "syncOptions") if isinstance(o, str))

    @property
    def _automated(self) -> Object | None:
        found = dig(self.spec, "syncPolicy", "automated")
        return found if isinstance(found, Mapping) and found.get("enabled") is not False else None

    @property
    def automated(self) -> bool:
        return self._automated is not None

    @property
    def self_heal(self) -> bool:
        return bool((self._automated or {}).get("selfHeal"))

    @property
    def prune(self) -> bool:
        return bool((self._automated or {}).get("prune"))

    @property
    def compare_options(self) -> frozenset[str]:
        return frozenset(comma_list(annotations_of(self.brief).get(COMPARE_OPTIONS)))

    @property
    def instance(self) -> str:
        """The name in tracking data: `name` in the control plane, `<namespace>_<name>` elsewhere."""
        control_plane = text_at(self.brief, "status", "controllerNamespace") or self.control_plane
        return self.ref.name if self.ref.namespace == control_plane else f"{self.ref.namespace}_{self.ref.name}"

    def of_kind(self, kind: str, group: str | None = None) -> Iterator[Resource]:
        """Managed objects of a kind; `group` is exact if given (core is the empty string)."""
        return (r for r in self._by_kind.get(kind, ()) if group is None or r.id.group == group)

    def as_read(self, resource: Resource) -> Resource:
        """The object; a hook, which the server does not list among the managed objects, with its live state if a rule wants that."""
        found = self.evidence.get(Want("live", resource.id)) if resource.hook and resource.live_state is None else None
        return resource.with_live(found) if found else resource

    def of_kinds(self, table: Mapping[tuple[str, str], T]) -> Iterator[tuple[Resource, T]]:
        """Managed objects of the kinds in a table by group and kind, each with its entry, in the table's order."""
        if table.keys().isdisjoint(self._by_group_and_kind):
            return
        for pair, entry in table.items():
            for resource in self._by_group_and_kind.get(pair, ()):
                yield resource, entry

    @cached_property
    def _by_group_and_kind(self) -> Mapping[tuple[str, str], Sequence[Resource]]:
        found: dict[tuple[str, str], list[Resource]] = {}
        for r in self.resources:
            found.setdefault((r.id.group, r.id.kind), []).append(r)
        return found

    @cached_property
    def _by_kind(self) -> Mapping[str, Sequence[Resource]]:
        found: dict[str, list[Resource]] = {}
        for r in self.resources:
            found.setdefault(r.id.kind, []).append(r)
        return found

    def mentioning(
        self, what: str | re.Pattern[str], side: Literal["either", "desired", "live"] = "either"
    ) -> tuple[Resource, ...]:
        """The objects of which a state contains this text (`Resource.mentions`), found once for all rules."""
        return self.derive(_mentioning, what, side)

    def with_pods(self, side: Literal["either", "desired"] = "either") -> tuple[Resource, ...]:
        """The objects that may have a pod spec (`Resource.may_have_pods`), found once for all rules."""
        return self.derive(_with_pods, side)

    @cached_property
    def groups(self) -> frozenset[str]:
        """The API groups of the managed objects; core is the empty string."""
        return frozenset(r.id.group for r in self.resources)

    @cached_property
    def stated(self) -> tuple[Resource, ...]:
        """The objects of which a state is known: none, until the application is read."""
        return tuple(r for r in self.resources if r.desired_state is not None or r.live_state is not None)

    @cached_property
    def changed(self) -> tuple[Resource, ...]:
        """The objects with differences in Argo CD: those with `changes`."""
        return tuple(r for r in self.resources if r.modified and r.changes)

    @cached_property
    def missing(self) -> tuple[Resource, ...]:
        """The objects that are desired and certainly not live, without hooks."""
        return tuple(r for r in self.resources if r.missing and not r.hook)

    @cached_property
    def extra(self) -> tuple[Resource, ...]:
        """The objects that are live and certainly not desired, without hooks."""
        return tuple(r for r in self.resources if r.extra and not r.hook)

    @cached_property
    def _by_key(self) -> Mapping[ResourceKey, Resource]:
        return {r.key: r for r in self.resources}

    def resource(self, key: ResourceKey) -> Resource | None:
        """The managed object of that identity."""
        return self.resources.find(key) if isinstance(self.resources, Listed) else self._by_key.get(key)

    def held(self, id_: ResourceId | None) -> Resource | None:
        """The managed object that a finding or a message names; None without a name."""
        return self.resource(id_.key) if id_ is not None else None

    def find(self, group: str, kind: str, namespace: str, name: str) -> Resource | None:
        """A managed object of this application on its own cluster."""
        return self.resource(ResourceKey(self.cluster, group, kind, namespace, name))

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every object of the resource tree, the orphaned ones last; empty until the application is read, and where no object of it makes others."""
        return (
            *(tree_node(n, self.cluster, orphaned=False) for n in self.tree.nodes or ()),
            *(tree_node(n, self.cluster, orphaned=True) for n in self.tree.orphaned_nodes or ()),
        )

    def nodes_of(self, kind: str, group: str) -> Iterator[Node]:
        """The objects of one kind; without any in the tree, no node is created."""
        if any(n.kind == kind for n in self.tree.nodes or ()):
            yield from (n for n in self.nodes if (n.id.group, n.id.kind) == (group, kind))

    @cached_property
    def _nodes_by_uid(self) -> Mapping[str, Node]:
        return {n.uid: n for n in self.nodes if n.uid}

    @cached_property
    def _nodes_by_key(self) -> Mapping[ResourceKey, Node]:
        return {n.id.key: n for n in reversed(self.nodes)}

    def node(self, resource: ResourceId) -> Node | None:
        """The first node of this object in the tree."""
        return self._nodes_by_key.get(resource.key)

    @cached_property
    def _children(self) -> Mapping[str, Sequence[Node]]:
        found: dict[str, list[Node]] = {}
        for node in self.nodes:
            for owner in node.owners:
                found.setdefault(owner.uid, []).append(node)
        return found

    def children(self, uid: str) -> Sequence[Node]:
        """Direct children in the resource tree."""
        return self._children.get(uid, ()) if uid else ()

    def descendants(self, uid: str) -> Iterator[Node]:
        """All descendants, parents before their children; each object once, even with cyclic owner references."""
        seen = {uid}
        below = [*reversed(self.children(uid))]
        while below:
            node = below.pop()
            if not node.uid or node.uid not in seen:
                seen.add(node.uid)
                yield node
                below += reversed(self.children(node.uid))

    def root(self, node: Node) -> Node:
        """The topmost ancestor of a node: usually an object that the application manages."""
        seen = {node.uid}
        while parent := next((self._nodes_by_uid[o.uid] for o in node.owners if o.uid in self._nodes_by_uid), None):
            if parent.uid in seen:
                break
            seen.add(parent.uid)
            node = parent
        return node

    def events(self, resource: ResourceId, uid: str = "") -> tuple[Event, ...] | None:
        """Events of one object, newest first; None if they were not requested or are not available."""
        found = self.evidence.get(Want("events", resource, uid))
        return tuple(found) if found is not None else None

    def peers(self) -> Iterator[tuple[AppRef, Resource]]:
        """The objects of other applications that rules asked for, each with its application."""
        for want, found in self.evidence.items():
            if want.kind == "peer" and want.app and isinstance(found, Resource):
                yield want.app, found

    def with_evidence(self, found: Mapping[Want, Any]) -> App:
        """This application with more evidence. Derived values are kept: none of them depends on evidence."""
        richer = replace(self, evidence={**self.evidence, **found})
        fields = self.__dataclass_fields__
        richer.__dict__.update({name: value for name, value in self.__dict__.items() if name not in fields})
        return richer

    def with_states(self, managed: Sequence[ManagedResource] | None, tree: Tree | None) -> App:
        """This application with the answers of managed-resources and resource-tree; either may be missing."""
        tree = tree or Tree()
        nodes = {(n.group, n.kind, n.namespace, n.name): n for n in tree.nodes or ()}
        states = {(m.group, m.kind, m.namespace, m.name): m for m in managed or ()}
        known = self.desired_known
        both = []
        for r in self.resources:
            key = (r.id.group, r.id.kind, r.id.namespace, r.id.name)
            both.append(with_states(r, states.pop(key, None), nodes.get(key), known))
        for key, state in states.items():  # not in the list (yet)
            listed = Resource(ResourceId(*key, "", self.cluster), hook=state.hook)
            both.append(with_states(listed, state, nodes.get(key), known))
        return replace(self, resources=tuple(both), tree=tree, read=True)


def _mentioning(
    app: App, what: str | re.Pattern[str], side: Literal["either", "desired", "live"]
) -> tuple[Resource, ...]:
    return tuple(r for r in app.stated if r.mentions(what, side))


def _with_pods(app: App, side: Literal["either", "desired"]) -> tuple[Resource, ...]:
    return tuple(r for r in app.stated if r.may_have_pods(side))


def sources_of(spec: Object) -> tuple[Object, ...]:
    """See App.sources."""
    dry = mapping(spec, "sourceHydrator", "drySource")
    if dry:
        return (dry,)
    one = mapping(spec, "source")
    return maps(spec, "sources") or ((one,) if one else ())


def app_from_list(
    listed: Entry | Object, *, server: str, cluster: str, control_plane: str, observed_at: datetime
) -> App:
    """An Application of the list answer; `cluster`: the canonical URL of its destination."""
    entry = listed if isinstance(listed, Entry) else Entry(listed)
    brief = entry.brief
    namespace = text_at(brief, "metadata", "namespace") or control_plane
    ref = AppRef(namespace, text_at(brief, "metadata", "name"), text_at(brief, "spec", "project") or "default", server)
    resources = Listed(entry.rows, cluster)
    return App(ref, entry.trimmed(), cluster, observed_at, resources, control_plane=control_plane)
