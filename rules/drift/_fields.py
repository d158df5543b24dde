"""Findings on changed fields of one object: their place, evidence and edits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from argolint import (
    MISSING,
    App,
    Change,
    Finding,
    Fix,
    Json,
    Location,
    Related,
    Resource,
    ResourceKey,
    Symptom,
    narrowest_ignore,
)
from argolint.application.applied import applied_value, by_argocd, last_applied, shown_with_another
from argolint.comparison import TRACKING_ID
from argolint.redaction import HIDDEN, show
from argolint.values import (
    at_and_above,
    below,
    common_pointer,
    enumerated,
    get,
    index_of,
    join_pointer,
    mapping,
    split_pointer,
)
from argolint.values.kubernetes import ITEM_NAMES

from ._edits import manifest_path, removal_fix, write_live_fix, written_paths
from ._grammar import is_reordered_list


class Drift(NamedTuple):
    """Differences of one object with one cause."""

    app: App
    resource: Resource
    changes: tuple[Change, ...]

    @property
    def pointers(self) -> tuple[str, ...]:
        """The places of the differences."""
        return pointers(self.changes)

    def places(self, noun: str = "field") -> str:
        """Their pointers for a sentence."""
        return pointers_text(self.changes, noun)

    def ignore(self) -> Fix:
        """The Application edit that ignores exactly these fields."""
        return narrowest_ignore(self.app, self.resource, self.pointers)

    def ignore_in_all(self) -> Fix:
        """The edit that ignores these fields in every object of the kind."""
        return narrowest_ignore(self.app, self.resource, self.pointers, named=False)

    def write_live(self, title: str, caveat: str = "") -> Fix | None:
        """See `write_live_fix`."""
        return write_live_fix(self.app, self.resource, self.changes, title, caveat)

    def write_order(self) -> Fix | None:
        """The manifest edit that sorts lists with the same items into the live order."""
        plural = "s" if len(self.changes) > 1 else ""
        title = f"Write the list{plural} in Git in the live order"
        return self.write_live(title, "check first that the order means nothing")

    def drop(self, title: str, caveat: str = "") -> Fix | None:
        """The manifest edit that removes these fields; None if one of them is missing there."""
        paths = written_paths(self.resource, self.changes)
        return None if paths is None else removal_fix(self.app, self.resource, paths, title, caveat)

    def finding(
        self,
        message: str,
        *,
        pointer: str = "",
        fixes: Iterable[Fix | None] = (),
        evidence: Iterable[str] = (),
        others: Sequence[Drift] = (),
        related: Iterable[Related] = (),
        **more: Any,
    ) -> Finding:
        """One finding that explains all of them, at `pointer` or their common place.

        `fixes` may hold None for edits that cannot be written; `others` are the same differences of more objects.
        """
        app, resource, changes = self
        left = len(changes) - _LINES
        echoes = app.derive(_echoes).get(resource.key, {})
        with_them = sorted(
            p
            for p, place in echoes.items()
            if p not in self.pointers and any(below(change.pointer, place) for change in changes)
        )
        return Finding(
            message=message,
            at=Location(app.ref, resource.id, pointer or common_pointer(self.pointers) or changes[0].pointer),
            evidence=(
                *(change_line(change, resource) for change in changes[:_LINES]),
                *((f"{left} more fields",) if left > 0 else ()),
                *((f"shown only while the list differs: {enumerated(with_them)}",) if with_them else ()),
                *evidence,
            ),
            related=(*related, *(Related(app.ref, other.resource.id) for other in others)),
            explains=(
                *(Symptom.change(resource.id, place) for place in (*self.pointers, *with_them)),
                *(Symptom.change(other.resource.id, place) for other in others for place in other.pointers),
            ),
            fixes=tuple(fix for fix in fixes if fix is not None),
            **more,
        )


def drifts(app: App, wanted: Callable[[Resource, Change], bool]) -> Iterator[Drift]:
    """Each object with its wanted changes: a value shown as live is in the live object itself, and one shown as desired is Git's."""
    for resource, changes in app.derive(_held):
        if found := tuple(c for c in changes if wanted(resource, c)):
            yield Drift(app, resource, found)


def by_definition(found: Iterable[Drift]) -> Iterator[tuple[Drift, ...]]:
    """Those of CustomResourceDefinitions that a published chart brings and that differ alike, together: no value of the chart reaches them, and
    one entry ignores the field in all. Every other one alone."""
    groups: dict[object, list[Drift]] = {}
    for drift in found:
        sides = tuple((c.pointer, repr(c.desired), repr(c.live)) for c in drift.changes)
        groups.setdefault(sides if is_of_published_chart(drift) else drift.resource.key, []).append(drift)
    yield from (tuple(sorted(group, key=lambda drift: drift.resource.key)) for group in groups.values())


def is_of_published_chart(drift: Drift) -> bool:
    """Whether it is a CustomResourceDefinition that a chart of a repository brings."""
    return drift.resource.kind == "CustomResourceDefinition" and any(s.get("chart") for s in drift.app.sources)


def objects_text(found: Sequence[Drift]) -> str:
    """The first object and the number of others, with the verb: `CustomResourceDefinition a and 2 more objects stay`."""
    names = [str(drift.resource.id) for drift in found]
    return f"{enumerated(names, 'object', limit=2 if len(names) == 2 else 1)} {'stay' if names[1:] else 'stays'}"


def _held(app: App) -> tuple[tuple[Resource, tuple[Change, ...]], ...]:
    return tuple(
        (r, tuple(c for c in r.changes if _is_held(app, r, c) and c.pointer not in app.derive(_echoes)[r.key]))
        for r in app.changed
    )


def _is_held(app: App, resource: Resource, change: Change) -> bool:
    """True if Git and the live object themselves differ there; compared-by-option and live-edit report the others."""
    if change.desired is MISSING and fields_of_an_export(resource) and applied_value(resource, change) is not MISSING:
        return False
    return not (is_phantom_field(resource, change) or is_from_dry_run(app, resource, change))


def fields_of_an_export(resource: Resource) -> tuple[str, ...]:
    """The fields of the recorded apply that only the API server writes and Git does not have: someone applied or replaced what `kubectl get` had
    printed, and Argo CD takes for removed from Git what that holds more.
    """
    return resource.derive(_fields_of_an_export)


def _fields_of_an_export(resource: Resource) -> tuple[str, ...]:
    recorded, own = mapping(last_applied(resource), "metadata"), mapping(resource.desired, "metadata")
    return tuple(name for name in ("uid", "resourceVersion") if name in recorded and name not in own)


def own_changes(app: App, resource: Resource) -> tuple[Change, ...]:
    """The changes of an object, without those that would vanish with another one of the same list."""
    return tuple(c for c in resource.changes if c.pointer not in app.derive(_echoes)[resource.key])


def lists_with_more(app: App, resource: Resource) -> tuple[str, ...]:
    """The lists of an object in which some differences are shown only together with another one."""
    return tuple(dict.fromkeys(app.derive(_echoes).get(resource.key, {}).values()))


def _echoes(app: App) -> Mapping[ResourceKey, Mapping[str, str]]:
    return {resource.key: shown_with_another(app, resource) for resource in app.changed}


_LINES = 50
"""Most differences in the evidence."""


def is_tracking_mark(change: Change, label_key: str) -> bool:
    """True for the marks of Argo CD's tracking (`label_key` is the server's own): they never belong into Git. Also for a map of them alone that
    live lacks."""
    marks = (
        ("annotations", TRACKING_ID),
        ("annotations", "argocd.argoproj.io/installation-id"),
        ("labels", label_key),
    )
    keys = change.desired if isinstance(change.desired, Mapping) and change.live is MISSING else {}
    places = {join_pointer(*split_pointer(change.pointer), key) for key in keys} or {change.pointer}
    return places <= {join_pointer("metadata", *mark) for mark in marks}


SERVER_SET = ("resourceVersion", "uid", "generation", "managedFields", "selfLink", "deletionTimestamp")
"""Metadata that only the API server writes."""


def is_server_set(change: Change) -> bool:
    """True for metadata that only the API server writes."""
    return any(below(change.pointer, join_pointer("metadata", name)) for name in (*SERVER_SET, "creationTimestamp"))


def side_text(change: Change, side: Json) -> str:
    """One side of a change for a sentence; never a Secret's content."""
    if change.masked and side is not MISSING:
        return HIDDEN
    printed = change.sides[0 if side is change.desired else 1]
    return show(printed, change.pointer, secret=change.secret)


def change_line(change: Change, resource: Resource) -> str:
    """A line of evidence for a change of this object: place, both values, writer and time."""
    held = "live" if get(resource.live, change.pointer) is not MISSING else "what is around it"
    written_by = f"; {held} was written by {writer_text(change)}" if change.writer else ""
    if is_reordered_list(change):
        return f"{change.pointer}: {len(change.live)} items, the same on both sides, in another order{written_by}"
    live = f"{side_text(change, change.live)} live"
    if is_left_out(resource, change):
        live = "left out of the comparison on the live side, which holds it"
    elif change.live is MISSING and isinstance(get(resource.live, change.pointer.rpartition("/")[0]), list):
        live, written_by = "no such item live", ""
    elif is_phantom_field(resource, change):
        live, written_by = f"{side_text(change, change.live)} counted as live, which the live object does not have", ""
    desired = side_text(change, change.desired)
    if change.desired is MISSING and (written := get(resource.desired, change.pointer)) in ([], {}, ""):
        desired = show(written, change.pointer)  # the comparison omits an empty value
    return f"{change.pointer}: {desired} desired, {live}{written_by}"


def writer_name(change: Change) -> str:
    """The field manager for a sentence, without the time, which is in the evidence."""
    return change.writer.manager if change.writer else "Something in the cluster"


def writer_text(change: Change) -> str:
    """`kubectl-edit at 2026-01-01 12:00 UTC`; `an unknown writer` if managedFields names none."""
    if change.writer is None:
        return "an unknown writer"
    when = f" at {change.writer.time:%Y-%m-%d %H:%M} UTC" if change.writer.time else ""
    through = f" through /{change.writer.subresource}" if change.writer.subresource else ""
    return f"{change.writer.manager}{through}{when}"


def pointers(changes: Iterable[Change]) -> tuple[str, ...]:
    """The places of the changes."""
    return tuple(change.pointer for change in changes)


def pointers_text(changes: Sequence[Change], noun: str = "field") -> str:
    """The pointers of some changes for a sentence: one or two of them, else the first and the number of others: `/spec/a and 4 more fields`. The
    evidence names all."""
    return enumerated(pointers(changes), noun, limit=2 if len(changes) == 2 else 1)


def is_phantom_field(resource: Resource, change: Change) -> bool:
    """True for a field of a map that Argo CD compares as live although the live object lacks it: managedFields still assign it to Argo CD, and
    the server-side diff uses them."""
    if change.live in (MISSING, None, {}, [], "") or change.masked or below(change.pointer, "/metadata"):
        return False
    if not by_argocd(change.writer) or shifted_list(resource, change.pointer):
        return False
    above, _, _ = change.pointer.rpartition("/")
    live_parent = get(resource.live, above)
    return isinstance(live_parent, Mapping) and get(resource.live, change.pointer) is MISSING


def is_from_dry_run(app: App, resource: Resource, change: Change) -> bool:
    """True for a value shown as desired that Git does not set: the dry run of a server-side diff answered with it.

    Argo CD's own comparisons leave a field as it is live if neither Git nor the last apply has it, and if Argo CD does not own it.
    """
    if MISSING in (change.desired, change.live) or change.masked or by_argocd(change.writer):
        return False
    found = manifest_path(resource, change.pointer) if resource.desired else None
    if found is None or not found[1]:
        return False
    asked = "ServerSideDiff=true" in app.compare_options
    return asked or (change.writer is not None and applied_value(resource, change) is MISSING)


def shifted_list(resource: Resource, pointer: str) -> str:
    """The first list on the way whose compared form lacks an ignored item, so that an index means another item of the live list; empty if there
    is none."""
    tokens = split_pointer(pointer)
    for depth, token in enumerate(tokens):
        place = join_pointer(*tokens[:depth])
        live_list, compared = get(resource.live, place, None), get(resource.normalized, place, None)
        lists = isinstance(live_list, list) and isinstance(compared, list)
        if lists and index_of(token) is not None and len(live_list) != len(compared):
            return place
    return ""


def is_left_out(resource: Resource, change: Change) -> bool:
    """True for a live field that Argo CD compares as absent: an ignore rule or its own normalisation removes it."""
    live_value = get(resource.live, change.pointer)
    if change.live is not MISSING or live_value in (MISSING, None, {}, [], ""):
        return False
    shifted = False
    for place in at_and_above(change.pointer):  # for a missing item, its index now has another item
        above, _, index = place.rpartition("/")
        whole, compared = get(resource.live, above), get(resource.normalized, above)
        if not (isinstance(whole, list) and isinstance(compared, list)):
            continue
        if len(compared) >= len(whole) and (
            shifted or place == change.pointer or not _is_same_item(whole, compared, index)
        ):
            return False
        shifted = shifted or len(compared) < len(whole)
    return True


def _is_same_item(whole: list[Any], compared: list[Any], index: str) -> bool:
    """True if the two lists, of one length, have an item of the same name at this index."""
    place = index_of(index)
    if place is None or len(whole) != len(compared) or place >= len(whole):
        return False
    pair = whole[place], compared[place]
    names = ([item.get(key) for item in pair] for key in ITEM_NAMES if all(isinstance(i, Mapping) for i in pair))
    return any(one is not None and one == other for one, other in names)
