"""A node port that a Service cannot have

What it finds: a Service that a sync brings or changes, with a `nodePort` that another Service of the cluster has (`cause` is `taken`), or that is outside of 30000 to 32767, the
range of a cluster that does not choose another one (`range`).

Why it hurts: a node port belongs to one Service of the cluster. The API server refuses the second one ("provided port is already allocated"), and a port outside of its range, so the
sync fails.

How to fix: leave `nodePort` out, and Kubernetes chooses a free one; or write another one.

Example: a chart with a fixed node port is installed a second time.

Not reported: a port that moves from one Service to another in the same change, and the range of a cluster where a live Service has a port outside of it. At most a hundred Services of other applications are read.

Sources: k8s.io/kubernetes pkg/registry/core/service/storage (allocator); kubernetes.io, Service, type NodePort.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import Afterwards, App, AppRef, Finding, Fix, Fleet, Location, Object, Rank, Related, Resource, Rule, Want
from argolint.edits import manifest_patch, removals
from argolint.values import maps, text_at

from ..shared.peers import after_sync, peer_wants, peers

_NAMES_A_PORT = '"nodePort"'


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The Services of other applications, if a sync brings a node port."""
    if any(_coming(service) for service in app.of_kind("Service", "")):
        yield from peer_wants(app, fleet, [("", "Service")], lambda key: True)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each node port that is taken."""
    for service in app.of_kind("Service", ""):
        coming = _coming(service)
        for pointer, (port, protocol) in coming.items():
            if (holder := _holder(app, fleet, service, (port, protocol))) is not None:
                yield _finding(app, service, pointer, port, *holder)
            elif port not in _RANGE and not app.derive(_has_another_range, fleet):
                yield _finding_of_range(app, service, pointer, port)


_RANGE = range(30000, 32768)
"""The default of the API server's --service-node-port-range."""


def _has_another_range(app: App, fleet: Fleet) -> bool:
    """Whether a live Service has a port outside of the default range."""
    services = (*app.of_kind("Service", ""), *(peer for _, peer in peers(app, fleet, "Service")))
    return any(port not in _RANGE for one in services for port, _ in _ports(one.live).values())


def _finding_of_range(app: App, service: Resource, pointer: str, port: int) -> Finding:
    return Finding(
        message=f"The next sync fails at {service.id}: node port {port} is not in the range of valid ports, 30000 to 32767.",
        at=Location(app.ref, service.id, pointer),
        cause="range",
        confidence="likely",
        evidence=("no live Service that was read has a port outside of the range that Kubernetes has by default",),
        fixes=(_free_fix(service, pointer),),
    )


def _free_fix(service: Resource, pointer: str) -> Fix:
    return manifest_patch(
        service.id,
        "Leave the node port to Kubernetes",
        removals(service.desired, [pointer]),
        "clients that use the port by its number must be changed",
    )


def _ports(obj: Object | None) -> dict[str, tuple[int, str]]:
    """Node port and protocol by the pointer of the field."""
    found = {}
    for number, port in enumerate(maps(obj, "spec", "ports")):
        value = port.get("nodePort")
        if isinstance(value, int) and value and text_at(obj, "spec", "type") in ("NodePort", "LoadBalancer"):
            found[f"/spec/ports/{number}/nodePort"] = (value, text_at(port, "protocol") or "TCP")
    return found


def _coming(service: Resource) -> dict[str, tuple[int, str]]:
    """The node ports that a sync brings."""
    if service.status != "OutOfSync" or service.requires_pruning or not service.mentions(_NAMES_A_PORT, "desired"):
        return {}
    known = set(_ports(service.live).values())
    return {at: port for at, port in _ports(service.desired).items() if port not in known}


def _holder(app: App, fleet: Fleet, service: Resource, port: tuple[int, str]) -> tuple[AppRef, Resource] | None:
    """The Service that has the port today and keeps it, or, of this application, brings it first."""
    for other in app.of_kind("Service", ""):
        keeps = port in _ports(after_sync(other)).values()
        if other.key != service.key and keeps and (other.live is not None or other.key < service.key):
            return app.ref, other
    return next(
        ((owner, peer) for owner, peer in peers(app, fleet, "Service") if port in _ports(_held(peer)).values()), None
    )


def _held(peer: Resource) -> Object | None:
    """What a Service of another application has after its own sync; the port may be the API server's choice, which only the live one shows."""
    after = after_sync(peer)
    return after if after is None or _ports(after) else peer.live


def _finding(app: App, service: Resource, pointer: str, port: int, owner: AppRef, other: Resource) -> Finding:
    of = "" if owner == app.ref else f' of "{owner.name}"'
    return Finding(
        message=f"The next sync fails at {service.id}: node port {port} belongs to {other.id}{of}.",
        at=Location(app.ref, service.id, pointer),
        cause="taken",
        confidence="likely",
        related=(Related(owner, other.id, role="other"),),
        fixes=(_free_fix(service, pointer),),
    )


def then(fix: Fix, finding: Finding, after: App, fleet: Fleet) -> Afterwards | None:
    """What the API server says of the ports after the edit."""
    service = after.held(finding.at.resource)
    if service is None or service.desired is None:
        return None
    left = [
        port[0]
        for port in _ports(service.desired).values()
        if _holder(after, fleet, service, port) is not None
        or (port[0] not in _RANGE and not after.derive(_has_another_range, fleet))
    ]
    return Afterwards(refused=f"node port {left[0]} is refused all the same" if left else "")


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    wants=wants,
    then=then,
    causes=("taken", "range"),
    rank=Rank.CAUSE,
)
