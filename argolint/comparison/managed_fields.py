"""Who wrote which field of a live object, from metadata.managedFields (FieldsV1 of server-side apply)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from argolint.model import Object, Writer
from argolint.values import index_of, mapping, maps, parse_time, split_pointer, text_at


def entries(live: Object) -> tuple[Object, ...]:
    """metadata.managedFields without malformed entries."""
    return maps(live, "metadata", "managedFields")


def writers(live: Object, pointer: str) -> tuple[Writer, ...]:
    """Every manager that owns the field at `pointer`, or, if there is none, a part of it; newest first.

    `before-first-apply`, the API server's entry for values from before field tracking, comes last. Lists are resolved by their merge keys
    (`k:{...}`), set values (`v:...`) or indexes (`i:...`) against `live` itself.
    """
    tokens = split_pointer(pointer)
    owned = [
        (entry, depth)
        for entry in entries(live)
        if (depth := _depth(mapping(entry, "fieldsV1"), live, tokens)) is not None
    ]
    deepest = max((depth for _, depth in owned), default=0)
    found = [_writer(entry) for entry, depth in owned if depth == deepest]
    return tuple(
        sorted(
            found, key=lambda w: (w.manager != _BEFORE, w.time is not None, w.time or _NEVER, w.manager), reverse=True
        )
    )


def writer(live: Object, pointer: str) -> Writer | None:
    """The newest manager of the field at `pointer`; None if managedFields has none."""
    return next(iter(writers(live, pointer)), None)


def managers(live: Object) -> tuple[Writer, ...]:
    """Every manager that wrote anything to the object, oldest first."""
    found = [_writer(entry) for entry in entries(live)]
    return tuple(sorted(found, key=lambda w: (w.time or _NEVER, w.manager)))


_BEFORE = "before-first-apply"  # apimachinery pkg/util/managedfields/internal/skipnonapplied.go
_NEVER = datetime.fromisoformat("0001-01-01T00:00:00+00:00")


def _writer(entry: Object) -> Writer:
    return Writer(
        text_at(entry, "manager"),
        text_at(entry, "operation"),
        text_at(entry, "subresource"),
        parse_time(entry.get("time")),
    )


def _depth(fields: Object, node: Any, tokens: tuple[str, ...]) -> int | None:
    """How many tokens of the pointer this field set owns; None if it ends before the last but one.

    An owner of the exact field beats an owner of the map above it only if the map is owned as a leaf (`{}`).
    """
    depth = 0
    for token in tokens:
        if not fields or set(fields) == {"."}:
            return depth if depth else None  # owned as a whole: atomic map or list
        step = next((s for s in _steps(node, token) if s in fields), None)
        if step is None:
            return None
        fields = mapping(fields, step)
        node = _child(node, token)
        depth += 1
    return depth


def _steps(node: Any, token: str) -> Iterator[str]:
    """The possible FieldsV1 keys for `token` of `node`."""
    if not isinstance(node, list):
        yield f"f:{token}"
        return
    item = _child(node, token)
    if isinstance(item, dict):
        for keys in LIST_MAP_KEYS:
            if all(key in item for key in keys):
                yield "k:" + json.dumps({key: item[key] for key in sorted(keys)}, separators=(",", ":"))
    else:
        yield "v:" + json.dumps(item)
    yield f"i:{token}"


def _child(node: Any, token: str) -> Any:
    if isinstance(node, dict):
        return node.get(token)
    if isinstance(node, list) and (index := index_of(token)) is not None and index < len(node):
        return node[index]
    return None


LIST_MAP_KEYS = (
    ("containerPort", "protocol"),
    ("port", "protocol"),
    ("topologyKey", "whenUnsatisfiable"),
    ("name",),
    ("mountPath",),
    ("devicePath",),
    ("ip",),
    ("type",),
    ("uid",),
    ("key",),
    ("port",),
    ("key", "effect"),
)
"""The keys of list items in server-side apply: x-kubernetes-list-map-keys of Kubernetes' own types, most specific first."""
