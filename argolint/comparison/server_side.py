"""Server-side apply in memory: merges by the structure that managedFields shows, and drops fields that the manager gave up.

The API server and Argo CD's structured merge use the kind's schema. Here the schema is read off the live object's own managedFields:
`k:{...}` steps are a list merged by those keys, `v:...` a set, a leaf over a list or map an atomic one (FieldsV1 of
sigs.k8s.io/structured-merge-diff). For lists without an owner, built-in kinds use their merge keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from argolint.comparison import managed_fields
from argolint.comparison.ignore import locate
from argolint.comparison.scheme import builtin, merge_key
from argolint.comparison.three_way import Place, completed, interleave
from argolint.model import Json, Object
from argolint.values import json_in, mapping

MANAGER = "argocd-controller"
"""The field manager of Argo CD's own applies (common.ArgoCDSSAManager)."""

Fields = Mapping[str, Any]
"""A FieldsV1 tree."""


def server_side_apply(live: Object, desired: Object, *, complete: bool = False) -> Object:
    """Live after Argo CD force-applied desired; managedFields are unchanged.

    `complete` fills the items of atomic lists as the API server's defaults do; Argo CD's structured merge does not.
    """
    entries = _entries(live)
    structure = _union(entry.get("fieldsV1") or {} for entry in entries)
    merged = _merge(live, desired, structure or None, ("", "") if builtin(desired) else None, complete)
    own_fields = _union(entry.get("fieldsV1") or {} for entry in entries if _is_own(entry))
    others = _union(entry.get("fieldsV1") or {} for entry in entries if not _is_own(entry))
    result: Object = _prune(merged, desired, own_fields, others)
    return result


def with_owner(live: Object, desired: Object) -> Object:
    """Live with managedFields as if Argo CD had applied exactly desired."""
    structure = _union(entry.get("fieldsV1") or {} for entry in _entries(live))
    fields = {
        step: below
        for step, below in _owned(desired, structure or None, ("", "") if builtin(desired) else None).items()
        if step not in ("f:apiVersion", "f:kind")
    }
    entry = {"manager": MANAGER, "operation": "Apply", "apiVersion": desired.get("apiVersion"), "fieldsV1": fields}
    kept = [entry for entry in _entries(live) if not _is_own(entry)]
    return {**live, "metadata": {**mapping(live, "metadata"), "managedFields": [*kept, entry]}}


def _entries(live: Object) -> list[Object]:
    return [entry for entry in managed_fields.entries(live) if not entry.get("subresource")]


def _is_own(entry: Object) -> bool:
    return entry.get("manager") == MANAGER and entry.get("operation") == "Apply"


def _union(trees: Iterable[Fields]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for tree in trees:
        for step, below in tree.items() if isinstance(tree, Mapping) else ():
            result[step] = _union((result.get(step) or {}, below or {}))
    return result


def _list_keys(structure: Fields | None, at: Place) -> tuple[str, ...]:
    """The keys that identify an item of the list; none if it is atomic or a set."""
    for step in structure or ():
        if step.startswith("k:"):
            return tuple(mapping(json_in(step[2:])))
    key = merge_key(*at) if at and not structure else None
    return (key,) if key else ()


def _key_values(item: Json, keys: tuple[str, ...]) -> dict[str, Json]:
    """The item's merge keys; `protocol` has a default in the schema."""
    found = item if isinstance(item, dict) else {}
    return {key: found.get(key, "TCP" if key == "protocol" else None) for key in keys}


def _step(item: Json, keys: tuple[str, ...]) -> str:
    return "k:" + json.dumps(_key_values(item, keys), separators=(",", ":"))


def _items(structure: Fields | None) -> Fields:
    """The merged structure of all items of a list."""
    return _union(tree or {} for step, tree in (structure or {}).items() if step.startswith("k:"))


def _merge(live: Json, desired: Json, structure: Fields | None, at: Place, complete: bool) -> Json:
    if isinstance(live, dict) and isinstance(desired, dict):
        if live and structure is not None and not structure:
            return desired  # owned as a leaf: an atomic map
        below = structure or {}
        own_items = {
            key: _merge(live.get(key), value, below.get(f"f:{key}"), _place_below(at, key), complete)
            for key, value in desired.items()
            if value is not None
        }
        return {**live, **own_items}
    if isinstance(live, list) and isinstance(desired, list):
        keys = _list_keys(structure, at)
        if keys:
            known = _items(structure)
            have = {_step(item, keys): item for item in live}
            merged = [_merge(have.get(_step(item, keys)), item, known, at, complete) for item in desired]
            wanted = {_step(item, keys) for item in desired}
            others = [item for item in live if _step(item, keys) not in wanted]
            return interleave(merged, others, live, lambda item: _step(item, keys))
        if any(step.startswith("v:") for step in structure or ()):
            return [*live, *(item for item in desired if item not in live)]
        return completed(desired, live) if complete else desired
    return desired


def _place_below(at: Place, key: str) -> Place:
    return (at[1], key) if at else None


def _prune(node: Json, desired: Json, mine: Fields, others: Fields) -> Json:
    """The node without fields that `mine` owned, desired no longer has and no one else owns."""
    gone = []
    for step, below in mine.items():
        place = None if step == "." else locate(node, step)
        if place is None:
            continue
        wanted = None if desired is None else locate(desired, step)
        if wanted is None and step not in others:
            gone.append(place)
        elif below:
            child = None if wanted is None else desired[wanted]
            pruned = _prune(node[place], child, below, others.get(step) or {})
            node = _replaced(node, place, pruned)
    for place in sorted(gone, reverse=True):
        node = (
            [*node[:place], *node[place + 1 :]]
            if isinstance(node, list)
            else {key: value for key, value in node.items() if key != place}
        )
    return node


def _replaced(node: Json, place: Any, child: Json) -> Json:
    if isinstance(node, list):
        return [*node[:place], child, *node[place + 1 :]]
    return {**node, place: child}


def _owned(node: Json, structure: Fields | None, at: Place) -> dict[str, Any]:
    """The FieldsV1 tree of everything in the node."""
    if isinstance(node, dict) and (structure is None or structure):
        below = structure or {}
        return {f"f:{key}": _owned(value, below.get(f"f:{key}"), _place_below(at, key)) for key, value in node.items()}
    if isinstance(node, list) and (keys := _list_keys(structure, at)):
        return {_step(item, keys): {".": {}, **_owned(item, _items(structure), at)} for item in node}
    return {}
