"""A probe that the container cannot pass

What it finds: a readiness, liveness or startup probe that fails because of the manifest. `port`: it uses a port that no container of the pod
declares, while another is declared. `name`: its container has no port of that name. `protocol`: HTTP on a port with gRPC or TLS, or the reverse. `path`:
the server answers that the path does not exist. `timing`: the container is killed before it listens. `command`: the container has no such
program.

Why it hurts: a pod that fails its readiness probe gets no traffic, and the rollout never ends. A pod that fails its liveness probe is restarted
again and again, and its Deployment may look Healthy in between.

How to fix: use a check that the container can answer. Give a slow start a startupProbe.

Example: `livenessProbe: {httpGet: {port: 9000}}` on a container that serves gRPC on 9000.

Sources: kubelet pkg/probe (Events "Liveness probe failed: ..."), core/v1 Probe. All causes except `name`, which is also found before a sync brings it, need the kubelet's own message: a
container may listen on ports that it does not declare. A probe that only waits is reported after five minutes (option `minutes`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from argolint import (
    App,
    Edit,
    Event,
    Finding,
    Fix,
    Fleet,
    Json,
    Location,
    Node,
    Object,
    Rank,
    Related,
    Resource,
    Rule,
    Symptom,
    Want,
)
from argolint.edits import manifest_text, manifest_yaml
from argolint.messages import shortened
from argolint.redaction import excerpt
from argolint.values import dig, get, integer, mapping, maps, number_at, parse_time
from argolint.values.kubernetes import containers, pod_spec
from argolint.values.patterns import regex

from ..shared.age import Patience, is_overdue
from ..shared.operations import with_end_of_wait
from ..shared.pods import container_ends
from ..shared.triage import worth_reading
from ._ports import Port, number_or_name, pod_ports, ports_text
from ._running import is_crash_looping, is_unwell, live_pod_wants, pod_warnings, restarts, workloads

_KINDS = {"readinessProbe": "Readiness", "livenessProbe": "Liveness", "startupProbe": "Startup"}


@dataclass(frozen=True, slots=True)
class _Probe:
    """One probe: its pointer, its kind of check (`how`) and port, and its container."""

    at: str
    kind: str
    how: str
    port: int
    name: str
    container: str
    spec: Object

    @property
    def pointer(self) -> str:
        return f"{self.at}/{self.how}/port"


def reads(app: App, fleet: Fleet, options: Patience) -> bool:
    """Whether the application has workloads: between two restarts all looks Healthy, and the list has no restarts."""
    return any(row.group in ("apps", "argoproj.io") for row in app.rows) and worth_reading(app, fleet)


def wants(app: App, fleet: Fleet, options: Patience) -> Iterator[Want]:
    """Events of pods that are not well or have restarted, of workloads with a probe."""
    for resource, nodes in workloads(app):
        probes = tuple(_probes(resource.live or resource.any))
        if probes and (is_unwell(resource, nodes) or any(_may_restart_pods(resource, p) for p in probes)):
            yield from (Want("events", node.id, node.uid) for node in nodes)
            if any(map(is_crash_looping, nodes[:1])) and any(p.kind == "livenessProbe" for p in probes):
                yield from live_pod_wants(nodes)


def check(app: App, fleet: Fleet, options: Patience) -> Iterator[Finding]:
    """One finding for each probe."""
    for resource, nodes in workloads(app):
        obj = resource.live or resource.any
        reported: set[str] = set()
        for probe in _probes(obj):
            for node, event in pod_warnings(app, nodes):
                found = _cause(obj, probe, node, event, app)
                late = not is_unwell(resource, nodes) or is_overdue(app, node.created_at, options.span)
                if found and late and probe.at not in reported:
                    reported.add(probe.at)
                    yield _finding(app, resource, nodes, probe, found, node, event)
    for resource in app.with_pods("desired"):
        if resource.status == "OutOfSync" and not resource.hook and resource.mentions('Probe"', "desired"):
            yield from _coming_findings(app, resource)


def _coming_findings(app: App, resource: Resource) -> Iterator[Finding]:
    """Findings for port names that Git asks and no container has, and that the live object does not ask yet.

    The kubelet drops the result of such a probe (pkg/kubelet/prober/worker.go): a readiness or startup probe then never succeeds, a
    liveness probe never fails.
    """
    live = {probe.at: probe for probe in _probes(resource.live or {})}
    for probe in _probes(resource.desired or {}):
        known = live.get(probe.at)
        lasting = known is not None and known.name == probe.name and not known.port
        if probe.name and not probe.port and probe.kind != "livenessProbe" and not lasting:
            have = ports_text(_own_ports(resource.desired or {}, probe)) or "no port"
            yield Finding(
                message=f"The {_KINDS[probe.kind].lower()} probe of {resource.id} asks port {excerpt(probe.name, 63)}, a name that its container does not declare ({have}): new pods never become ready.",
                at=Location(app.ref, resource.id, probe.pointer),
                cause="name",
                evidence=(f"container {probe.container}",),
                fixes=tuple(_fixes(resource, resource.desired or {}, probe, "name")),
            )


def _probes(obj: Object) -> Iterator[_Probe]:
    for at, container in containers(obj):
        ports = {str(p.get("name")): number_or_name(p.get("containerPort"))[0] for p in maps(container, "ports")}
        for field in _KINDS:
            for how in ("httpGet", "tcpSocket", "grpc", "exec"):
                handler = mapping(container, field, how)
                if handler:
                    number, name = number_or_name(handler.get("port"))
                    number = number or ports.get(name, 0)
                    yield _Probe(
                        f"{at}/{field}", field, how, number, name, str(container.get("name")), mapping(container, field)
                    )


def _may_restart_pods(resource: Resource, probe: _Probe) -> bool:
    """Whether this probe may have restarted a pod: only then its Events are worth a request while all looks Healthy."""
    ports = pod_ports(pod_spec(resource.live or resource.any)[1])
    undeclared = bool(ports) and probe.port not in {p.number for p in ports}
    return probe.kind == "livenessProbe" and (undeclared or _is_hasty(probe.spec) or probe.how == "httpGet")


def _is_hasty(spec: Object) -> bool:
    """Whether the kubelet kills a container that does not listen after ten seconds."""
    return _seconds_to_kill(spec) <= 10


def _seconds_to_kill(spec: Object) -> int:
    """Seconds from the start until the kubelet kills the container (core/v1 Probe, with the defaults of the API server)."""
    period, failures = number_at(spec, "periodSeconds") or 10, number_at(spec, "failureThreshold") or 3
    return number_at(spec, "initialDelaySeconds") + period * (failures - 1) + (number_at(spec, "timeoutSeconds") or 1)


_MOST_PATIENT, _STOPPING = 60, 30
"""Seconds after which a start is no longer taken for slow, and those that the kubelet gives a container to stop by default."""


def _is_killed_at_once(app: App, node: Node, probe: _Probe) -> bool:
    """Whether the container ran as long, the last time, as the kubelet takes to kill one that never listens: an earlier end is its own, a later one no slow start."""
    found, patience = app.evidence.get(Want("live", node.id)), _seconds_to_kill(probe.spec)
    for name, end in container_ends(found) if isinstance(found, Mapping) and patience <= _MOST_PATIENT else ():
        began, ended = parse_time(end.get("startedAt")), parse_time(end.get("finishedAt"))
        if name == probe.container and began is not None and ended is not None:
            soonest = patience - (number_at(probe.spec, "timeoutSeconds") or 1) - 1
            return timedelta(seconds=soonest) <= ended - began <= timedelta(seconds=2 * patience + _STOPPING)
    return False


_SAID = regex(
    r"^(Readiness|Liveness|Startup) probe (?:failed|errored(?: and resulted in \w{1,20} state)?): (.*)", re.DOTALL
)
_SILENT = regex(
    r"connection refused|failed to connect|deadline exceeded|i/o timeout|no route to host|Client\.Timeout",
    re.IGNORECASE,
)
_REFUSED = regex(r"connection refused")
_PROTOCOL = regex(
    r"malformed HTTP|transport connection broken|server gave HTTP response to HTTPS|HTTP request to an HTTPS server"
    r"|first record does not look like a TLS|error reading server preface|does not implement the grpc health|code = Unimplemented|tls: ",
    re.IGNORECASE,
)
_NO_PATH = regex(r"statuscode: (404|405)\b")
_NO_NAME = regex(r"strconv\.Atoi: parsing ")
"""The kubelet takes a name that the container does not declare for a number (pkg/probe, ResolveContainerPort)."""
_NO_PROGRAM = regex(
    r'exec: "(?P<what>[^"]{1,253})": (?:executable file not found|stat |permission denied|no such file)'
    r"|(?P<shell>[\w./-]{1,100}): (?:command )?not found(?![\w])"
)
_PORT = regex(r":([0-9]{1,5})(?![0-9:])")


def _cause(obj: Object, probe: _Probe, node: Node, event: Event, app: App) -> str:
    """The cause if the Event shows this probe's own fault; otherwise empty."""
    probe_message = _SAID.match(event.message)
    if (
        event.reason not in ("Unhealthy", "ProbeError")
        or probe_message is None
        or probe_message[1] != _KINDS[probe.kind]
    ):
        return ""
    text = probe_message[2]
    probed_ports = {int(port) for port in _PORT.findall(text)}
    if probed_ports and probe.port and probe.port not in probed_ports:
        return ""
    if probe.how == "exec":
        return "command" if _NO_PROGRAM.search(text) else ""
    if probe.name and not probe.port and _NO_NAME.search(text):
        return "name"
    if _PROTOCOL.search(text):
        return "protocol"
    if probe.how == "httpGet" and _NO_PATH.search(text):
        return "path"
    if not _SILENT.search(text):
        return ""
    ports = pod_ports(pod_spec(obj)[1])
    if ports and probe.port and probe.port not in {p.number for p in ports}:
        return "port"
    killed = any(e.reason == "Killing" and "probe" in e.message for e in app.events(node.id, node.uid) or ())
    started = mapping(_container(obj, probe), "startupProbe")
    hasty = (
        probe.kind in ("livenessProbe", "startupProbe")
        and (
            _is_hasty(probe.spec)
            or (killed and _REFUSED.search(text) is not None and _is_killed_at_once(app, node, probe))
        )
        and (probe.kind == "startupProbe" or not started)
    )
    return "timing" if hasty and (killed or restarts(node) > 1) and _is_only_port_checked(obj, probe) else ""


def _container(obj: Object, probe: _Probe) -> Json:
    return get(obj, probe.at.rpartition("/")[0], {})


def _own_ports(obj: Object, probe: _Probe) -> tuple[Port, ...]:
    """The ports of the probe's container: the kubelet looks up a name there alone."""
    return pod_ports({"containers": [_container(obj, probe)]})


def _is_only_port_checked(obj: Object, probe: _Probe) -> bool:
    """Whether no probe of the container checks another port: only then the container may not listen at all yet."""
    return not any(other.port != probe.port for other in _probes(obj) if other.container == probe.container)


def _finding(
    app: App, resource: Resource, nodes: Sequence[Node], probe: _Probe, cause: str, node: Node, event: Event
) -> Finding:
    obj = resource.live or resource.any
    ports = _own_ports(obj, probe) if cause == "name" else pod_ports(pod_spec(obj)[1])
    kind = _KINDS[probe.kind].lower()
    probed = str(probe.port or probe.name)
    have = ports_text(ports) or "no port"
    probe_message = _SAID.match(event.message)
    program = _NO_PROGRAM.search(probe_message[2]) if probe_message else None
    what = (program["what"] or program["shell"]) if program else ""
    listens = f"it listens on {probed}" if _REFUSED.search(event.message) else f"port {probed} answers"
    why = {
        "command": f"runs {excerpt(what, 63)}, which its container does not have",
        "port": f"asks port {probed}, which no container declares ({have})",
        "name": f"asks port {excerpt(probed, 63)}, a name that its container does not declare ({have})",
        "protocol": f"speaks {_PROTOCOL_NAMES.get(probe.how, '')} to port {probed}, which answers in another protocol",
        "path": f"asks a path of port {probed} that does not exist",
        "timing": f"gives up after {_seconds_to_kill(probe.spec)} s, before {listens}",
    }[cause]
    pods = "its pods are restarted" if probe.kind != "readinessProbe" else "its pods get no traffic"
    pods = _UNDECIDED.get(probe.kind, pods) if cause == "name" else pods
    shown = is_unwell(resource, nodes) and (cause, probe.kind) != ("name", "livenessProbe")
    return Finding(
        message=f"The {kind} probe of {resource.id} {why}, so {pods}.",
        at=Location(app.ref, resource.id, _faulty_pointer(probe, cause)),
        cause=cause,
        severity="error" if shown else "warning",
        confidence="likely" if cause in ("port", "timing") else "proven",
        evidence=(
            f"container {probe.container}",
            f"{node.id}: {shortened(probe_message[2] if probe_message else event.message)}",
            f"restarts of {node.id}: {restarts(node)}",
        ),
        related=tuple(Related(app.ref, n.id, role="symptom") for n in nodes),
        fixes=with_end_of_wait(app, resource.id, tuple(_fixes(resource, obj, probe, cause))),
        explains=(
            Symptom.health(resource.id),
            *(Symptom.health(n.id) for n in (*app.descendants(resource.uid),)),
        )
        if shown
        else (),
    )


_UNDECIDED = {"livenessProbe": "it never restarts a pod", "startupProbe": "its pods never become ready"}
"""What follows where the kubelet drops the result of a probe (pkg/kubelet/prober/worker.go)."""
_PROTOCOL_NAMES = {"httpGet": "HTTP", "tcpSocket": "TCP", "grpc": "gRPC"}


def _faulty_pointer(probe: _Probe, cause: str) -> str:
    if cause == "timing":
        return probe.at
    if cause == "command":
        return f"{probe.at}/exec/command"
    return (
        f"{probe.at}/httpGet/path"
        if cause == "path"
        else probe.pointer
        if cause != "protocol"
        else f"{probe.at}/{probe.how}"
    )


def _fixes(resource: Resource, obj: Object, probe: _Probe, cause: str) -> Iterator[Fix]:
    desired = resource.desired
    if desired is None or get(desired, probe.at, None) is None:
        return
    where = str(resource.id)
    every = pod_ports(pod_spec(obj)[1])
    ports = {p.number: p for p in every if p.protocol == "TCP"}
    if cause == "name":
        named = [p for p in every if p.name == probe.name]  # by another container of the pod
        ports = {p.number: p for p in named or _own_ports(obj, probe) if p.protocol == "TCP"}
    patch: list[Json] = []
    title = ""
    if cause in ("port", "name") and len(ports) == 1:
        (number,) = ports
        title, patch = (
            f"Probe port {number}, which {'its pod' if cause == 'name' and named else 'the container'} declares",
            [
                {"op": "replace", "path": each.pointer, "value": number}
                for each in _probes(obj)  # the next probe would fail as this one does
                if (each.container, each.port, each.name) == (probe.container, probe.port, probe.name)
                and get(desired, each.at, None) is not None
            ],
        )
    elif cause == "protocol" and probe.how == "httpGet":
        other = next(
            (o for o in _probes(obj) if o.container == probe.container and o.port == probe.port and o.how == "grpc"),
            None,
        )
        port = dig(probe.spec, "httpGet", "port")
        if other is not None:
            title = "Probe by gRPC, as the container's other probe does"
            patch = [
                {"op": "remove", "path": f"{probe.at}/httpGet"},
                {"op": "add", "path": f"{probe.at}/grpc", "value": dict(mapping(other.spec, "grpc"))},
            ]
        else:
            text = f"{probe.kind}:\n  grpc: {{port: {integer(port) or port}}}      # a gRPC server with the health service\n# or, for TLS, httpGet.scheme: HTTPS; or tcpSocket: {{port: {port}}}\n"
            yield manifest_yaml(where, "Probe in the protocol of the port: gRPC, HTTPS, or a mere TCP connection", text)
    elif cause == "timing":
        title = "Give the start more time with a startupProbe, and let the liveness probe fail a few times"
        value = {probe.how: dict(mapping(probe.spec, probe.how)), "periodSeconds": 5, "failureThreshold": 30}
        above = probe.at.rpartition("/")[0]
        patch = [{"op": "add", "path": f"{above}/startupProbe", "value": value}]
    if patch:
        yield Fix(title, "manifest", where, Edit("json-patch", patch), caveat="its pods restart", resource=resource.id)
    elif cause == "command":
        yield manifest_text(
            where,
            "Probe with a program of the image, by HTTP or by a TCP connection",
            f"correct {probe.at}/exec/command, or add the program to the image\n",
            "its pods restart",
        )
    elif cause == "name":
        text = f"ports:\n- name: {excerpt(probe.name, 63)}\n  containerPort: ...   # the number on which container {probe.container} listens; or write it at {probe.pointer}\n"
        yield manifest_yaml(where, f"Declare the port in container {probe.container}, or probe it by its number", text)
    elif cause in ("path", "port"):
        yield manifest_text(where, "Probe a path and port that the container answers", f"correct {probe.at}\n")


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    wants=wants,
    reads=reads,
    options=Patience,
    causes=("port", "name", "protocol", "path", "timing", "command"),
    rank=Rank.CAUSE,
)
