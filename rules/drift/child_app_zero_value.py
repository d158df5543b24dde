"""A child Application has values that Argo CD drops

What it finds: an Application, ApplicationSet or AppProject that is itself managed by an Application, and whose manifest has zero values
(`recurse: false`, `helm: {}`, `selfHeal: false`, `[]`). The controller stores its own objects through Go structures that omit such values, so
the live object lacks them.

Why it hurts: the parent stays OutOfSync forever, and every sync writes the child again.

How to fix: leave the zero values out of the child's manifest; their absence means the same.

Example: `source.directory: {recurse: false}` in an app of apps.

Sources: argoproj/argo-cd#3815, #14668, #19043.
"""

from collections.abc import Iterator

from argolint import MISSING, App, Change, Finding, Fleet, Rank, Resource, Rule

from ._fields import drifts
from ._grammar import is_hollow

_KINDS = ("Application", "ApplicationSet", "AppProject")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each child, with all its zero values."""
    for drift in drifts(app, _is_dropped_zero):
        yield drift.finding(
            f"{app.name} stays OutOfSync over {drift.places()} of {drift.resource.id}, an empty value that Argo CD never stores.",
            fixes=(
                drift.drop("Leave the zero value out"),
                drift.ignore(),
            ),
        )


def _is_dropped_zero(resource: Resource, change: Change) -> bool:
    return (
        resource.group == "argoproj.io"
        and resource.kind in _KINDS
        and change.pointer.startswith("/spec/")
        and change.live is MISSING
        and is_hollow(change.desired)
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.CAUSE)
