"""Faults in an object that the API server rejects: misspelt or misplaced fields, and values of a wrong type."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from argolint import MISSING, Resource
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
    kind = str((resource.desired or {}).get("kind"))
    for fault in _coming(resource, [change.pointer for change in resource.pending if change.live is MISSING]):
        name = split_pointer(fault.pointer)[-1]
        near = difflib.get_close_matches(name[:_LONGEST], fault.names, 1, cutoff=0.8)
        if fault.names and (near or whole):
            yield Slip(fault.pointer, next(iter(near), ""), _parent_in_words(fault.type, kind))


def mistyped_values(resource: Resource) -> Iterator[schema.Fault]:
    """Values that the next sync applies and the API server cannot decode: a number in place of a text, a text in place of a number."""
    for fault in _coming(resource, [change.pointer for change in resource.pending]):
        if fault.type in ("string", "integer", "boolean", "list", "map") and not fault.names:
            yield fault


def _coming(resource: Resource, places: Sequence[str]) -> Iterator[schema.Fault]:
    """The faults that the next sync applies: all of an object that it makes, and of a hook, else those below these places."""
    is_made = resource.live is None or resource.hook
    for fault in resource.derive(_faults) if is_made or places else ():
        if is_made or any(below(fault.pointer, place) for place in places):
            yield fault


def _faults(resource: Resource) -> Sequence[schema.Fault]:
    return tuple(islice(schema.faults(resource.desired), _MOST)) if resource.desired else ()


def _parent_in_words(type_: str, kind: str) -> str:
    """The parent of the field in words: `V1HTTPGetAction` is a part, `V1DeploymentSpec` the Deployment itself."""
    a = "an" if kind[:1] in "AEIOU" else "a"
    return _PARTS.get(type_) or (f"{a} {kind}" if type_.endswith(f"{kind}Spec") else f"that part of {a} {kind}")


_PARTS = {"V1Container": "a container", "V1PodSpec": "a pod", "V1ObjectMeta": "metadata"}
_LONGEST = 60
_MOST = 200
"""Most faults of one object that are reported."""
