"""Fields of a workload that are a slip of the pen: no field of that place is called so, and one is called nearly so."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from argolint import MISSING, Json, Object, Resource
from argolint.values import below, join_pointer, mapping
from argolint.values.knowledge import load
from argolint.values.kubernetes import containers, pod_spec


@dataclass(frozen=True, slots=True)
class Slip:
    """The field, what is meant, and what it stands in: a container, a pod, or a kind."""

    pointer: str
    meant: str
    within: str


def coming(resource: Resource) -> Iterator[Slip]:
    """Those that the next sync brings: of an object that is not there yet, or that a change in the gate adds to it."""
    if resource.live is None:
        yield from slips(resource.desired)
        return
    brought = [change.pointer for change in resource.pending if change.live is MISSING]
    for slip in slips(resource.desired) if brought else ():
        if any(below(slip.pointer, pointer) for pointer in brought):
            yield slip


def slips(obj: Object | None) -> Iterator[Slip]:
    """Every slip in a workload."""
    known = load(__package__, "fields.yaml")
    kind = str((obj or {}).get("kind"))
    yield from _of("/spec", mapping(obj, "spec"), known.get(kind, ()), f"a {kind}")
    pointer, spec = pod_spec(obj)
    if pointer and pointer != "/spec":
        yield from _of(pointer, spec, known["pod"], "a pod")
    for place, container in containers(obj):
        yield from _of(place, container, known["container"], "a container")


def _of(pointer: str, held: Json, names: Iterable[str], within: str) -> Iterator[Slip]:
    for name in islice(held, _MOST) if isinstance(held, dict) and names else ():
        if name not in names and (near := difflib.get_close_matches(name[:_LONGEST], names, 1, cutoff=0.85)):
            yield Slip(pointer + join_pointer(name), near[0], within)


_LONGEST = 60
_MOST = 100
"""Fields of one place that are looked at: no kind has half as many."""
