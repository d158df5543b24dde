"""Defaults of webhook configurations that Git omits

What it finds: fields of webhook configurations and admission policies that the API server fills in (`matchPolicy`, `timeoutSeconds`, `scope`,
empty selectors) and that only the live object has, if Argo CD shows the difference.

Why it hurts: the object is OutOfSync forever, and a sync changes nothing.

How to fix: write the defaults in Git, or let the API server compare (`ServerSideDiff=true`).

Example: `webhooks[].rules[].scope: "*"` in the cluster only.

Sources: argoproj/argo-cd#17643, aws-samples/appmod-blueprints#726; Kubernetes pkg/apis/admissionregistration/v1/defaults.go.
"""

from collections.abc import Iterator
from functools import partial

from argolint import App, Finding, Fleet, Rank, Rule

from ._defaults import is_default
from ._edits import server_side_diff_fix
from ._fields import drifts


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object, with all its defaults."""
    for drift in drifts(app, partial(is_default, "webhook-default")):
        yield drift.finding(
            f"{drift.resource.id} stays OutOfSync over {drift.places()}, a default of Kubernetes that Git leaves out.",
            fixes=(drift.write_live("Write the defaults"), server_side_diff_fix(app)),
        )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.CAUSE)
