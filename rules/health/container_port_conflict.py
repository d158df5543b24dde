"""Two containers of a pod use one port

What it finds: a pod template with failing pods in which two containers declare the same port and protocol. Also two containers, of which one
ends with an error and the other is ready: one declares a port, and the other is to listen on it by a command, an argument or its environment.
Also a container, or a Service of the pods, with a port that belongs to the proxy which a mesh injects into them.

Why it hurts: containers of a pod share one network. The second one that binds the port ends with "address already in use", and the pod
is restarted again and again.

How to fix: let one of them listen on another port, and adapt the Service and the probes. The ports of an injected proxy are not available.

Example: a proxy with `containerPort: 8080` next to the program that listens on 8080 itself.

Sources: kubernetes.io, Pods (resource sharing); istio.io, linkerd.io and dapr.io (ports used by their proxies; traffic.yaml). Declared ports are
only information: pods that run well are not reported, and neither are init containers that end before the others start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from argolint import (
    App,
    Finding,
    Fleet,
    Location,
    Node,
    Object,
    Rank,
    Related,
    Resource,
    ResourceId,
    Rule,
    Symptom,
    Want,
)
from argolint.edits import manifest_text
from argolint.edits.advice import advice
from argolint.redaction import excerpt
from argolint.values import annotations_of, dig, get, items, maps, number_at, text_at
from argolint.values.kubernetes import containers, pod_spec
from argolint.values.patterns import regex

from ..shared.pods import container_ends
from ._ports import injected_container_ports, number_or_name
from ._running import is_crash_looping, is_unwell, live_pod, live_pod_wants, names_in_pod, workloads
from ._selecting import selected_members, selecting_objects
from ._surroundings import shown_object


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each workload."""
    for resource, nodes in workloads(app):
        if is_unwell(resource, nodes):
            obj = resource.live or resource.any
            found = next(_ports_declared_twice(obj), None) or next(
                _refused_ports(obj, _failing_containers(app, nodes)), None
            )
            if found is not None:
                yield _finding(app, resource, nodes, *found)
            elif (wrong := next(_uses_of_proxy_port(app, resource, nodes), None)) is not None:
                yield _proxy_finding(app, resource, nodes, wrong)


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The state of a restarting pod with several containers: it shows which of them ends."""
    for resource, nodes in workloads(app):
        several = (
            any(map(is_crash_looping, nodes[:1]))
            and len(list(_concurrent_containers(resource.live or resource.any))) > 1
        )
        if is_unwell(resource, nodes) and (several or any(_proxy_port_uses(app, resource))):
            yield from live_pod_wants(nodes)


def _concurrent_containers(obj: Object) -> Iterator[tuple[str, Object]]:
    """The containers that run at the same time."""
    for at, container in containers(obj):
        if "/initContainers/" not in at or container.get("restartPolicy") == "Always":
            yield at, container


def _failing_containers(app: App, nodes: Sequence[Node]) -> frozenset[str]:
    """The containers that end with an error, while another one of the pod runs and is ready."""
    found = live_pod(app, nodes)
    statuses = maps(dig(found[1], "status"), "containerStatuses") if found else ()
    if not any(s.get("ready") is True for s in statuses):
        return frozenset()
    ended = (
        {name for name, end in container_ends(found[1]) if number_at(end, "exitCode") not in (0, 137, 143)}
        if found
        else set()
    )
    return frozenset(text_at(s, "name") for s in statuses if s.get("ready") is not True and s.get("name") in ended)


_PORT = r"(?<![\d.]){port}(?![\d.])"
_HOST = regex(r"(?P<host>[\w.-]{1,253}):$")
_OWN = regex(r"0\.0\.0\.0|[\w.-]{0,30}listen|tcp4?|udp4?", re.IGNORECASE)
"""Prefixes of an address to listen on: all addresses, or a word such as TCP-LISTEN."""


def _refused_ports(obj: Object, failing: frozenset[str]) -> Iterator[tuple[str, str, str, int]]:
    """The same for a failing and a running container, if one is to listen on a port that the other declares."""
    together = list(_concurrent_containers(obj))
    if not failing:
        return
    for at, container in together:
        words = list(_start_texts(at, container))
        name = text_at(container, "name")
        for _, other in together:
            if (text_at(other, "name") in failing) == (name in failing):
                continue
            for port in maps(other, "ports"):
                number = number_or_name(port.get("containerPort"))[0]
                listens = re.compile(_PORT.format(port=number))
                where = next((place for place, text in words if number and _names_own_port(text[:4000], listens)), "")
                if where:
                    yield where, name, text_at(other, "name"), number


def _names_own_port(text: str, port: re.Pattern[str]) -> bool:
    """Whether a text names the port for the program's own use, not for another one's."""
    return any(_is_own_address(text[max(0, found.start() - 300) : found.start()]) for found in port.finditer(text))


def _is_own_address(before: str) -> bool:
    host = _HOST.search(before)
    return _WHOM.search(before[-60:]) is None and (host is None or _OWN.fullmatch(host["host"]) is not None)


_WHOM = regex(r"(?:upstream|target|backend|app|remote|peer|dest|forward)\S{0,40}\s?$", re.IGNORECASE)


def _start_texts(at: str, container: Object) -> Iterator[tuple[str, str]]:
    """The texts with which a container starts, by place; without variables that name a server to call."""
    for part in ("command", "args"):
        yield f"{at}/{part}", " ".join(w for w in items(container, part) if isinstance(w, str))
    for index, variable in enumerate(maps(container, "env")):
        name = text_at(variable, "name")
        if _LISTENER.search(name) and not _CLIENT.search(name):
            yield f"{at}/env/{index}/value", text_at(variable, "value")


_LISTENER = regex(r"(?:^|_)(?:PORT|LISTEN|BIND|ADDR|ADDRESS)(?:$|_)", re.IGNORECASE)
_CLIENT = regex(r"UPSTREAM|TARGET|BACKEND|APP_|REMOTE|PEER|DEST|SERVICE_|URL|HOST", re.IGNORECASE)


def _ports_declared_twice(obj: Object) -> Iterator[tuple[str, str, str, int]]:
    """(pointer of the second, its container, the first container, port) for each port that two containers declare."""
    first_by_port: dict[tuple[int, str], str] = {}
    for at, container in _concurrent_containers(obj):
        name = text_at(container, "name")
        for index, port in enumerate(maps(container, "ports")):
            number = number_or_name(port.get("containerPort"))[0]
            first = first_by_port.setdefault((number, text_at(port, "protocol") or "TCP"), name)
            if number and first != name:
                yield f"{at}/ports/{index}/containerPort", name, first, number


def _variable_name(obj: Object, at: str) -> str:
    """The name of the variable with its value at this place; empty for other places."""
    return text_at(get(obj, at.removesuffix("/value"), None), "name") if at.endswith("/value") else ""


_MEANS_A_PROXY = regex(r"dapr|envoy|istio|linkerd|sidecar|mesh|proxy", re.IGNORECASE)
"""Words by which a program is configured to use the proxy's own port."""
_NUMBER = regex(r"(?<!\d)\d{4,5}(?!\d)")


@dataclass(frozen=True, slots=True)
class _ProxyPortUse:
    """A port of an injected proxy that something else uses. `annotation`: the annotation of the template that gives it to the proxy, if any."""

    proxy: str
    annotation: str
    port: int
    user: ResourceId
    at: str
    words: str


def _uses_of_proxy_port(app: App, resource: Resource, nodes: Sequence[Node]) -> Iterator[_ProxyPortUse]:
    """Claims on a port of a container that the pod has and its template lacks; declared ports first."""
    found = live_pod(app, nodes)
    if found is not None:
        own = {text_at(container, "name") for _, container in containers(resource.any)}
        injected = names_in_pod(found[1]) - own
        failed = any(number_at(end, "exitCode") for _, end in container_ends(found[1]))
        for claim in _proxy_port_uses(app, resource):
            if claim.proxy in injected and (failed or claim.user != resource.id):
                yield claim


def _proxy_port_uses(app: App, resource: Resource) -> Iterator[_ProxyPortUse]:
    """Each use of a port of an injected proxy: by a container that declares it or is to listen on it, or by a Service."""
    at, _ = pod_spec(resource.any)
    annotations = annotations_of(get(resource.any, at.removesuffix("/spec"), {}))
    ports = {
        port: (proxy, given)
        for proxy, all_ in injected_container_ports(annotations).items()
        for port, given in all_.items()
    }
    for place, container in containers(resource.any):
        name = f"Container {excerpt(text_at(container, 'name'), 63)} of {resource.id}"
        for index, port in enumerate(maps(container, "ports")):
            number = number_or_name(port.get("containerPort"))[0]
            if number in ports:
                yield _ProxyPortUse(
                    *ports[number],
                    number,
                    resource.id,
                    f"{place}/ports/{index}/containerPort",
                    f"{name} claims",
                )
        for where, text in _start_texts(place, container):
            numbers = {int(number) for number in _NUMBER.findall(text[:4000])}
            for number in sorted(numbers & ports.keys()):
                listens = _names_own_port(text[:4000], re.compile(_PORT.format(port=number)))
                if listens and not _MEANS_A_PROXY.search(_variable_name(resource.any, where) + text[:4000]):
                    yield _ProxyPortUse(*ports[number], number, resource.id, where, f"{name} claims")
    for one in selecting_objects(app):
        if one.kind.form == "labels" and any(m.id.key == resource.key for m in selected_members(app, one)):
            for index, port in enumerate(maps(shown_object(one.resource), "spec", "ports")):
                field = "targetPort" if "targetPort" in port else "port"
                number = number_or_name(port.get(field))[0]
                if number in ports and not _OF_THE_PROXY.search(f"{one.resource.name} {text_at(port, 'name')}"):
                    words = f"{one.resource.id} leads to"
                    yield _ProxyPortUse(
                        *ports[number],
                        number,
                        one.resource.id,
                        f"/spec/ports/{index}/{field}",
                        words,
                    )


_OF_THE_PROXY = regex(r"metric|prom|monitor|stat|health|ready|admin|envoy|mesh|istio|linkerd|dapr|proxy", re.IGNORECASE)
"""Names of Services and ports that mean the proxy itself."""


def _proxy_finding(app: App, resource: Resource, nodes: Sequence[Node], use: _ProxyPortUse) -> Finding:
    consequence = (
        "so one of them cannot start" if use.user == resource.id else "so its connections do not reach the program"
    )
    proxy_ports = sorted(set(injected_container_ports({})[use.proxy]) | {use.port})
    if use.annotation:
        title = f"Give {use.proxy} another port in annotation {use.annotation}"
        text = f"leave port {use.port} to the program: remove it from {use.annotation} in the pod template of {resource.id}\n"
    else:
        title = f"Let the program listen on a port that {use.proxy} does not use"
        text = f"{use.proxy} keeps {', '.join(map(str, proxy_ports))}; move the program, its probes and the targetPort of its Service\n"
    return Finding(
        message=f"{use.words} port {use.port}, which the injected {use.proxy} listens on, {consequence}.",
        at=Location(app.ref, use.user, use.at),
        confidence="likely",
        evidence=(
            f"{nodes[0].id} has container {use.proxy}, which its template does not have",
            *((f"annotation {use.annotation} of the template gives it port {use.port}",) if use.annotation else ()),
        ),
        related=(
            *(() if use.user == resource.id else (Related(app.ref, resource.id, role="other"),)),
            *(Related(app.ref, n.id, role="symptom") for n in nodes),
        ),
        fixes=(manifest_text(resource.id, title, text, "its pods restart"),),
        explains=(Symptom.health(resource.id), *(Symptom.health(n.id) for n in app.descendants(resource.uid)))
        if use.user == resource.id
        else (),
    )


def _finding(
    app: App, resource: Resource, nodes: Sequence[Node], pointer: str, second: str, first: str, port: int
) -> Finding:
    return Finding(
        message=f"Containers {excerpt(first, 63)} and {excerpt(second, 63)} of {resource.id} both claim port {port}, so one of them cannot start.",
        at=Location(app.ref, resource.id, pointer),
        confidence="likely",
        evidence=(f"containers of a pod share one network; {nodes[0].id} is restarted",),
        related=tuple(Related(app.ref, n.id, role="symptom") for n in nodes),
        fixes=advice(
            __package__,
            "container-port-conflict",
            {"object": str(resource.id), "container": second, "pointer": pointer},
        ),
        explains=(Symptom.health(resource.id), *(Symptom.health(n.id) for n in app.descendants(resource.uid))),
    )


RULE = Rule(**Rule.page(__name__), severity="error", check=check, wants=wants, rank=Rank.CAUSE)
