"""Fields of workloads that are valid only in another kind, or at another level of the object: `strategy` of a StatefulSet, `tolerations` of a container."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from argolint import MISSING, Json, Object
from argolint.edits import removals, set_field
from argolint.values import dig, get, index_of, items, join_pointer, mapping, split_pointer
from argolint.values.knowledge import load
from argolint.values.kubernetes import group_of, pod_spec


@dataclass(frozen=True, slots=True)
class Misplaced:
    """`right_pointer`: the pointer where this object has the field, empty if its kind lacks it; `has_other_name`: whether it has another name there.

    `value`: the part of the written value that is valid there; MISSING if none is.
    """

    pointer: str
    kind: str
    right_pointer: str
    has_other_name: bool = False
    value: Json = MISSING

    @property
    def guess(self) -> str:
        """A phrase with the right name and place of the field."""
        if self.has_other_name:
            return f" (a {self.kind} has {self.right_pointer} in its place)"
        return f" (it belongs at {self.right_pointer})" if self.right_pointer else f" (a {self.kind} has none)"


_GROUPS = {"Job": "batch", "CronJob": "batch"}
_UPDATES: Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "Deployment": ("strategy", ("RollingUpdate", "Recreate"), ("maxSurge", "maxUnavailable")),
    "StatefulSet": ("updateStrategy", ("RollingUpdate", "OnDelete"), ("partition", "maxUnavailable")),
    "DaemonSet": ("updateStrategy", ("RollingUpdate", "OnDelete"), ("maxSurge", "maxUnavailable")),
}
"""By kind: the name of its update strategy, the strategy's types, and the fields of a RollingUpdate (k8s.io/api/apps/v1)."""
_STRATEGY_FIELDS = ("strategy", "updateStrategy")


def misplaced_field(obj: Object | None, pointer: str) -> Misplaced | None:
    """The right place of a field that the kind does not have at `pointer`; None if it is valid there, or unknown everywhere."""
    group, kind = group_of(obj) if obj else "", str((obj or {}).get("kind"))
    tokens, known = split_pointer(pointer), load(__package__, "fields.yaml")
    if obj is None or kind not in _kinds(known) or group != _GROUPS.get(kind, "apps") or not tokens:
        return None
    pod, above, name = pod_spec(obj)[0], join_pointer(*tokens[:-1]), tokens[-1]
    levels = _field_lists(kind, pod)
    here = "container" if _is_container(pod, tokens[:-1]) else next((n for n, at in levels.items() if at == above), "")
    if pod and join_pointer(*tokens[:-2]) == pod and tokens[-2] in known["pod"] and name in known["pod"]:
        return Misplaced(pointer, kind, pod + join_pointer(name), value=get(obj, pointer))  # tolerations of affinity
    if not here or name in known[here]:
        return None
    if here == kind and name in _STRATEGY_FIELDS:
        return _misplaced_strategy(obj, kind, pointer)
    for level, at in levels.items():
        if level != here and name in known[level]:
            return Misplaced(pointer, kind, at + join_pointer(name), value=get(obj, pointer))
    only = [f"{pod}/containers/0"] if len(items(obj, *split_pointer(pod), "containers")) == 1 else []
    if only and here != "container" and name in known["container"]:
        return Misplaced(pointer, kind, only[0] + join_pointer(name), value=get(obj, pointer))
    elsewhere = any(name in known[other] for other in _kinds(known))
    return Misplaced(pointer, kind, "") if elsewhere else None


def repair_operations(obj: Object | None, found: Misplaced) -> list[dict[str, Any]]:
    """Operations that move the field to its place; if that is occupied, or does not accept the value, they only remove it."""
    moved = set_field(obj, found.right_pointer, found.value) if keeps_value(obj, found) else []
    return [*moved, *removals(obj, [found.pointer])]


def keeps_value(obj: Object | None, found: Misplaced) -> bool:
    """Whether `repair_operations` keeps the written value."""
    return bool(found.right_pointer) and get(obj, found.right_pointer) is MISSING and found.value is not MISSING


def _kinds(known: Mapping[str, Json]) -> list[str]:
    return [name for name in known if name[:1].isupper()]


def _field_lists(kind: str, pod: str) -> dict[str, str]:
    """The lists of fields.yaml by their pointers in this object."""
    between = {"Job": "/spec/jobTemplate/spec"} if kind == "CronJob" else {}
    return {kind: "/spec", **between, **({"pod": pod} if pod else {})}


def _is_container(pod: str, tokens: tuple[str, ...]) -> bool:
    inside = len(tokens) > 1 and tokens[-2] in ("containers", "initContainers") and index_of(tokens[-1]) is not None
    return bool(pod) and inside and join_pointer(*tokens[:-2]) == pod


def _misplaced_strategy(obj: Object, kind: str, pointer: str) -> Misplaced:
    """For `strategy` and `updateStrategy`: the value moves too, if the kind's own field accepts it."""
    if kind not in _UPDATES:
        return Misplaced(pointer, kind, "")
    name, types, fields = _UPDATES[kind]
    written = get(obj, pointer, None)
    type_ = dig(written, "type") or "RollingUpdate"
    rolling = {k: v for k, v in mapping(written, "rollingUpdate").items() if k in fields}
    value = {"type": type_, **({"rollingUpdate": rolling} if rolling and type_ == "RollingUpdate" else {})}
    holds = isinstance(written, dict) and type_ in types
    return Misplaced(pointer, kind, f"/spec/{name}", has_other_name=True, value=value if holds else MISSING)
