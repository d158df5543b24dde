"""A workload is healthy and runs no pod

What it finds: a DaemonSet that fits on no node (as information: charts bring such for hardware that a cluster may lack). Also a Deployment,
StatefulSet or Rollout that Argo CD shows Healthy while its status counts none of the wanted pods.

Why it hurts: Argo CD compares the number of running pods with the wanted number, and shows Healthy. For a DaemonSet that fits nowhere the wanted number is 0.

How to fix: compare its nodeSelector, affinity and tolerations with the nodes. If the status counts no pod, check the health check of the kind
and the controller.

Example: a log shipper with `nodeSelector: {disk: ssd}`, after the nodes got other labels.

Sources: gitops-engine/pkg/health/health_daemonset.go, health_deployment.go, health_statefulset.go; apps/v1 DaemonSetStatus. The rule
down-by-hand checks workloads that are scaled to 0.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Finding, Fleet, Location, Resource, Rule
from argolint.edits import live_command
from argolint.edits.advice import advice
from argolint.redaction import excerpt
from argolint.values import dig, mapping, number_at
from argolint.values.kubernetes import is_deleting, is_of_current_spec, kubectl_name

from ..shared.triage import worth_reading

_COUNTED = (("Deployment", "apps"), ("StatefulSet", "apps"), ("Rollout", "argoproj.io"))
_SPEC = "/spec/template/spec"


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application has DaemonSets: Argo CD calls one without pods Synced and Healthy."""
    return any((row.kind, row.group) == ("DaemonSet", "apps") for row in app.rows) and worth_reading(app, fleet)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each workload."""
    if app.deleting:
        return
    for resource in app.of_kind("DaemonSet", "apps"):
        if _is_judged(resource) and dig(resource.live, "status", "desiredNumberScheduled") == 0:
            yield _no_node_finding(app, resource)
    for kind, group in _COUNTED:
        for resource in app.of_kind(kind, group):
            replicas = dig(resource.live, "spec", "replicas")
            wanted = 1 if replicas is None else number_at(resource.live, "spec", "replicas")
            if _is_judged(resource) and wanted > 0 and number_at(resource.live, "status", "replicas") == 0:
                yield _no_pod_finding(app, resource, wanted)


def _is_judged(resource: Resource) -> bool:
    """Whether Argo CD shows it Healthy, and its controller has written a status of its present spec."""
    return (
        resource.health.status == "Healthy"
        and not resource.hook
        and resource.desired is not None
        and is_of_current_spec(resource.live) is True
        and not is_deleting(resource.live)
    )


def _no_node_finding(app: App, resource: Resource) -> Finding:
    spec = mapping(resource.live, "spec", "template", "spec")
    selector = ", ".join(f"{k}={v}" for k, v in sorted(mapping(spec, "nodeSelector").items()))
    asks = [f"nodeSelector: {excerpt(selector, 200)}"] if selector else []
    asks += ["affinity of nodes"] if dig(spec, "affinity", "nodeAffinity") else []
    pointer = f"{_SPEC}/nodeSelector" if selector else f"{_SPEC}/affinity" if asks else _SPEC
    return Finding(
        message=f"{resource.id} fits on no node, so it runs no pod, and Argo CD shows it Healthy.",
        at=Location(app.ref, resource.id, pointer),
        severity="info",
        evidence=(
            "status.desiredNumberScheduled is 0",
            *(asks or ["it asks for no nodes of its own: look at the taints of the nodes"]),
        ),
        fixes=advice(__package__, "runs-no-pod/no-node", {"object": str(resource.id)}),
    )


def _no_pod_finding(app: App, resource: Resource, wanted: int) -> Finding:
    return Finding(
        message=f"{resource.id} asks for {wanted} {'pod' if wanted == 1 else 'pods'} and has none, and Argo CD shows it Healthy.",
        at=Location(app.ref, resource.id, "/status"),
        evidence=(f"status.replicas is 0, spec.replicas {wanted}",),
        fixes=(
            live_command(
                resource.id,
                "Read why its controller creates no pod",
                f"kubectl describe {kubectl_name(resource.id)}",
                "then look at the health check of the kind in argocd-cm, which calls it Healthy",
            ),
        ),
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, reads=reads)
