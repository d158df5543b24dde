"""An ignore rule hides more than one drift

What it finds: one pointer or jq path of `ignoreDifferences` that at present hides differences of several origins: an
autoscaler's and a person's, a webhook's and a commit that never reached the cluster. Only one of them can be what it was
meant for.

Why it hurts: the application is shown as Synced while somebody's edit, or a change in Git, is not live.

How to fix: name the object and the very field, or trust the one manager (`managedFieldsManagers`).

Example: `/spec` ignored for the replicas' sake, which hides an image edited by hand.

Sources: docs/user-guide/diffing.md; argoproj/argo-cd#4326.
"""

from collections.abc import Iterator

from argolint import App, Change, Finding, Fleet, Location, Resource, Rule
from argolint.ignore import IgnoreRule

from .applied import by_argocd
from .fields import told
from .ignored import entries, has_entries, hidden_changes, paths, selected, taken_out

Hidden = tuple[Resource, Change]


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding a pointer or jq path that is too wide."""
    for entry in entries(app):
        for path, alone in paths(entry):
            found = [(r, c) for r in selected(app, alone) for c in _hidden(app, fleet, r, entry, alone)]
            origins = dict.fromkeys(_origin(change) for _, change in found)
            if len(origins) > 1:
                yield _finding(app, entry, path, found, tuple(origins))


def _hidden(app: App, fleet: Fleet, resource: Resource, entry: IgnoreRule, alone: IgnoreRule) -> Iterator[Change]:
    """The entry's hidden differences that stand where this path alone takes something out."""
    places = taken_out(alone, resource)
    for change in hidden_changes(app, fleet, resource, entry):
        if any(change.pointer == place or change.pointer.startswith(place + "/") for place in places):
            yield change


def _origin(change: Change) -> str:
    if change.writer is None or by_argocd(change.writer):
        return "a change in Git that is not live"
    return change.writer.manager


def _finding(app: App, entry: IgnoreRule, path: str, found: list[Hidden], origins: tuple[str, ...]) -> Finding:
    resource = found[0][0]
    return Finding(
        message=f"The ignore rule {path!r} of {app.name} hides {len(found)} differences of {len(origins)} origins ({', '.join(origins)}), so it"
        " covers more than what it was meant for.",
        at=Location(app.ref, resource.id, found[0][1].pointer),
        evidence=(f"{entry.origin} of the Application", *(f"{r.id} {told(change)}" for r, change in found)),
    )


RULE = Rule(id="ignore-rule-too-wide", family="drift", severity="warning", doc=__doc__, check=check, reads=has_entries)
