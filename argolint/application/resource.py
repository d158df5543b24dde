"""The objects of one Application: desired and live states, differences, and the nodes of the resource tree.

An object is decoded only when a rule reads it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal, TypeVar, overload

import msgspec
from msgspec import structs

from argolint.comparison import diff
from argolint.errors import UnreadableStateError
from argolint.host.timing import charged
from argolint.model import Change, Json, Object, ResourceId, ResourceKey
from argolint.values import at_and_above, number_at, real_time, text_at
from argolint.values.decoding import decoder, kind_of, object_value
from argolint.values.kubernetes import PODS, wave
from argolint.values.memo import by_identity

T = TypeVar("T")


State = str | Mapping[str, Json] | None
"""An object as the server sends it: a JSON string (`"null"` = absent), or decoded, or not known."""


class Health(msgspec.Struct, frozen=True, gc=False):
    """status: Healthy, Suspended, Progressing, Missing, Degraded, Unknown; empty if Argo CD has no check for the kind."""

    status: str = ""
    message: str = ""


_NO_HEALTH = Health()


_COMPARED = frozenset(("Synced", "OutOfSync"))


class Owner(msgspec.Struct, frozen=True, gc=False):
    """An owner reference of an object in the resource tree."""

    group: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class Node(msgspec.Struct, frozen=True, gc=False):
    """One object of the resource tree. `info`: the lines that Argo CD shows for it, such as a pod's `Status Reason`; `labels`: a pod's
    labels, since the tree has none for other kinds.
    """

    id: ResourceId
    uid: str
    owners: tuple[Owner, ...]
    health: Health
    created_at: datetime | None
    images: tuple[str, ...]
    info: Mapping[str, str]
    orphaned: bool = False
    labels: Mapping[str, str] = {}


class _Info(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    value: str = ""


class _Networking(msgspec.Struct, frozen=True, gc=False):
    labels: dict[str, str] | None = None


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
    networking_info: _Networking | None = None


class Tree(msgspec.Struct, rename="camel", frozen=True):
    """The answer of resource-tree (Argo CD's ApplicationTree)."""

    nodes: tuple[_TreeNode, ...] | None = None
    orphaned_nodes: tuple[_TreeNode, ...] | None = None


class ManagedResource(msgspec.Struct, rename="camel", frozen=True):
    """One item of managed-resources (Argo CD's ResourceDiff). States are JSON text; `"null"` is an absent object."""

    kind: str
    name: str = ""
    """Empty for an object with metadata.generateName alone."""
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
    desired, live   decoded states; None if absent or unknown (see `desired_known`, `live_known`)
    normalized, predicted   what Argo CD compares: the normalized live state and the live state after a sync
    pending         differences that the sync of an unmerged change will end: no symptom, set by the gate only
    answered        pointers of differences that a rule of higher rank explains: not in `changes`, set by the engine only
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

    def derive(self, function: Callable[[Resource], T]) -> T:
        """The function's result for this object, computed once: an application after a fix has the same objects, except those that change.

        It must be pure, have a name, and not hold the object: a cycle stays in memory. See App.derive, which computes again after a fix.
        """
        known: dict[Callable[[Resource], Any], Any] = self.__dict__.setdefault("_derived", {})
        if function not in known:
            known[function] = function(self)
        made: T = known[function]
        return made

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
    def as_compared(self) -> Resource:
        """The object with the manifest of a failed comparison: Argo CD keeps the manifest, though its verdicts are void."""
        return msgspec.structs.replace(self, desired_known=True)

    def with_live(self, live: Object) -> Resource:
        """The object with a live state that was read apart."""
        return msgspec.structs.replace(self, live_state=live, live_known=True)

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
    def compared(self) -> bool:
        """Argo CD has compared its sides."""
        return not _is_absent(self.normalized_state)

    @property
    def wave(self) -> int:
        """The sync wave: from the manifest if known, else from the list (controller/state.go, SyncWave)."""
        return self.sync_wave if self.desired is None else wave(self.desired)

    @property
    def any(self) -> Object:
        """The desired object, else the live one, else nothing."""
        return self.desired or self.live or {}

    def mentions(self, what: str | re.Pattern[str], side: Literal["either", "desired", "live"] = "either") -> bool:
        """True if a state as JSON contains this text, or a match of the pattern: a cheap test before decoding many objects.

        The answer is remembered, since five looks for a text take as long as decoding it; see App.mentioning.
        """
        if side == "either":
            return self.mentions(what, "desired") or self.mentions(what, "live")
        known: dict[tuple[str | re.Pattern[str], str], bool] = self.__dict__.setdefault("_mentions", {})
        found = known.get((what, side))
        if found is None:
            state = self.desired_state if side == "desired" else self.live_state
            found = known[what, side] = _contains(state, what)
        return found

    def may_have_pods(self, side: Literal["either", "desired"] = "either") -> bool:
        """Whether a state may hold a pod spec: none of a CRD, whose schema has every word and which is among the largest objects."""
        return self.kind != "CustomResourceDefinition" and self.mentions(PODS, side)

    @property
    def claimed(self) -> bool:
        """The list shows that its application wants it: compared (so neither hook nor skipped) and not to be pruned."""
        return self.status in _COMPARED and not (self.hook or self.requires_pruning)

    @property
    def absent(self) -> bool:
        """Not live, or not known to be; `live` is None, without decoding it."""
        return not self.live_known or _is_absent(self.live_state)

    @property
    def missing(self) -> bool:
        """Desired and certainly not live."""
        return (
            self.desired_known
            and self.live_known
            and _is_absent(self.live_state)
            and not _is_absent(self.desired_state)
        )

    @property
    def extra(self) -> bool:
        """Live and certainly not desired."""
        return (
            self.desired_known
            and self.live_known
            and _is_absent(self.desired_state)
            and not _is_absent(self.live_state)
        )

    @property
    def uncompared(self) -> bool:
        """Desired and live, with an empty verdict: a comparison of the application failed, and Argo CD remembers nothing else."""
        there = self.desired_known and not (self.absent or _is_absent(self.desired_state))
        return there and (self.normalized_state, self.predicted_state) in (("{}", "{}"), ({}, {}))

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """The differences that Argo CD shows between desired and live, if both exist, sorted by pointer."""
        if not (self.modified and self.desired_known) or _is_absent(self.live_state) or _is_absent(self.desired_state):
            return ()
        if self.normalized_state == self.predicted_state:
            return ()
        with charged("compare"):
            found = diff.changes(self.predicted or {}, self.normalized or {}, self.live)
        if not self.answered:
            return found
        places = frozenset(self.answered)
        return tuple(c for c in found if not any(place in places for place in at_and_above(c.pointer)))


class Row(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """One object of the list answer (Argo CD's ResourceStatus), in little memory: all rows share texts, except names."""

    group: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    version: str = ""
    status: str = ""
    health: Health = _NO_HEALTH
    hook: bool = False
    requires_pruning: bool = False
    sync_wave: int = 0

    @property
    def claimed(self) -> bool:
        """See Resource.claimed."""
        return self.status in _COMPARED and not (self.hook or self.requires_pruning)


class Listed(Sequence[Resource]):
    """The objects of a list entry; each becomes a Resource when it is read, since a fleet has a million.

    For many reads make a tuple of it; the engine does so for the examined application.
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


_TEXTS = ("group", "kind", "namespace", "name", "version", "status")


def listed_row(raw: Object) -> Row:
    """A row of `status.resources`; values that are no text count as empty. A fleet has a million of them."""
    get = raw.get
    name = get("name", "")
    try:
        return Row(
            _interned(get("group", "")),
            _interned(get("kind", "")),
            _interned(get("namespace", "")),
            name if type(name) is str else "",
            _interned(get("version", "")),
            _interned(get("status", "")),
            health_of(raw),
            bool(get("hook")),
            bool(get("requiresPruning")),
            number_at(raw, "syncWave") if "syncWave" in raw else 0,
        )
    except TypeError:  # of a field that is no text
        return listed_row({**raw, **{field: "" for field in _TEXTS if type(get(field)) is not str}})


_interned = sys.intern
_decoded_rows = decoder(tuple[Row, ...])


def listed_rows(text: bytes) -> tuple[Row, ...]:
    """The rows of `status.resources`, without anything that no row holds. Raises msgspec.MsgspecError if a value has another type."""
    found = () if text == b"null" else _decoded_rows(text)
    for row in found:
        for field in _TEXTS:
            if field != "name":
                structs.force_setattr(row, field, _interned(getattr(row, field)))
        if row.health is not _NO_HEALTH and not row.health.message:
            structs.force_setattr(row, "health", _plain_health(row.health.status))
    return found


def health_of(raw: Object) -> Health:
    """`health` of a status or a row; empty if there is none."""
    found = raw.get("health")
    if not found or not isinstance(found, dict):
        return _NO_HEALTH
    status, message = text_at(found, "status"), text_at(found, "message")
    return Health(status, message) if message else _plain_health(status)


@lru_cache(maxsize=64)
def _plain_health(status: str) -> Health:
    return Health(status)


def with_states(r: Resource, state: ManagedResource | None, node: _TreeNode | None, desired_known: bool) -> Resource:
    """The listed object with its states and its node; created in one step, since a fleet has hundreds of thousands."""
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


def tree_node(raw: _TreeNode, cluster: str, *, orphaned: bool) -> Node:
    """A node of the resource tree; `orphaned` ones belong to no Application."""
    return Node(
        ResourceId(raw.group, raw.kind, raw.namespace, raw.name, raw.version, cluster),
        raw.uid,
        raw.parent_refs or (),
        raw.health or _NO_HEALTH,
        real_time(raw.created_at),
        raw.images or (),
        {line.name: line.value for line in raw.info or ()},
        orphaned,
        (raw.networking_info and raw.networking_info.labels) or {},
    )


def _contains(state: State, what: str | re.Pattern[str]) -> bool:
    text = state if isinstance(state, str) else _json_text(state) if state else ""
    return what in text if isinstance(what, str) else what.search(text) is not None


@by_identity(16)
def _json_text(state: Object) -> str:
    return msgspec.json.encode(state).decode()


def _is_absent(state: State) -> bool:
    return not state or state == "null"


_REFRESH = "refresh the application (`argocd app get APP --refresh`); if it stays, a proxy may be altering responses"


def _decode(state: State, resource: ResourceId) -> Object | None:
    if not isinstance(state, str):
        return state or None
    try:
        with charged("decode"):
            found = object_value(state) if state else None
    except msgspec.MsgspecError as error:
        raise UnreadableStateError(f"the server's state of {resource} cannot be decoded: {error}", _REFRESH) from None
    if found is not None and not isinstance(found, dict):
        raise UnreadableStateError(f"the server's state of {resource} is {kind_of(found)} and no object", _REFRESH)
    return found or None
