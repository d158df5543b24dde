"""Data that is lost with a deleted object (listed in data_kinds.yaml)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from argolint import Object, Resource
from argolint.values import get
from argolint.values.knowledge import load


def lost_data(group: str, kind: str) -> str:
    """The data that is lost with an object of this kind; empty for a kind without data."""
    return str(_data_kinds().get((group, kind), {}).get("says") or "")


def holds_data(resource: Resource) -> bool:
    """Whether data is lost with this live object, by its own fields."""
    kind = _data_kinds().get((resource.group, resource.kind))
    if kind is None or resource.live is None:
        return False
    wanted, unless = kind.get("if"), kind.get("unless")
    return (not wanted or _has_value(resource.live, wanted)) and not (unless and _has_value(resource.live, unless))


def _has_value(live: Object, field: Object) -> bool:
    return bool(get(live, field["at"], None) == field["is"])


@cache
def _data_kinds() -> Mapping[tuple[str, str], Object]:
    return {(e["group"], e["kind"]): e for e in load(__package__, "data_kinds.yaml")}
