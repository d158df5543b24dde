"""A workload is scaled to 0

What it finds: a workload whose live object has 0 replicas while Git has more, or has no number and nothing scales it.

Why it hurts: none of its pods run. Argo CD calls such a workload Healthy, and shows only one different number, or none.

How to fix: sync it, or scale it up if Git has no number. If the zero is intended, write it in Git: `replicas: 0`.

Example: a Deployment that someone scaled to 0 for a migration, and forgot.

Sources: gitops-engine/pkg/health/health_deployment.go (0 of 0 replicas are Healthy); kubernetes.io, Horizontal Pod Autoscaling (0 replicas
switch it off). Not reported: workloads that KEDA or another program may scale to zero (a ScaledObject in the namespace, or an annotation or
field manager of a down-scaler), and Rollouts that scale down their own Deployment.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Change, Edit, Finding, Fix, Fleet, Location, Rank, Resource, Rule, Symptom
from argolint.application.applied import git_moved
from argolint.values import age_text, annotations_of, dig, get, labels_of, sh
from argolint.values.kubernetes import argocd_name, kubectl_name
from argolint.values.patterns import regex

from ..shared.triage import worth_reading
from ._scalers import scaler_of

_WORKLOADS = (("Deployment", "apps"), ("StatefulSet", "apps"), ("Rollout", "argoproj.io"))
_POINTER = "/spec/replicas"
_NO_REPLICAS = regex(r'"replicas":\s*0\b')
_ZERO_SCALERS = (("keda.sh", "ScaledObject"), ("http.keda.sh", "HTTPScaledObject"), ("sablier.acouvreur.fr", "Sablier"))
_SLEEP_WORDS = (
    "downscal",
    "sablier",
    "snorlax",
    "sleep",
    "hibernat",
    "paused",
    "pause",
    "original-replicas",
    "scale-to-zero",
    "keda",
    "kube-green",
)
"""The words in annotations and field managers of down-scalers (kube-downscaler, kube-green, Sablier, KEDA)."""


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application has workloads: without a number in Git, Argo CD calls one with 0 replicas Synced and Healthy."""
    return any(row.kind in ("Deployment", "StatefulSet", "Rollout") for row in app.rows) and worth_reading(app, fleet)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each workload."""
    if app.deleting or not app.desired_known:
        return
    for kind, group in _WORKLOADS:
        for resource in app.of_kind(kind, group):
            if not resource.mentions(_NO_REPLICAS, "live") or resource.hook or resource.desired is None:
                continue
            wanted = dig(resource.desired, "spec", "replicas")
            if (
                dig(resource.live, "spec", "replicas") != 0
                or wanted == 0
                or _may_be_scaled_by_program(app, fleet, resource)
            ):
                continue
            change = next((c for c in resource.changes if c.pointer == _POINTER), None)
            if change is None or not git_moved(app, resource, change):
                yield _finding(app, resource, wanted if isinstance(wanted, int) else None, change)


def _may_be_scaled_by_program(app: App, fleet: Fleet, resource: Resource) -> bool:
    """Whether a program may have scaled it to 0 that will scale it up again."""
    scaler = scaler_of(app, resource)
    if scaler is not None and scaler.low == 0:
        return True
    keys = fleet.derive(_namespaces_with_sleepers, app.cluster)
    if resource.namespace in keys or get(resource.live, "/spec/paused", None) is True:
        return True
    if any(dig(r.any, "spec", "workloadRef", "name") == resource.name for r in app.of_kind("Rollout", "argoproj.io")):
        return True
    words = [*annotations_of(resource.live), *labels_of(resource.live)]
    words += [str(dig(entry, "manager")) for entry in dig(resource.live, "metadata", "managedFields") or ()]
    return any(mark in word.lower() for word in words for mark in _SLEEP_WORDS)


def _namespaces_with_sleepers(fleet: Fleet, cluster: str) -> frozenset[str]:
    """Namespaces in which an application has a scaler to zero."""
    return frozenset(key.namespace for group, kind in _ZERO_SCALERS for key in fleet.of_kind(cluster, group, kind))


def _finding(app: App, resource: Resource, wanted: int | None, change: Change | None) -> Finding:
    writer = change.writer if change else None
    by_writer = f" by {writer.manager}" if writer and writer.manager else ""
    when = f", {age_text(app.observed_at - writer.time)} ago" if writer and writer.time else ""
    git = f"Git asks for {wanted}" if wanted is not None else "Git does not set the number"
    shown = f" while Argo CD shows {resource.health.status}" if resource.health.status else ""
    return Finding(
        message=f"{resource.id} is scaled to 0 though {git}: nothing runs{shown}.",
        at=Location(app.ref, resource.id, _POINTER),
        evidence=(
            f"live spec.replicas is 0, written{by_writer}{when}" if by_writer or when else "live spec.replicas is 0",
        ),
        fixes=(_scale_fix(app, resource, wanted),),
        explains=(Symptom.change(resource.id, _POINTER),) if change else (),
    )


def _scale_fix(app: App, resource: Resource, wanted: int | None) -> Fix:
    failed = app.operation is not None and app.operation.failed  # a sync may have no effect then
    if wanted is None:
        command = f"kubectl scale {kubectl_name(resource.id)} --replicas=1"
        return Fix(
            "Scale it up, or write the number into Git",
            "live",
            str(resource.id),
            Edit("command", command),
            effects=("scales",),
            plays=Edit("json-patch", [{"op": "replace", "path": _POINTER, "value": 1}]),
        )
    return Fix(
        "Sync it, or write replicas: 0 into Git if it should stay down",
        "live",
        str(resource.id),
        Edit("command", f"argocd app sync {sh(app.ref)} --resource {argocd_name(resource.id)}"),
        effects=("scales",),
        plays=None if failed else Edit("json-patch", [{"op": "replace", "path": _POINTER, "value": wanted}]),
    )


RULE = Rule(**Rule.page(__name__), severity="error", check=check, reads=reads, rank=Rank.USUAL)
