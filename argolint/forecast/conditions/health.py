"""Conditions on health: what the next version's checks make of the live objects of today.

Sources: gitops-engine pkg/health/health_hpa.go, controller/health.go (setApplicationHealth), resource_customizations/batch/CronJob.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from argolint.application.app import App
from argolint.application.resource import Resource
from argolint.forecast.conditions.condition import Asked, Condition
from argolint.forecast.world import Hit, World
from argolint.model import Object
from argolint.redaction import excerpt
from argolint.values import annotations_of, dig, items, json_in, maps, parse_time, text_at

_ORDER = ("", "Healthy", "Suspended", "Progressing", "Missing", "Degraded", "Unknown")
"""From well to worst (gitops-engine pkg/health/health.go, healthOrder)."""
_IGNORE = "argocd.argoproj.io/ignore-healthcheck"

Verdict = tuple[str, str]
"""A health status, and the reason for it."""


def _worse(one: str, other: str) -> bool:
    return _ORDER.index(one) > _ORDER.index(other) if {one, other} <= set(_ORDER) else False


def _missing(app: App, world: World, asked: Asked) -> Iterator[Hit]:
    """An application that is Missing though some of its objects live: it takes the health of those."""
    if app.health.status != "Missing":
        return
    own = [r for r in app.resources if not r.hook]
    there = [r for r in own if not _gone(app, r)]
    if not there or len(there) == len(own):
        return
    states = [r.health.status for r in there if not _ignored(r)]
    worst = max(("Healthy", *(s for s in states if s in _ORDER and s != "Missing")), key=_ORDER.index)
    lacking = [r.id for r in own if r not in there]
    yield Hit(
        app.ref,
        None,
        "",
        {"app": str(app.ref), "then": worst, "count": str(len(lacking))},
        tuple(f"{id_} is missing" for id_ in lacking[:5]),
    )


def _gone(app: App, r: Resource) -> bool:
    if r.live_known:
        return r.missing or r.live is None
    return r.health.status == "Missing" or (r.status == "OutOfSync" and not r.health.status and not app.read)


def _ignored(r: Resource) -> bool:
    return annotations_of(r.live).get(_IGNORE) == "true"


def _reads_missing(app: App, world: World, asked: Asked) -> bool:
    return app.health.status == "Missing"


def _checked(
    group: str, kind: str, before: Callable[[Object], Verdict], after: Callable[[Object], Verdict]
) -> Condition:
    """Objects of a kind whose health check changes, where the two checks disagree about the live object."""

    def holds(app: App, world: World, asked: Asked) -> Iterator[Hit]:
        if dig(world.fleet.overrides, f"{group}/{kind}", "health.lua"):
            return  # the user's own check stays
        for r in app.of_kind(kind, group):
            if r.live is None or r.hook or _ignored(r) or dig(r.live, "metadata", "deletionTimestamp"):
                continue
            (now, _), (then, why) = before(r.live), after(r.live)
            if now == then or now not in ("", r.health.status or now):
                continue
            also = (
                f", and with it the application, which is {app.health.status} today"
                if _worse(then, app.health.status)
                else ""
            )
            fields = {"object": str(r.id), "app": str(app.ref), "then": then, "also": also}
            yield Hit(app.ref, r.id, "/status", fields, (excerpt(why, 300),) if why else ())

    def reads(app: App, world: World, asked: Asked) -> bool:
        return any((row.group, row.kind) == (group, kind) for row in app.rows)

    return Condition(of_app=holds, reads=reads)


_OLD_REASONS = frozenset(
    [
        ("AbleToScale", "FailedGetScale"),
        ("AbleToScale", "FailedUpdateScale"),
        ("ScalingActive", "FailedGetResourceMetric"),
        ("ScalingActive", "InvalidSelector"),
    ]
)
_NEW_REASONS = _OLD_REASONS | frozenset(
    ("ScalingActive", reason)
    for reason in (
        "FailedGetObjectMetric",
        "FailedGetPodsMetric",
        "FailedGetExternalMetric",
        "FailedComputeMetricsReplicas",
    )
)


def _autoscaler(live: Object) -> Sequence[Object]:
    """Its conditions: of autoscaling/v1 they lie in an annotation."""
    if live.get("apiVersion") != "autoscaling/v1":
        return maps(live, "status", "conditions")
    found = json_in(annotations_of(live).get("autoscaling.alpha.kubernetes.io/conditions"))
    return maps({"all": found}, "all")


def _degraded(condition: Object, reasons: frozenset[tuple[str, str]]) -> bool:
    return (text_at(condition, "type"), text_at(condition, "reason")) in reasons


def _scales(condition: Object) -> bool:
    return condition.get("type") in ("AbleToScale", "ScalingLimited") and condition.get("status") == "True"


def _autoscaler_before(live: Object) -> Verdict:
    """The first condition that says anything decides."""
    for c in _autoscaler(live):
        if _degraded(c, _OLD_REASONS):
            return "Degraded", text_at(c, "message")
        if _scales(c):
            return "Healthy", text_at(c, "message")
    return "Progressing", ""


def _autoscaler_after(live: Object) -> Verdict:
    """Every condition is looked at for trouble first."""
    conditions = _autoscaler(live)
    for status, holds in (("Degraded", lambda c: _degraded(c, _NEW_REASONS)), ("Healthy", _scales)):
        for c in conditions:
            if holds(c):
                return status, text_at(c, "message")
    return "Progressing", ""


def _no_check(live: Object) -> Verdict:
    return "", ""


def _cron_job(live: Object) -> Verdict:
    status = live.get("status")
    if dig(live, "spec", "suspend") is True or not isinstance(status, Mapping):
        return "", ""
    scheduled, done = parse_time(status.get("lastScheduleTime")), parse_time(status.get("lastSuccessfulTime"))
    if scheduled is None or done is None or items(status, "active") or done >= scheduled:
        return "", ""
    when = f"last success {status.get('lastSuccessfulTime')}, last schedule {status.get('lastScheduleTime')}"
    return "Degraded", f"the last execution has not completed successfully: {when}"


CONDITIONS: Mapping[str, Condition] = {
    "missing-in-part": Condition(of_app=_missing, reads=_reads_missing),
    "autoscaler-health": _checked("autoscaling", "HorizontalPodAutoscaler", _autoscaler_before, _autoscaler_after),
    "cron-job-health": _checked("batch", "CronJob", _no_check, _cron_job),
}
