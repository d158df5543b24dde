"""A difference that an option of the comparison makes

What it finds: a field that differs only because of how Argo CD compares: with the sync option `ServerSideApply=true`, or the
compare option `ServerSideDiff=true`, it works out what a server-side apply would leave. The comparison is played again without the
option: the two sides are equal then.

Why it hurts: the object is OutOfSync although a client-side comparison finds nothing; a sync changes nothing that anyone asked for.

How to fix: let the API server itself compare (`ServerSideDiff=true`), which knows defaults and types that Argo CD does not; or
take the option away.

Sources: gitops-engine pkg/diff/diff.go (Diff, structuredMergeDiff, serverSideDiff); docs/user-guide/diff-strategies.md.
"""

from collections.abc import Iterator

from argolint import App, Finding, Fleet, Rank, Rule
from argolint.comparison import Strategy, compared_by, rules_of, strategy_of

from ._edits import server_side_diff
from ._fields import finding, listing

_OPTION = "ServerSideApply=true"
"""It means structured merge before Argo CD 3.6. A comparison that the API server makes has no better one to offer."""


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding an object."""
    for resource in app.changed:
        live, desired = resource.live, resource.desired
        strategy = strategy_of(app.raw, desired, fleet.version)
        if live is None or desired is None or strategy is not Strategy.STRUCTURED:
            continue
        rules = rules_of(app.raw, fleet.settings, fleet.version)
        made = frozenset(compared_by(live, desired, rules, strategy))
        changes = tuple(change for change in resource.changes if change.pointer in made and not change.masked)
        if changes:
            yield finding(
                app,
                resource,
                changes,
                f"{resource.id} is OutOfSync over {listing(changes)} only because of {_OPTION}: without it both sides are equal.",
                confidence="likely",
                fixes=(server_side_diff(app),),
            )


RULE = Rule(id="compared-by-option", family="drift", severity="warning", doc=__doc__, check=check, rank=Rank.WRITER - 5)
