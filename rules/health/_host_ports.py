"""Who has the node's port that pods cannot get: another workload of the fleet with the same host port.

A pod in the network of its node has each containerPort as its host port, written or not (kubernetes pkg/apis/core/v1/defaults.go; 1.36.3, tried).
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, AppRef, Fleet, Object, Resource, Want
from argolint.values import maps, number_at, text_at
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
