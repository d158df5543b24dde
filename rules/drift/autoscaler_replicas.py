"""An autoscaler owns a field that Git sets too

What it finds: `spec.replicas` in the manifest of a workload that a HorizontalPodAutoscaler or a KEDA ScaledObject scales, or whose replicas
another program wrote through the scale subresource. Also other fields that an autoscaler wrote.

Why it hurts: every sync scales the workload back to Git's number, although the autoscaler had a reason for another one. With self-heal the two
write in turns forever, which makes it an error.

How to fix: leave `replicas` out of Git. If a chart insists on it, ignore the field and set `RespectIgnoreDifferences=true`:
without that option a sync overwrites it all the same.

Example: `replicas: 1` in Git next to an autoscaler with `minReplicas: 3`.

Sources: argoproj/argo-cd#2748, #6520, #7820; docs/user-guide/best_practices.md ("Leaving Room For Imperativeness").
"""

from collections.abc import Iterator
from functools import partial

from argolint import (
    MISSING,
    App,
    Change,
    Finding,
    Fix,
    Fleet,
    Location,
    Rank,
    Related,
    Resource,
    Rule,
    Want,
    narrowest_ignore,
)
from argolint.application.applied import by_argocd, git_moved
from argolint.comparison import matches_object
from argolint.edits import RESPECT
from argolint.values import annotations_of, below, dig

from ._ca_bundles import is_injected_bundle
from ._edits import removal_fix, respect_fix
from ._fields import Drift, drifts, side_text, writer_name
from ._ignored import is_field_ignored, own_entries, removed_pointers
from ._scalers import SCALED, SCALERS, Scaler, is_resting, own_bounds_text, scaler_of, scalers
from ._writers import is_sort

_REPLICAS = "/spec/replicas"
_DOWNSCALED = "downscaler/original-replicas"
"""Where kube-downscaler keeps the number of a workload that it has scaled down; its field manager is that of a library."""
_HPA_CONTROLLER = "kube-controller-manager"
"""The field manager of every HorizontalPodAutoscaler, including KEDA's."""


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application has an autoscaler and a workload."""
    return any(any(app.of_kind(kind, group)) for group, kind in SCALERS) and any(
        any(app.of_kind(kind)) for kind in SCALED
    )


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """Autoscalers of other applications in the namespace of a workload whose replicas differ."""
    for _, resource, _ in drifts(app, partial(_is_scaled, app)):
        if scaler_of(app, resource) is None:
            for group, kind in SCALERS:
                for key in fleet.of_kind(app.cluster, group, kind):
                    if key.namespace == resource.namespace:
                        for owner in fleet.owners(key):
                            if owner != app.ref:
                                yield Want("peer", key.id, app=owner)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """Fields that differ now, then workloads whose number will differ as soon as the autoscaler changes it."""
    for drift in drifts(app, partial(_is_scaled, app)):
        scaler = scaler_of(app, drift.resource)
        known = scaler is not None or _DOWNSCALED in annotations_of(drift.resource.live)
        if known or any(is_sort(change.writer, "autoscaler") for change in drift.changes):
            yield _fight_finding(drift, scaler)
        elif bounds := own_bounds_text(drift.resource, drift.changes[0]):
            yield _fight_finding(drift, None, bounds)
    for resource in app.resources if scalers(app) else ():
        scaler = scaler_of(app, resource)
        quiet = not any(_is_scaled(app, resource, change) for change in resource.changes)
        if (
            scaler is not None
            and resource.live is not None
            and not is_resting(resource, scaler)
            and scaler.low < scaler.high
            and quiet
        ):
            ignored = is_field_ignored(app, fleet, resource, _REPLICAS, _HPA_CONTROLLER)
            if not (ignored and (RESPECT in app.sync_options or _ignored_by_application(app, resource))):
                yield from _latent_findings(app, resource, scaler, ignored)


def _ignored_by_application(app: App, resource: Resource) -> bool:
    """True if ignore-not-respected has a remark on the Application's own entry."""
    return any(
        matches_object(entry, resource.any) and below(_REPLICAS, pointer)
        for entry in own_entries(app)
        for pointer in removed_pointers(entry, resource)
    )


def _fight_finding(drift: Drift, scaler: Scaler | None, bounds: str = "") -> Finding:
    app, resource, changes = drift
    first = changes[0]
    end = "self-heal keeps setting it back" if app.self_heal else "the next sync sets it back"
    if (resource.kind, first.pointer) == ("PersistentVolumeClaim", "/spec/resources/requests/storage"):
        end = "a sync fails, since no claim can be made smaller"
    scales = str(scaler.id) if scaler else writer_name(first) if bounds or first.writer else "an autoscaler"
    if scaler is None and _DOWNSCALED in annotations_of(resource.live) and "downscaler" not in scales:
        scales = f"kube-downscaler ({scales})"
    given_up = first.pointer == _REPLICAS and dig(resource.desired, "spec", "replicas") is None
    message = (
        f"Git no longer sets {first.pointer} of {resource.id}, which {scales} scales: the next sync resets it"
        f" once, to {side_text(first, first.desired)}."
        if given_up
        else f"{scales} sets {first.pointer} of {resource.id}, and {end}."
    )
    return drift.finding(
        message,
        fixes=_fixes(app, resource, drift.pointers),
        evidence=_bounds_evidence(scaler, bounds),
        severity="error" if app.self_heal and not given_up else None,
        related=_related(scaler),
    )


def _bounds_evidence(scaler: Scaler | None, own: str = "") -> tuple[str, ...]:
    if scaler is not None:
        return (str(scaler),)
    return (f"its own controller scales it {own}",) if own else ()


def _latent_findings(app: App, resource: Resource, scaler: Scaler, ignored: bool) -> Iterator[Finding]:
    wanted = dig(resource.desired, "spec", "replicas")
    if not isinstance(wanted, int):
        return
    outside = not scaler.low <= wanted <= scaler.high
    though = f": {RESPECT} is missing" if ignored else ""
    yield Finding(
        message=f"{scaler.id} scales {resource.id}, and every sync resets its replicas to {wanted}{though}.",
        at=Location(app.ref, resource.id, _REPLICAS),
        severity="error" if outside and app.self_heal else None,
        evidence=(*_bounds_evidence(scaler), f"live has {dig(resource.live, 'spec', 'replicas')} replicas now"),
        related=_related(scaler),
        fixes=(removal_fix(app, resource, [_REPLICAS], "Leave replicas out of the manifest"), respect_fix(app))
        if ignored
        else _fixes(app, resource, (_REPLICAS,)),
    )


def _fixes(app: App, resource: Resource, places: tuple[str, ...]) -> tuple[Fix, ...]:
    ours = [place for place in places if place == _REPLICAS and dig(resource.desired, "spec", "replicas") is not None]
    return (
        *([removal_fix(app, resource, ours, "Leave replicas out of the manifest")] if ours else ()),
        narrowest_ignore(app, resource, places),
    )


def _related(scaler: Scaler | None) -> tuple[Related, ...]:
    return (Related(scaler.app, scaler.id, "/spec", "claimant"),) if scaler else ()


def _is_scaled(app: App, resource: Resource, change: Change) -> bool:
    if by_argocd(change.writer) and git_moved(app, resource, change):
        return False  # a commit moved the number, no autoscaler did
    if change.pointer == _REPLICAS and change.desired is not MISSING and not is_sort(change.writer, "person"):
        known = resource.kind in SCALED or is_sort(change.writer, "autoscaler")
        can = bool(own_bounds_text(resource, change)) or scaler_of(app, resource) is not None
        return known or can  # any kind with a scale subresource can be scaled
    return is_sort(change.writer, "autoscaler") and not is_injected_bundle(resource, change)


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, wants=wants, reads=reads, rank=Rank.CAUSE)
