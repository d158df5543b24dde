"""What an autoscaler takes a percentage of, and the containers that request none of it.

Source: k8s.io/kubernetes pkg/controller/podautoscaler/replica_calculator.go (calculateRequests): every container must request the resource, except where the
metric names one container.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from argolint import Object
from argolint.values import dig, mapping, maps, text_at
from argolint.values.kubernetes import pod_spec

from ._limits import admitted


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
