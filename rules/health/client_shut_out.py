"""A NetworkPolicy blocks a client that calls the Service

What it finds: a workload whose environment names a Service of the application, while NetworkPolicies block its packets. `ingress`: the policies
of the called pods admit neither its labels and namespace nor the port. `egress`: its own policies do not permit packets to these pods. `dns`:
its own policies do not permit port 53, so it resolves no name.

Why it hurts: Argo CD shows everything Synced and Healthy, and each call of that client ends in a timeout.

How to fix: admit the client by its labels, and use the port of the pods, which may differ from that of the Service.

Example: `API_URL=http://ledger:80` next to a policy for ledger's pods that admits `app: web` on port 80, while the pods listen on 8080.

Sources: kubernetes.io, Network Policies; networking.k8s.io/v1. Policies add up. So there is no finding if another application or another product
(Cilium, Calico, AdminNetworkPolicy) has policies in the namespace. The same holds for peers by address, for unknown labels of namespaces, and
for pods on the node's network. A network plugin without support for policies admits everything: a client that runs well is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from argolint import App, Edit, Finding, Fix, Fleet, Json, Location, Object, Related, Resource, Rule
from argolint.redaction import is_hidden
from argolint.values import dig, get, mapping, maps, text_at
from argolint.values.kubernetes import pod_spec

from ..shared.labels import label_selector, labels_at, plain_selector
from ..shared.triage import worth_reading
from ._addresses import Address, address_of, variables
from ._policies import PodsEnd, has_only_own_policies, policies, restricting_policies, rules_of
from ._ports import number_or_name, pod_ports
from ._selecting import members_by_label
from ._surroundings import Member, services, shown_object

_GROUP = "networking.k8s.io"
_DNS = 53


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether an application has policies, which the list shows."""
    return any(row.group == _GROUP and row.kind == "NetworkPolicy" for row in app.rows) and worth_reading(app, fleet)


@dataclass(frozen=True, slots=True)
class _Call:
    """The caller, the called pods and their port; the port is 0 if it is unknown."""

    client: Resource
    pointer: str
    variable: str
    address: Address
    source: PodsEnd
    target: Member
    port: int
    protocol: str


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each client and cause."""
    if app.deleting or not app.desired_known or not any(policies(app)):
        return
    reported: set[tuple[object, str]] = set()
    for call in _calls(app, fleet):
        for cause, policy in _closing_policies(app, fleet, call):
            if (call.client.id, cause) not in reported:
                reported.add((call.client.id, cause))
                yield _finding(app, call, cause, policy)


def _calls(app: App, fleet: Fleet) -> Iterator[_Call]:
    for resource in app.with_pods():
        if not resource.namespace or resource.requires_pruning or not resource.mentions('"env"'):
            continue
        obj = shown_object(resource)
        at, spec = pod_spec(obj)
        if not spec or spec.get("hostNetwork") is True:
            continue
        labels = labels_at(mapping(get(obj, at.removesuffix("/spec"), {}), "metadata"))
        source = PodsEnd(labels, resource.namespace)
        for variable in variables(resource):
            address = address_of(variable, resource.namespace, fleet, app.cluster)
            if address is not None and not is_hidden(address.host, obj, variable.pointer):
                yield from _calls_to_service(app, resource, variable.pointer, variable.name, address, source)


def _calls_to_service(
    app: App, client: Resource, pointer: str, name: str, address: Address, source: PodsEnd
) -> Iterator[_Call]:
    """The calls to the pods behind the Service, each with the pods' port."""
    service, targets = app.derive(_pods_behind_services, address.namespace).get(address.service, (None, ()))
    if service is None:
        return
    listed = maps(service.spec, "ports")
    entry = next((p for p in listed if p.get("port") == address.port), listed[0] if len(listed) == 1 else None)
    for target in targets:
        if target.id != client.id and target.spec.get("hostNetwork") is not True:
            port = _target_port(entry, target) if entry else 0
            protocol = text_at(entry, "protocol") or "TCP"
            yield _Call(client, pointer, name, address, source, target, port, protocol)


def _pods_behind_services(app: App, namespace: str) -> Mapping[str, tuple[Member, Sequence[Member]]]:
    """The Services of a namespace by name, each with the pods that it selects."""
    found = {}
    for service in services(app, namespace):
        selector = plain_selector(dig(service.spec, "selector"))
        if selector is not None and selector.equal:
            near = app.derive(members_by_label, namespace, "pods").get(next(iter(selector.equal.items())), ())
            found[service.id.name] = (service, tuple(m for m in near if selector.matches(m.labels)))
    return found


def _target_port(entry: Object, target: Member) -> int:
    number, name = number_or_name(entry.get("targetPort") or entry.get("port"))
    return number or next((p.number for p in pod_ports(target.spec) if p.name == name), 0)


def _closing_policies(app: App, fleet: Fleet, call: _Call) -> Iterator[tuple[str, Resource]]:
    """The causes, each with a policy that selects the pods and admits nothing of the call."""
    target = PodsEnd(call.target.labels, call.target.id.namespace)
    into = restricting_policies(app, target, "Ingress")
    admitted = any(_admits(app, p, rule, "from", call.source, call) for p in into for rule in rules_of(p, "ingress"))
    if into and not admitted and has_only_own_policies(app, fleet, target.namespace):
        yield "ingress", into[0]
    egress = restricting_policies(app, call.source, "Egress")
    if egress and has_only_own_policies(app, fleet, call.source.namespace):
        rules = [(p, rule) for p in egress for rule in rules_of(p, "egress")]
        if not any(_admits(app, p, rule, "to", target, call) for p, rule in rules):
            yield "egress", egress[0]
        elif not any(_admits_dns(rule) for _, rule in rules):
            yield "dns", egress[0]


def _admits(app: App, policy: Resource, rule: Object, field: str, end: PodsEnd, call: _Call) -> bool:
    """Whether the rule admits the call, or may do so; no peers means all peers, and no ports all ports."""
    peers = maps(rule, field)
    return (not peers or any(_may_be_peer(app, policy, peer, end) for peer in peers)) and _is_on_port(rule, call)


def _may_be_peer(app: App, policy: Resource, peer: Object, end: PodsEnd) -> bool:
    if peer.get("ipBlock") is not None:
        return True
    chosen, space = peer.get("podSelector"), peer.get("namespaceSelector")
    if chosen is not None:
        selector = label_selector(chosen)
        if selector is not None and not selector.matches(end.labels):
            return False
    if space is None:
        return policy.namespace == end.namespace
    return _may_be_namespace(app, space, end.namespace)


def _may_be_namespace(app: App, chosen: Json, namespace: str) -> bool:
    """Whether a namespaceSelector may match the namespace; unknown labels may be there."""
    selector = label_selector(chosen)
    if selector is None:
        return True
    found = app.find("", "Namespace", "", namespace)
    known = {"kubernetes.io/metadata.name": namespace}
    if found is not None:
        return selector.matches({**labels_at(mapping(found.live or found.any, "metadata")), **known})
    known_labels = {key: value for key, value in selector.equal.items() if key in known}
    return all(known[key] == value for key, value in known_labels.items())


def _is_on_port(rule: Object, call: _Call) -> bool:
    ports = maps(rule, "ports")
    return (
        not ports or call.port == 0 or any(_admits_port(p, call.port, call.protocol, call.target.spec) for p in ports)
    )


def _admits_port(entry: Object, port: int, protocol: str, spec: Object) -> bool:
    if (text_at(entry, "protocol") or "TCP") != protocol:
        return False
    number, name = number_or_name(entry.get("port"))
    if name:
        return any(p.name == name and p.number == port for p in pod_ports(spec))
    end = entry.get("endPort")
    return number in (0, port) or (isinstance(end, int) and number <= port <= end)


def _admits_dns(rule: Object) -> bool:
    """Whether the rule admits packets to a DNS of the cluster, in another namespace or at an address of its own."""
    ports, peers = maps(rule, "ports"), maps(rule, "to")
    is_dns_port = not ports or any(
        _admits_port(p, _DNS, protocol, {}) or number_or_name(p.get("port"))[1]
        for p in ports
        for protocol in ("UDP", "TCP")
    )
    return is_dns_port and (not peers or any("namespaceSelector" in p or "ipBlock" in p for p in peers))


def _finding(app: App, call: _Call, cause: str, policy: Resource) -> Finding:
    service = call.address.service
    says = {
        "ingress": f"{policy.id} does not admit {call.client.id}, which calls Service {service}, so its calls time out.",
        "egress": f"{policy.id} does not let {call.client.id} out to Service {service}, so its calls time out.",
        "dns": f"{policy.id} lets {call.client.id} out to no DNS, so it finds no Service by name.",
    }[cause]
    field = "ingress" if cause == "ingress" else "egress"
    on = f" on port {call.port} of the pods" if call.port else ""
    well = call.client.health.status in ("", "Healthy")
    return Finding(
        message=says,
        at=Location(app.ref, policy.id, f"/spec/{field}" if rules_of(policy, field) else "/spec"),
        cause=cause,
        severity="warning" if well else "error",
        confidence="likely",
        evidence=(
            f"{call.variable} ({call.pointer}) names {call.address.host}{on}",
            "no other policy of these pods admits it; a network plugin without policies would",
        ),
        related=(Related(app.ref, call.client.id, call.pointer, "dependent"),),
        fixes=(
            Fix(
                _title(cause, call),
                "manifest",
                str(policy.id),
                Edit("yaml", _rule_yaml(cause, call)),
                resource=policy.id,
            ),
        ),
    )


def _title(cause: str, call: _Call) -> str:
    return {
        "ingress": f"Admit the pods of {call.client.kind} {call.client.name}",
        "egress": f"Allow egress to the pods of Service {call.address.service}",
        "dns": "Allow egress to the cluster's DNS",
    }[cause]


def _rule_yaml(cause: str, call: _Call) -> str:
    if cause == "dns":
        return (
            "egress:      # next to the existing rules\n- to:\n  - namespaceSelector:\n      matchLabels: {kubernetes.io/metadata.name: kube-system}\n"
            "  ports:\n  - {protocol: UDP, port: 53}\n  - {protocol: TCP, port: 53}\n"
        )
    other = call.source if cause == "ingress" else PodsEnd(call.target.labels, call.target.id.namespace)
    labels = dict(sorted(other.labels.items())[:4])
    own = call.target.id.namespace if cause == "ingress" else call.source.namespace
    space = (
        f"    namespaceSelector:\n      matchLabels: {{kubernetes.io/metadata.name: {other.namespace}}}\n"
        if other.namespace != own
        else ""
    )
    pairs = ", ".join(f'"{k}": "{v}"' for k, v in labels.items())
    ports = f"  ports:\n  - {{protocol: {call.protocol}, port: {call.port}}}\n" if call.port else ""
    field, peer = ("ingress", "from") if cause == "ingress" else ("egress", "to")
    return f"{field}:      # next to the existing rules\n- {peer}:\n  - podSelector:\n      matchLabels: {{{pairs}}}\n{space}{ports}"


RULE = Rule(**Rule.page(__name__), severity="error", check=check, reads=reads, causes=("ingress", "egress", "dns"))
