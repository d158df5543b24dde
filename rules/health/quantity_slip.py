"""A quantity in a unit that is not meant

What it finds: memory in thousandths of a byte (`512m`) or in bytes (`64`), and processors by the hundred (`cpu: 500`), in an object that a sync will create
or change; and such a memory limit of a workload whose pods do not run.

Why it hurts: the API server takes each of them. No container starts within half a byte of memory, and no node has 500 processors to give.

How to fix: write `512Mi`, `64Mi`, `500m`.

Example: `limits: {memory: 512m}`.

Sources: kubernetes.io, Resource Management for Pods and Containers (units); opencontainers/runc (a container needs some megabytes).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from argolint import App, Finding, Fleet, Json, Location, Node, Rank, Related, Resource, Rule, Symptom
from argolint.edits import manifest_patch
from argolint.values import get, mapping
from argolint.values.kubernetes import containers
from argolint.values.patterns import regex
from argolint.values.quantities import amount

from ._limits import LEAST_MEMORY
from ._rolling import with_next_step
from ._running import is_unwell, workloads

_MOST = Decimal(200)
"""Processors: larger machines are rare, and no single container asks for all of one."""
_FEW = 16
"""Bare numbers below this count gigabytes: no container starts with as many megabytes, or few do."""
_NUMBER = regex(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)m?")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each quantity that is new, and for a memory limit with which pods do not run."""
    ill = {resource.id: nodes for resource, nodes in workloads(app) if is_unwell(resource, nodes)}
    for resource in app.with_pods("desired"):
        if resource.requires_pruning or not resource.mentions('"resources"', "desired"):
            continue
        for place, value, meant in resource.derive(_slips):
            if str(get(resource.live, place, "")) != str(value):
                yield _finding(app, resource, place, value, meant)
            elif place.endswith("/limits/memory") and resource.id in ill:
                yield _finding(app, resource, place, value, meant, ill[resource.id])


def _slips(resource: Resource) -> tuple[tuple[str, Json, str], ...]:
    """The place of each implausible quantity, its value, and the one that is meant."""
    return tuple(
        (f"{at}/resources/{field}/{name}", value, meant)
        for at, container in containers(resource.desired)
        for field in ("limits", "requests")
        for name, value in mapping(container, "resources", field).items()
        if (meant := _meant(name, value))
    )


def _meant(name: str, value: Json) -> str:
    """The quantity in the unit that is probably meant; empty for one that is plausible."""
    found, size = _NUMBER.fullmatch(str(value)), amount(value)
    if found is None or size is None or size <= 0:
        return ""
    if name == "memory" and size < LEAST_MEMORY:
        return f"{found[1]}{'Gi' if size < _FEW else 'Mi'}" if found[0] == found[1] else f"{found[1]}Mi"
    return f"{found[1]}m" if name == "cpu" and size >= _MOST else ""


def _finding(app: App, resource: Resource, place: str, value: Json, meant: str, nodes: Sequence[Node] = ()) -> Finding:
    memory = place.endswith("/memory")
    what = (
        f"{value}{' bytes' if str(value).isdigit() else ''} of memory, which is less than a container needs to start"
        if memory
        else f"{value} whole processors"
    )
    return Finding(
        message=f"{resource.id} asks for {what}; {meant} may be meant.",
        at=Location(app.ref, resource.id, place),
        severity="error" if memory else "warning",
        confidence="likely",
        related=tuple(Related(app.ref, n.id, role="symptom") for n in nodes),
        fixes=with_next_step(
            resource,
            nodes[0].id if nodes else None,
            (manifest_patch(resource.id, f"Write {meant}", [{"op": "replace", "path": place, "value": meant}]),),
        ),
        explains=(Symptom.health(resource.id), *(Symptom.health(n.id) for n in app.descendants(resource.uid)))
        if nodes
        else (),
    )


RULE = Rule(**Rule.page(__name__), severity="error", check=check, rank=Rank.ROOT)
