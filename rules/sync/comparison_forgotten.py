"""Synced is all that is left of a failed comparison

What it finds: an application without an error whose objects have an empty verdict (neither a normalized nor a predicted state) though they are
in Git and in the cluster.

Why it hurts: Argo CD shows it as Synced, and Git is not compared. The API server had refused the dry run of a server-side diff, for a
change that it will not take. That error is gone after seconds: the next comparison of the same revision reads the cached verdicts, which a failed one
leaves empty, and an empty verdict counts as no difference. No sync follows.

How to fix: do a hard refresh, and repair what the error names while it is shown. Without the server-side diff a sync fails instead, and its message
stays.

Example: Git sets the strategy of a Deployment to Recreate, and server-side apply would keep the live `rollingUpdate` next to it.

Sources: Argo CD 3.6.1 / Kubernetes 1.36.3, tried; controller/state.go (CompareAppState, useDiffCache), util/argo/diff/diff.go
(diffArrayCached) of Argo CD. Server-side apply implies the server-side diff since 3.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from argolint import MISSING, App, Edit, Finding, Fix, Fleet, Follows, Location, Resource, Rule
from argolint.comparison import differences
from argolint.edits import application_place
from argolint.edits.advice import advice
from argolint.redaction import show_sides
from argolint.values import below, sh

from ._options import compare_options_with, may_be_forgotten

_MOST = 3
"""Most differing fields that are quoted."""


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for an application of which objects have an empty verdict, while it shows no error."""
    empty = tuple(r for r in app.resources if r.uncompared)
    if not empty or any(c.type == "ComparisonError" for c in app.conditions):
        return
    differing = tuple(islice((line for r in empty for line in _differing(r)), _MOST))
    facts = {"place": application_place(app), "without_ssd": compare_options_with(app, "ServerSideDiff=false")}
    yield Finding(
        message=f"Argo CD shows application {app.ref} as {app.sync_status} without a comparison: the last one failed, and its cache holds no verdict.",
        at=Location(app.ref, empty[0].id if len(empty) == 1 else None),
        severity="error" if differing else "warning",
        evidence=(
            *(f"the verdict on {r.id} is empty: no normalized and no predicted state" for r in empty[:_MOST]),
            *differing,
        ),
        follows=tuple(Follows.finding("immutable-field", r.id, mended=True) for r in empty),
        fixes=(
            Fix(
                "Do a hard refresh, and read the error before the next comparison hides it",
                "live",
                f"Application {app.ref}",
                Edit("command", f"argocd app get {sh(app.ref)} --hard-refresh"),
                caveat="run argolint at once: it knows how to fix the error; output that differs at each render changes with it",
            ),
            *advice(__package__, "comparison-error/refused", facts),
        ),
    )


def _differing(resource: Resource) -> Iterator[str]:
    """What Git writes and the cluster has otherwise."""
    desired, live = resource.desired or {}, resource.live or {}
    if resource.kind == "Secret":
        return
    for pointer, want, have in sorted(differences(desired, live), key=lambda found: found[0]):
        given = have is not MISSING or want not in (None, "", {}, [])
        if want is not MISSING and given and not below(pointer, "/metadata"):
            git, cluster = show_sides(pointer, (want, desired), (have, live))
            yield f"{pointer} of {resource.id}: {git} in Git, {cluster} live"


RULE = Rule(**Rule.page(__name__), severity="error", check=check, reads=may_be_forgotten)
