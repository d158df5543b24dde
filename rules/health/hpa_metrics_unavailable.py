"""An autoscaler cannot read its metrics

What it finds: a HorizontalPodAutoscaler whose condition ScalingActive is False since a metric cannot be had: no metrics API in
the cluster, no such metric, or containers without a request to take a percentage of.

Why it hurts: the autoscaler does nothing; under load the workload stays as it is.

How to fix: install what serves the metrics API (metrics-server; an adapter for custom and external metrics), set requests, or
correct the metric's name.

Example: `failed to get cpu utilization: missing request for cpu in container app`.

Sources: k8s.io/kubernetes pkg/controller/podautoscaler (conditions); gitops-engine/pkg/health/health_hpa.go, which before 3.0
stops at AbleToScale and calls such an autoscaler Healthy, and which never heard of FailedGetContainerResourceMetric. Metrics
that are merely late are told after five minutes (option `minutes`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Object, Resource, Rule, Symptom
from argolint.values import excerpt, mapping

from ._age import Patience
from ._metrics import NO_API, NO_REQUEST, late, unread

_PREFIX = re.compile(r"^the HPA was unable to compute the replica count: ")


def reads(app: App, fleet: Fleet) -> bool:
    """Argo CD may call such an autoscaler Healthy: before 3.0 all of them, later those that read one container's metric."""
    return any(app.of_kind("HorizontalPodAutoscaler", "autoscaling"))


def check(app: App, fleet: Fleet, options: Patience) -> Iterator[Finding]:
    """One finding an autoscaler."""
    for hpa in app.of_kind("HorizontalPodAutoscaler", "autoscaling"):
        condition = unread(hpa)
        if condition is not None and not late(app, condition, options.span):
            yield _finding(app, hpa, condition, str(condition.get("message") or ""))


def _finding(app: App, hpa: Resource, condition: Object, message: str) -> Finding:
    return Finding(
        message=f'{hpa.id} cannot read its metrics ({condition.get("reason")}): "{excerpt(_PREFIX.sub("", message))}", so it does not scale.',
        at=Location(app.ref, hpa.id),
        evidence=(
            f"condition ScalingActive=False {condition.get('reason')} since {condition.get('lastTransitionTime')}",
        ),
        fixes=tuple(_fixes(app, hpa, message)),
        explains=(Symptom.health(hpa.id),),
    )


def _fixes(app: App, hpa: Resource, message: str) -> Iterator[Fix]:
    missing = NO_REQUEST.search(message)
    target = mapping(hpa.live, "spec", "scaleTargetRef")
    workload = f"{target.get('kind', 'workload')} {hpa.namespace}/{target.get('name', '')}"
    if missing:
        yield Fix(
            f"Request {missing.group(1)} in every container of {workload}",
            "manifest",
            workload,
            Edit("yaml", f"resources:\n  requests:\n    {missing.group(1)}: 100m"),
            caveat="pods restart, and each one then needs that much on a node",
        )
    elif "external metric" in message or "custom metric" in message or "from metric" in message:
        yield Fix(
            "Install or repair the adapter that serves the metric, or correct the metric's name",
            "operator",
            app.cluster,
            Edit("command", "kubectl get apiservices | grep metrics.k8s.io"),
        )
    elif NO_API.search(message):
        yield Fix(
            "Install metrics-server, or repair it: the cluster has no metrics API",
            "operator",
            app.cluster,
            Edit("command", "kubectl get apiservice v1beta1.metrics.k8s.io"),
        )
    else:
        yield Fix(
            "Look why the metric is not there",
            "live",
            str(hpa.id),
            Edit("command", f"kubectl -n {hpa.namespace} describe hpa {hpa.name}"),
        )


RULE = Rule(
    id="hpa-metrics-unavailable",
    family="health",
    severity="warning",
    doc=__doc__,
    check=check,
    reads=reads,
    options=Patience,
    rank=10,
)
