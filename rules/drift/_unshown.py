"""What a person added to a live object and Git does not name: to Argo CD that is no difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from argolint import MISSING, App, Change, Edit, Finding, Fix, Fleet, Json, Location, Object, Resource, Writer
from argolint.application.applied import by_argocd
from argolint.comparison import has_sync_option, locate, managers
from argolint.redaction import is_hidden, show
from argolint.values import below, enumerated, get, join_pointer, mapping, maps, text_at
from argolint.values.patterns import regex

from ._defaults import is_kubernetes_default
from ._edits import live_removal_fix, source_place
from ._ignored import is_field_ignored
from ._writers import known_writer

NOT_SHOWN = "not-shown"
"""The cause of these findings."""
_TOOLS = r"kubectl-(edit|set|patch)|argocd-server|k9s|lens.*|openlens|freelens|node-fetch|headlamp.*|dashboard.*|kubernetes-dashboard.*|Mozilla|openshift-console"
"""Managers of tools that change single fields; others, as `kubectl apply`, write whole objects, and their later owners differ."""
_BY_HAND = regex(_TOOLS)
WRITTEN_BY_HAND = regex(rf'"manager":\s*"(?:{_TOOLS})')
"""In a live object as text, if `unshown_edits` may have something to say about it."""
_MOST = 20


@dataclass(frozen=True, slots=True)
class Addition:
    """A place in live that Git lacks, and where it belongs in Git (`-` for a new item of a list)."""

    place: str
    in_git: str


def unshown_edits(app: App, fleet: Fleet, resource: Resource) -> Iterator[tuple[Writer, tuple[Addition, ...]]]:
    """By manager: the topmost places in live that it added after the object was made, and that Git lacks."""
    live, desired = resource.live, resource.desired
    if live is None or desired is None or resource.hook or resource.kind == "Secret" or resource.uncompared:
        return
    if has_sync_option(app.raw, desired, "Replace=true") or not any(by_argocd(w) for w in managers(live)):
        return
    for writer, fields in resource.derive(_entries_by_hand):
        added = tuple(
            a
            for a in _added(fields, live, desired)
            if not (_is_shown(resource, a.place) or is_kubernetes_default(resource, _as_change(live, a)))
        )
        found = tuple(a for a in added if not is_field_ignored(app, fleet, resource, a.place, writer.manager))
        if found:
            yield writer, found[:_MOST]


def _as_change(live: Object, added: Addition) -> Change:
    return Change(added.place, MISSING, get(live, added.place))


def _is_shown(resource: Resource, place: str) -> bool:
    return any(below(place, change.pointer) or below(change.pointer, place) for change in resource.changes)


def _entries_by_hand(resource: Resource) -> tuple[tuple[Writer, Object], ...]:
    """The entries of managedFields by tools of persons, since the object was made, with their fields outside of metadata and status."""
    live = resource.live or {}
    born = text_at(live, "metadata", "creationTimestamp")
    found = []
    for entry in maps(live, "metadata", "managedFields"):
        writer = Writer(text_at(entry, "manager"), text_at(entry, "operation"), text_at(entry, "subresource"))
        if not _BY_HAND.fullmatch(writer.manager) or writer.operation != "Update" or writer.subresource:
            continue
        if text_at(entry, "time") > born:
            fields = {k: v for k, v in mapping(entry, "fieldsV1").items() if k not in ("f:metadata", "f:status")}
            timed = next((w for w in managers(live) if replace(w, time=None) == writer), writer)
            found.append((timed, fields))
    return tuple(found)


def _added(fields: Json, live: Json, desired: Json, at: tuple[str, str] = ("", "")) -> Iterator[Addition]:
    """The owned fields and items that desired lacks."""
    for step, inner in fields.items() if isinstance(fields, Mapping) else ():
        here = None if step == "." else locate(live, step)
        if here is None:
            continue
        place = at[0] + join_pointer(str(here))
        there = locate(desired, step)
        if there is not None:
            yield from _added(inner, live[here], desired[there], (place, at[1] + join_pointer(str(there))))
        elif live[here] not in (None, "", 0, False, [], {}) and not _is_usual(place):
            yield Addition(place, f"{at[1]}/-" if isinstance(desired, list) else at[1] + join_pointer(str(here)))


def _is_usual(pointer: str) -> bool:
    """True for what a restart, a scaling, a pause or the API server's own assignment leaves: no edit of the configuration."""
    return (
        pointer in ("/spec/replicas", "/spec/suspend", "/spec/paused")
        or below(pointer, "/spec/template/metadata")
        or pointer.startswith(("/spec/clusterIP", "/spec/ipFam"))
        or pointer.endswith("odePort")
    )


def unshown_finding(app: App, resource: Resource, writer: Writer, added: tuple[Addition, ...]) -> Finding:
    """The finding for these places of one object."""
    live = resource.live or {}
    places = [a.place for a in added]
    tool = known_writer(writer)
    when = f" at {writer.time:%Y-%m-%d %H:%M} UTC" if writer.time else ""
    return Finding(
        message=f"Someone added {enumerated(places, 'field', limit=1)} to {resource.id} with {tool.tool if tool else writer.manager}: Argo CD does not show what Git lacks.",
        at=Location(app.ref, resource.id, places[0]),
        cause=NOT_SHOWN,
        severity="info",
        evidence=(
            *(f"{p}: {show(get(live, p), p, within=live)} live, absent in Git" for p in places),
            f"edited by field manager {writer.manager!r}{when}; no sync removes it",
        ),
        fixes=(
            *_commit_fixes(app, resource, added),
            live_removal_fix(resource, places, "Or remove it from the live object", "undoes the edit"),
        ),
    )


def _commit_fixes(app: App, resource: Resource, added: tuple[Addition, ...]) -> Iterator[Fix]:
    """The edit that adds it in Git; none for what may not be printed."""
    live = resource.live or {}
    if any(is_hidden(get(live, a.place), live, a.place) for a in added):
        return
    operations: list[Json] = [{"op": "add", "path": a.in_git, "value": get(live, a.place)} for a in added]
    title = "Commit what was added, if it is right"
    yield Fix(title, "manifest", source_place(app), Edit("json-patch", operations))
