"""An environment variable names a Service that does not exist

What it finds: a container's environment with the address of a Service in the cluster (`cache:6379`, `http://api.shop.svc`). `missing`: neither
an application of the cluster nor the resource tree has it, while a Service of nearly that name exists, or it left Git and the next sync prunes it. `port`: the Service exists without that
port; or a sync takes the port from the Service, and a workload of another application calls it. `dns`: it exists, but the pods cannot resolve names of the cluster, because of their dnsPolicy or because they use the node's network.
Failing pods with a dnsPolicy that does not use the cluster's DNS are reported too, with any environment.

Why it hurts: Argo CD shows everything Synced and Healthy, and each call of that container fails.

How to fix: name the existing Service. For `dns`: dnsPolicy ClusterFirst, or ClusterFirstWithHostNet next to hostNetwork.

Example: `CACHE_ADDR=redis-cache:6379` next to Service `rediscache` with port 6379.

Sources: kubernetes.io, DNS for Services and Pods. Not reported: a name without a similar Service, a variable that does not look like an address,
pods with names of their own (hostAliases, dnsConfig), and a name that an operator may serve from a custom resource with that name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from argolint import (
    App,
    Edit,
    Finding,
    Fix,
    Fleet,
    Location,
    Node,
    Object,
    Related,
    Resource,
    ResourceId,
    ResourceKey,
    Rule,
    Want,
)
from argolint.edits import manifest_patch, manifest_text
from argolint.edits.pruning import prunes
from argolint.redaction import is_hidden
from argolint.values import dig, join_pointer, mapping, text_at
from argolint.values.kubernetes import pod_spec

from ..shared.labels import is_similar_name
from ..shared.triage import worth_reading
from ._addresses import Address, Variable, address_of, has_services, variables
from ._callers import caller_wants, callers, keep_port_fixes, keeping_fixes, lost_ports, number_of
from ._ports import Port, ports_text, service_ports
from ._running import is_crash_looping, is_unwell, workloads
from ._surroundings import has_namesake_owner, has_service, services, shown_object


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application has workloads: Argo CD does not check environments, and the list does not show them."""
    return any(
        row.group in ("apps", "batch", "argoproj.io", "") and row.kind in _KINDS for row in app.rows
    ) and worth_reading(app, fleet)


_KINDS = frozenset(("Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "Rollout", "Pod"))


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The workloads of other applications, where a sync takes a port from a Service."""
    changing = {service.namespace for service in app.of_kind("Service", "") if lost_ports(service)}
    if changing:
        yield from caller_wants(app, fleet, changing)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each variable; for `dns`, one for each workload; for a lost port, one for each workload that calls it."""
    if app.deleting or not app.desired_known:
        return
    for service in app.of_kind("Service", ""):
        yield from _lost_port_findings(app, fleet, service)
    reported = set()
    for resource in app.with_pods():
        if resource.namespace and not resource.requires_pruning and resource.mentions('"env"'):
            for finding in _workload_findings(app, fleet, resource):
                reported.add(resource.id)
                yield finding
    for resource, nodes in workloads(app):
        if resource.id not in reported and resource.mentions('"dnsPolicy"') and is_unwell(resource, nodes):
            yield from _no_cluster_dns_findings(app, fleet, resource, nodes)


def _no_cluster_dns_findings(app: App, fleet: Fleet, resource: Resource, nodes: Sequence[Node]) -> Iterator[Finding]:
    """Findings for a failing workload that does not use the cluster's DNS: it may read an address from a file or have it in its program."""
    at, spec = pod_spec(shown_object(resource))
    policy = text_at(spec, "dnsPolicy")
    if policy not in ("Default", "None") or spec.get("hostNetwork") or spec.get("hostAliases"):
        return
    if not any(map(is_crash_looping, nodes[:1])) and not all(n.health.status == "Progressing" for n in nodes[:1]):
        return
    if resource.namespace == "kube-system" or not fleet.derive(has_services, app.cluster, resource.namespace):
        return
    yield Finding(
        message=f"{resource.id} fails, and its dnsPolicy {policy} does not use the cluster's DNS, so it finds no Service by name.",
        at=Location(app.ref, resource.id, f"{at}/dnsPolicy"),
        cause="dns",
        severity="warning",
        confidence="possible",
        evidence=(f"{nodes[0].id} is {nodes[0].health.status}; nothing shows whom it calls",),
        related=tuple(Related(app.ref, n.id, role="symptom") for n in nodes),
        fixes=(_dns_policy_fix(resource, at, spec),),
    )


def _dns_policy_fix(resource: Resource, at: str, spec: Object) -> Fix:
    policy = "ClusterFirstWithHostNet" if spec.get("hostNetwork") is True else "ClusterFirst"
    op = "replace" if "dnsPolicy" in spec else "add"
    return manifest_patch(
        resource.id,
        f"Use dnsPolicy {policy}",
        [{"op": op, "path": at + join_pointer("dnsPolicy"), "value": policy}],
        "its pods restart",
    )


def _workload_findings(app: App, fleet: Fleet, resource: Resource) -> Iterator[Finding]:
    obj = shown_object(resource)
    at, spec = pod_spec(obj)
    if not spec or spec.get("hostAliases") or dig(spec, "dnsConfig", "searches"):
        return
    blind = _no_cluster_dns_reason(spec)
    reported = False
    for variable in variables(resource):
        pointer, name, value = variable.pointer, variable.name, variable.value
        address = address_of(variable, resource.namespace, fleet, app.cluster)
        if address is None or is_hidden(address.host, obj, pointer):
            continue
        key = ResourceKey(app.cluster, "", "Service", address.namespace, address.service)
        there = has_service(app, fleet, key)
        if (leaver := _pruning_owner(app, fleet, key)) is not None:
            yield _pruned_service_finding(app, resource, variable, address, leaver, key)
            continue
        if there and blind and not reported:
            reported = True
            yield _dns_finding(app, resource, at, spec, pointer, address, blind)
        elif there and not blind and (ports := _other_ports(app, address)):
            yield _port_finding(app, resource, pointer, name, value, address, ports)
        elif (
            not there
            and not has_namesake_owner(fleet, key)
            and (near := _near_service(app, fleet, key, address)) is not None
        ):
            yield _missing_service_finding(app, resource, pointer, name, value, address, near)


def _pruning_owner(app: App, fleet: Fleet, key: ResourceKey) -> App | None:
    """The application whose next automated sync deletes the Service, if none other has it; other applications are known so in the gate alone."""
    owners = [app if ref == app.ref else fleet.by_ref[ref] for ref in {*fleet.owners(key), app.ref}]
    having = [(owner, found) for owner in owners if (found := owner.resource(key)) is not None]
    goes = [
        owner
        for owner, found in having
        if found.requires_pruning and found.live is not None and prunes(owner, found, fleet) == "automatic"
    ]
    return goes[0] if goes and len(goes) == len(having) else None


def _pruned_service_finding(
    app: App, resource: Resource, variable: Variable, address: Address, leaver: App, key: ResourceKey
) -> Finding:
    """The finding for a Service that leaves Git. A new one of the same application that keeps its name as a part is meant."""
    new = [
        r.key
        for r in leaver.of_kind("Service", "")
        if r.namespace == key.namespace and r.live is None and key.name in _parts(r.name)
    ]
    fixes = []
    if len(new) == 1:
        title = f"Name Service {new[0].namespace}/{new[0].name}"
        meant = address.host.replace(key.name, new[0].name, 1)
        value = variable.value.replace(address.host, meant, 1)
        patch: list[dict[str, Any]] = [{"op": "replace", "path": variable.pointer, "value": value}]
        fixes.append(manifest_patch(resource.id, title, patch, "its pods restart"))
    else:
        where = f"the source of application {leaver.ref}"
        fixes.append(manifest_text(where, f"Keep Service {key.name} while clients call it", f"restore {key.id}\n"))
    return Finding(
        message=f"{resource.id} calls {address.host} by {variable.name}, but the next sync of {leaver.ref} prunes Service {key.name}, so its calls fail.",
        at=Location(app.ref, resource.id, variable.pointer),
        cause="missing",
        confidence="likely",
        evidence=(f"Service {key.namespace}/{key.name} left the manifests of {leaver.ref}",),
        related=(Related(leaver.ref, key.id, role="cause"),),
        fixes=tuple(fixes),
    )


def _parts(name: str) -> set[str]:
    """The names that a prefix or suffix was added to."""
    words = name.split("-")
    return {"-".join(words[n:]) for n in range(1, len(words))} | {"-".join(words[:n]) for n in range(1, len(words))}


def _no_cluster_dns_reason(spec: Object) -> str:
    """The reason why the pods do not use the cluster's DNS; empty if they do."""
    policy = text_at(spec, "dnsPolicy") or "ClusterFirst"
    if policy == "Default":
        return "dnsPolicy Default"
    return "hostNetwork, dnsPolicy ClusterFirst" if policy == "ClusterFirst" and spec.get("hostNetwork") is True else ""


def _near_service(app: App, fleet: Fleet, key: ResourceKey, address: Address) -> ResourceKey | None:
    """The Service that is probably meant: with nearly this name and the port, or with exactly this name in another namespace."""
    if not fleet.derive(has_services, key.cluster, key.namespace):
        return None
    elsewhere = []
    for other in fleet.of_kind(key.cluster, "", "Service"):
        if other.namespace == key.namespace:
            ports = _service_port_numbers(app, other)
            offers = address.port in ports if address.port and ports else None
            if offers is not False and is_similar_name(other.name, key.name, within=bool(offers)):
                return other
        elif other.name == key.name:
            elsewhere.append(other)
    return elsewhere[0] if len(elsewhere) == 1 else None


def _service_port_numbers(app: App, service: ResourceKey) -> frozenset[int]:
    found = next((m for m in services(app, service.namespace) if m.id.name == service.name), None)
    return frozenset(p.number for p in service_ports(found.spec)) if found else frozenset()


def _other_ports(app: App, address: Address) -> Sequence[Port]:
    """The ports of the Service if the wanted one is missing; none for headless and ExternalName ones."""
    found = next((m for m in services(app, address.namespace) if m.id.name == address.service), None)
    if found is None or not address.port or dig(found.spec, "clusterIP") == "None" or not dig(found.spec, "selector"):
        return ()
    ports = service_ports(found.spec)
    return () if any(p.number == address.port for p in ports) else ports


def _port_finding(
    app: App, resource: Resource, pointer: str, name: str, value: str, address: Address, ports: Sequence[Port]
) -> Finding:
    service = ResourceId("", "Service", address.namespace, address.service, "v1", app.cluster)
    only = ports[0] if len(ports) == 1 else None
    fixed = value.replace(f"{address.host}:{address.port}", f"{address.host}:{only.number}", 1) if only else value
    patch = Edit("json-patch", [{"op": "replace", "path": pointer, "value": fixed}])
    where = str(resource.id)
    return Finding(
        message=f"{resource.id} calls {address.host}:{address.port} by {name}, but Service {address.service} has {ports_text(ports)}, so its calls fail.",
        at=Location(app.ref, resource.id, pointer),
        cause="port",
        fixes=(
            *keeping_fixes(app, service, address.port, ""),
            Fix(f"Call port {only.number}", "manifest", where, patch, caveat="its pods restart", resource=resource.id)
            if only
            else manifest_text(
                where, "Call a port that the Service has", f"name one of {ports_text(ports)} at {pointer}\n"
            ),
        ),
    )


def _lost_port_findings(app: App, fleet: Fleet, service: Resource) -> Iterator[Finding]:
    has = service_ports(mapping(service.desired, "spec"))
    gone = {number: e for e in lost_ports(service) if (number := number_of(e)) not in {port.number for port in has}}
    for owner, client in callers(app, fleet) if gone else ():
        for variable in variables(client):
            address = address_of(variable, client.namespace, fleet, app.cluster)
            if address is None or (address.service, address.namespace) != (service.name, service.namespace):
                continue
            if address.port in gone:
                text = f"{address.host} will have {ports_text(has)}\n"
                yield Finding(
                    message=f'{service.id} loses port {address.port}, which {client.id} of "{owner.name}" calls by {variable.name}: it will have {ports_text(has)}, so the calls fail.',
                    at=Location(app.ref, service.id, "/spec/ports"),
                    cause="port",
                    confidence="likely",
                    related=(Related(owner, client.id, variable.pointer, "dependent"),),
                    fixes=(
                        *keep_port_fixes(service, gone[address.port]),
                        manifest_text(f"the source of {client.id}", "Or call a port that it will have", text),
                    ),
                )
                break


def _missing_service_finding(
    app: App, resource: Resource, pointer: str, name: str, value: str, address: Address, near: ResourceKey
) -> Finding:
    other = app.resource(near)
    same_namespace = near.namespace == address.namespace
    hint = f"{near.name} is" if same_namespace else f"namespace {near.namespace} has one"
    meant = near.name if same_namespace else f"{near.name}.{near.namespace}"
    fixed = value.replace(
        address.host, meant if address.host == address.service else f"{near.name}.{near.namespace}.svc", 1
    )
    return Finding(
        message=f"{resource.id} calls {address.host} by {name}, but no Service {address.service} exists ({hint}), so its calls fail.",
        at=Location(app.ref, resource.id, pointer),
        cause="missing",
        severity=None if same_namespace else "warning",
        confidence="likely" if same_namespace else "possible",
        evidence=(
            f"no application lists Service {address.namespace}/{address.service}, and the resource tree has none",
            f"Service {near.namespace}/{near.name} comes nearest",
        ),
        related=(Related(app.ref, other.id, role="other"),) if other else (),
        fixes=(
            manifest_patch(
                resource.id,
                f"Name Service {near.namespace}/{near.name}",
                [{"op": "replace", "path": pointer, "value": fixed}],
                "its pods restart",
            ),
        ),
    )


def _dns_finding(
    app: App, resource: Resource, at: str, spec: Object, pointer: str, address: Address, blind: str
) -> Finding:
    has_policy = "dnsPolicy" in spec
    return Finding(
        message=f"{resource.id} calls Service {address.host}, but asks the node's DNS ({blind}), which knows no Services, so its calls fail.",
        at=Location(app.ref, resource.id, f"{at}/dnsPolicy" if has_policy else at),
        cause="dns",
        confidence="likely",
        evidence=(f"the address is at {pointer}",),
        fixes=(_dns_policy_fix(resource, at, spec),),
    )


RULE = Rule(
    **Rule.page(__name__), severity="error", check=check, reads=reads, wants=wants, causes=("missing", "port", "dns")
)
