"""An RBAC subject or roleRef without its apiGroup

What it finds: a RoleBinding or ClusterRoleBinding whose `subjects[].apiGroup` or `roleRef.apiGroup` is empty or missing in Git and filled in by
the API server, if Argo CD shows that as a difference.

Why it hurts: the binding is OutOfSync forever, and a sync changes nothing.

How to fix: write `apiGroup: rbac.authorization.k8s.io` (for a ServiceAccount subject: none).

Sources: argo-cd test/e2e/testdata/always-outofsync; Kubernetes pkg/apis/rbac/v1/defaults.go.
"""

from collections.abc import Iterator

from argolint import App, Change, Finding, Fleet, Rank, Resource, Rule
from argolint.values.patterns import regex

from ._fields import drifts

_PLACE = regex(r"/subjects/\d+/apiGroup|/roleRef/apiGroup")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each binding."""
    for drift in drifts(app, _is_filled_in_api_group):
        yield drift.finding(
            f"{drift.resource.id} stays OutOfSync over {drift.places()}, which the API server fills in.",
            fixes=(drift.write_live("Write the apiGroup"),),
        )


def _is_filled_in_api_group(resource: Resource, change: Change) -> bool:
    return (
        resource.group == "rbac.authorization.k8s.io"
        and _PLACE.fullmatch(change.pointer) is not None
        and not change.desired
        and change.live == "rbac.authorization.k8s.io"
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.CAUSE)
