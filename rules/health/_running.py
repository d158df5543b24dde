"""Pods that start and then fail: the pods to check of each workload, their Events on probes, and how their containers ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from argolint import App, Event, Node, Object, Resource, Want
from argolint.values import integer, maps, text_at
from argolint.values.kubernetes import pod_spec

from ..shared.pods import status_reason

_LOOKED_AT = 2
"""Most pods of one workload to check: they fail alike."""


def workloads(app: App) -> Iterator[tuple[Resource, Sequence[Node]]]:
    """Workloads with a template, and their pods that restart or are not well, the worst first; hook-stuck checks hooks."""
    yield from app.derive(_workloads)


def _workloads(app: App) -> Sequence[tuple[Resource, Sequence[Node]]]:
    if not any(n.kind == "Pod" for n in app.tree.nodes or ()):
        return ()
    found = []
    for resource in app.with_pods():
        if not resource.uid or resource.hook:
            continue
        own = app.node(resource.id) if resource.kind == "Pod" else None
        below = (own,) if own else tuple(n for n in app.descendants(resource.uid) if n.id.kind == "Pod")
        unwell = [n for n in below if restarts(n) or n.health.status not in ("", "Healthy")]
        if unwell and pod_spec(resource.any)[1]:
            found.append(
                (
                    resource,
                    sorted(unwell, key=lambda n: (n.health.status == "Healthy", -restarts(n), n.id))[:_LOOKED_AT],
                )
            )
    return tuple(found)


def _is_down(resource: Resource) -> bool:
    return resource.health.status in ("Progressing", "Degraded")


def restarts(node: Node) -> int:
    """The number of restarts of the pod's containers, as Argo CD shows it (controller/cache/info.go)."""
    return integer(node.info.get("Restart Count")) or 0


def is_unwell(resource: Resource, nodes: Sequence[Node]) -> bool:
    """Whether Argo CD shows a fault now; restarts in the past do not count."""
    return _is_down(resource) or any(n.health.status not in ("", "Healthy") for n in nodes)


def pod_warnings(app: App, nodes: Sequence[Node]) -> Iterator[tuple[Node, Event]]:
    """The Warnings about the pods, those of each pod from the newest on."""
    for node in nodes:
        for event in app.events(node.id, node.uid) or ():
            if event.type != "Normal":
                yield node, event


def live_pod_wants(nodes: Sequence[Node]) -> Iterator[Want]:
    """The first pod itself: only its status shows how its containers ended."""
    for node in nodes[:1]:
        yield Want("live", node.id)


def live_pod(app: App, nodes: Sequence[Node]) -> tuple[Node, Object] | None:
    """The first pod with its live state, if that was read."""
    for node in nodes[:1]:
        found = app.evidence.get(Want("live", node.id))
        if isinstance(found, Mapping):
            return node, found
    return None


def names_in_pod(pod: Object) -> frozenset[str]:
    """The containers of a live pod, with the injected ones."""
    spec, status = pod.get("spec"), pod.get("status")
    found = (*maps(spec, "containers"), *maps(spec, "initContainers"))
    statuses = (*maps(status, "containerStatuses"), *maps(status, "initContainerStatuses"))
    return frozenset(text_at(each, "name") for each in (*found, *statuses))


def is_crash_looping(node: Node) -> bool:
    """Whether a container of the pod restarts repeatedly, or has restarted a few times."""
    return status_reason(node).removeprefix("Init:") in ("CrashLoopBackOff", "OOMKilled", "Error") or restarts(node) > 2
