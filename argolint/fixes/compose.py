"""Adapts the operations of a fix to a file, and combines the fixes of one run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from argolint.model import MISSING, Json, Object
from argolint.sources.yaml_text import EditError, Operation, applied
from argolint.values import below, get, index_of, join_pointer, split_pointer
from argolint.values.kubernetes import ITEM_NAMES

_ARGO_ADDS = ("/metadata/annotations", "/metadata/labels")
"""Maps that the rendered object may have and the file not: Argo CD writes its tracking data there."""


def fitted_operations(operations: Iterable[Operation], data: Json, rendered: Object | None) -> Iterator[Operation]:
    """The operations for the file's object. EditError if its old values differ from the rendered object's."""
    for operation in operations:
        step, path = operation, operation["path"]
        parent = path.rpartition("/")[0]
        if step["op"] == "add" and parent in _ARGO_ADDS and not get(data, parent, None):
            step = {"op": "add", "path": parent, "value": {split_pointer(path)[-1]: step["value"]}}
            if isinstance(get(data, "/metadata", None), Mapping):
                data = applied(data, [step])
                yield step
                continue
        if (
            step["op"] in ("add", "replace")
            and isinstance(get(data, parent), Mapping)
            and get(data, path) == step["value"]
        ):
            continue  # the file has it already
        _require_fit(step, data, rendered)
        data = applied(data, [step])
        try:
            rendered = applied(rendered, [operation]) if rendered is not None else None
        except EditError:
            rendered = None
        yield step


def _require_fit(step: Operation, data: Json, rendered: Object | None) -> None:
    if step["op"] in ("move", "copy"):
        _require_fit({"op": "remove", "path": step["from"]}, data, rendered)
        _require_fit({"op": "add", "path": step["path"], "value": None}, data, rendered)
        return
    path = step["path"]
    tokens = split_pointer(path)
    held, parent = get(data, path), get(data, path.rpartition("/")[0])
    if rendered is not None:
        for depth, token in enumerate(tokens):
            at = join_pointer(*tokens[: depth + 1])
            if index_of(token) is not None and not _same_item(get(data, at), get(rendered, at)):
                raise EditError(f"the item at {at} is another one in the file than Argo CD rendered")
    if step["op"] in ("replace", "remove", "test"):
        if held is MISSING:
            raise EditError(f"the file has no {path}: Argo CD or a tool adds it to what it renders")
        if rendered is not None and get(rendered, path) not in (held, MISSING):
            raise EditError(f"the file has another value at {path} than Argo CD rendered")
    elif step["op"] == "add":
        if parent is MISSING or parent is None:
            raise EditError(f"the file has nothing at {path.rpartition('/')[0]}, where the fix adds a field")
        known = get(rendered, path) if rendered is not None else MISSING
        if isinstance(parent, Mapping) and held not in (MISSING, None, step["value"], known):
            raise EditError(f"the file already has a value at {path}")


def _same_item(one: Json, other: Json) -> bool:
    if MISSING in (one, other) or not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return True
    return all(one.get(name) == other.get(name) for name in ITEM_NAMES if name in one and name in other)


def composed_operations(
    operations: Iterable[Operation], now: Json, history: Sequence[tuple[Operation, str]]
) -> Iterator[Operation]:
    """The operations adjusted to those in `history`, all made for the same original.

    Operations that were already done are left out, additions to one list or map are joined. EditError names the fix that contradicts.
    """
    for operation in operations:
        if any(operation == before for before, _ in history):
            continue
        joint = operation["path"].endswith("/-")
        for before, title in history:
            if _is_joinable(operation, before):
                joint = True
            elif any(_clash(path, before) for path in _paths(operation)):
                raise EditError(f"it contradicts another fix of this run: {title}")
        steps = list(_joined_operations(operation, now)) if joint else [operation]
        now = applied(now, steps)
        yield from steps


_HOLLOW = frozenset(
    {"annotations", "labels", "ignoreDifferences", "syncOptions", "syncPolicy", "managedNamespaceMetadata"}
)
"""Fields without a meaning when empty."""


def without_hollow_fields(operations: Iterable[Operation], now: Json) -> Iterator[Operation]:
    """The operations; if the last entry of a field is removed and the empty field has no meaning, the field is removed."""
    for operation in operations:
        path = operation["path"]
        while operation["op"] == "remove":
            parent = path.rpartition("/")[0]
            held = get(now, parent, None)
            if (
                split_pointer(parent)[-1:]
                and split_pointer(parent)[-1] in _HOLLOW
                and isinstance(held, list | Mapping)
                and len(held) == 1
            ):
                path = parent
            else:
                break
        step = {**operation, "path": path}
        now = applied(now, [step])
        yield step


def _is_joinable(operation: Operation, before: Operation) -> bool:
    """True for two additions to one list, or to a list or map that did not exist."""
    if operation["op"] != "add" or before["op"] != "add":
        return False
    one, other = (o["path"].removesuffix("/-") for o in (operation, before))
    appended = operation["path"] != one or before["path"] != other
    return one == other and (appended or isinstance(operation["value"], list | Mapping))


def _clash(path: str, before: Operation) -> bool:
    """True if one path contains the other, or if the earlier operation moved list items on the path."""
    for done in _paths(before):
        if path.endswith("/-"):
            if below(path.removesuffix("/-"), done):
                return True
            continue
        if below(path, done) or below(done, path):
            return True
        parent, _, last = done.rpartition("/")
        if before["op"] != "replace" and index_of(last) is not None and path.startswith(parent + "/"):
            return index_of(split_pointer(path[len(parent) :])[0]) is not None
    return False


def _paths(operation: Operation) -> tuple[str, ...]:
    return tuple(operation[key] for key in ("path", "from") if key in operation)


def _joined_operations(operation: Operation, now: Json) -> Iterator[Operation]:
    path, value = operation["path"], operation["value"]
    if path.endswith("/-"):
        path, value = path.removesuffix("/-"), [value]
    yield from _union(path, get(now, path), value)


def _union(path: str, present: Json, value: Json) -> Iterator[Operation]:
    if present is MISSING or present is None:
        yield {"op": "add", "path": path, "value": value}
    elif isinstance(present, Mapping) and isinstance(value, Mapping):
        for key, child in value.items():
            yield from _union(path + join_pointer(key), present.get(key, MISSING), child)
    elif isinstance(present, list) and isinstance(value, list):
        for item in value:
            index = next((i for i, other in enumerate(present) if _same_target(other, item)), None)
            if index is not None:
                yield from _union(f"{path}/{index}", present[index], item)
            elif item not in present:
                yield {"op": "add", "path": f"{path}/-", "value": item}
    elif present != value:
        raise EditError(f"another fix of this run sets {path} to another value")


def _same_target(one: Any, other: Any) -> bool:
    """True for two entries that differ only in their lists, such as two ignore entries of one object."""
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return False
    fields = [k for k in {**one, **other} if not isinstance(one.get(k, other.get(k)), list)]
    return bool(fields) and all((one.get(k) or "") == (other.get(k) or "") for k in fields)
