"""Containers are killed because they need more memory

What it finds: a workload whose containers end with OOMKilled, by a container's last state or an Event; the limit is in the finding.

Why it hurts: each kill interrupts the container's work; between two of them the workload may look Healthy.

How to fix: raise `resources.limits.memory`, or let the program use less: a runtime with its own heap needs a heap limit well below it. Files in an `emptyDir` of medium Memory
count to the limit too, and stay when the container restarts.

Example: a container with `limits: {memory: 5Mi}` whose runtime alone needs more.

Sources: kubelet (OOMKilled, exit code 137), containerd ("container init was OOM-killed"). A pod that restarted less than three times and is well
is not reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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
    Rule,
    Symptom,
    Want,
)
from argolint.edits.advice import advice
from argolint.values import dig, enumerated, get, maps, number_at, text_at
from argolint.values.kubernetes import containers, pod_spec
from argolint.values.patterns import regex
from argolint.values.quantities import amount

from ..shared.pods import container_ends, status_reason
from ._limits import LEAST_MEMORY
from ._running import (
    is_crash_looping,
    is_unwell,
    live_pod,
    live_pod_wants,
    pod_warnings,
    restarts,
    workloads,
)

_KILLED = regex(r"OOM-?killed", re.IGNORECASE)
_AGAIN = regex(r"restarting failed container[ =]([a-z0-9-]{1,63})\b")


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The state of a restarting pod, and Events of pods that do not start."""
    for resource, nodes in workloads(app):
        if any(is_crash_looping(n) for n in nodes[:1]):
            yield from live_pod_wants(nodes)
        if is_unwell(resource, nodes):
            yield from (Want("events", node.id, node.uid) for node in nodes)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each workload."""
    for resource, nodes in workloads(app):
        if (killed := _killed_container(app, nodes)) is not None and not _has_slip(resource):
            yield _finding(app, resource, nodes, *killed)


def _has_slip(resource: Resource) -> bool:
    """Whether a limit is so small that its unit is not meant: quantity-slip reports it."""
    limits = (amount(dig(c, "resources", "limits", "memory")) for _, c in containers(resource.desired))
    return any(limit is not None and 0 < limit < LEAST_MEMORY for limit in limits)


def _killed_container(app: App, nodes: Sequence[Node]) -> tuple[str, str] | None:
    """(container, evidence) of a killed one; the container is empty if the text does not name it."""
    if (found := live_pod(app, nodes)) is not None:
        node, pod = found
        for name, end in container_ends(pod):
            if end.get("reason") == "OOMKilled":
                return name, f"{node.id}: container {name} ended with OOMKilled, exit code {number_at(end, 'exitCode')}"
    for node in nodes:
        if status_reason(node).removeprefix("Init:") == "OOMKilled":
            return "", f"{node.id} is shown as OOMKilled"
    for node, event in pod_warnings(app, nodes):
        if _KILLED.search(event.message) and event.reason != "SystemOOM":
            named = (_AGAIN.search(e.message) for e in app.events(node.id, node.uid) or ())
            name = next((found[1] for found in named if found), "")
            return name, f"{node.id}: {event.reason}: the container was OOM-killed"
    return None


def _finding(app: App, resource: Resource, nodes: Sequence[Node], name: str, evidence: str) -> Finding:
    obj = resource.live or resource.any
    at, limit, name = _memory_limit(obj, name)
    shown = is_unwell(resource, nodes)
    kept = f" at its limit of {limit}" if limit else " by its node" if at else ""
    times = restarts(nodes[0])
    volumes = _memory_volumes(obj, at, limit) if at else ()
    named = enumerated(volumes)
    return Finding(
        message=f"Container {name} of {resource.id} is OOM-killed{kept}, so its pods {'restart' if times else 'do not start'}.",
        at=Location(
            app.ref, resource.id, f"{at}/resources/limits/memory" if limit else f"{at}/resources" if at else ""
        ),
        severity="error" if shown else "warning",
        evidence=(
            evidence,
            f"restarts of {nodes[0].id}: {times}",
            *(() if limit or not at else ("it has no limit of its own",)),
            *(
                (
                    f"it mounts volume {named} from memory: its files count as the memory of the container, and outlive it",
                )
                if named
                else ()
            ),
        ),
        related=tuple(Related(app.ref, n.id, role="symptom") for n in nodes),
        fixes=advice(
            __package__,
            "out-of-memory",
            {"object": str(resource.id), "volumes": named, "first": next(iter(volumes), "")},
        ),
        explains=(Symptom.health(resource.id), *(Symptom.health(n.id) for n in app.descendants(resource.uid)))
        if shown
        else (),
    )


def _memory_volumes(obj: Object, at: str, limit: str) -> tuple[str, ...]:
    """The volumes of medium Memory that the container mounts, and whose files may take all of its limit (kubernetes.io, emptyDir)."""
    mounted = {text_at(mount, "name") for mount in maps(get(obj, at, {}), "volumeMounts")}
    most = amount(limit)
    return tuple(
        text_at(volume, "name")
        for volume in maps(pod_spec(obj)[1], "volumes")
        if text_at(volume, "name") in mounted
        and dig(volume, "emptyDir", "medium") == "Memory"
        and ((size := amount(dig(volume, "emptyDir", "sizeLimit"))) is None or most is None or size >= most)
    )


def _memory_limit(obj: Object, name: str) -> tuple[str, str, str]:
    """(pointer, memory limit, name) of the container with this name, or of the only one; an empty pointer if there is neither."""
    listed = list(containers(obj))
    chosen = [(at, c) for at, c in listed if c.get("name") == name] or (listed if len(listed) == 1 else [])
    if not chosen:
        return "", "", name or "of a pod"
    at, container = chosen[0]
    limit = dig(container, "resources", "limits", "memory")
    return at, str(limit) if limit is not None else "", text_at(container, "name")


RULE = Rule(**Rule.page(__name__), severity="error", check=check, wants=wants, rank=Rank.ROOT)
