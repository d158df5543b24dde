"""A quantity in a unit that is not meant

What it finds: memory in thousandths of a byte (`512m`) or in bytes (`64`), and processors by the hundred (`cpu: 500`), in an object that a sync will create
or change.

Why it hurts: the API server takes each of them. No container starts within half a byte of memory, and no node has 500 processors to give.

How to fix: write `512Mi`, `64Mi`, `500m`.

Example: `limits: {memory: 512m}`.

Sources: kubernetes.io, Resource Management for Pods and Containers (units); opencontainers/runc (a container needs some megabytes).
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from argolint import App, Finding, Fleet, Json, Location, Rank, Resource, Rule
from argolint.edits import manifest_patch
from argolint.values import get, mapping
from argolint.values.kubernetes import containers
from argolint.values.patterns import regex
from argolint.values.quantities import amount

_LEAST = Decimal(2**20)
"""Bytes: no container starts with less, so a smaller number is a slip."""
_MOST = Decimal(200)
"""Processors: larger machines are rare, and no single container asks for all of one."""
_NUMBER = regex(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)m?")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each quantity that is new."""
    for resource in app.with_pods("desired"):
        if resource.requires_pruning or not resource.mentions('"resources"', "desired"):
            continue
        for place, value, meant in resource.derive(_slips):
            if get(resource.live, place, None) != value:
                yield _finding(app, resource, place, value, meant)


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
    if name == "memory" and size < _LEAST:
        return f"{found[1]}Mi"
    return f"{found[1]}m" if name == "cpu" and size >= _MOST else ""


def _finding(app: App, resource: Resource, place: str, value: Json, meant: str) -> Finding:
    memory = place.endswith("/memory")
    what = (
        f"{value} of memory, which is less than a container needs to start" if memory else f"{value} whole processors"
    )
    return Finding(
        message=f"{resource.id} asks for {what}; {meant} may be meant.",
        at=Location(app.ref, resource.id, place),
        severity="error" if memory else "warning",
        confidence="likely",
        fixes=(manifest_patch(resource.id, f"Write {meant}", [{"op": "replace", "path": place, "value": meant}]),),
    )


RULE = Rule(**Rule.page(__name__), severity="error", check=check, rank=Rank.CAUSE)
