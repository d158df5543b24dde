"""The results of the last syncs: they separate two renders of one revision from two revisions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from argolint import App, Change, Object, Resource, ResourceKey, Want, Writer
from argolint.values import annotations_of, dig, labels_of, mapping, maps, parse_time, text_at, texts
from argolint.values.patterns import regex

from ._shapes import moved_times


@dataclass(frozen=True)
class LastSync:
    """The last sync in comparison to the present revision.

    same     it was at the compared revision and sources
    moved    it is known to have been at another revision
    partial  it was at this one, but failed or applied chosen objects only, and no whole sync of it is recorded
    respecified  it was at this one, and the Application's own values or overrides have changed since
    applied  the application's objects that it applied
    listed   the list of applied objects was kept
    whole    it was at this one, succeeded and applied all objects
    since    when that revision was first synced;   until: when its last sync ended
    """

    same: bool
    moved: bool
    partial: bool = False
    respecified: bool = False
    applied: frozenset[ResourceKey] = frozenset()
    listed: bool = False
    whole: bool = False
    since: datetime | None = None
    until: datetime | None = None


_SYNCERS = ("argocd-controller", "argocd-application-controller")

SLACK = timedelta(seconds=60)


def last_sync(app: App) -> LastSync:
    """The last sync: its revisions, its sources, the objects that it applied."""
    operation = app.operation
    if operation is None:
        since = _deployed_last_at(app)
        return LastSync(since is not None, False, whole=since is not None, since=since)
    if not operation.revisions or not app.revisions:
        return LastSync(False, False)
    result, compared = mapping(operation.raw, "syncResult"), mapping(app.status, "sync", "comparedTo")
    same_sources = _sources(result) == _sources(compared) or not _sources(result) or not _sources(compared)
    local = bool(dig(operation.raw, "operation", "sync", "manifests"))
    moved = operation.revisions != app.revisions
    same = not moved and same_sources and not local
    whole = operation.phase == "Succeeded" and not dig(operation.raw, "operation", "sync", "resources")
    since = _first_deployed_at(app) if same else None
    applied = frozenset(r.key for r in app.resources if operation.applied(r.id)) if operation.results else frozenset()
    return LastSync(
        same,
        moved,
        partial=same and not whole and since is None,
        respecified=not moved and not same_sources,
        applied=applied,
        listed=bool(operation.results),
        whole=same and whole,
        since=since,
        until=operation.finished_at,
    )


def new_commits(app: App) -> tuple[Want, ...]:
    """Requests for the Git revisions that are compared now and differ from the last sync's, one for each source that moved."""
    operation = app.operation
    if operation is None or len(operation.revisions) != len(app.revisions):
        return ()
    several = bool(app.spec.get("sources"))
    return tuple(
        Want("revision", revision=now, source=index if several else None)
        for index, (then, now) in enumerate(zip(operation.revisions, app.revisions, strict=True))
        if now != then and re.fullmatch(r"[0-9a-f]{40}", now)
    )


def is_later_than_commits(app: App, change: Change) -> bool:
    """Whether the sides differ in times alone, and Git's are later than the commits that are compared now: the render looked at the clock.

    The server's date of a commit is its author's.
    """
    dates = [parse_time((app.evidence.get(want) or {}).get("date")) for want in new_commits(app)]
    known = [date for date in dates if date is not None]
    times = moved_times(change.desired, change.live) if known else ()
    return bool(times) and all(old < new and max(known) < new <= app.observed_at + SLACK for new, old in times)


def have_only_charts_moved(app: App) -> bool:
    """Whether only chart versions have moved since the last sync: every Git revision and every value stayed the same."""
    operation = app.operation
    then = _sources(mapping(operation.raw, "syncResult")) if operation is not None else ()
    if operation is None or not len(then) == len(app.sources) == len(app.revisions) == len(operation.revisions):
        return False
    moved = [n for n, revision in enumerate(app.revisions) if revision != operation.revisions[n]]
    charts_only = all(
        app.sources[n].get("chart") and app.sources[n].get("chart") == then[n].get("chart") for n in moved
    )
    return (
        bool(moved)
        and charts_only
        and all(old.get("helm") == new.get("helm") for old, new in zip(then, app.sources, strict=True))
    )


_OF_SECRETS = regex(
    r"(?i)\brotat|(?<!external[ -])(?<!sealed[ -])\bsecrets?\b"
    r"|\b(?:passwords?|passwd|credentials?|tokens?|certs?|certificates?|(?:api|signing|encryption|private)[ -]keys?)\b"
)


def rotation_subject(app: App) -> str | None:
    """The subject of a commit since the last sync that mentions secrets: it may well have changed one; None without such a commit."""
    for want in new_commits(app):
        message = text_at(app.evidence.get(want) or {}, "message")
        subject = message.partition("\n")[0]
        if _OF_SECRETS.search(subject):
            return f'commit {want.revision[:12]} says "{subject}"'
    return None


def is_by_argocd(writer: Writer | None) -> bool:
    """Whether a sync wrote it; argocd-server writes a person's edits in the web interface."""
    return writer is not None and writer.manager in _SYNCERS


def is_written_at_revision(at: LastSync, resource: Resource, change: Change) -> bool:
    """Whether a sync of this revision wrote the live value, and nothing wrote it after that sync."""
    if not at.same:
        return False
    time = change.writer.time if change.writer else None
    if time is not None and at.until is not None and time > at.until + SLACK:
        return False
    applied = resource.key in at.applied or (at.whole and not at.listed)
    return applied or (at.since is not None and time is not None and time >= at.since - SLACK)


def has_outlived_sync(app: App, resource: Resource) -> bool:
    """Whether a sync of another revision left the Secret unchanged: an apply without a change writes nothing.

    With manifest-generate-paths a new revision may be the old render under a new name, which proves nothing.
    """
    deployed, written = _deployments(app), last_written_at(resource)
    if len(deployed) < 2 or written is None or _PATHS in annotations_of(app.raw):
        return False
    (before, _), (after, start) = deployed[-2:]
    return before != after and written < start - SLACK


def is_rewritten(app: App, resource: Resource) -> bool:
    """Whether the last of several syncs changed a Secret that an earlier one had created, and not because of the chart's label.

    A new chart version relabels every object, so one of its services or accounts must be unchanged.
    """
    deployed, written = _deployments(app), last_written_at(resource)
    created = parse_time(dig(resource.live or {}, "metadata", "creationTimestamp"))
    if len(deployed) < 2 or written is None or created is None:
        return False
    last = deployed[-1][1] - SLACK
    return created < last <= written and any(
        labels_of(peer.live).get(key) == labels_of(resource.live).get(key)
        and (stayed := last_written_at(peer))
        and stayed < last
        for kind in ("Service", "ServiceAccount")
        for peer in app.of_kind(kind, "")
        for key in ("helm.sh/chart", "chart")
        if labels_of(resource.live).get(key)
    )


def _sources(node: Object) -> tuple[Object, ...]:
    several, one = maps(node, "sources"), mapping(node, "source")
    return several or ((one,) if one.get("repoURL") else ())


def _first_deployed_at(app: App) -> datetime | None:
    """The time of the first sync of the compared revision, from the history."""
    starts = [
        parse_time(h.get("deployStartedAt") or h.get("deployedAt"))
        for h in maps(app.status, "history")
        if (texts(h, "revisions") or (text_at(h, "revision"),)) == app.revisions
    ]
    return min((s for s in starts if s is not None), default=None)


def _deployed_last_at(app: App) -> datetime | None:
    """The start of the last complete sync, if that was of the compared revision and sources: a sync that is only requested hides its own state."""
    history, compared = maps(app.status, "history")[-1:], mapping(app.status, "sync", "comparedTo")
    if not app.revisions or not history or _sources(history[0]) != _sources(compared):
        return None
    revisions = texts(history[0], "revisions") or (text_at(history[0], "revision"),)
    return parse_time(history[0].get("deployStartedAt")) if revisions == app.revisions else None


_PATHS = "argocd.argoproj.io/manifest-generate-paths"


def _deployments(app: App) -> list[tuple[tuple[str, ...], datetime]]:
    """(revisions, start) of every sync in the history, oldest first."""
    found = [
        (
            texts(h, "revisions") or (text_at(h, "revision"),),
            parse_time(h.get("deployStartedAt") or h.get("deployedAt")),
        )
        for h in maps(app.status, "history")
    ]
    return sorted(((r, t) for r, t in found if t is not None), key=lambda pair: pair[1])


def last_written_at(resource: Resource) -> datetime | None:
    """When Argo CD last changed the live object."""
    times = [
        parse_time(entry.get("time"))
        for entry in maps(resource.live, "metadata", "managedFields")
        if text_at(entry, "manager") in _SYNCERS
    ]
    return max((t for t in times if t is not None), default=None)
