"""A load balancer does not come

What it finds: a Service of type LoadBalancer that has had no address for minutes, with the cloud controller's Event if there
is one.

Why it hurts: the Service is Progressing forever, a sync that waits for it does not end, and clients cannot reach it.

How to fix: repair the provider of addresses (cloud controller, MetalLB, quota), or do without: ClusterIP behind an ingress, or NodePort where
`spec.externalIPs` already leads to the Service.

Example: a Service of type LoadBalancer on a cluster without a load balancer controller.

Sources: gitops-engine/pkg/health/health_service.go; argoproj/argo-cd#17702;
kubernetes.io/docs (Services, external IPs). Reported after five minutes (option `minutes`).
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Finding, Fix, Fleet, Follows, Location, Rank, Resource, Rule, Symptom, Want
from argolint.edits.advice import Shell, advice
from argolint.messages import telling
from argolint.redaction import excerpt
from argolint.values import dig, enumerated, get, items, mapping, text_at
from argolint.values.knowledge import load

from ..shared.age import Patience
from ._meaning import facts_of, of_kind
from ._waiting import event_wants, newest_warning, overdue_resources, waiting_evidence, waiting_time


def wants(app: App, fleet: Fleet, options: Patience) -> Iterator[Want]:
    """Events of the waiting Services."""
    return event_wants(_waiting_services(app, options))


def check(app: App, fleet: Fleet, options: Patience) -> Iterator[Finding]:
    """One finding for each Service."""
    for service in _waiting_services(app, options):
        event = newest_warning(app, service)
        load_class = dig(service.live, "spec", "loadBalancerClass")
        of_class = f" of class {load_class}" if load_class else ""
        why = f'"{telling(event)}"' if event else f"no controller{of_class} gives it one"
        own = "" if event else _own_addresses(service)
        yield Finding(
            message=f"{service.id} has externalIPs ({excerpt(own, 60)}), yet type LoadBalancer makes Argo CD wait for an address that no controller gives."
            if own
            else f"{service.id} of type LoadBalancer has no address: {why}.",
            at=Location(app.ref, service.id, "/spec/type"),
            confidence="proven" if event else "likely",
            evidence=(
                f"status.loadBalancer.ingress is empty for {waiting_time(app, service)}",
                *waiting_evidence(app, service),
            ),
            fixes=tuple(_fixes(service, event, own)),
            explains=(Symptom.health(service.id),),
            follows=() if event or own else (_no_controller_cause(app, of_class),),
        )


def _no_controller_cause(app: App, of_class: str) -> Follows:
    title = f"No controller gives load balancers{of_class} of cluster {app.cluster} an address."
    return Follows.common(title, "load-balancers", app.cluster, of_class)


def _waiting_services(app: App, options: Patience) -> Iterator[Resource]:
    for service in overdue_resources(app, options, "Service", ""):
        served = items(service.live, "status", "loadBalancer", "ingress")
        deleted_at = dig(service.live, "metadata", "deletionTimestamp")
        if dig(service.live, "spec", "type") == "LoadBalancer" and not served and not deleted_at:
            yield service


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


def _fixes(service: Resource, event: str, own: str) -> Iterator[Fix]:
    load_class = text_at(service.live, "spec", "loadBalancerClass")
    known = load(__package__, "traffic.yaml")["balancers"].get(load_class, {"of": "", "needs": "", "see": ""})
    facts = {**facts_of(service), "event": event, "class": load_class, **known, "see": Shell(known["see"])}
    in_git = get(service.desired, "/spec/type", None) == "LoadBalancer"
    if in_git and own:
        yield from advice(__package__, "lb-pending/external", facts, service.id)
    yield from of_kind(service, event) or advice(__package__, "lb-pending", facts)
    if in_git and not own:
        yield from advice(__package__, "lb-pending/without", facts, service.id)


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, wants=wants, options=Patience, rank=Rank.CAUSE)
