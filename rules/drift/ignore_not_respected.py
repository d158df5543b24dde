"""An ignored field that every sync still overwrites

What it finds: a field that `ignoreDifferences`, of the Application or of the server, hides, that another writer has set to another value than Git's, and that a
sync overwrites all the same, because the Application lacks the sync option `RespectIgnoreDifferences=true`.

Why it hurts: the application looks Synced, so nobody expects that the next sync, for whatever reason, writes Git's value:
replicas fall back under load, an injected certificate disappears.

How to fix: add `RespectIgnoreDifferences=true` to the sync options, or leave the field out of Git.

Example: `/spec/replicas` ignored, 2 in Git, 4 by the autoscaler.

Sources: argoproj/argo-cd#6520; docs/user-guide/sync-options.md ("Respect ignore difference configs").
"""

from collections.abc import Iterator

from argolint import MISSING, App, Change, Edit, Finding, Fix, Fleet, Location, Resource, Rule
from argolint.applied import by_argocd
from argolint.comparison import apply, has_sync_option, syncs_server_side
from argolint.edits import RESPECT, application_place, sync_option
from argolint.values import get

from ._edits import remove
from ._fields import listing, told, value, writer
from ._ignored import entries, has_entries, hidden_changes, selected, server_entries


def reads(app: App, fleet: Fleet) -> bool:
    """Applications whose objects have ignored fields, by their own entries or the server's."""
    return has_entries(app, fleet) or bool(server_entries(app, fleet))


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding an object."""
    told = (*entries(app), *server_entries(app, fleet))
    for resource in app.resources if told else ():
        changes = tuple(
            change
            for entry in told
            if resource in selected(app, entry)
            for change in hidden_changes(app, fleet, resource, entry)
            if _lost(app, resource, change)
        )
        if changes:
            yield _finding(app, resource, changes)


def _finding(app: App, resource: Resource, changes: tuple[Change, ...]) -> Finding:
    first = changes[0]
    when = "self-heal or the next commit" if app.automated else "the next sync"
    in_git = [change.pointer for change in changes if get(resource.desired, change.pointer) is not MISSING]
    return Finding(
        message=f"{resource.id} has {value(first, first.live)} at {listing(changes)}, set by {writer(first)} and ignored in the comparison, but"
        f" {when} writes Git's {value(first, first.desired)} over it: {app.name} lacks {RESPECT}.",
        at=Location(app.ref, resource.id, first.pointer),
        evidence=tuple(told(change) for change in changes),
        fixes=(
            Fix(
                f"Add the sync option {RESPECT}",
                "application",
                application_place(app),
                Edit("json-patch", sync_option(app, RESPECT)),
                "holds for every ignored field of this application",
            ),
            *((remove(app, resource, in_git, "Or leave the field out of the manifest"),) if in_git else ()),
        ),
    )


def _lost(app: App, resource: Resource, change: Change) -> bool:
    """True when a sync puts something else where another writer's value stands."""
    if change.writer is None or by_argocd(change.writer) or has_sync_option(app.raw, resource.desired, RESPECT):
        return False
    synced = apply(resource.live, resource.desired, server_side=syncs_server_side(app.raw, resource.desired))
    return bool(get(synced, change.pointer) != change.live)


RULE = Rule(id="ignore-not-respected", family="drift", severity="warning", doc=__doc__, check=check, reads=reads)
