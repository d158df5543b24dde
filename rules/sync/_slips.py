"""Faults in an object that the API server rejects: misspelt or misplaced fields, and values of a wrong type."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from argolint import MISSING, Object, Resource
from argolint.values import below, schema, split_pointer


@dataclass(frozen=True, slots=True)
class Slip:
    """The field, the one that is probably meant (empty where none is like it), and its parent: a container, a pod, or a kind."""

    pointer: str
    meant: str
    within: str


def coming_slips(resource: Resource, *, whole: bool) -> Iterator[Slip]:
    """The slips that the next sync applies: in an object that does not exist yet, in a hook, or what a change in the gate adds to an object.

    `whole`: the known types have every field that the cluster can know, so a field without a similar one is a slip, too.
    """
    if resource.live is None or resource.hook:
        yield from _slips_in(resource.desired, whole=whole)
        return
    brought = [change.pointer for change in resource.pending if change.live is MISSING]
    for slip in _slips_in(resource.desired, whole=whole) if brought else ():
        if any(below(slip.pointer, pointer) for pointer in brought):
            yield slip


def mistyped_values(resource: Resource) -> Iterator[schema.Fault]:
    """Values that the next sync applies and the API server cannot decode: a number in place of a text, a text in place of a number."""
    places = [change.pointer for change in resource.pending]
    is_made = resource.live is None or resource.hook
    brought = resource.desired if is_made or places else None
    for fault in islice(schema.faults(brought), _MOST) if brought else ():
        plain = fault.type in ("string", "integer", "boolean", "list", "map") and not fault.names
        if plain and (is_made or any(below(fault.pointer, place) for place in places)):
            yield fault


def _slips_in(obj: Object | None, *, whole: bool) -> Iterator[Slip]:
    for fault in islice(schema.faults(obj), _MOST) if obj else ():
        name = split_pointer(fault.pointer)[-1]
        near = difflib.get_close_matches(name[:_LONGEST], fault.names, 1, cutoff=0.8)
        if fault.names and (near or whole):
            within = _parent_in_words(fault.type, str(obj.get("kind")) if obj else "")
            yield Slip(fault.pointer, next(iter(near), ""), within)


def _parent_in_words(type_: str, kind: str) -> str:
    """The parent of the field in words: `V1HTTPGetAction` is a part, `V1DeploymentSpec` the Deployment itself."""
    a = "an" if kind[:1] in "AEIOU" else "a"
    return _PARTS.get(type_) or (f"{a} {kind}" if type_.endswith(f"{kind}Spec") else f"that part of {a} {kind}")


_PARTS = {"V1Container": "a container", "V1PodSpec": "a pod", "V1ObjectMeta": "metadata"}
_LONGEST = 60
_MOST = 200
"""Most faults of one object that are reported."""
