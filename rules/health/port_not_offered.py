"""A port that nothing offers

What it finds: a port of a reference that the target does not have. A Service's `targetPort` that none of its pods' containers declares, by name,
number or protocol. The port of an Ingress, route, webhook, API service or ServiceMonitor that its Service does not have. A port name of a
PodMonitor that no container has. Also a port that a sync takes from a Service while an Ingress, a route
or the like of another application names it.

Why it hurts: Argo CD shows everything Synced and Healthy, and connections are refused or never answered.

How to fix: name the existing port.

Example: a Service with `targetPort: 8081` for pods whose only container declares port 8080.

Causes: `name` and `service` are certain: without that port no address is written. `number` and `protocol` depend on the ports that containers
declare: a container may listen on others. So there is no finding for a number that a command, an argument, the environment, a probe or a
ConfigMap of the application mentions, for pods with injected containers, and for headless Services, which have no ports of their own.

Sources: k8s.io/kubernetes pkg/controller/util/endpoint (FindPort); core/v1 ServicePort; networking.k8s.io/v1; Gateway API, BackendObjectReference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from argolint import (
    App,
    Finding,
    Fix,
    Fleet,
    Json,
    Location,
    Object,
    Rank,
    Related,
    Resource,
    ResourceId,
    Rule,
    Symptom,
    Want,
)
from argolint.edits import manifest_patch, manifest_text, manifest_yaml
from argolint.redaction import excerpt
from argolint.relations.makers import places
from argolint.relations.references import may_refer
from argolint.values import dig, get, maps, split_pointer, text_at
from argolint.values.knowledge import load

from ..shared.labels import is_similar_name
from ..shared.peers import peers
from ..shared.triage import worth_reading
from ._callers import caller_wants, keep_port_fixes, keeping_fixes, lost_ports, number_of
from ._ports import Port, container_words, may_be_injected, number_or_name, pod_ports, ports_text, service_ports
from ._selecting import Selecting, selected_members, selecting_objects, unmatched_peer_wants
from ._surroundings import Member, services, shown_object


@cache
def _port_references() -> Mapping[tuple[str, str], Sequence[Object]]:
    found: dict[tuple[str, str], list[Object]] = {}
    for entry in load(__package__, "traffic.yaml")["ports"]:
        group, _, kind = entry["by"].partition("/")
        found.setdefault((group, kind), []).append(entry)
    return found


@cache
def _monitor_kinds() -> Mapping[tuple[str, str], Object]:
    entries = load(__package__, "traffic.yaml")["endpoints"]
    return {(group, kind): e for e in entries for group, _, kind in (e["by"].partition("/"),)}


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application has kinds with ports: Argo CD calls them Synced and Healthy, and the list has no ports."""
    of_ports = {("", "Service"), *_port_references(), *_monitor_kinds()}
    return any((row.group, row.kind) in of_ports for row in app.rows) and worth_reading(app, fleet)


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The objects of other applications for selectors without a match in this one, and those that may name a port which a sync takes."""
    yield from unmatched_peer_wants(app, fleet)
    changing = {service.namespace for service in app.of_kind("Service", "") if lost_ports(service)}
    if changing:
        yield from caller_wants(app, fleet, changing, tuple(_port_references()))


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each cause of each Service and monitor, and one for each wanted port of a Service."""
    if app.deleting or not app.desired_known:
        return
    for one in selecting_objects(app):
        entry = _monitor_kinds().get((one.resource.group, one.resource.kind))
        if one.kind.form == "labels" and (found := selected_members(app, one)):
            yield from _service_findings(app, one, found)
        elif entry is not None and (found := selected_members(app, one)):
            yield from _monitor_findings(app, one, found, entry)
    for resource, entries in app.of_kinds(_port_references()):
        for entry in entries if may_refer(resource) else ():
            yield from _reference_findings(app, resource, entry)
    yield from _lost_port_findings(app, fleet)


def _service_findings(app: App, one: Selecting, found: Sequence[Member]) -> Iterator[Finding]:
    """The first port of each cause; the others are in its evidence."""
    spec = shown_object(one.resource).get("spec")
    offered = [port for member in found for port in pod_ports(member.spec)]
    wrong: dict[str, list[tuple[str, str, Json]]] = {}
    unnamed = not all(pod_ports(member.spec) for member in found)
    for index, entry in enumerate(maps(spec, "ports")):
        at = f"/spec/ports/{index}"
        aimed = entry.get("targetPort", entry.get("port"))
        number, name = number_or_name(aimed)
        protocol = text_at(entry, "protocol") or "TCP"
        pointer = f"{at}/targetPort" if "targetPort" in entry else f"{at}/port"
        if any(may_be_injected(member, name or number) for member in found):
            continue
        if name and not any(p.name == name and p.protocol == protocol for p in offered):
            same = [p for p in offered if p.name == name]
            wrong.setdefault("name", []).append((f"{at}/protocol" if same else pointer, name, same or None))
        elif number and not unnamed:
            same = [p for p in offered if p.number == number]
            if not same and not _is_port_mentioned(app, number, found):
                wrong.setdefault("number", []).append((pointer, str(number), None))
            elif same and all(p.protocol != protocol for p in same) and not _has_other_protocol(spec, number, protocol):
                wrong.setdefault("protocol", []).append((f"{at}/protocol", f"{number}/{protocol}", same))
    for cause, ports in wrong.items():
        some = cause == "number" and len(ports) < len(maps(spec, "ports"))
        yield _finding(app, one, found, cause, ports, offered, some=some)


def _has_other_protocol(spec: Json, number: int, protocol: str) -> bool:
    """Whether the Service maps another protocol to the same port, as for HTTP/3: then the container declares one of the two."""
    return any(
        number_or_name(p.get("targetPort", p.get("port")))[0] == number
        and (text_at(p, "protocol") or "TCP") != protocol
        for p in maps(spec, "ports")
    )


def _is_port_mentioned(app: App, number: int, found: Sequence[Member]) -> bool:
    """Whether the containers' configuration mentions the port, so that one of them may listen there without declaring it."""
    word = re.compile(rf"(?<![0-9.]){number}(?![0-9])")
    if any(word.search(text) for member in found for text in container_words(member.spec)):
        return True
    if any(word.search(text) for member in found for text in member.annotations.values()):
        return True
    return any(r.mentions(word) for kind in ("ConfigMap", "Secret") for r in app.of_kind(kind, ""))


def _finding(
    app: App,
    one: Selecting,
    found: Sequence[Member],
    cause: str,
    ports: Sequence[tuple[str, str, Json]],
    offered: Sequence[Port],
    *,
    some: bool,
) -> Finding:
    pointer, wanted, same = ports[0]
    member = found[0]
    owner = f"{member.id.kind} {member.id.name}"
    have = ports_text(offered) or "no port"
    if same:
        fault = f"leads {excerpt(wanted, 63)} with another protocol than {owner} declares ({ports_text(same)})"
    else:
        fault = f"points to port {excerpt(wanted, 63)}, which no container of {owner} has ({have})"
    return Finding(
        message=f"{one.resource.id} {fault}, so connections fail.",
        at=Location(app.ref, one.resource.id, pointer),
        cause=cause,
        severity="warning" if some else "error",
        confidence="proven" if cause == "name" else "likely",
        evidence=(
            f"ports that the containers of {member.id} declare: {have}",
            *(f"{place}: {excerpt(port, 63)}" for place, port, _ in ports[1:8]),
        ),
        related=tuple(Related(m.app, m.id, role="other") for m in found[:3]),
        fixes=tuple(_fixes(one.resource, pointer, wanted, same, offered, len(ports))),
        explains=(Symptom.health(one.resource.id),) if one.resource.health.status not in ("", "Healthy") else (),
    )


def _fixes(
    service: Resource, pointer: str, wanted: str, same: Json, offered: Sequence[Port], wrong: int
) -> Iterator[Fix]:
    obj = shown_object(service)
    at = pointer.rpartition("/")[0]
    if same:
        value: Json = same[0].protocol
        path, title = f"{at}/protocol", f"Use the protocol of the container's port: {same[0].protocol}"
    elif (meant := _meant_port(wanted, get(obj, at, {}), offered)) is not None:
        value = meant.name if meant.name and not wanted.isdigit() else meant.number
        path, title = f"{at}/targetPort", f"Point to the port that the container has: {meant}"
    else:
        yield _manual_fix(service, pointer, offered)
        return
    has_field = path.rpartition("/")[2] in get(obj, at, {})
    edit = [{"op": "replace" if has_field else "add", "path": path, "value": value}]
    if wrong == 1:
        yield manifest_patch(service.id, title, edit)
    else:
        yield manifest_yaml(service.id, f"{title}, and correct the other ports", f"{path}: {value}")


def _meant_port(wanted: str, entry: Json, offered: Sequence[Port]) -> Port | None:
    """The only port, or the one with this name, or with the Service's own number; None if several may be meant."""
    unlike = {(p.number, p.protocol): p for p in offered}
    if len(unlike) == 1:
        return next(iter(unlike.values()))
    named = [p for p in unlike.values() if is_similar_name(p.name, wanted) or p.name == text_at(entry, "name") != ""]
    return named[0] if len(named) == 1 else None


def _monitor_findings(app: App, one: Selecting, found: Sequence[Member], entry: Object) -> Iterator[Finding]:
    """The port names of a monitor that no selected object has."""
    to_pods = one.kind.to == "pods"
    offered = [p for m in found for p in (pod_ports(m.spec) if to_pods else service_ports(m.spec))]
    for index, endpoint in enumerate(
        maps(
            get(shown_object(one.resource), entry["at"], None) and shown_object(one.resource),
            *split_pointer(entry["at"]),
        )
    ):
        name = text_at(endpoint, entry["port"])
        if not name or any(p.name == name for p in offered) or any(may_be_injected(m, name) for m in found):
            continue
        owner = f"{found[0].id.kind} {found[0].id.name}"
        yield Finding(
            message=f"{one.resource.id} scrapes port {excerpt(name, 63)}, which {owner} does not have ({ports_text(offered) or 'no port'}), so nothing is scraped.",
            at=Location(app.ref, one.resource.id, f"{entry['at']}/{index}/{entry['port']}"),
            cause="name" if to_pods else "service",
            severity="warning",
            related=tuple(Related(m.app, m.id, role="other") for m in found[:3]),
            fixes=tuple(_rename_fixes(one.resource, f"{entry['at']}/{index}/{entry['port']}", name, offered)),
        )


def _rename_fixes(resource: Resource, pointer: str, wanted: str, offered: Sequence[Port]) -> Iterator[Fix]:
    named = sorted({p.name for p in offered if p.name})
    near = named if len(named) == 1 else [name for name in named if is_similar_name(name, wanted, within=True)]
    if len(near) == 1:
        edit = [{"op": "replace", "path": pointer, "value": near[0]}]
        yield manifest_patch(resource.id, f"Name the port {near[0]}", edit, safe=True)
    else:
        yield _manual_fix(resource, pointer, offered)


def _reference_findings(app: App, resource: Resource, entry: Object) -> Iterator[Finding]:
    """The ports of known Services that a reference uses."""
    for pointer, ref in places(shown_object(resource), split_pointer(entry["at"])):
        name = text_at(ref, "name")
        namespace = text_at(ref, "namespace") or resource.namespace
        if not name or ref.get("kind", "Service") != "Service" or ref.get("group"):
            continue
        service = next((m for m in services(app, namespace) if m.id.name == name), None)
        if service is None or text_at(service.spec, "type") == "ExternalName":
            continue
        offered = service_ports(service.spec)
        field, wanted = next(
            ((p, v) for p in entry["port"] if (v := get(ref, f"/{p}", None)) is not None), ("", entry.get("default"))
        )
        number, named = number_or_name(wanted)
        if not (number or named) or any(p.number == number if number else p.name == named for p in offered):
            continue
        if named == "use-annotation" or _is_headless(service.spec):
            continue
        at = f"{pointer}/{field}" if field else pointer
        yield Finding(
            message=f"{resource.id} asks for port {excerpt(str(number or named), 63)} of Service {name}, which has {ports_text(offered) or 'no port'}, so its requests go nowhere.",
            at=Location(app.ref, resource.id, at),
            cause="service",
            related=(Related(service.app, service.id, "/spec/ports", "other"),),
            fixes=(
                *keeping_fixes(app, service.id, number, named),
                *(
                    (_tls_port_fix(service.id, number),)
                    if entry.get("tls") and all(map(_is_plain_http, offered))
                    else _port_fixes(resource, at, field, entry["port"][0], offered)
                ),
            ),
            explains=(Symptom.health(resource.id),) if resource.health.status not in ("", "Healthy") else (),
        )


def _lost_port_findings(app: App, fleet: Fleet) -> Iterator[Finding]:
    """Objects of other applications that name a port which a sync takes from a Service; one finding for each Service."""
    lost = {(s.namespace, s.name): (s, entries) for s in app.of_kind("Service", "") if (entries := lost_ports(s))}
    named = peers(app, fleet, *(kind for _, kind in _port_references())) if lost else ()
    for owner, resource in named:
        for entry in _port_references().get((resource.group, resource.kind), ()) if may_refer(resource) else ():
            for pointer, ref in places(shown_object(resource), split_pointer(entry["at"])):
                place = (text_at(ref, "namespace") or resource.namespace, text_at(ref, "name"))
                if place not in lost or ref.get("kind", "Service") != "Service" or ref.get("group"):
                    continue
                service, entries = lost[place]
                wanted = next((v for p in entry["port"] if (v := get(ref, f"/{p}", None)) is not None), None)
                number, name = number_or_name(wanted)
                if not (number or name):
                    continue
                has = service_ports(dig(service.desired, "spec") or {})
                gone = next(
                    (e for e in entries if (number == number_of(e) if number else name == text_at(e, "name"))), None
                )
                if gone is None or any(p.number == number if number else p.name == name for p in has):
                    continue
                yield Finding(
                    message=f'{service.id} loses port {excerpt(str(number or name), 63)}, which {resource.id} of "{owner.name}" asks for: it will have {ports_text(has)}, so these requests go nowhere.',
                    at=Location(app.ref, service.id, "/spec/ports"),
                    cause="service",
                    confidence="likely",
                    related=(Related(owner, resource.id, pointer, "dependent"),),
                    fixes=(
                        *keep_port_fixes(service, gone),
                        manifest_text(
                            f"the source of {resource.id}",
                            "Or ask for a port that it will have",
                            f"{ports_text(has)}\n",
                        ),
                    ),
                )
                del lost[place]


def _is_headless(spec: Object) -> bool:
    return text_at(spec, "clusterIP") == "None"


def _is_plain_http(port: Port) -> bool:
    return port.number in (80, 8080) or port.name == "http" or port.name.startswith("http-")


def _tls_port_fix(service: ResourceId, number: int) -> Fix:
    """The fix for an API service: the API server uses only HTTPS, so a port for plain HTTP would not answer better."""
    text = f"Add port {number} to spec.ports of {service}; its targetPort is the one on which the program serves TLS."
    return manifest_text(service, f"Offer port {number} with TLS at {service}", text)


def _port_fixes(resource: Resource, at: str, field: str, default: str, offered: Sequence[Port]) -> Iterator[Fix]:
    if len(offered) == 1:
        port = offered[0]
        value: Json = port.name if field.endswith("name") and port.name else port.number
        if not field or field.endswith("name") == isinstance(value, str):
            edit = (
                {"op": "replace", "path": at, "value": value}
                if field
                else {"op": "add", "path": f"{at}/{default}", "value": value}
            )
            yield manifest_patch(resource.id, f"Ask for port {port}", [edit], safe=True)
            return
    yield _manual_fix(resource, at, offered)


def _manual_fix(resource: Resource, at: str, offered: Sequence[Port]) -> Fix:
    """The fix if several ports may be meant, or none exists."""
    text = f"name one of these ports at {at}, or add the port: {ports_text(offered) or 'there is none yet'}\n"
    return manifest_text(resource.id, "Name an existing port, or add the one that is named", text)


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    wants=wants,
    reads=reads,
    causes=("name", "number", "protocol", "service"),
    rank=Rank.CAUSE,
)
