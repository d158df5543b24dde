"""An ignored field that every sync still overwrites

What it finds: a field hidden by `ignoreDifferences`, of the Application or of the server, with a value of another writer. A sync overwrites it
with Git's value, since the Application lacks the sync option `RespectIgnoreDifferences=true`. Also an entry of the Application for a field in
Git that has not changed yet. That is a warning if an autoscaler, an injector or a controller is known to write the field. Otherwise it is a
remark (info), since the first change will be overwritten.

Why it hurts: the application looks Synced, so it is a surprise that the next sync, for any reason, writes Git's value: replicas fall back under
load, an injected certificate disappears.

How to fix: add `RespectIgnoreDifferences=true` to the sync options, or leave the field out of Git.

Example: `/spec/replicas` ignored, 2 in Git, 4 by the autoscaler.

Sources: argoproj/argo-cd#6520; docs/user-guide/sync-options.md ("Respect ignore difference configs").
"""

from collections.abc import Iterator, Sequence

from argolint import MISSING, App, Change, Finding, Fleet, Location, Related, Resource, ResourceKey, Rule
from argolint.application.applied import by_argocd, git_moved
from argolint.comparison import IgnoreRule, apply, has_sync_option, removed, syncs_server_side, writers
from argolint.edits import RESPECT
from argolint.values import annotations_of, below, get

from ._edits import removal_fix, respect_fix
from ._fields import change_line, pointers_text, writer_name
from ._ignored import (
    has_entries,
    hidden_by,
    lists_over_commits,
    own_entries,
    selected_resources,
    selects,
    server_entries,
    settings_key,
    whole_parts,
)
from ._scalers import is_resting, scaler_of
from ._writers import is_sort


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application's objects have ignored fields, by its own entries or the server's."""
    return has_entries(app, fleet) or bool(server_entries(app, fleet))


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object with a value that a sync will overwrite; a remark for each entry without any effect on syncs."""
    ignored = (*own_entries(app), *server_entries(app, fleet))
    reported: set[ResourceKey] = set()
    for resource in app.resources if ignored else ():
        hidden = tuple(
            (entry, change)
            for entry in ignored
            if selects(entry, resource) and not whole_parts(entry, resource)
            for change in _without_mixed_lists(app, resource, entry, hidden_by(app, fleet, entry)[resource.key])
            if _is_overwritten(app, resource, change) and not _is_shown(resource, change)
        )
        if hidden:
            reported.add(resource.key)
            yield _finding(app, resource, hidden)
    if RESPECT not in app.sync_options:
        yield from (
            found
            for entry in own_entries(app)
            if (found := _git_field_finding(app, fleet, entry, reported)) is not None
        )


def _without_mixed_lists(
    app: App, resource: Resource, entry: IgnoreRule, changes: tuple[Change, ...]
) -> Iterator[Change]:
    """The changes without those in lists that also hide Git's: to keep such a list would block a commit forever."""
    mixed = [place for place, _ in lists_over_commits(app, resource, entry, changes)]
    return (change for change in changes if not any(below(change.pointer, place) for place in mixed))


def _git_field_finding(app: App, fleet: Fleet, entry: IgnoreRule, reported: set[ResourceKey]) -> Finding | None:
    """The remark for an entry whose field is also in Git, if no object shows the loss yet; None if one does, or if Git lacks the field."""
    objects = selected_resources(app, entry)
    if any(resource.key in reported for resource in objects):
        return None
    stated = [
        (resource, pointer)
        for resource in objects
        if resource.live is not None and resource.desired is not None and not whole_parts(entry, resource)
        for pointer in removed(resource.desired, entry)
        if not below(pointer, "/status")
        and get(resource.live, pointer) is not MISSING
        and not any(below(waits, pointer) for waits in _hidden_commits(app, fleet, resource, entry))
    ]
    if not stated:
        return None
    known = ((*place, who) for place in stated if (who := _known_writer_name(app, *place)))
    resource, pointer, who = next(known, (*stated[0], ""))
    others = dict.fromkeys(other.id for other, _ in stated if other.id != resource.id)
    more = f" and {len(others)} more" if others else ""
    desired, live = get(resource.desired, pointer), get(resource.live, pointer)
    if who:
        then = f"every sync overwrites what {who} writes there"
    elif desired != live:
        then = "every sync overwrites the live value, which differs from Git's"
    else:
        then = "every sync overwrites what others write there"
    return Finding(
        message=f"{pointer} of {resource.id}{more} is ignored, yet {then}: {RESPECT} is missing.",
        at=Location(app.ref, resource.id, pointer),
        severity=None if who else "info",
        evidence=(
            f"{entry.origin} of the Application",
            "no other writer of the live value is noted" if desired != live and not who else "both sides are equal now",
        ),
        related=tuple(Related(app.ref, other, "", "other") for other in list(others)[:10]),
        fixes=(respect_fix(app),),
    )


def _hidden_commits(app: App, fleet: Fleet, resource: Resource, entry: IgnoreRule) -> Iterator[str]:
    """The places at which the entry hides a commit since the last sync: a fix that keeps the live value would block that commit forever."""
    return (c.pointer for c in hidden_by(app, fleet, entry)[resource.key] if git_moved(app, resource, c))


def _known_writer_name(app: App, resource: Resource, pointer: str) -> str:
    """The known writer of the field, even without a write now: a scaler, an injector, or a controller that wrote it before."""
    if below(_REPLICAS, pointer):
        scaler = scaler_of(app, resource)
        if scaler is not None and scaler.low < scaler.high and not is_resting(resource, scaler):
            return str(scaler.id)
    injected = next((name for name in annotations_of(resource.any) if name in _INJECTED), "")
    if injected and "caBundle" in pointer:
        return "its injector"
    others = (w for w in writers(resource.live or {}, pointer) if not by_argocd(w) and not is_sort(w, "person"))
    return next((w.manager for w in others if w.manager not in _FIRST), "")


_REPLICAS = "/spec/replicas"
_INJECTED = frozenset({
    "cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret", "cert-manager.io/inject-apiserver-ca",
    "service.beta.openshift.io/inject-cabundle", "service.alpha.openshift.io/inject-cabundle",
})  # fmt: skip
_FIRST = ("before-first-apply",)
"""Managers that show no writer: values from before the tracking of managers."""


def _finding(app: App, resource: Resource, hidden: Sequence[tuple[IgnoreRule, Change]]) -> Finding:
    changes = tuple(change for _, change in hidden)
    first, keys = changes[0], dict.fromkeys(settings_key(e.group, e.kind) for e, _ in hidden if e.origin[:1] != "/")
    when = "self-heal" if app.self_heal and app.changed else "the next sync"
    are = "is" if len(changes) == 1 else "are"
    in_git = [change.pointer for change in changes if get(resource.desired, change.pointer) is not MISSING]
    return Finding(
        message=f"{pointers_text(changes)} of {resource.id} {are} ignored{' by argocd-cm' if keys else ''}, yet {when} overwrites what {writer_name(first)} wrote: {RESPECT} is missing.",
        at=Location(app.ref, resource.id, first.pointer),
        evidence=(
            *(change_line(change, resource) for change in changes),
            *(f"{key} of argocd-cm, for all Applications" for key in keys),
        ),
        fixes=(
            respect_fix(app),
            *((removal_fix(app, resource, in_git, "Or leave the field out of the manifest"),) if in_git else ()),
        ),
    )


def _is_shown(resource: Resource, change: Change) -> bool:
    """True if Argo CD shows the difference: then no entry ignores it."""
    return any(
        below(shown.pointer, change.pointer) or below(change.pointer, shown.pointer) for shown in resource.changes
    )


def _is_overwritten(app: App, resource: Resource, change: Change) -> bool:
    """True if a sync replaces another writer's value."""
    if change.writer is None or by_argocd(change.writer) or has_sync_option(app.raw, resource.desired, RESPECT):
        return False
    synced = apply(resource.live, resource.desired, server_side=syncs_server_side(app.raw, resource.desired))
    return bool(get(synced, change.pointer) != change.live)


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, reads=reads)
