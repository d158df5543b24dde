"""What the manifests of one object add to each other: two Applications that write a part each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from argolint import Json

from ._sharing import Party, Shared

RBAC_LISTS = {"ClusterRoleBinding": "subjects", "RoleBinding": "subjects", "ClusterRole": "rules", "Role": "rules"}
"""RBAC lists whose items a common owner needs from all parties."""
_ADDED = ("spec", "data", "binaryData", "webhooks", *RBAC_LISTS.values())
"""Fields of an object that hold its content; labels and annotations may differ."""


def added_parts(shared: Shared, keeper: Party, leavers: Sequence[Party]) -> Mapping[str, Json]:
    """What the leavers' manifests have and the keeper's lacks; empty if nothing is, if a field contradicts, or if a manifest is unknown."""
    base: Any = keeper.content
    if shared.secret or not isinstance(base, Mapping):
        return {}
    found: dict[str, Any] = {}
    for party in leavers:
        content: Any = party.content
        if not isinstance(content, Mapping):
            return {}
        for key in _ADDED:
            new = _lacking(base.get(key), content.get(key), by_name=key != RBAC_LISTS.get(shared.id.kind))
            merged = _lacking(found.get(key), new) if new is not _NOTHING else _NOTHING
            if _CONTRADICTS in (new, merged):
                return {}
            if merged is not _NOTHING:
                found = {**found, key: _joined(found.get(key), merged)}
    return found


_NOTHING, _CONTRADICTS = object(), object()


def _lacking(base: Any, other: Any, by_name: bool = True) -> Any:
    """The part of `other` that `base` lacks, _NOTHING, or _CONTRADICTS."""
    if other is None or base == other:
        return _NOTHING
    if base is None:
        return other
    if isinstance(base, Mapping) and isinstance(other, Mapping):
        parts = {key: _lacking(base.get(key), value) for key, value in other.items()}
        parts = {key: part for key, part in parts.items() if part is not _NOTHING}
        return _CONTRADICTS if _CONTRADICTS in parts.values() else parts or _NOTHING
    if not isinstance(base, list) or not isinstance(other, list):
        return _CONTRADICTS
    new = [item for item in other if item not in base]
    names = [row.get("name") if isinstance(row, Mapping) else None for row in (*base, *new)]
    if by_name and (None in names or len({str(name) for name in names}) < len(names)):
        return _CONTRADICTS
    return new or _NOTHING


def _joined(base: Any, part: Any) -> Any:
    if isinstance(base, Mapping) and isinstance(part, Mapping):
        return {**base, **{key: _joined(base.get(key), value) for key, value in part.items()}}
    return [*base, *part] if isinstance(base, list) and isinstance(part, list) else part
