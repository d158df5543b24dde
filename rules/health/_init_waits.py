"""What an init container that does not end waits for: the host in its command, arguments or environment, and the Service behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from argolint import App, Finding, Fix, Fleet, Follows, Object, Related, Resource, ResourceKey, Symptom
from argolint.edits import manifest_patch
from argolint.edits.advice import Shell, advice
from argolint.redaction import is_hidden
from argolint.values import dig, items
from argolint.values.kubernetes import containers, kubectl_name
from argolint.values.patterns import regex

from ..shared.labels import is_similar_name, plain_selector
from ._addresses import has_services, variables
from ._ports import Port, ports_text, service_ports
from ._surroundings import Member, may_have_service, pod_templates, services

UNENDED = regex(r"init container (?:(?P<name>[a-z0-9-]{1,63}) )?has not ended")
"""What `pods.troubles` says of a pod in an init container."""
_NAME = r"(?P<{0}>[a-z][a-z0-9-]{{0,62}}(?:\.[a-z0-9-]{{1,63}}){{0,4}})"
_CALLS = (
    regex(rf"://(?:[^/@\s]{{0,200}}@)?{_NAME.format('host')}(?::(?P<port>\d{{1,5}}))?(?=[/\s\"';)?]|$)"),
    regex(rf"(?<![\w./:@-]){_NAME.format('host')}:(?P<port>\d{{1,5}})(?![\w.:])"),
    regex(
        rf"(?<![\w-])(?:nc|ncat|nslookup|pg_isready|mysqladmin|redis-cli|getent hosts|ping)(?: -[a-zA-Z]+(?: \d+)?)*? (?:-h )?{_NAME.format('host')}(?: (?:-p )?(?P<port>\d{{1,5}}))?(?![\w-])"
    ),
    regex(rf"(?<![\w-])(?:-h|--host)[ =]{_NAME.format('host')}(?: (?:-p|--port)[ =](?P<port>\d{{1,5}}))?(?![\w-])"),
)
"""The forms in which a script names the host that it waits for; the most telling first."""
_LONGEST = 4_000


def _called(app: App, fleet: Fleet, resource: Resource, name: str) -> tuple[str, str, str, ResourceKey, int] | None:
    """The place of a text of this init container, the text, the host in it, the Service and the port (0: unknown); None without a host of the cluster."""
    at, container = next(((at, c) for at, c in containers(resource.any) if c.get("name") == name), ("", {}))
    for pointer, text, host, port in (*_in_scripts(at, container), *_in_variables(resource, at)):
        labels = host.split(".")
        namespace = labels[1] if len(labels) > 1 else resource.namespace
        foreign = len(labels) > 1 and labels[2:3] != ["svc"] and not fleet.derive(has_services, app.cluster, namespace)
        if not (foreign or host in ("localhost", name) or is_hidden(host, resource.any, pointer)):
            return pointer, text, host, ResourceKey(app.cluster, "", "Service", namespace, labels[0]), port
    return None


def _in_scripts(at: str, container: Object) -> Iterator[tuple[str, str, str, int]]:
    """The place, text, host and port of each call in the command and the arguments."""
    for field in ("command", "args"):
        for number, text in enumerate(items(container, field)):
            for form in _CALLS if isinstance(text, str) else ():
                if (found := form.search(text[:_LONGEST])) is not None:
                    yield f"{at}/{field}/{number}", text, found["host"], int(found["port"] or 0)


def _in_variables(resource: Resource, at: str) -> Iterator[tuple[str, str, str, int]]:
    for each in variables(resource):
        if each.pointer.startswith(f"{at}/env/"):
            yield each.pointer, each.value, each.address.host, each.address.port


def explained(app: App, fleet: Fleet, resource: Resource, finding: Finding, said: str) -> Finding | None:
    """The finding with what the init container waits for; None where no manifest shows it, or where that is well."""
    stuck = UNENDED.search(said)
    name = stuck["name"] if stuck else None
    called = _called(app, fleet, resource, name) if name else None
    if called is None:
        return None
    pointer, text, host, key, port = called
    head = f"{resource.id} waits in init container {name} for {host}"
    there = next((m for m in services(app, key.namespace) if m.id.name == key.name), None)
    if there is None:
        if may_have_service(app, fleet, key):
            return None
        near = _near(app, key, port)
        hint = f"; {near.id} exists" if near else ""
        renamed = text.replace(host, host.replace(key.name, near.id.name, 1), 1) if near else ""
        steps = [{"op": "replace", "path": pointer, "value": renamed}]
        fix = (manifest_patch(resource.id, f"Wait for {near.id.name}", steps, "if that is meant"),) if near else ()
        return _with(
            finding, f"{head}, and no application has Service {key.name}{hint}.", pointer, "reference", fix, near
        )
    ports = service_ports(there.spec)
    if port and ports and port not in {p.number for p in ports} and dig(there.spec, "clusterIP") != "None":
        ported = _port_fix(resource, pointer, text, port, ports)
        return _with(
            finding, f"{head}:{port}, and {there.id} has {ports_text(ports)}.", pointer, "reference", ported, there
        )
    ill = _ill_behind(app, there)
    if ill is None or ill.id == resource.id:
        return None
    facts = {"maker": str(ill.id), "command": Shell(kubectl_name(ill.id)), "object": str(resource.id)}
    found = _with(
        finding,
        f"{head}, and {ill.id} behind that Service is {ill.health.status}.",
        pointer,
        "waits",
        advice(__package__, "init-awaits-ill", facts),
        there,
    )
    return replace(found, follows=(Follows(Symptom.health(ill.id)),))


def _with(
    finding: Finding, message: str, pointer: str, cause: str, fixes: tuple[Fix, ...], other: Member | None
) -> Finding:
    return replace(
        finding,
        message=message,
        at=replace(finding.at, pointer=pointer),
        cause=cause,
        confidence="likely",
        evidence=(finding.message, *finding.evidence),
        related=(*((Related(other.app, other.id, role="other"),) if other else ()), *finding.related),
        fixes=(*fixes, *finding.fixes),
    )


def _near(app: App, key: ResourceKey, port: int) -> Member | None:
    """The Service that is probably meant: the only one with the port, or one of nearly that name."""
    known = services(app, key.namespace)
    offering = [m for m in known if port and port in {p.number for p in service_ports(m.spec)}]
    alike = [m for m in known if is_similar_name(m.id.name, key.name)]
    return next((found[0] for found in (offering, alike) if len(found) == 1), None)


def _port_fix(resource: Resource, pointer: str, text: str, port: int, ports: Sequence[Port]) -> tuple[Fix, ...]:
    if len(ports) != 1 or text.count(str(port)) != 1:
        return ()
    steps = [{"op": "replace", "path": pointer, "value": text.replace(str(port), str(ports[0].number))}]
    return (manifest_patch(resource.id, f"Wait for port {ports[0].number}", steps, "its pods restart"),)


def _ill_behind(app: App, service: Member) -> Resource | None:
    """The only workload behind the Service, if it is not well."""
    selector = plain_selector(dig(service.spec, "selector"))
    if selector is None or selector.empty:
        return None
    behind = [m for m in pod_templates(app, service.id.namespace) if selector.matches(m.labels)]
    found = app.resource(behind[0].id.key) if len(behind) == 1 else None
    return found if found is not None and found.health.status in ("Progressing", "Degraded", "Missing") else None
