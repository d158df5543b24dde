"""A sync scales a workload to one replica, since Git no longer says how many

What it finds: a Deployment or StatefulSet whose `spec.replicas` left Git, while more than one replica runs. The field is in the last-applied configuration, so
the sync removes it, and the API server sets its default.

Why it hurts: the default is 1. The change looks like a tidy-up and takes away all pods but one at once.

How to fix: keep the field.

Example: a values file loses `replicaCount: 5`, and the chart renders the field only if it is set.

Not reported: workloads of an autoscaler (`autoscaler-replicas`), and objects that are applied server-side, where someone else owns the field by then.

Sources: apps/v1 defaults (SetDefaults_Deployment, SetDefaults_StatefulSet); kubernetes.io, Declarative Management of Kubernetes Objects (how apply merges).
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Finding, Fleet, Location, Rank, Resource, Rule, Symptom
from argolint.edits import manifest_patch, set_field
from argolint.values import dig

from ._fields import is_from_dry_run
from ._scalers import scaler_of

_AT = "/spec/replicas"


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each workload that the sync scales to 1."""
    for kind in ("Deployment", "StatefulSet"):
        for resource in app.of_kind(kind, "apps"):
            changes = (c for c in (*resource.pending, *resource.changes) if c.pointer == _AT)
            if not any(not is_from_dry_run(app, resource, change) for change in changes):
                continue
            runs = dig(resource.live, "spec", "replicas")
            left = dig(resource.desired, "spec", "replicas") is None
            if left and isinstance(runs, int) and runs > 1 and scaler_of(app, resource) is None:
                yield _finding(app, resource, runs)


def _finding(app: App, resource: Resource, runs: int) -> Finding:
    return Finding(
        message=f"The sync scales {resource.id} from {runs} to 1, the default: {_AT} is no longer in Git.",
        at=Location(app.ref, resource.id, _AT),
        confidence="likely",
        fixes=(manifest_patch(resource.id, f"Keep {runs} replicas in Git", set_field(resource.desired, _AT, runs)),),
        explains=(Symptom.change(resource.id, _AT),),
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.CAUSE)
