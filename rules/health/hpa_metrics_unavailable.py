"""An autoscaler cannot read its metrics

What it finds: a HorizontalPodAutoscaler whose condition ScalingActive is False because a metric is unavailable: the cluster has no metrics API,
there is no such metric, or a percentage needs a request that the containers do not have.

Why it hurts: the autoscaler does nothing; under load the workload stays as it is.

A sync that brings such a percentage, or a container without a request under one, is reported before it runs, where the workload belongs to the same application. Requests that a LimitRange
of the namespace writes count.

How to fix: install a server for the metrics API (metrics-server; an adapter for custom and external metrics), set requests, or correct the
metric's name.

Example: `failed to get cpu utilization: missing request for cpu in container app`.

Sources: k8s.io/kubernetes pkg/controller/podautoscaler (conditions); gitops-engine/pkg/health/health_hpa.go, which before 3.0 stops at
AbleToScale and calls such an autoscaler Healthy, and which does not check for FailedGetContainerResourceMetric. Late metrics are reported after
five minutes (option `minutes`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from argolint import (
    App,
    AppRef,
    Finding,
    Fix,
    Fleet,
    Follows,
    Json,
    Location,
    Object,
    Rank,
    Related,
    Resource,
    ResourceKey,
    Rule,
    Symptom,
    Want,
)
from argolint.edits import set_fields
from argolint.edits.advice import Shell, advice
from argolint.messages import telling
from argolint.redaction import excerpt
from argolint.relations import Complaint, resolved
from argolint.relations.denied import USUAL_REQUESTS
from argolint.values import annotations_of, join_pointer, json_in, mapping, maps, parse_time, text_at
from argolint.values.kubernetes import containers, kubectl_name
from argolint.values.patterns import regex

from ..shared.age import Patience, is_overdue
from ..shared.peers import peer_wants
from ._limits import bounding, states_of
from ._meaning import facts_of
from ._unmeasured import counted_too, unmeasured

_NO_API = regex(
    r"could not find the requested resource|no matches for|unable to handle the request|not registered|no custom metrics API|no known available metric versions",
    re.IGNORECASE,
)
_DOWN = regex(r"unable to handle the request\b.{0,300}?\b(?P<group>(?:custom\.|external\.)?metrics\.k8s\.io)")
"""The API server's 503: the API is registered, and its server is not available (kube-aggregator)."""
_PREFIX = regex(r"^the HPA was unable to compute the replica count: ")
_NO_REQUEST = regex(r"missing (?:pod-level )?request for (\S+)")
_WRITTEN = regex(r"invalid \w+ metric source|unknown metric source type|no metrics in spec")
"""Faults of spec.metrics itself (kubernetes pkg/controller/podautoscaler/horizontal.go)."""
_NOT_OF_METRICS = regex(r"controlled by multiple HPAs|selector is required|convert selector|desired replica count is")
_V1_CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"  # where autoscaling/v1 keeps them


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """True for applications with autoscalers: Argo CD may call a failing one Healthy (before 3.0 all, later those that read one container's metric)."""
    return any(app.of_kind("HorizontalPodAutoscaler", "autoscaling"))


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The LimitRanges of other applications in the namespaces of autoscalers that a sync concerns."""
    namespaces = {
        hpa.namespace
        for hpa in app.of_kind("HorizontalPodAutoscaler", "autoscaling")
        if (workload := _workload(app, hpa)) is not None and "OutOfSync" in (hpa.status, workload.status)
    }
    if namespaces:
        yield from peer_wants(app, fleet, [("", "LimitRange")], lambda key: key.namespace in namespaces)


def check(app: App, fleet: Fleet, options: Patience) -> Iterator[Finding]:
    """One finding for each autoscaler; for late metrics a remark, if Argo CD calls the autoscaler Degraded."""
    for hpa in app.of_kind("HorizontalPodAutoscaler", "autoscaling"):
        yield from _coming(app, fleet, hpa)
        if not hpa.mentions("ScalingActive", "live"):
            continue
        condition = next((c for c in _conditions(hpa) if c.get("type") == "ScalingActive"), None)
        if condition is None or condition.get("status") != "False" or "Metric" not in str(condition.get("reason")):
            continue
        message = str(condition.get("message") or "")
        if _NOT_OF_METRICS.search(message):
            continue
        lasting = bool(_WRITTEN.search(message) or _NO_API.search(message) or _NO_REQUEST.search(message))
        old = is_overdue(app, parse_time(condition.get("lastTransitionTime")), options.span)
        if lasting or old or _has_failed_the_sync(app, hpa):
            complaint = Complaint(app, fleet, hpa.id, hpa.desired or hpa.live, (message,))
            found = _finding(app, fleet, hpa, condition, message)
            yield _of_other_pods(app, hpa, message, found) or _with_all_requests(
                app, fleet, hpa, resolved(found, complaint)
            )
        elif hpa.health.status == "Degraded":
            yield _late_metrics_finding(app, hpa, condition, message)


def _workload(app: App, hpa: Resource) -> Resource | None:
    """The workload that an autoscaler of the application scales, if that one belongs to the application too."""
    target = mapping(hpa.desired or hpa.live, "spec", "scaleTargetRef")
    group = str(target.get("apiVersion") or "").rpartition("/")[0]
    return app.find(group, str(target.get("kind")), hpa.namespace, str(target.get("name")))


def _coming(app: App, fleet: Fleet, hpa: Resource) -> Iterator[Finding]:
    """A finding for a percentage of what a container will not request, where that is new."""
    workload = _workload(app, hpa)
    if workload is None or "OutOfSync" not in (hpa.status, workload.status) or hpa.requires_pruning:
        return
    if any(key.namespace == hpa.namespace for key in fleet.of_kind(app.cluster, "autoscaling.k8s.io", _VPA)):
        return  # it writes requests into the pods
    bounds = tuple(bounding(app, fleet, hpa.namespace))
    today = unmeasured(hpa.live, workload.live, states_of(bounds, "LimitRange", live=True))
    known = {(one.resource, one.container) for one in today}
    after = unmeasured(hpa.desired, workload.desired, states_of(bounds, "LimitRange", live=False))
    new = [one for one in after if (one.resource, one.container) not in known]
    for one in new[:1]:
        yield Finding(
            message=f"{hpa.id} will not scale: it takes a percentage of {one.resource}, of which {workload.id} requests none in container {one.container}.",
            at=Location(app.ref, hpa.id, one.pointer),
            confidence="likely",
            evidence=tuple(
                f"container {each.container} of {workload.id} requests no {each.resource}" for each in new[:8]
            ),
            related=(Related(app.ref, workload.id, role="cause"),),
            fixes=advice(__package__, "hpa/no-request", _request_facts(str(workload.id), one.resource)),
        )


_VPA = "VerticalPodAutoscaler"


def _has_failed_the_sync(app: App, hpa: Resource) -> bool:
    """True if the last operation ended after the autoscaler turned Degraded; late metrics cannot undo that."""
    operation = app.operation
    return operation is not None and operation.failed and operation.degraded(hpa.id)


def _conditions(hpa: Resource) -> tuple[Object, ...]:
    found = maps(hpa.live, "status", "conditions")
    text = annotations_of(hpa.live).get(_V1_CONDITIONS)
    if found or not text:
        return found
    decoded = json_in(text)
    return tuple(c for c in decoded if isinstance(c, dict)) if isinstance(decoded, list) else ()


def _late_metrics_finding(app: App, hpa: Resource, condition: Object, message: str) -> Finding:
    return Finding(
        message=f"{hpa.id} has no metrics yet, as is usual for a minute or two after pods start.",
        at=Location(app.ref, hpa.id),
        severity="info",
        evidence=(
            f"condition ScalingActive=False {condition.get('reason')} since {condition.get('lastTransitionTime')}: {excerpt(message, 400)}",
        ),
        explains=(Symptom.health(hpa.id),),
    )


def _finding(app: App, fleet: Fleet, hpa: Resource, condition: Object, message: str) -> Finding:
    why = "a metric in its spec is not complete" if _WRITTEN.search(message) else "it cannot read its metrics"
    down = _group_down(message)
    owner = _owner(app, fleet, down) if down else None
    return Finding(
        message=f"{hpa.id} does not scale, since API {down}{f' of application {owner}' if owner else ''} does not answer."
        if down
        else f'{hpa.id} does not scale, since {why}: "{telling(_PREFIX.sub("", message))}".',
        at=Location(app.ref, hpa.id),
        evidence=(
            f"condition ScalingActive=False {condition.get('reason')} since {condition.get('lastTransitionTime')}: {excerpt(message, 400)}",
        ),
        fixes=_fixes(app, hpa, message, owner),
        explains=(Symptom.health(hpa.id),),
        follows=_follows(app, fleet, message),
    )


_OF_CONTAINER = regex(
    r"missing request for (?P<what>[\w./-]{1,100}) in container (?P<container>[a-z0-9-]{1,63}) of Pod "
)


def _of_other_pods(app: App, hpa: Resource, message: str, finding: Finding) -> Finding | None:
    """The finding where the container is that of another object, whose pods the selector of the target matches too."""
    said, target = _OF_CONTAINER.search(message), _workload(app, hpa)
    if said is None or target is None or (found := counted_too(app, target, said["container"])) is None:
        return None
    other, label = found
    movable = label and other.id.kind in ("Job", "CronJob") and other.app == app.ref
    facts = {
        **_request_facts(str(other.id), said["what"]),
        "target": str(target.id),
        "container": said["container"],
        "label": label if movable else "",
        "patch": [{"op": "replace", "path": other.at + join_pointer(label), "value": other.id.name[:63].rstrip("-.")}],
        "job": Shell(kubectl_name(other.id)) if other.id.kind == "Job" else "",
        "late": "; the pods of earlier runs count until their Jobs are deleted" if other.id.kind == "CronJob" else "",
    }
    return replace(
        finding,
        message=f"{hpa.id} does not scale: the selector of {target.id} also matches pods of {other.id}, whose container {said['container']} requests no {said['what']}.",
        related=(Related(other.app, other.id, role="cause"),),
        fixes=advice(__package__, "hpa/counted-too", facts, other.id),
    )


def _with_all_requests(app: App, fleet: Fleet, hpa: Resource, finding: Finding) -> Finding:
    """The finding on a container without a request, with every request that the percentages need: the autoscaler names the first one alone."""
    target = _workload(app, hpa)
    if target is None or finding.relation is None or finding.relation.resource != target.id:
        return finding
    ranges = states_of(tuple(bounding(app, fleet, hpa.namespace)), "LimitRange", live=True)
    lacking = unmeasured(hpa.live, target.desired, ranges)
    places = {text_at(container, "name"): at for at, container in containers(target.desired)}
    values: dict[str, Json] = {
        f"{places[one.container]}/resources/requests/{one.resource}": USUAL_REQUESTS.get(one.resource)
        for one in lacking
    }
    if len(values) < 2 or not (patch := set_fields(target.desired, values)):
        return finding
    facts = {"workload": str(target.id), "patch": patch}
    return replace(
        finding,
        evidence=(*finding.evidence, *(f"container {o.container} requests no {o.resource}" for o in lacking[:8])),
        fixes=advice(__package__, "hpa/every-request", facts, target.id),
    )


def _request_facts(workload: str, request: str) -> dict[str, str]:
    return {"workload": workload, "request": request, "amount": "100m" if request == "cpu" else "128Mi"}


def _follows(app: App, fleet: Fleet, message: str) -> tuple[Follows, ...]:
    """The APIService that does not answer; else the shared cause for all autoscalers of a cluster: it does not serve the metrics API."""
    if _NO_REQUEST.search(message) or not _NO_API.search(message):
        return ()
    if (group := _group_down(message)) is not None:
        known = tuple(Follows(Symptom.health(key.id)) for key in _api_services(app, fleet, group))
        return (*known, Follows.common(f"API {group} of cluster {app.cluster} does not answer.", group, app.cluster))
    api = next(
        (name for name in ("custom", "external") if f"{name}.metrics" in message or f"{name} metric" in message), ""
    )
    what = f"{api} metrics API" if api else "metrics API"
    return (Follows.common(f"Cluster {app.cluster} serves no {what}.", "metrics-api", app.cluster, api),)


def _group_down(message: str) -> str | None:
    """The group of the metrics API that is registered and does not answer."""
    found = _DOWN.search(message)
    return found["group"] if found else None


def _api_services(app: App, fleet: Fleet, group: str) -> list[ResourceKey]:
    """The APIServices of the group that applications bring to the cluster; their names begin with the version."""
    keys = fleet.of_kind(app.cluster, "apiregistration.k8s.io", "APIService")
    return [key for key in keys if key.name.partition(".")[2] == group]


def _owner(app: App, fleet: Fleet, group: str) -> AppRef | None:
    """The application that brings the APIService."""
    return next((ref for key in _api_services(app, fleet, group) for ref in fleet.owners(key)), None)


def _fixes(app: App, hpa: Resource, message: str, owner: AppRef | None) -> tuple[Fix, ...]:
    missing, down = _NO_REQUEST.search(message), _group_down(message)
    target = mapping(hpa.live, "spec", "scaleTargetRef")
    facts = {
        **facts_of(hpa),
        **_request_facts(
            f"{target.get('kind', 'workload')} {hpa.namespace}/{target.get('name', '')}",
            missing.group(1) if missing else "",
        ),
        "cluster": app.cluster,
        "group": down or "",
        "by": f"application {owner}" if owner else app.cluster,
    }
    if missing:
        topic = "no-request"
    elif _WRITTEN.search(message):
        topic = "written"
    elif down:
        topic = "api-down"
    elif "external metric" in message or "custom metric" in message or "from metric" in message:
        topic = "adapter"
    elif _NO_API.search(message):
        topic = "no-api"
    else:
        unread = "no metrics returned from resource metrics API" in message or "did not receive metrics" in message
        topic = "unread" if unread else "unknown"
    return advice(__package__, f"hpa/{topic}", facts)


RULE = Rule(
    **Rule.page(__name__), severity="warning", check=check, wants=wants, reads=reads, options=Patience, rank=Rank.CAUSE
)
