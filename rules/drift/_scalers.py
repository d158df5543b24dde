"""Autoscalers: the one for a workload, and its bounds."""

from __future__ import annotations

from dataclasses import dataclass

from argolint import App, AppRef, Change, Object, Resource, ResourceId
from argolint.application.applied import by_argocd
from argolint.values import annotations_of, dig, mapping

SCALERS = (
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("keda.sh", "ScaledObject"),
    ("autoscaling.agones.dev", "FleetAutoscaler"),
    ("flagger.app", "Canary"),
)
SCALED = ("Deployment", "StatefulSet", "ReplicaSet", "Rollout")
_UNBOUNDED = 1_000_000
"""Agones lets a webhook or a schedule decide, Flagger scales its target to 0 and back: both without bounds of their own."""
_PAUSED = ("autoscaling.keda.sh/paused", "autoscaling.keda.sh/paused-replicas")


@dataclass(frozen=True)
class Scaler:
    """An autoscaler of one workload with its bounds, and the application that manages it. `paused`: KEDA's annotation stops it."""

    app: AppRef
    id: ResourceId
    low: int
    high: int
    paused: bool = False

    def __str__(self) -> str:
        return f"{self.id}" if self.high == _UNBOUNDED else f"{self.id} ({self.low} to {self.high} replicas)"


def is_resting(resource: Resource, scaler: Scaler) -> bool:
    """True if nothing scales now: KEDA is paused, or the workload has 0 replicas, which switches an HPA off (ScalingDisabled)."""
    asleep = scaler.id.kind == "HorizontalPodAutoscaler" and dig(resource.live, "spec", "replicas") == 0
    return scaler.paused or asleep


def scalers(app: App) -> list[tuple[AppRef, Resource]]:
    """Autoscalers that this application manages, and those of others that were read."""
    own = [(app.ref, candidate) for group, kind in SCALERS for candidate in app.of_kind(kind, group)]
    peers = [(want.app, found) for want, found in app.evidence.items() if want.app and isinstance(found, Resource)]
    return [*own, *((owner, found) for owner, found in peers if (found.group, found.kind) in SCALERS)]


def scaler_of(app: App, resource: Resource) -> Scaler | None:
    """The autoscaler of this workload, from this application or among those that were read."""
    if resource.kind not in SCALED and not resource.changes:
        return None
    for owner, candidate in scalers(app):
        if candidate.namespace == resource.namespace:
            spec = dig(candidate.any, "spec")
            if isinstance(spec, dict) and _is_target(spec, resource):
                return _scaler(owner, candidate, spec)
    return None


def _is_target(spec: Object, resource: Resource) -> bool:
    target = mapping(spec, "scaleTargetRef") or mapping(spec, "targetRef")
    name, kind = target.get("name"), target.get("kind")
    if fleet := dig(spec, "fleetName"):
        name, kind = fleet, "Fleet"
    return name == resource.name and (kind or "Deployment") == resource.kind


def _scaler(owner: AppRef, candidate: Resource, spec: Object) -> Scaler:
    names, low, high = ("minReplicas", "maxReplicas"), 1, 0
    if candidate.kind == "ScaledObject":
        names, low, high = ("minReplicaCount", "maxReplicaCount"), 0, 100
    if candidate.kind == "Canary":
        spec, low, high = {}, 0, _UNBOUNDED
    if candidate.kind == "FleetAutoscaler":
        spec, low, high = mapping(spec, "policy", "buffer"), 0, _UNBOUNDED
    bounds = [bound if isinstance(bound := spec.get(name), int) else None for name in names]
    paused = any(annotations_of(candidate.any).get(name, "false") != "false" for name in _PAUSED)
    return Scaler(
        owner, candidate.id, low if bounds[0] is None else bounds[0], high if bounds[1] is None else bounds[1], paused
    )


_BOUNDS = (("min", "max"), ("minReplicas", "maxReplicas"), ("minReplicaCount", "maxReplicaCount"))


def own_bounds_text(resource: Resource, change: Change) -> str:
    """`between 1 and 5` if the object itself has the bounds of its controller, and the live value is within them.

    Such as `spec.scale.min` and `max` next to `spec.replicas`, in a kind that Kubernetes' own autoscalers do not scale.
    """
    if resource.kind in SCALED or change.writer is None or by_argocd(change.writer):
        return ""
    spec = mapping(resource.any, "spec")
    for candidate in (spec, *(value for value in spec.values() if isinstance(value, dict))):
        for names in _BOUNDS:
            low, high, now = candidate.get(names[0]), candidate.get(names[1]), change.live
            if (
                isinstance(low, int)
                and isinstance(high, int)
                and isinstance(now, int)
                and low < high
                and low <= now <= high
            ):
                return f"between {low} and {high}"
    return ""
