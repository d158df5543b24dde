"""Conditions on health: the result of the next version's checks for the current live objects.

Sources: gitops-engine pkg/health/health_hpa.go, controller/health.go (setApplicationHealth), resource_customizations/batch/CronJob.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from argolint.application.app import App
from argolint.application.resource import Resource
from argolint.forecast.conditions.condition import Args, Condition
from argolint.forecast.world import Hit, World
from argolint.model import Object, Related, Severity
from argolint.redaction import excerpt
from argolint.values import annotations_of, dig, items, json_in, maps, parse_time, text_at
from argolint.values.glob import matches
from argolint.values.kubernetes import is_deleting

_ORDER = ("", "Healthy", "Suspended", "Progressing", "Missing", "Degraded", "Unknown")
"""From best to worst (gitops-engine pkg/health/health.go, healthOrder)."""
_IGNORE = "argocd.argoproj.io/ignore-healthcheck"

Verdict = tuple[str, str]
"""A health status and its message."""


def _is_worse(one: str, other: str) -> bool:
    return _ORDER.index(one) > _ORDER.index(other) if {one, other} <= set(_ORDER) else False


def _missing(app: App, world: World, args: Args) -> Iterator[Hit]:
    """An application that is Missing although some of its objects are live: it gets their health."""
    if app.health.status != "Missing":
        return
    own = [r for r in app.resources if not r.hook]
    present = [r for r in own if not _is_gone(app, r)]
    if not present or len(present) == len(own):
        return
    states = [r.health.status for r in present if not _is_ignored(r)]
    worst = max(("Healthy", *(s for s in states if s in _ORDER and s != "Missing")), key=_ORDER.index)
    lacking = [r.id for r in own if r not in present]
    yield Hit(
        app.ref,
        None,
        "",
        {"app": str(app.ref), "then": worst, "count": str(len(lacking))},
        tuple(f"{id_} is missing" for id_ in lacking[:5]),
    )


def _is_gone(app: App, r: Resource) -> bool:
    if r.live_known:
        return r.missing or r.live is None
    return r.health.status == "Missing" or (r.status == "OutOfSync" and not r.health.status and not app.read)


def _is_ignored(r: Resource) -> bool:
    return annotations_of(r.live).get(_IGNORE) == "true"


def _reads_missing(app: App, world: World, args: Args) -> bool:
    return app.health.status == "Missing"


def _checked(
    group: str, kind: str, before: Callable[[Object], Verdict], after: Callable[[Object], Verdict]
) -> Condition:
    """Objects of a kind whose health check changes, if the two checks disagree about the live object."""

    def holds(app: App, world: World, args: Args) -> Iterator[Hit]:
        if dig(world.fleet.overrides, f"{group}/{kind}", "health.lua"):
            return  # the user's own check remains
        for r in app.of_kind(kind, group):
            if r.live is None or r.hook or _is_ignored(r) or is_deleting(r.live):
                continue
            (now, _), (then, why) = before(r.live), after(r.live)
            if now == then or now not in ("", r.health.status or now):
                continue
            fields = {"object": str(r.id), "app": str(app.ref), "then": then, "also": _consequence(app, then)}
            yield Hit(app.ref, r.id, "/status", fields, (excerpt(why, 300),) if why else ())

    def reads(app: App, world: World, args: Args) -> bool:
        return any((row.group, row.kind) == (group, kind) for row in app.rows)

    return Condition(of_app=holds, reads=reads)


def _consequence(app: App, then: str) -> str:
    worse = _is_worse(then, app.health.status)
    return f", and with it the application, which is {app.health.status} today" if worse else ""


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
    """Its conditions; autoscaling/v1 stores them in an annotation."""
    if live.get("apiVersion") != "autoscaling/v1":
        return maps(live, "status", "conditions")
    found = json_in(annotations_of(live).get("autoscaling.alpha.kubernetes.io/conditions"))
    return maps({"all": found}, "all")


def _degraded(condition: Object, reasons: frozenset[tuple[str, str]]) -> bool:
    return (text_at(condition, "type"), text_at(condition, "reason")) in reasons


def _is_scaling(condition: Object) -> bool:
    return condition.get("type") in ("AbleToScale", "ScalingLimited") and condition.get("status") == "True"


def _autoscaler_before(live: Object) -> Verdict:
    """The first decisive condition wins."""
    for c in _autoscaler(live):
        if _degraded(c, _OLD_REASONS):
            return "Degraded", text_at(c, "message")
        if _is_scaling(c):
            return "Healthy", text_at(c, "message")
    return "Progressing", ""


def _autoscaler_after(live: Object) -> Verdict:
    """All conditions are checked for errors first."""
    conditions = _autoscaler(live)
    for status, holds in (("Degraded", lambda c: _degraded(c, _NEW_REASONS)), ("Healthy", _is_scaling)):
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


def _new_check(app: App, world: World, args: Args) -> Iterator[Hit]:
    """Objects of `kinds` without a health check that the next version's check does not call Healthy.

    The check is in the row: `at` names lists of conditions; the first of `rules` that matches a condition decides, then `seen` if there are
    conditions and `none` if there are none. A list with an older observed generation does not count.
    """
    for r in app.resources:
        if r.group != args["group"] or r.kind not in args["kinds"] or r.live is None or r.hook or _is_ignored(r):
            continue
        if r.health.status or dig(world.fleet.overrides, f"{r.group}/{r.kind}", "health.lua"):
            continue  # already checked, by the user's own check or another one
        then, why = judged(r.live, args)
        if then == "Healthy" or is_deleting(r.live):
            continue
        also = _consequence(app, then)
        fields = {"object": str(r.id), "app": str(app.ref), "then": then, "also": also, "kind": r.kind}
        severity: Severity | None = "warning" if then == "Degraded" else None
        yield Hit(app.ref, r.id, "/status", fields, (excerpt(why, 300),) if why else (), severity=severity)


def judged(live: Object, check: Args) -> Verdict:
    """The result of a check of conditions for an object."""
    found = [conditions for conditions in _lists(live, check["at"]) if _is_observed(live, conditions)]
    for conditions in found:
        for rule in check["rules"]:
            for c in conditions:
                if all(_fits_rule(c, key, wanted) for key, wanted in rule.items() if key != "then"):
                    return rule["then"], text_at(c, "message")
    return (check["seen"] if any(found) else check["none"]), ""


def _lists(live: Object, pattern: str) -> Iterator[Sequence[Object]]:
    """The lists of conditions at `/status/conditions`, or of every item of `/status/parents/*/conditions`."""
    head, star, tail = pattern.strip("/").partition("/*/")
    if not star:
        yield maps(live, *head.split("/"))
        return
    for item in maps(live, *head.split("/")):
        yield maps(item, *tail.split("/"))


def _is_observed(live: Object, conditions: Sequence[Object]) -> bool:
    now = dig(live, "metadata", "generation")
    return now is None or all(c.get("observedGeneration") in (None, now) for c in conditions)


def _fits_rule(condition: Object, key: str, wanted: str) -> bool:
    """True for the wanted value, or after `!` for any other one."""
    have = text_at(condition, key)
    return have != wanted[1:] if wanted.startswith("!") else have == wanted


def _reads_kinds(app: App, world: World, args: Args) -> bool:
    return any(row.group == args["group"] and row.kind in args["kinds"] for row in app.rows)


def _coming_check(app: App, world: World, args: Args) -> Iterator[Hit]:
    """Live objects of `kinds` (globs, by globs of groups) without a health check whose conditions do not say that they are ready.

    The result of the new check is not computed: one hit per kind.
    """
    found: dict[tuple[str, str], list[Resource]] = {}
    for r in app.resources:
        if r.live is None or r.health.status or r.hook or not _of_kinds(r.group, r.kind, args) or _is_ignored(r):
            continue
        if not (_ready(r.live) or dig(world.fleet.overrides, f"{r.group}/{r.kind}", "health.lua")):
            found.setdefault((r.group, r.kind), []).append(r)
    for resources in found.values():
        first, *others = sorted(resources, key=lambda r: r.key)
        fields = {
            "object": str(first.id),
            "more": f" and {len(others)} more" if others else "",
            "app": str(app.ref),
            "get": "get" if others else "gets",
            "their": "none of their conditions says that they are"
            if others
            else "none of its conditions says that it is",
        }
        conditions = tuple(
            f"condition {text_at(c, 'type')} is {text_at(c, 'status')}: {excerpt(text_at(c, 'message'), 200)}"
            for c in maps(first.live, "status", "conditions")[:3]
        )
        yield Hit(
            app.ref, first.id, "/status", fields, conditions, tuple(Related(app.ref, r.id, "", "other") for r in others)
        )


_WELL = frozenset("Ready Available Healthy Accepted Synced Programmed Established Succeeded Running".split())


def _ready(live: Object | None) -> bool:
    """Whether the usual ready conditions are all true."""
    statuses = [c.get("status") for c in maps(live, "status", "conditions") if c.get("type") in _WELL]
    return bool(statuses) and all(status == "True" for status in statuses)


def _of_kinds(group: str, kind: str, args: Args) -> bool:
    return any(matches(g, group) and any(matches(k, kind) for k in kinds) for g, kinds in args["kinds"].items())


def _reads_any(app: App, world: World, args: Args) -> bool:
    return any("." in row.group and _of_kinds(row.group, row.kind, args) for row in app.rows)


CONDITIONS: Mapping[str, Condition] = {
    "health-check-comes": Condition(of_app=_coming_check, reads=_reads_any),
    "missing-in-part": Condition(of_app=_missing, reads=_reads_missing),
    "autoscaler-health": _checked("autoscaling", "HorizontalPodAutoscaler", _autoscaler_before, _autoscaler_after),
    "new-health-check": Condition(of_app=_new_check, reads=_reads_kinds),
    "cron-job-health": _checked("batch", "CronJob", _no_check, _cron_job),
}
