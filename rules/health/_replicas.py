"""How many pods a workload has after the sync: what Git says, or the bounds of the autoscaler that it has; and how many during an update."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from argolint import App, Json, Object, Resource
from argolint.values import dig, mapping, text_at

from ..shared.peers import after_sync

SCALED = (("apps", "Deployment"), ("apps", "StatefulSet"))
"""Workloads whose number of pods is a field."""
_SCALERS = {
    ("autoscaling", "HorizontalPodAutoscaler"): ("minReplicas", 1, "maxReplicas", 1),
    ("keda.sh", "ScaledObject"): ("minReplicaCount", 0, "maxReplicaCount", 100),
}
"""The fields of the bounds, each with its default (autoscaling/v2; keda.sh, ScaledObject)."""


class Pods(NamedTuple):
    """The least and the greatest number of pods."""

    least: int
    most: int


def pods_of(app: App, workload: Resource) -> Pods | None:
    """The number of pods of a Deployment or StatefulSet after the sync; None where nothing known says it."""
    if (workload.group, workload.kind) not in SCALED or (obj := after_sync(workload)) is None:
        return None
    if (bounds := app.derive(_bounds).get((workload.kind, workload.namespace, workload.name))) is not None:
        return bounds
    written = dig(obj, "spec", "replicas")
    count = written if written is not None else dig(workload.live, "spec", "replicas") if workload.live else 1
    return Pods(count, count) if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None


def _bounds(app: App) -> Mapping[tuple[str, str, str], Pods]:
    """The bounds of the known autoscalers, by kind, namespace and name of the workload."""
    return dict(_each_bound(app))


def _each_bound(app: App) -> Iterator[tuple[tuple[str, str, str], Pods]]:
    for scaler in (*app.resources, *(peer for _, peer in app.peers())):
        fields = _SCALERS.get((scaler.group, scaler.kind))
        obj: Object | None = after_sync(scaler) if fields else None
        if fields and obj:
            target = dig(obj, "spec", "scaleTargetRef")
            kind = text_at(target, "kind") or "Deployment"  # KEDA's default
            low, least, high, most = fields
            bounds = [dig(obj, "spec", low), dig(obj, "spec", high)]
            least, most = (
                one if isinstance(one, int) else other for one, other in zip(bounds, (least, most), strict=True)
            )
            yield (kind, scaler.namespace, text_at(target, "name")), Pods(min(least, most), max(least, most))


class Update(NamedTuple):
    """How many pods a rolling update may add to the wanted number, and how many of those may be away."""

    more: int
    away: int


def in_update(obj: Object | None, wanted: int) -> Update:
    """Those of a Deployment with that many pods, rounded as its controller does (pkg/controller/deployment/util, ResolveFenceposts)."""
    strategy = mapping(obj, "spec", "strategy")
    if strategy.get("type") == "Recreate":
        return Update(0, wanted)
    rolling = mapping(strategy, "rollingUpdate")
    _, more = _bounds_of_share(rolling.get("maxSurge"), wanted)
    away, _ = _bounds_of_share(rolling.get("maxUnavailable"), wanted)
    return Update(more, away if more or away else 1)


def _bounds_of_share(value: Json, wanted: int) -> tuple[int, int]:
    """A number of pods, or a share of them rounded down and up; 25% if none is written, and all of them if the share cannot be read."""
    if isinstance(value, int):
        return value, value
    text = str(value or "25%").removesuffix("%")
    share = wanted * (int(text) if text.isdecimal() and len(text) < 4 else 100)
    return share // 100, -(-share // 100)
