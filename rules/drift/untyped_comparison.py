"""Argo CD compares an object of a built-in kind as plain JSON

What it finds: an object of a built-in kind that differs only in the spelling of values (`1000m` and `1`, a zero and nothing). Argo CD writes such
values in one form before it compares, by its own Kubernetes types. It leaves that out for the whole object when the manifest has a field that
these types do not know, since the cluster is newer than they are.

Why it hurts: the object is OutOfSync forever, over fields that have nothing to do with the new one, and no sync ends it.

How to fix: write the values as the cluster keeps them, or let the API server compare (`ServerSideDiff=true`). A newer Argo CD has newer types.

Example: `cpu: 1000m` next to `nodeTaintsPolicy` in a topologySpreadConstraint, under Argo CD 2.9.

Sources: gitops-engine pkg/diff/diff.go (remarshal: unknown fields are not allowed); argoproj/argo-cd#16400, #8833.
"""

from collections.abc import Iterator

from argolint import App, Change, Edit, Finding, Fix, Fleet, Rank, Resource, Rule
from argolint.application.applied import git_moved
from argolint.comparison import Strategy, builtin, differing, rules_of, strategy_of

from ._edits import server_side_diff_fix
from ._fields import drifts
from ._grammar import is_hollow_difference
from ._spelling import is_same_amount


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object."""

    def is_respelled(resource: Resource, change: Change) -> bool:
        plain = not any(isinstance(side, dict | list) for side in (change.desired, change.live))
        same = is_same_amount(change) or (plain and is_hollow_difference(change.desired, change.live))
        return not change.masked and same and not git_moved(app, resource, change)

    for drift in drifts(app, is_respelled):
        live, desired = drift.resource.live, drift.resource.desired
        if live is None or desired is None or not builtin(desired) or len(drift.changes) < len(drift.resource.changes):
            continue
        strategy = strategy_of(app.raw, desired, fleet.version)
        typed = differing(live, desired, rules_of(app.raw, fleet.settings, fleet.version), strategy)
        if strategy is not Strategy.THREE_WAY or typed:
            continue
        yield drift.finding(
            f"{drift.resource.id} is OutOfSync over {drift.places()}, the same in another spelling: Argo CD compares it without its types.",
            confidence="likely",
            fixes=(
                drift.write_live("Write the values as the cluster keeps them"),
                server_side_diff_fix(app),
                Fix(
                    "Or upgrade Argo CD to a release whose Kubernetes types know every field of the manifest",
                    "argocd-settings",
                    "the Argo CD installation",
                    Edit("text", f"This is {fleet.version}; the next minor release has newer types."),
                ),
            ),
            evidence=(
                "with its own Kubernetes types both sides are equal: the manifest or the live object has a field that they do not know",
            ),
        )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.SPELLING + 1)
