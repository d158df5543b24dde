"""One Application and its objects, as the server's answers tell it: what a rule looks at.

An `App` is made from the list call alone; reading its states (managed-resources and resource-tree) gives a richer one
through `App.with_states`. Objects are decoded when a rule asks for them, and never before.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, Literal, TypeVar, cast, overload

import msgspec
from msgspec import structs

from argolint.comparison import diff
from argolint.decoding import json_value, kind_of
from argolint.errors import UnreadableStateError
from argolint.kubernetes import wave
from argolint.model import AppRef, Change, Json, Object, ResourceId, ResourceKey, Symptom, Want
from argolint.values import below, dig, items, mapping, maps, number_at, parse_time, real_time, text_at, texts

T = TypeVar("T")

State = str | Mapping[str, Json] | None
"""An object as the server sends it: a JSON string (`"null"` = absent), or decoded, or not known."""

BLINDING = ("ComparisonError", "InvalidSpecError", "UnknownError")
"""Conditions under which the desired state is unknown: the server answers `targetState: "null"` for everything."""


class Health(msgspec.Struct, frozen=True, gc=False):
    """status: Healthy, Suspended, Progressing, Missing, Degraded, Unknown; empty when Argo CD has no check for the kind."""

    status: str = ""
    message: str = ""


_NO_HEALTH = Health()
_COMPARED = frozenset(("Synced", "OutOfSync"))


@dataclass(frozen=True, slots=True)
class Condition:
    type: str
    message: str
    since: datetime | None = None

    @property
    def is_error(self) -> bool:
        return self.type.endswith("Error")

    @property
    def of_health(self) -> bool:
        """A health check that fails is told as a ComparisonError as well, after the comparison (controller/state.go)."""
        return self.type == "ComparisonError" and self.message.startswith("error setting app health: ")

    def judges(self, resource: ResourceId) -> bool:
        """True when it is the failed health check of this object (controller/health.go)."""
        return self.of_health and f'for "{resource.kind}" with name "{resource.name}"' in self.message

    @property
    def symptom(self) -> Symptom:
        return Symptom.condition(self.type, self.message)


@dataclass(frozen=True, slots=True)
class Event:
    """A Kubernetes Event, kept by the cluster for about an hour."""

    type: str
    reason: str
    message: str
    count: int = 1
    first: datetime | None = None
    last: datetime | None = None
    object_uid: str = ""


@dataclass(frozen=True, slots=True)
class Awaited:
    """What a running operation waits for. `reason`: healthy state of, completion of hook, deletion of, pruning confirmation of."""

    reason: str
    group: str
    kind: str
    name: str
    others: int = 0

    def is_(self, resource: ResourceId) -> bool:
        """True for an object of this group, kind and name; the message tells no namespace."""
        return (resource.group, resource.kind, resource.name) == (self.group, self.kind, self.name)


_AWAITED = re.compile(
    r"waiting for (healthy state of|completion of hook|deletion of|pruning confirmation of) ([^/\s]*)/([^/\s]+)/(\S+)"
    r"(?: and (\d{1,9}) more)?"
)


@dataclass(frozen=True, slots=True)
class Operation:
    """status.operationState: the last or running sync."""

    phase: str
    message: str
    started_at: datetime | None
    finished_at: datetime | None
    retry_count: int
    raw: Object

    @property
    def revisions(self) -> tuple[str, ...]:
        """The revisions that the sync result names, else the requested ones."""
        result, asked = mapping(self.raw, "syncResult"), mapping(self.raw, "operation", "sync")
        one = text_at(result, "revision") or text_at(asked, "revision")
        return texts(result, "revisions") or texts(asked, "revisions") or ((one,) if one else ())

    @property
    def results(self) -> tuple[Object, ...]:
        """syncResult.resources: group, version, kind, namespace, name, status, message, hookType, hookPhase, syncPhase."""
        return maps(self.raw, "syncResult", "resources")

    @property
    def hook_failed(self) -> bool:
        """True when a hook of this operation ended badly."""
        return any(r.get("hookType") and r.get("hookPhase") in ("Failed", "Error") for r in self.results)

    @property
    def turned_degraded(self) -> tuple[Object, ...]:
        """Results of objects that were applied and then found Degraded, which fails a sync as well; hooks are not among them.

        gitops-engine/pkg/sync/sync_context.go, Sync: `status` stays Synced, `hookPhase` is Failed, `message` tells the health.
        """
        return tuple(
            r
            for r in self.results
            if r.get("hookPhase") == "Failed" and not r.get("hookType") and r.get("status") != "SyncFailed"
        )

    @property
    def automated(self) -> bool:
        return bool(dig(self.raw, "operation", "initiatedBy", "automated"))

    @property
    def self_heal_attempts(self) -> int:
        return number_at(self.raw, "operation", "sync", "autoHealAttemptsCount")

    @property
    def waiting_to_retry(self) -> bool:
        """Running with finishedAt set means the controller waits before the next attempt (controller/appcontroller.go)."""
        return self.phase == "Running" and self.finished_at is not None

    @property
    def failed(self) -> bool:
        """The last attempt failed, whether or not another one is planned."""
        return self.phase in ("Failed", "Error") or self.waiting_to_retry

    @property
    def awaited(self) -> Awaited | None:
        """What the running operation says that it waits for (gitops-engine/pkg/sync/sync_context.go)."""
        found = _AWAITED.search(self.message) if self.phase == "Running" and not self.waiting_to_retry else None
        return Awaited(found[1], found[2], found[3], found[4], int(found[5] or 0)) if found else None


class Owner(msgspec.Struct, frozen=True, gc=False):
    """An owner reference of an object in the resource tree."""

    group: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class Node(msgspec.Struct, frozen=True, gc=False):
    """One object of the resource tree. `info` are the lines that Argo CD shows of it, such as a pod's `Status Reason`."""

    id: ResourceId
    uid: str
    owners: tuple[Owner, ...]
    health: Health
    created_at: datetime | None
    images: tuple[str, ...]
    info: Mapping[str, str]
    orphaned: bool = False


class _Info(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    value: str = ""


class _TreeNode(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """One node of resource-tree (Argo CD's ResourceNode)."""

    kind: str = ""
    name: str = ""
    group: str = ""
    version: str = ""
    namespace: str = ""
    uid: str = ""
    parent_refs: tuple[Owner, ...] | None = None
    health: Health | None = None
    created_at: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    images: tuple[str, ...] | None = None
    info: tuple[_Info, ...] | None = None


class Tree(msgspec.Struct, rename="camel", frozen=True):
    """The answer of resource-tree (Argo CD's ApplicationTree)."""

    nodes: tuple[_TreeNode, ...] | None = None
    orphaned_nodes: tuple[_TreeNode, ...] | None = None


class ManagedResource(msgspec.Struct, rename="camel", frozen=True):
    """One item of managed-resources (Argo CD's ResourceDiff). States are JSON text; `"null"` is an absent object."""

    kind: str
    name: str
    group: str = ""
    namespace: str = ""
    target_state: str | None = None
    live_state: str | None = None
    normalized_live_state: str | None = None
    predicted_live_state: str | None = None
    modified: bool = False
    hook: bool = False


class Resource(msgspec.Struct, frozen=True, dict=True):
    """One object that the Application manages.

    status          Synced, OutOfSync, Unknown or empty (hooks, skipped)
    desired, live   decoded states; None when absent or not known (`desired_known`, `live_known` tell which)
    normalized, predicted   what Argo CD compares: the normalised live state and the live state a sync would leave
    pending         differences that the next sync of a change not merged yet will write: no symptom, set by the gate alone
    answered        pointers of differences that a rule of higher rank explains: `changes` leaves them out, set by the engine alone
    """

    id: ResourceId
    status: str = ""
    health: Health = Health()
    hook: bool = False
    requires_pruning: bool = False
    sync_wave: int = 0
    modified: bool = False
    desired_state: State = None
    live_state: State = None
    normalized_state: State = None
    predicted_state: State = None
    desired_known: bool = False
    live_known: bool = False
    uid: str = ""
    created_at: datetime | None = None
    pending: tuple[Change, ...] = ()
    answered: tuple[str, ...] = ()

    @cached_property
    def key(self) -> ResourceKey:
        return self.id.key

    @property
    def kind(self) -> str:
        return self.id.kind

    @property
    def group(self) -> str:
        return self.id.group

    @property
    def namespace(self) -> str:
        return self.id.namespace

    @property
    def name(self) -> str:
        return self.id.name

    @cached_property
    def desired(self) -> Object | None:
        return _decode(self.desired_state, self.id) if self.desired_known else None

    @cached_property
    def live(self) -> Object | None:
        return _decode(self.live_state, self.id) if self.live_known else None

    @cached_property
    def normalized(self) -> Object | None:
        return _decode(self.normalized_state, self.id)

    @cached_property
    def predicted(self) -> Object | None:
        return _decode(self.predicted_state, self.id)

    @property
    def wave(self) -> int:
        """The sync wave: of the manifest where it is known, else as the list says (controller/state.go, SyncWave)."""
        return self.sync_wave if self.desired is None else wave(self.desired)

    @property
    def any(self) -> Object:
        """The desired object, else the live one, else nothing."""
        return self.desired or self.live or {}

    def mentions(self, text: str, side: Literal["either", "desired", "live"] = "either") -> bool:
        """True when a state holds this text as JSON: a cheap look before decoding a fleet of objects."""
        return (side != "live" and text in _text(self.desired_state)) or (
            side != "desired" and text in _text(self.live_state)
        )

    @property
    def claimed(self) -> bool:
        """The list shows it as wanted by its application: compared (so neither hook nor skipped) and not to be pruned."""
        return self.status in _COMPARED and not (self.hook or self.requires_pruning)

    @property
    def missing(self) -> bool:
        """Desired and known not to be live."""
        return self.desired_known and self.live_known and _absent(self.live_state) and not _absent(self.desired_state)

    @property
    def extra(self) -> bool:
        """Live, and known not to be desired."""
        return self.desired_known and self.live_known and _absent(self.desired_state) and not _absent(self.live_state)

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """What Argo CD shows as different between this object's two present sides, sorted by pointer."""
        if not (self.modified and self.desired_known) or _absent(self.live_state) or _absent(self.desired_state):
            return ()
        if self.normalized_state == self.predicted_state:
            return ()
        found = diff.changes(self.predicted or {}, self.normalized or {}, self.live)
        return tuple(c for c in found if not self._is_answered(c)) if self.answered else found

    def _is_answered(self, change: Change) -> bool:
        return any(below(change.pointer, place) for place in self.answered)


class Row(msgspec.Struct, frozen=True, gc=False):
    """One object of the list answer, as small as it can be had: its texts are shared among all rows, names aside."""

    group: str
    kind: str
    namespace: str
    name: str
    version: str
    status: str
    health: Health
    hook: bool
    requires_pruning: bool
    sync_wave: int

    @property
    def claimed(self) -> bool:
        """See Resource.claimed."""
        return self.status in _COMPARED and not (self.hook or self.requires_pruning)


class Listed(Sequence[Resource]):
    """The objects of a list entry, each made a Resource when it is looked at: a fleet has a million of them.

    Whoever looks often makes a tuple of it; the engine does so for the application that it examines.
    """

    __slots__ = ("cluster", "rows")

    def __init__(self, rows: tuple[Row, ...], cluster: str) -> None:
        self.rows = rows
        self.cluster = cluster

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Resource: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Resource]: ...

    def __getitem__(self, index: int | slice) -> Resource | Sequence[Resource]:
        if isinstance(index, slice):
            return tuple(_listed(row, self.cluster) for row in self.rows[index])
        return _listed(self.rows[index], self.cluster)

    def find(self, key: ResourceKey) -> Resource | None:
        """The object of that identity."""
        wanted = key[1:]
        for row in self.rows if key.cluster == self.cluster else ():
            if row.name == key.name and (row.group, row.kind, row.namespace, row.name) == wanted:
                return _listed(row, self.cluster)
        return None

    def __iter__(self) -> Iterator[Resource]:
        return (_listed(row, self.cluster) for row in self.rows)


def _listed(row: Row, cluster: str) -> Resource:
    return Resource(
        ResourceId(row.group, row.kind, row.namespace, row.name, row.version, cluster),
        status=row.status,
        health=row.health,
        hook=row.hook,
        requires_pruning=row.requires_pruning,
        sync_wave=row.sync_wave,
    )


@dataclass(frozen=True)
class App:
    """One Application as rules see it. `raw` is the Application object of the server's list, `control_plane` the namespace of
    Argo CD itself as the server tells it."""

    ref: AppRef
    raw: Object
    cluster: str
    observed_at: datetime
    resources: Sequence[Resource] = ()
    tree: Tree = field(default_factory=Tree)
    read: bool = False
    evidence: Mapping[Want, Any] = field(default_factory=dict)
    control_plane: str = "argocd"
    _derived: dict[object, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def derive(self, function: Callable[[App], T]) -> T:
        """What the function makes of this application, made once however many rules ask. It must be pure, and have a name."""
        if function not in self._derived:
            self._derived[function] = function(self)
        return cast("T", self._derived[function])

    @property
    def spec(self) -> Object:
        return mapping(self.raw, "spec")

    @property
    def status(self) -> Object:
        return mapping(self.raw, "status")

    @property
    def name(self) -> str:
        return self.ref.name

    @property
    def destination_namespace(self) -> str:
        return text_at(self.spec, "destination", "namespace")

    @cached_property
    def sources(self) -> tuple[Object, ...]:
        """sourceHydrator's dry source, else spec.sources, else spec.source: the order of Argo CD itself."""
        dry = mapping(self.spec, "sourceHydrator", "drySource")
        if dry:
            return (dry,)
        one = mapping(self.spec, "source")
        return maps(self.spec, "sources") or ((one,) if one else ())

    @property
    def sync_status(self) -> str:
        return text_at(self.status, "sync", "status")

    @cached_property
    def revisions(self) -> tuple[str, ...]:
        """The revisions that Argo CD compares with, one a source."""
        one = text_at(self.status, "sync", "revision")
        return texts(self.status, "sync", "revisions") or ((one,) if one else ())

    @property
    def health(self) -> Health:
        return _health(self.status)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        return tuple(
            Condition(text_at(c, "type"), text_at(c, "message"), parse_time(c.get("lastTransitionTime")))
            for c in maps(self.status, "conditions")
        )

    @cached_property
    def desired_known(self) -> bool:
        """False under a condition that keeps Argo CD from rendering or comparing."""
        return not any(c.type in BLINDING and not c.of_health for c in self.conditions)

    @property
    def rows(self) -> Sequence[Row] | Sequence[Resource]:
        """The objects for those who only count or compare identities: nothing is made for it."""
        return self.resources.rows if isinstance(self.resources, Listed) else self.resources

    @property
    def deleting(self) -> bool:
        """A deletion was asked for; Argo CD no longer refreshes the application's status."""
        return bool(dig(self.raw, "metadata", "deletionTimestamp"))

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

    def awaits(self, resource: ResourceId) -> bool:
        """True when the running operation goes on only after this object."""
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
        text = text_at(self.raw, "metadata", "annotations", "argocd.argoproj.io/compare-options")
        return frozenset(option.strip() for option in text.split(",") if option.strip())

    @property
    def instance(self) -> str:
        """The name in tracking data: `name` in the control plane, `<namespace>_<name>` elsewhere."""
        control_plane = text_at(self.status, "controllerNamespace") or self.control_plane
        return self.ref.name if self.ref.namespace == control_plane else f"{self.ref.namespace}_{self.ref.name}"

    def of_kind(self, kind: str, group: str | None = None) -> Iterator[Resource]:
        """Managed objects of a kind; `group` is exact when given (core is the empty string)."""
        return (r for r in self._by_kind.get(kind, ()) if group is None or r.id.group == group)

    @cached_property
    def _by_kind(self) -> Mapping[str, Sequence[Resource]]:
        found: dict[str, list[Resource]] = {}
        for r in self.resources:
            found.setdefault(r.id.kind, []).append(r)
        return found

    @cached_property
    def groups(self) -> frozenset[str]:
        """The API groups of the managed objects; core is the empty string."""
        return frozenset(r.id.group for r in self.resources)

    @cached_property
    def changed(self) -> tuple[Resource, ...]:
        """The objects that Argo CD shows as different: those with `changes`."""
        return tuple(r for r in self.resources if r.modified and r.changes)

    @cached_property
    def missing(self) -> tuple[Resource, ...]:
        """The objects that are desired and known not to be live, hooks aside."""
        return tuple(r for r in self.resources if r.missing and not r.hook)

    @cached_property
    def extra(self) -> tuple[Resource, ...]:
        """The objects that are live and known not to be desired, hooks aside."""
        return tuple(r for r in self.resources if r.extra and not r.hook)

    @cached_property
    def _by_key(self) -> Mapping[ResourceKey, Resource]:
        return {r.key: r for r in self.resources}

    def resource(self, key: ResourceKey) -> Resource | None:
        """The managed object of that identity."""
        return self.resources.find(key) if isinstance(self.resources, Listed) else self._by_key.get(key)

    def find(self, group: str, kind: str, namespace: str, name: str) -> Resource | None:
        """A managed object of this application on its own cluster."""
        return self.resource(ResourceKey(self.cluster, group, kind, namespace, name))

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every object of the resource tree, the orphaned ones last; empty until the application is read."""
        return (
            *(_node(n, self.cluster, orphaned=False) for n in self.tree.nodes or ()),
            *(_node(n, self.cluster, orphaned=True) for n in self.tree.orphaned_nodes or ()),
        )

    def nodes_of(self, kind: str, group: str) -> Iterator[Node]:
        """The objects of one kind; in a tree without any, no node is made."""
        if any(n.kind == kind for n in self.tree.nodes or ()):
            yield from (n for n in self.nodes if (n.id.group, n.id.kind) == (group, kind))

    @cached_property
    def _nodes_by_uid(self) -> Mapping[str, Node]:
        return {n.uid: n for n in self.nodes if n.uid}

    def node(self, resource: ResourceId) -> Node | None:
        return next((n for n in self.nodes if n.id.key == resource.key), None)

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
        """Everything below, parents before their children; each object once, whatever the owner references say."""
        seen = {uid}
        below = [*reversed(self.children(uid))]
        while below:
            node = below.pop()
            if not node.uid or node.uid not in seen:
                seen.add(node.uid)
                yield node
                below += reversed(self.children(node.uid))

    def root(self, node: Node) -> Node:
        """The topmost ancestor of a node: as a rule the object that the application manages."""
        seen = {node.uid}
        while parent := next((self._nodes_by_uid[o.uid] for o in node.owners if o.uid in self._nodes_by_uid), None):
            if parent.uid in seen:
                break
            seen.add(parent.uid)
            node = parent
        return node

    def events(self, resource: ResourceId, uid: str = "") -> tuple[Event, ...] | None:
        """Events of one object, newest first; None when they were not asked for or cannot be had."""
        found = next(
            (v for w, v in self.evidence.items() if w.kind == "events" and w.resource == resource and w.uid == uid),
            None,
        )
        return tuple(found) if found is not None else None

    def with_states(self, managed: Sequence[ManagedResource] | None, tree: Tree | None) -> App:
        """This application with the answers of managed-resources and resource-tree, either of which may lack."""
        tree = tree or Tree()
        nodes = {(n.group, n.kind, n.namespace, n.name): n for n in tree.nodes or ()}
        states = {(m.group, m.kind, m.namespace, m.name): m for m in managed or ()}
        known = self.desired_known
        merged = []
        for r in self.resources:
            key = (r.id.group, r.id.kind, r.id.namespace, r.id.name)
            merged.append(_merge(r, states.pop(key, None), nodes.get(key), known))
        for key, state in states.items():  # what the list does not tell (yet)
            listed = Resource(ResourceId(*key, "", self.cluster), hook=state.hook)
            merged.append(_merge(listed, state, nodes.get(key), known))
        return replace(self, resources=tuple(merged), tree=tree, read=True)


def app_from_list(raw: Object, *, server: str, cluster: str, control_plane: str, observed_at: datetime) -> App:
    """An Application of the list answer; `cluster` is the canonical URL of its destination."""
    namespace = text_at(raw, "metadata", "namespace") or control_plane
    ref = AppRef(namespace, text_at(raw, "metadata", "name"), text_at(raw, "spec", "project") or "default", server)
    rows = tuple(_row(r) for r in maps(raw, "status", "resources"))
    status = {k: v for k, v in mapping(raw, "status").items() if k != "resources"}
    resources = Listed(rows, cluster)
    return App(ref, {**raw, "status": status}, cluster, observed_at, resources, control_plane=control_plane)


_TEXTS = ("group", "kind", "namespace", "name", "version", "status")


def _row(raw: Object) -> Row:
    group, kind, namespace, name, version, status = (
        found if type(found := raw.get(field)) is str else "" for field in _TEXTS
    )
    return Row(
        sys.intern(group),
        sys.intern(kind),
        sys.intern(namespace),
        name,
        sys.intern(version),
        sys.intern(status),
        _health(raw),
        bool(raw.get("hook")),
        bool(raw.get("requiresPruning")),
        number_at(raw, "syncWave"),
    )


def _health(raw: Object) -> Health:
    found = mapping(raw, "health")
    return Health(text_at(found, "status"), text_at(found, "message")) if found else _NO_HEALTH


def _merge(r: Resource, state: ManagedResource | None, node: _TreeNode | None, desired_known: bool) -> Resource:
    """The listed object with its states and its node; made in one go, since a fleet has hundreds of thousands of them."""
    id_, health, uid, created_at = r.id, r.health, "", None
    if node is not None:
        uid, created_at = node.uid, real_time(node.created_at)
        if not id_.version:
            id_ = structs.replace(id_, version=node.version)
        if not health.status:
            health = node.health or _NO_HEALTH
    if state is None:
        return structs.replace(r, id=id_, health=health, uid=uid, created_at=created_at)
    return Resource(
        id_,
        r.status,
        health,
        r.hook,
        r.requires_pruning,
        r.sync_wave,
        state.modified,
        state.target_state,
        state.live_state,
        state.normalized_live_state,
        state.predicted_live_state,
        desired_known,
        True,
        uid,
        created_at,
    )


def _node(raw: _TreeNode, cluster: str, *, orphaned: bool) -> Node:
    return Node(
        ResourceId(raw.group, raw.kind, raw.namespace, raw.name, raw.version, cluster),
        raw.uid,
        raw.parent_refs or (),
        raw.health or _NO_HEALTH,
        real_time(raw.created_at),
        raw.images or (),
        {line.name: line.value for line in raw.info or ()},
        orphaned,
    )


def _text(state: State) -> str:
    return state if isinstance(state, str) else msgspec.json.encode(state).decode() if state else ""


def _absent(state: State) -> bool:
    return state is None or state in ("", "null")


def _decode(state: State, resource: ResourceId) -> Object | None:
    if not isinstance(state, str):
        return state or None
    try:
        found = json_value(state) if state else None
    except msgspec.MsgspecError as error:
        raise UnreadableStateError(f"the server's state of {resource} cannot be decoded: {error}", _REFRESH) from None
    if found is not None and not isinstance(found, dict):
        raise UnreadableStateError(f"the server's state of {resource} is {kind_of(found)} and no object", _REFRESH)
    return found or None


_REFRESH = "refresh the application (`argocd app get APP --refresh`); if it stays, a proxy may be altering responses"
