"""Objects from which operators make Secrets: the kinds of makers.yaml, and the names of the Secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.model import Json, Object, ResourceId, ResourceKey
from argolint.values import annotations_of, get, join_pointer, split_pointer
from argolint.values.knowledge import load
from argolint.values.kubernetes import group_of


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


@dataclass(frozen=True, slots=True)
class Maker:
    """An object from which an operator makes a Secret; `live`: whether the cluster has it, None if only the list shows it."""

    id: ResourceId
    live: bool | None


def maker_of(app: App, fleet: Fleet, namespace: str, secret: str) -> Maker | None:
    """The maker of the Secret: an object of this application, else of another one of the cluster.

    For other applications the list shows only an object's name, which by convention is the Secret's.
    """
    if (own := next(makers_within(app, namespace, secret), None)) is not None:
        return own
    for group, kind in _makers():
        key = ResourceKey(app.cluster, group, kind, namespace, secret)
        if any(owner != app.ref for owner in fleet.owners(key)):
            return Maker(key.id, None)
    return None


def makers_within(app: App, namespace: str, secret: str) -> Iterator[Maker]:
    """The objects of this application that make the Secret; more than one write over each other."""
    kinds = _makers()
    for resource in app.resources:
        if (resource.group, resource.kind) not in kinds or resource.namespace != namespace:
            continue
        if secret in made_secrets(resource.any):
            yield Maker(resource.id, resource.live is not None)


def places(node: Json, left: Sequence[str], at: str = "") -> Iterator[tuple[str, Json]]:
    """The values at these tokens, each with its pointer; `*` is every item of a list."""
    if not left:
        yield at, node
    elif left[0] == "*":
        for index, item in enumerate(node if isinstance(node, list) else ()):
            yield from places(item, left[1:], f"{at}/{index}")
    elif isinstance(node, Mapping) and left[0] in node:
        yield from places(node[left[0]], left[1:], at + join_pointer(left[0]))
