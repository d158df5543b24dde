"""A NetworkPolicy blocks a client that calls the Service

What it finds: a workload whose environment names a Service of the application, while NetworkPolicies block its packets. Workloads of other
applications count while a sync is about to change a policy. `ingress`: the policies
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
from textwrap import indent

from argolint import (
    App,
    AppRef,
    Edit,
    Finding,
    Fix,
    Fleet,
    Json,
    Location,
    Object,
    Related,
    Resource,
    ResourceId,
    Rule,
    Want,
)
from argolint.redaction import is_hidden
from argolint.values import dig, enumerated, get, items, mapping, maps, text_at
from argolint.values.kubernetes import pod_spec

from ..shared.labels import label_selector, labels_at, plain_selector
from ..shared.peers import peer_wants
from ..shared.triage import worth_reading
from ._addresses import Address, Variable, address_of, variables
from ._callers import caller_wants, callers
from ._policies import PodsEnd, has_only_own_policies, policies, restricting_policies, rules_of
from ._ports import number_or_name, pod_ports
from ._selecting import members_by_label
from ._surroundings import Member, services, shown_object

_GROUP = "networking.k8s.io"
_DNS = 53


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether an application has policies, which the list shows."""
    return any(row.group == _GROUP and row.kind == "NetworkPolicy" for row in app.rows) and worth_reading(app, fleet)


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The workloads of other applications where a sync changes a policy, and their Services in its namespace."""
    changing = {p.namespace for p in policies(app) if p.status == "OutOfSync"}
    if changing:
        yield from caller_wants(app, fleet, changing)
        yield from peer_wants(app, fleet, [("", "Service")], lambda key: key.namespace in changing, most=20)


@dataclass(frozen=True, slots=True)
class _Call:
    """The caller with its application, the called pods and their port; the port is 0 if it is unknown."""

    owner: AppRef
    client: Resource
    pointer: str
    variable: str
    address: Address
    source: PodsEnd
    target: Member
    port: int
    protocol: str


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each policy and cause, about all clients that it shuts out."""
    if app.deleting or not app.desired_known or not any(policies(app)):
        return
    shut: dict[tuple[str, ResourceId], dict[tuple[AppRef, ResourceId, int], _Call]] = {}
    of_policy: dict[ResourceId, Resource] = {}
    for call in _calls(app, fleet):
        for cause, policy in _closing_policies(app, fleet, call):
            of_policy[policy.id] = policy
            shut.setdefault((cause, policy.id), {}).setdefault((call.owner, call.client.id, call.port), call)
    for (cause, id_), calls in shut.items():  # a call whose port is not known counts for the client's others
        found = [call for key, call in calls.items() if not key[2] or (*key[:2], 0) not in calls]
        yield _finding(app, found, cause, of_policy[id_])


def _calls(app: App, fleet: Fleet) -> Iterator[_Call]:
    known = [(app.ref, resource) for resource in app.with_pods()]
    for owner, resource in (*known, *callers(app, fleet)):
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
                yield from _calls_to_service(app, owner, resource, variable, address, source)


def _calls_to_service(
    app: App, owner: AppRef, client: Resource, variable: Variable, address: Address, source: PodsEnd
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
            yield _Call(owner, client, variable.pointer, variable.name, address, source, target, port, protocol)


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


def _finding(app: App, calls: Sequence[_Call], cause: str, policy: Resource) -> Finding:
    names = list(dict.fromkeys(_client_text(app, call) for call in calls))
    clients, one = enumerated(names, limit=3), len(names) == 1
    service = enumerated(list(dict.fromkeys(f"Service {call.address.service}" for call in calls)), limit=2)
    who, its = ("it finds", "its") if one else ("they find", "their")
    says = {
        "ingress": f"{policy.id} does not admit {clients}, which {'calls' if one else 'call'} {service}, so {its} calls time out.",
        "egress": f"{policy.id} does not let {clients} out to {service}, so {its} calls time out.",
        "dns": f"{policy.id} lets {clients} out to no DNS, so {who} no Service by name.",
    }[cause]
    field = "ingress" if cause == "ingress" else "egress"
    well = all(call.client.health.status in ("", "Healthy") for call in calls)
    return Finding(
        message=says,
        at=Location(app.ref, policy.id, f"/spec/{field}" if rules_of(policy, field) else _type_pointer(policy, field)),
        cause=cause,
        severity="warning" if well else "error",
        confidence="likely",
        evidence=(
            *(
                f"{call.variable} ({call.pointer}) names {call.address.host}"
                + (f" on port {call.port} of the pods" if call.port else "")
                for call in calls[:_MOST_CLIENTS]
            ),
            f"no other policy of these pods admits {'it' if one else 'them'}; a network plugin without policies would",
        ),
        related=tuple(Related(c.owner, c.client.id, c.pointer, "dependent") for c in calls[:_MOST_CLIENTS]),
        fixes=(_fix(app, calls, cause, policy),),
    )


def _fix(app: App, calls: Sequence[_Call], cause: str, policy: Resource) -> Fix:
    """Rules for the policy; a policy for the called pods alone, in place of rules for all pods of the namespace."""
    title = _title(cause, calls)
    if cause == "ingress" and not mapping(shown_object(policy), "spec", "podSelector"):
        text = "---\n".join(_policy_yaml(call.target, calls) for call in {c.target.id: c for c in calls}.values())
        return Fix(title, "manifest", f"a policy next to {policy.id}", Edit("yaml", text))
    rules = dict.fromkeys(_rule_yaml(cause, call) for call in calls)
    if cause == "egress":
        closing = (p for call in calls for p in restricting_policies(app, call.source, "Egress"))
        if not any(_admits_dns(rule) for p in closing for rule in rules_of(p, "egress")):
            rules[_rule_yaml("dns", calls[0])] = None
    field = "ingress" if cause == "ingress" else "egress"
    text = f"{field}:      # next to the existing rules\n{''.join(rules)}"
    return Fix(title, "manifest", str(policy.id), Edit("yaml", text), resource=policy.id)


def _policy_yaml(target: Member, calls: Sequence[_Call]) -> str:
    own = dict.fromkeys(_rule_yaml("ingress", call) for call in calls if call.target.id == target.id)
    rules = indent("".join(own), "  ")
    return (
        "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n"
        f"metadata: {{name: {target.id.name}-clients, namespace: {target.id.namespace}}}\n"
        f"spec:\n  podSelector:\n    matchLabels: {{{_pairs(target.labels)}}}\n  ingress:\n{rules}"
    )


def _pairs(labels: Mapping[str, str]) -> str:
    return ", ".join(f'"{key}": "{value}"' for key, value in sorted(labels.items())[:4])


_MOST_CLIENTS = 20


def _type_pointer(policy: Resource, field: str) -> str:
    types = items(shown_object(policy), "spec", "policyTypes")
    return f"/spec/policyTypes/{types.index(field.title())}" if field.title() in types else "/spec"


def _client_text(app: App, call: _Call) -> str:
    return str(call.client.id) if call.owner == app.ref else f'{call.client.id} of "{call.owner.name}"'


def _title(cause: str, calls: Sequence[_Call]) -> str:
    clients = enumerated(list(dict.fromkeys(f"{call.client.kind} {call.client.name}" for call in calls)), limit=3)
    services_ = enumerated(list(dict.fromkeys(f"Service {call.address.service}" for call in calls)), limit=3)
    return {
        "ingress": f"Admit the pods of {clients}",
        "egress": f"Allow egress to the pods of {services_}",
        "dns": "Allow egress to the cluster's DNS",
    }[cause]


def _rule_yaml(cause: str, call: _Call) -> str:
    if cause == "dns":
        return (
            "- to:\n  - namespaceSelector:\n      matchLabels: {kubernetes.io/metadata.name: kube-system}\n"
            "  ports:\n  - {protocol: UDP, port: 53}\n  - {protocol: TCP, port: 53}\n"
        )
    other = call.source if cause == "ingress" else PodsEnd(call.target.labels, call.target.id.namespace)
    own = call.target.id.namespace if cause == "ingress" else call.source.namespace
    space = (
        f"    namespaceSelector:\n      matchLabels: {{kubernetes.io/metadata.name: {other.namespace}}}\n"
        if other.namespace != own
        else ""
    )
    ports = f"  ports:\n  - {{protocol: {call.protocol}, port: {call.port}}}\n" if call.port else ""
    peer = "from" if cause == "ingress" else "to"
    return f"- {peer}:\n  - podSelector:\n      matchLabels: {{{_pairs(other.labels)}}}\n{space}{ports}"


RULE = Rule(
    **Rule.page(__name__), severity="error", check=check, reads=reads, wants=wants, causes=("ingress", "egress", "dns")
)
