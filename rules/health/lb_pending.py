"""A load balancer does not come

What it finds: a Service of type LoadBalancer that has had no address for minutes, with what its controller says in an Event or a condition, and the
object that holds the address it asks for.

Why it hurts: the Service is Progressing forever, a sync that waits for it does not end, and clients cannot reach it.

How to fix: repair the provider of addresses (cloud controller, MetalLB, quota), or do without: ClusterIP behind an ingress, or NodePort where
`spec.externalIPs` already leads to the Service.

Example: a Service of type LoadBalancer on a cluster without a load balancer controller.

Sources: gitops-engine/pkg/health/health_service.go; argoproj/argo-cd#17702;
kubernetes.io/docs (Services, external IPs). Reported after five minutes (option `minutes`).
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, AppRef, Finding, Fix, Fleet, Follows, Location, Rank, Related, Resource, Rule, Symptom, Want
from argolint.edits.advice import Shell, advice
from argolint.messages import telling
from argolint.redaction import excerpt
from argolint.relations.polarity import reports_fault
from argolint.values import annotations_of, comma_list, dig, enumerated, get, items, leaves, mapping, maps, text_at
from argolint.values.knowledge import load
from argolint.values.kubernetes import is_deleting
from argolint.values.patterns import regex

from ..shared.age import Patience
from ..shared.peers import peer_wants, peers
from ._meaning import facts_of, of_kind
from ._waiting import event_wants, newest_warning, overdue_resources, waiting_evidence, waiting_time

_HOLDERS = (("", "Service"), ("gateway.networking.k8s.io", "Gateway"))
"""Kinds whose status has the addresses of load balancers."""
_TAKEN = regex(r"IP '(?P<address>[^']{1,64})' (?:is already|has already been) allocated to another service")


def wants(app: App, fleet: Fleet, options: Patience) -> Iterator[Want]:
    """Events of the waiting Services, and what may hold an address that one asks for."""
    yield from event_wants(_waiting_services(app, options))
    if any(_TAKEN.search(_refusal(service)) for service in _waiting_services(app, options)):
        yield from peer_wants(app, fleet, _HOLDERS, lambda key: True)


def check(app: App, fleet: Fleet, options: Patience) -> Iterator[Finding]:
    """One finding for each Service."""
    for service in _waiting_services(app, options):
        event = newest_warning(app, service)
        said = event or _refusal(service)
        load_class = dig(service.live, "spec", "loadBalancerClass")
        of_class = f" of class {load_class}" if load_class else ""
        why = f'"{telling(said)}"' if said else f"no controller{of_class} gives it one"
        own = "" if said else _own_addresses(service)
        fixes = _fixes(service, event, said, own)
        taken = _TAKEN.search(said)
        held = _holder(app, fleet, taken["address"]) if taken else None
        if taken and held:
            address, holder = taken["address"], held[1]
            why = f"it asks for {address}, which {holder.id} {'asks for as well' if _asks_for(holder, address) else 'has without asking for it'}"
            facts = {"object": str(service.id), "holder": str(holder.id), "address": address}
            gateway = "yes" if holder.kind == "Gateway" else ""
            fixes = (*advice(__package__, "lb-pending/holder", {**facts, "gateway": gateway}), *fixes)
        yield Finding(
            message=f"{service.id} has externalIPs ({excerpt(own, 60)}), yet type LoadBalancer makes Argo CD wait for an address that no controller gives."
            if own
            else f"{service.id} of type LoadBalancer has no address: {why}.",
            at=Location(app.ref, service.id, "/spec/type"),
            confidence="proven" if said else "likely",
            evidence=(
                f"status.loadBalancer.ingress is empty for {waiting_time(app, service)}",
                *waiting_evidence(app, service),
                *((excerpt(said, 400),) if said and not event else ()),
            ),
            related=(Related(held[0], held[1].id, role="cause"),) if held else (),
            fixes=fixes,
            explains=(Symptom.health(service.id),),
            follows=() if said or own else (_no_controller_cause(app, of_class),),
        )


def _no_controller_cause(app: App, of_class: str) -> Follows:
    title = f"No controller gives load balancers{of_class} of cluster {app.cluster} an address."
    return Follows.common(title, "load-balancers", app.cluster, of_class)


def _waiting_services(app: App, options: Patience) -> Iterator[Resource]:
    for service in overdue_resources(app, options, "Service", ""):
        served = items(service.live, "status", "loadBalancer", "ingress")
        if dig(service.live, "spec", "type") == "LoadBalancer" and not served and not is_deleting(service.live):
            yield service


def _refusal(service: Resource) -> str:
    """What its controller says in a condition; empty if none reports a fault."""
    faults = (c for c in maps(service.live, "status", "conditions") if reports_fault(c) and c.get("message"))
    return next((f"{text_at(c, 'reason')}: {text_at(c, 'message')}" for c in faults), "")


def _holder(app: App, fleet: Fleet, address: str) -> tuple[AppRef, Resource] | None:
    """The Service or Gateway whose status has the address, with its application."""
    own = ((app.ref, resource) for group, kind in _HOLDERS for resource in app.of_kind(kind, group))
    for owner, found in (*own, *peers(app, fleet, "Service", "Gateway")):
        rows = (*maps(found.live, "status", "loadBalancer", "ingress"), *maps(found.live, "status", "addresses"))
        if address in (text_at(row, field) for row in rows for field in ("ip", "value")):
            return owner, found
    return None


def _asks_for(resource: Resource, address: str) -> bool:
    """Whether an annotation or a field of its spec names the address."""
    named = (value for _, value in (*annotations_of(resource.any).items(), *leaves(mapping(resource.any, "spec"))))
    return any(address in comma_list(value) for value in named)


_OF_BALANCERS = (
    "loadBalancerClass",
    "loadBalancerSourceRanges",
    "allocateLoadBalancerNodePorts",
    "healthCheckNodePort",
)
"""Fields that the API server accepts with type LoadBalancer alone."""


def _own_addresses(service: Resource) -> str:
    """The addresses that Git gives the Service itself; empty if it also asks something of a load balancer."""
    spec = mapping(service.any, "spec")
    asks = any(field in spec for field in _OF_BALANCERS)
    return "" if asks else enumerated([str(ip) for ip in items(spec, "externalIPs")])


def _fixes(service: Resource, event: str, said: str, own: str) -> tuple[Fix, ...]:
    load_class = text_at(service.live, "spec", "loadBalancerClass")
    known = load(__package__, "traffic.yaml")["balancers"].get(load_class, {"of": "", "needs": "", "see": ""})
    facts = {
        **facts_of(service),
        "event": said if event or not known["of"] else "",
        "place": "Event" if event else "condition",
        "class": load_class,
        **known,
        "see": Shell(known["see"]),
    }
    in_git = get(service.desired, "/spec/type", None) == "LoadBalancer"
    aside = f"lb-pending/{'external' if own else 'without'}"
    instead = advice(__package__, aside, facts, service.id) if in_git else ()
    repair = of_kind(service, said) or advice(__package__, "lb-pending", facts)
    return (*instead, *repair) if own else (*repair, *instead)


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, wants=wants, options=Patience, rank=Rank.CAUSE)
