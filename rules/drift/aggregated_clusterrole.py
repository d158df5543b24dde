"""An aggregated ClusterRole with rules of its own

What it finds: a ClusterRole that has an `aggregationRule` and whose `rules` differ from Git. Kubernetes' controller manager collects them from
the ClusterRoles that the selectors match, and overwrites Git's rules.

Why it hurts: the role is OutOfSync forever. Each sync removes the collected permissions until the controller restores them, and rules that only
Git has never take effect.

How to fix: leave `rules` out, and put the role's own rules into a ClusterRole with the label that the selector matches. Or set
`ignoreAggregatedRoles: true` in `resource.compareoptions`.

Sources: docs/user-guide/diffing.md (ignoreAggregatedRoles); https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles.
"""

from collections.abc import Iterator

from argolint import App, Change, Finding, Fleet, Rank, Resource, Rule, narrowest_ignore
from argolint.application.applied import settled
from argolint.edits import argocd_cm
from argolint.values import below, items

from ._edits import removal_fix
from ._fields import drifts


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each ClusterRole."""
    for drift in drifts(app, _is_aggregated_rule):
        if "rules" not in (drift.resource.desired or {}) and not settled(app, drift.resource):
            continue  # Git has just dropped them, and the next sync is the last one to see them
        in_git = items(drift.resource.desired, "rules")
        yield drift.finding(
            f"Kubernetes collects the rules of {drift.resource.id} itself, so {'those' if in_git else 'the empty list'} in Git"
            f" never {'last' if in_git else 'lasts'}.",
            pointer="/rules",
            fixes=(
                removal_fix(
                    app,
                    drift.resource,
                    ("/rules",),
                    "Leave rules out of the aggregated role",
                    "move its own rules to a ClusterRole that the selector matches" if in_git else "",
                )
                if "rules" in (drift.resource.desired or {})
                else None,
                narrowest_ignore(app, drift.resource, ("/rules",)),
                argocd_cm(
                    "Let Argo CD ignore the rules of aggregated roles",
                    "resource.compareoptions: |\n  ignoreAggregatedRoles: true\n",
                    "applies to every aggregated ClusterRole",
                ),
            ),
        )


def _is_aggregated_rule(resource: Resource, change: Change) -> bool:
    return (
        resource.kind == "ClusterRole"
        and any("aggregationRule" in side for side in (resource.desired or {}, resource.live or {}))
        and below(change.pointer, "/rules")
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.CAUSE)
