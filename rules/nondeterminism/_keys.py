"""Finds keys of a ConfigMap or Secret whose names change with each render, so that no pointer to a key can name them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from argolint import MISSING, Change, Resource, ResourceId
from argolint.values import join_pointer, split_pointer
from argolint.values.kubernetes import DATA_FIELDS

from ._renamed import is_random_rename
from ._shapes import Kind, are_both_random


def holder(id_: ResourceId, pointer: str) -> tuple[str, Kind] | None:
    """The map that holds this key, and what its values are; None outside the data of ConfigMaps and Secrets."""
    field, *below = split_pointer(pointer)
    if id_.group or id_.kind not in ("ConfigMap", "Secret") or field not in DATA_FIELDS or len(below) != 1:
        return None
    return join_pointer(field), "secret" if id_.kind == "Secret" else "config"


def turned(resource: Resource) -> Iterator[tuple[str, Kind, Sequence[Change]]]:
    """Each map whose keys to come and keys to go differ in random words or times alone, with these differences: those to come first."""
    come: dict[tuple[str, Kind], list[Change]] = defaultdict(list)
    go: dict[tuple[str, Kind], list[Change]] = defaultdict(list)
    for change in resource.changes:
        side = come if change.live is MISSING else go if change.desired is MISSING else None
        place = holder(resource.id, change.pointer)
        if side is not None and place is not None:
            side[place].append(change)
    for place, new in come.items():
        old = go[place]
        if len(new) == len(old) and all(_random(a, b) for a, b in zip(new, old, strict=True)):
            yield *place, (*new, *old)


def _random(one: Change, other: Change) -> bool:
    names = split_pointer(one.pointer)[-1], split_pointer(other.pointer)[-1]
    return are_both_random(*names) or is_random_rename(*names)
