"""Who has the node's port that pods cannot get: another workload of the fleet with the same host port, or the load balancer of k3s.

A pod in the network of its node has each containerPort as its host port, written or not (kubernetes pkg/apis/core/v1/defaults.go; 1.36.3, tried).
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, AppRef, Fleet, Json, Object, Resource, Want
from argolint.values import items, maps, number_at, text_at
from argolint.values.kubernetes import containers, pod_spec
from argolint.values.patterns import regex

from ..shared.peers import peer_wants, peers
from ..shared.pods import Trouble

_KINDS = (("apps", "DaemonSet"),)
_MOST = 30
NO_PORT = regex(r"didn't have free ports")


def host_ports(obj: Object | None) -> frozenset[tuple[str, int]]:
    """Protocol and number of each port that the pods take of their node."""
    shares = pod_spec(obj)[1].get("hostNetwork") is True
    field = "containerPort" if shares else "hostPort"
    ports = (port for _, c in containers(obj) for port in maps(c, "ports"))
    taken = ((text_at(p, "protocol") or "TCP", number_at(p, "hostPort") or number_at(p, field)) for p in ports)
    return frozenset((protocol, int(number)) for protocol, number in taken if number)


def holder_wants(app: App, fleet: Fleet, resource: Resource) -> Iterator[Want]:
    """The DaemonSets of other applications, which run on each node, where the pods ask for a port of their node."""
    if host_ports(resource.any):
        yield from peer_wants(app, fleet, _KINDS, lambda key: True, _MOST)


def holder(app: App, fleet: Fleet, resource: Resource, trouble: Trouble) -> tuple[AppRef, Resource, int] | None:
    """The DaemonSet that has a port of these pods, and the port."""
    wanted = host_ports(resource.live) if NO_PORT.search(trouble.text) else frozenset()
    known = [(app.ref, other) for other in app.of_kind("DaemonSet", "apps") if other.id != resource.id]
    for owner, other in (*known, *peers(app, fleet, "DaemonSet")) if wanted else ():
        if shared := wanted & host_ports(other.live):
            return owner, other, min(number for _, number in shared)
    return None


_SERVED_BY_K3S = "svccontroller.k3s.cattle.io/daemonset"
"""The finalizer of a Service for which k3s runs a pod on each node, with each port of the Service as its host port (pkg/cloudprovider/servicelb.go)."""


def balanced(app: App, resource: Resource, trouble: Trouble) -> tuple[Resource, int] | None:
    """The Service of the application for which k3s takes a port of these pods on each node, and the port."""
    wanted = host_ports(resource.live) if NO_PORT.search(trouble.text) else frozenset()
    for service in app.of_kind("Service", "") if wanted else ():
        by_k3s = _SERVED_BY_K3S in items(service.live, "metadata", "finalizers")
        served = by_k3s and items(service.live, "status", "loadBalancer", "ingress")
        ports = maps(service.live, "spec", "ports") if served else ()
        taken = {(text_at(p, "protocol") or "TCP", int(number_at(p, "port"))) for p in ports} & wanted
        if taken:
            return service, min(number for _, number in taken)
    return None


def without_port(obj: Object | None, port: int) -> list[Json]:
    """The operations that leave a host port out of the pod template; none in the network of the node."""
    if pod_spec(obj)[1].get("hostNetwork") is True:
        return []
    written = (
        f"{at}/ports/{number}/hostPort"
        for at, c in containers(obj)
        for number, each in enumerate(maps(c, "ports"))
        if number_at(each, "hostPort") == port
    )
    return [{"op": "remove", "path": pointer} for pointer in written]
