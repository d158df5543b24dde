"""What an autoscaler takes a percentage of, and the containers that request none of it.

Source: k8s.io/kubernetes pkg/controller/podautoscaler/replica_calculator.go (GetResourceReplicas, calculateRequests): the autoscaler lists all pods that the selector of its
target matches, also those of other objects and those that have ended. Every container must request the resource, except where the metric names one container.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from argolint import App, Object, Resource
from argolint.values import dig, mapping, maps, text_at
from argolint.values.kubernetes import pod_spec

from ..shared.labels import label_selector
from ._limits import admitted
from ._surroundings import Member, pod_templates


class Unmeasured(NamedTuple):
    """A container that requests nothing of a resource, and the pointer of the metric that takes a percentage of it."""

    resource: str
    container: str
    pointer: str


def unmeasured(hpa: Object | None, workload: Object | None, ranges: Sequence[Object]) -> tuple[Unmeasured, ...]:
    """The containers of the workload's pods that lack the request, once LimitRanges have written theirs; none for a pod with resources of its own."""
    spec = pod_spec(workload)[1]
    if not spec or mapping(spec, "resources"):
        return ()
    running = [one for one in admitted(spec, ranges) if not one.starts and one.at.startswith("/containers/")]
    return tuple(
        Unmeasured(resource, one.name, at)
        for at, resource, container in _percentages(hpa)
        for one in running
        if resource not in one.requests and container in ("", one.name)
    )


def _percentages(hpa: Object | None) -> Iterator[tuple[str, str, str]]:
    """Pointer, resource and container (empty: all) of each metric that is a percentage of a request."""
    if dig(hpa, "spec", "targetCPUUtilizationPercentage") is not None:
        yield "/spec/targetCPUUtilizationPercentage", "cpu", ""
    for number, metric in enumerate(maps(hpa, "spec", "metrics")):
        for kind in ("resource", "containerResource"):
            source = mapping(metric, kind)
            if (
                dig(source, "target", "averageUtilization") is not None
                or dig(source, "targetAverageUtilization") is not None
            ):
                yield f"/spec/metrics/{number}/{kind}", text_at(source, "name"), text_at(source, "container")


def counted_too(app: App, target: Resource, container: str) -> tuple[Member, str] | None:
    """Another object with this container whose pods the selector of the target matches too, and the label by which it does; the label is empty if that is part of no equality."""
    selector = label_selector(dig(target.any, "spec", "selector"))
    if selector is None or selector.empty:
        return None
    for member in pod_templates(app, target.namespace):
        names = (
            text_at(each, "name") for each in (*maps(member.spec, "containers"), *maps(member.spec, "initContainers"))
        )
        if member.id != target.id and selector.matches(member.labels) and container in names:
            return member, min(selector.equal, key=lambda key: (key not in _NAMES, key), default="")
    return None


_NAMES = ("app.kubernetes.io/component", "app.kubernetes.io/name", "app", "k8s-app", "name")
"""Labels that tell the objects of an application apart."""
