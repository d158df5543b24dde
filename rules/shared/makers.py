"""Which objects make Secrets: the operators' kinds of makers.yaml, and the names that they make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from argolint import App, Json, Object, Resource
from argolint.knowledge import load
from argolint.kubernetes import group_of
from argolint.values import annotations_of, get, join_pointer, split_pointer


@cache
def _makers() -> Mapping[tuple[str, str], Object]:
    """The entries of makers.yaml, by group and kind."""
    entries = load(__package__, "makers.yaml")
    return {(group, kind): e for e in entries for by in e["by"] for group, _, kind in (by.partition("/"),)}


def makers() -> Sequence[tuple[str, str]]:
    """(group, kind) of the objects from which Secrets are made."""
    return tuple(_makers())


def made_secrets(obj: Object) -> tuple[str, ...]:
    """The names of the Secrets that an operator makes from this object."""
    group, kind = group_of(obj), str(obj.get("kind"))
    entry = _makers().get((group, kind))
    if entry is None or ("with" in entry and not any(name in annotations_of(obj) for name in entry["with"])):
        return ()
    if not all(get(obj, pointer, None) in values for pointer, values in entry.get("only", {}).items()):
        return ()
    found = [name for _, name in places(obj, split_pointer(entry["at"])) if isinstance(name, str) and name]
    default = get(obj, entry["default"], None) if "default" in entry else None
    return tuple(found) or ((str(default),) if default else ())


def maker_of(app: App, namespace: str, secret: str) -> Resource | None:
    """The object of this application from which an operator makes the Secret."""
    kinds = _makers()
    for resource in app.resources:
        if (resource.group, resource.kind) not in kinds or resource.namespace != namespace:
            continue
        if secret in made_secrets(resource.any):
            return resource
    return None


def places(node: Json, left: Sequence[str], at: str = "") -> Iterator[tuple[str, Json]]:
    """What stands at these tokens, `*` for every item of a list, with its pointer."""
    if not left:
        yield at, node
    elif left[0] == "*":
        for index, item in enumerate(node if isinstance(node, list) else ()):
            yield from places(item, left[1:], f"{at}/{index}")
    elif isinstance(node, Mapping) and left[0] in node:
        yield from places(node[left[0]], left[1:], at + join_pointer(left[0]))
