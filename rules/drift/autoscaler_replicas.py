"""An autoscaler owns a field that Git sets too

What it finds: `spec.replicas` in the manifest of a workload that a HorizontalPodAutoscaler or a KEDA ScaledObject scales, or
whose replicas something else wrote through the scale subresource; and other fields that an autoscaler wrote.

Why it hurts: every sync scales the workload back to Git's number, just when the autoscaler had a reason for another one.
With self-heal the two write in turns without end, which makes it an error.

How to fix: leave `replicas` out of Git. If a chart insists on it, ignore the field and set `RespectIgnoreDifferences=true`:
without that option a sync overwrites it all the same.

Example: `replicas: 1` in Git beside an autoscaler with `minReplicas: 3`.

Sources: argoproj/argo-cd#2748, #6520, #7820; docs/user-guide/best_practices.md ("Leaving Room For Imperativeness").
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from argolint import (
    MISSING,
    App,
    AppRef,
    Change,
    Finding,
    Fix,
    Fleet,
    Location,
    Object,
    Rank,
    Related,
    Resource,
    ResourceId,
    Rule,
    Want,
    narrowest_ignore,
)
from argolint.applied import by_argocd, git_moved
from argolint.values import annotations_of, dig, mapping

from ._ca_bundles import injected
from ._edits import remove
from ._fields import finding, matching, pointers, value, writer
from ._ignored import ignores
from ._writers import is_sort

_SCALERS = (
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("keda.sh", "ScaledObject"),
    ("autoscaling.agones.dev", "FleetAutoscaler"),
)
_SCALED = ("Deployment", "StatefulSet", "ReplicaSet", "Rollout")
_REPLICAS = "/spec/replicas"
_UNBOUNDED = 1_000_000  # Agones lets a webhook or a schedule decide, which has no bounds of its own
_HPA_CONTROLLER = "kube-controller-manager"
"""The field manager of every HorizontalPodAutoscaler, those that KEDA makes among them."""
_PAUSED = ("autoscaling.keda.sh/paused", "autoscaling.keda.sh/paused-replicas")


@dataclass(frozen=True)
class Scaler:
    """An autoscaler of one workload, and the application that manages it; KEDA's own bounds default to 0 and 100, and an
    annotation pauses it."""

    app: AppRef
    id: ResourceId
    low: int
    high: int
    paused: bool = False

    def __str__(self) -> str:
        return f"{self.id} ({self.low} to {self.high} replicas)"


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Applications that hold an autoscaler beside a workload."""
    return any(any(app.of_kind(kind, group)) for group, kind in _SCALERS) and any(
        any(app.of_kind(kind)) for kind in _SCALED
    )


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """Autoscalers of other applications in the namespace of a workload whose replicas differ."""
    for resource, _ in matching(app, partial(_scaled, app)):
        if _scaler_of(app, resource) is None:
            for group, kind in _SCALERS:
                for key in fleet.of_kind(app.cluster, group, kind):
                    if key.namespace == resource.namespace:
                        for owner in fleet.owners(key):
                            if owner != app.ref:
                                yield Want("peer", ResourceId(*key[1:], "", key.cluster), app=owner)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """Fields that differ now, then workloads whose number will be fought over as soon as the autoscaler moves."""
    for resource, changes in matching(app, partial(_scaled, app)):
        scaler = _scaler_of(app, resource)
        if scaler is not None or any(is_sort(change.writer, "autoscaler") for change in changes):
            yield _fought(app, resource, changes, scaler)
    for resource in app.resources if _scalers(app) else ():
        scaler = _scaler_of(app, resource)
        quiet = not any(_scaled(app, resource, change) for change in resource.changes)
        if (
            scaler is not None
            and resource.live is not None
            and not _rests(resource, scaler)
            and scaler.low < scaler.high
            and quiet
            and not ignores(app, fleet, resource, _REPLICAS, _HPA_CONTROLLER)
        ):
            yield from _latent(app, resource, scaler)


def _fought(app: App, resource: Resource, changes: tuple[Change, ...], scaler: Scaler | None) -> Finding:
    first = changes[0]
    end = "self-heal writes it back and the two never stop" if app.self_heal else "the next sync writes it back"
    who = str(scaler) if scaler else f"an autoscaler ({writer(first)})"
    given_up = first.pointer == _REPLICAS and dig(resource.desired, "spec", "replicas") is None
    message = (
        f"{resource.id} has no replicas in Git any more, while {who} made it {value(first, first.live)}: the next sync takes back what the"
        f" last one applied, once, which leaves {value(first, first.desired)} until the autoscaler moves."
        if given_up
        else f"{resource.id} has {value(first, first.desired)} at {first.pointer} in Git, while {who} made it {value(first, first.live)}: {end}."
    )
    return finding(
        app,
        resource,
        changes,
        message,
        fixes=_fixes(app, resource, pointers(changes)),
        severity="error" if app.self_heal and not given_up else None,
        related=_related(scaler),
    )


def _rests(resource: Resource, scaler: Scaler) -> bool:
    """True when nothing scales now: KEDA is paused, or the workload was put to 0, which switches an HPA off (ScalingDisabled)."""
    asleep = scaler.id.kind == "HorizontalPodAutoscaler" and dig(resource.live, "spec", "replicas") == 0
    return scaler.paused or asleep


def _latent(app: App, resource: Resource, scaler: Scaler) -> Iterator[Finding]:
    wanted = dig(resource.desired, "spec", "replicas")
    if not isinstance(wanted, int):
        return
    outside = not scaler.low <= wanted <= scaler.high
    yield Finding(
        message=f"{resource.id} has replicas {wanted} in Git, while {scaler} scales it: every sync sets the number back.",
        at=Location(app.ref, resource.id, _REPLICAS),
        severity="error" if outside and app.self_heal else None,
        evidence=(f"live has {dig(resource.live, 'spec', 'replicas')} replicas now",) if resource.live else (),
        related=_related(scaler),
        fixes=_fixes(app, resource, (_REPLICAS,)),
    )


def _fixes(app: App, resource: Resource, places: tuple[str, ...]) -> tuple[Fix, ...]:
    ours = [place for place in places if place == _REPLICAS and dig(resource.desired, "spec", "replicas") is not None]
    return (
        *([remove(app, resource, ours, "Leave replicas out of the manifest")] if ours else ()),
        narrowest_ignore(app, resource, places),
    )


def _related(scaler: Scaler | None) -> tuple[Related, ...]:
    return (Related(scaler.app, scaler.id, "/spec", "claimant"),) if scaler else ()


def _scaled(app: App, resource: Resource, change: Change) -> bool:
    if by_argocd(change.writer) and git_moved(app, resource, change):
        return False  # a commit moved the number, no autoscaler did
    if change.pointer == _REPLICAS and change.desired is not MISSING and not is_sort(change.writer, "person"):
        known = resource.kind in _SCALED or is_sort(change.writer, "autoscaler")
        return known or _scaler_of(app, resource) is not None  # whatever has a scale subresource can be scaled
    return is_sort(change.writer, "autoscaler") and not injected(resource, change)


def _scalers(app: App) -> list[tuple[AppRef, Resource]]:
    """Autoscalers that this application manages, and those of others that were asked for."""
    mine = [(app.ref, candidate) for group, kind in _SCALERS for candidate in app.of_kind(kind, group)]
    asked = [(want.app, found) for want, found in app.evidence.items() if want.app and isinstance(found, Resource)]
    return [*mine, *((owner, found) for owner, found in asked if (found.group, found.kind) in _SCALERS)]


def _scaler_of(app: App, resource: Resource) -> Scaler | None:
    """The autoscaler of this workload, of this application or of one that was asked for."""
    if resource.kind not in _SCALED and not resource.changes:
        return None
    for owner, candidate in _scalers(app):
        if candidate.namespace == resource.namespace:
            spec = dig(candidate.any, "spec")
            if isinstance(spec, dict) and _targets(spec, resource):
                return _scaler(owner, candidate, spec)
    return None


def _targets(spec: Object, resource: Resource) -> bool:
    name, kind = (dig(spec, "scaleTargetRef", key) for key in ("name", "kind"))
    if fleet := dig(spec, "fleetName"):
        name, kind = fleet, "Fleet"
    return name == resource.name and (kind or "Deployment") == resource.kind


def _scaler(owner: AppRef, candidate: Resource, spec: Object) -> Scaler:
    names, low, high = ("minReplicas", "maxReplicas"), 1, 0
    if candidate.kind == "ScaledObject":
        names, low, high = ("minReplicaCount", "maxReplicaCount"), 0, 100
    if candidate.kind == "FleetAutoscaler":
        spec, low, high = mapping(spec, "policy", "buffer"), 0, _UNBOUNDED
    given = [bound if isinstance(bound := spec.get(name), int) else None for name in names]
    paused = any(annotations_of(candidate.any).get(name, "false") != "false" for name in _PAUSED)
    return Scaler(
        owner, candidate.id, low if given[0] is None else given[0], high if given[1] is None else given[1], paused
    )


RULE = Rule(
    id="autoscaler-replicas",
    family="drift",
    severity="warning",
    doc=__doc__,
    check=check,
    wants=wants,
    reads=reads,
    rank=Rank.CAUSE,
)
