"""The differences between two renders, and which of them are values that every render generates again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from argolint.comparison.diff import differences
from argolint.model import MISSING, Json, Object, ResourceKey
from argolint.redaction import agrees
from argolint.sources.rendered import Rendered
from argolint.values import get, index_of, split_pointer
from argolint.values.kubernetes import without_hash
from argolint.values.patterns import regex


@dataclass(frozen=True)
class Edited:
    """An object in both renders; `pointers`: where they differ, in base's coordinates."""

    base: Object
    head: Object
    pointers: tuple[str, ...]


@dataclass(frozen=True)
class Delta:
    """The changes to the objects of one application, without hooks."""

    added: Mapping[ResourceKey, Object] = field(default_factory=dict)
    removed: Mapping[ResourceKey, Object] = field(default_factory=dict)
    changed: Mapping[ResourceKey, Edited] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


Masks = Mapping[ResourceKey, frozenset[str]]
"""Pointers whose values differ between any two renders, by object."""


def delta(base: Rendered, head: Rendered) -> Delta:
    """The differences between two renders, without values of Secrets (both are masked)."""
    changed = {}
    for key, after in head.objects.items():
        before = base.objects.get(key)
        if before is not None and before != after:
            pointers = tuple(sorted({pointer for pointer, _, _ in differences(after, before)}))
            if pointers:
                changed[key] = Edited(before, after, pointers)
    return Delta(
        {k: o for k, o in head.objects.items() if k not in base.objects},
        {k: o for k, o in base.objects.items() if k not in head.objects},
        changed,
    )


def with_base_values(head: Rendered, base: Rendered, masks: Masks) -> Rendered:
    """Head with base's value where the two cannot be compared: what each render generates again, values of Secrets, what a snapshot masks."""
    objects = {
        key: _with_base_values_at(obj, base.objects.get(key), masks.get(key, frozenset()))
        for key, obj in head.objects.items()
    }
    return replace(head, objects=objects)


def _with_base_values_at(head: Object, base: Object | None, pointers: frozenset[str]) -> Object:
    if base is None:
        return head
    for pointer in pointers:
        before = get(base, pointer)
        if before is not MISSING and get(head, pointer) is not MISSING:
            head = with_value(head, split_pointer(pointer), before)
    for pointer, after, before in differences(head, base):
        masked = isinstance(before, str) and isinstance(after, str) and agrees(before, after)
        if masked and get(head, pointer) == after:
            head = with_value(head, split_pointer(pointer), before)
    return head


def with_base_names(head: Rendered, base: Rendered) -> Rendered:
    """Head with base's names for objects of which only the generated name differs: `migrate-x7k2p`, then `migrate-q9d4z`.

    Other changes of a hook are kept: each sync creates it again, so the other name deletes nothing live.
    """
    coming = {key: obj for key, obj in head.objects.items() if key not in base.objects}
    objects = dict(head.objects)
    for key, before in base.objects.items():
        twin = (
            None
            if key in head.objects
            else next((k for k, o in coming.items() if _is_same_but_name(key, before, k, o)), None)
        )
        if twin is not None:
            del coming[twin], objects[twin]
            objects[key] = before
    hooks = dict(head.hooks)
    for key, before in base.hooks.items():
        alike = [] if key in head.hooks else [k for k in hooks if k not in base.hooks and _have_similar_names(key, k)]
        twin = next(
            (k for k in alike if _is_same_but_name(key, before, k, hooks[k])), alike[0] if len(alike) == 1 else None
        )
        if twin is not None:
            after = hooks.pop(twin)
            hooks[key] = {**after, "metadata": {**after["metadata"], "name": key.name}}
    return replace(head, objects=objects, hooks=hooks)


_RANDOM_NAME = regex(r"(.*[-.])([a-z0-9]{4,})")


def successors(change: Delta) -> Mapping[ResourceKey, ResourceKey]:
    """By removed object: the added one that a generator of Kustomize makes in its place, under the hash of its new content."""
    coming = {name: key for key in change.added if (name := _hashed_name(key))}
    return {key: coming[name] for key in change.removed if (name := _hashed_name(key)) in coming}


def _hashed_name(key: ResourceKey) -> tuple[str, str, str] | None:
    """Kind, namespace and the name without the hash; None for another name."""
    plain = without_hash(key.name) if key.group == "" and key.kind in ("ConfigMap", "Secret") else None
    return (key.kind, key.namespace, plain) if plain else None


def _have_similar_names(key: ResourceKey, other: ResourceKey) -> bool:
    if (key.group, key.kind, key.namespace) != (other.group, other.kind, other.namespace):
        return False
    one, two = _RANDOM_NAME.fullmatch(key.name), _RANDOM_NAME.fullmatch(other.name)
    return bool(one and two and one[1] == two[1] and len(one[2]) == len(two[2]))


def _is_same_but_name(key: ResourceKey, before: Object, other: ResourceKey, after: Object) -> bool:
    return _have_similar_names(key, other) and _text_without(before, key.name) == _text_without(after, other.name)


def _text_without(obj: Object, name: str) -> str:
    return json.dumps(obj, sort_keys=True).replace(name, "")


def only_regenerated(change: Delta) -> bool:
    """True if the only differences are annotations that look random: one word of the same length, without another change that explains them.

    A checksum over a ConfigMap changes with the ConfigMap; a checksum over a Secret changes with masked data.
    """
    return not (change.added or change.removed) and all(
        "/annotations/" in pointer and _are_random(get(edit.base, pointer), get(edit.head, pointer))
        for edit in change.changed.values()
        for pointer in edit.pointers
    )


def _are_random(one: Json, other: Json) -> bool:
    if not isinstance(one, str) or not isinstance(other, str) or len(one) != len(other):
        return False
    return one.isalnum() and other.isalnum() and not (_MEANT.fullmatch(one) or _MEANT.fullmatch(other))


_MEANT = regex(r"[A-Z]?[a-z]*|[A-Z]+|v?\d{1,9}[A-Za-z]{0,2}")
"""A word, a number or a quantity, which someone writes: `true`, `443`, `10m`. A time in seconds has ten digits."""


def with_value(node: Json, tokens: Sequence[str], value: Json) -> Json:
    """The node with this value at the pointer; MISSING removes it. A path that does not exist changes nothing."""
    if not tokens:
        return value
    first, rest = tokens[0], tokens[1:]
    if isinstance(node, Mapping):
        if first not in node and rest:
            return node
        if not rest and value is MISSING:
            return {k: v for k, v in node.items() if k != first}
        return {**node, first: with_value(node.get(first), rest, value)}
    if isinstance(node, list) and (index := index_of(first)) is not None and index <= len(node):
        if not rest and value is MISSING:
            return [*node[:index], *node[index + 1 :]]
        if index == len(node):
            return node if rest or value is MISSING else [*node, value]
        return [*node[:index], with_value(node[index], rest, value), *node[index + 1 :]]
    return node


def overlap(one: str, other: str) -> bool:
    """True if the pointers are equal or one contains the other; list indexes are ignored, since the sides may be shifted."""
    return all(
        a == b or (index_of(a) is not None and index_of(b) is not None)
        for a, b in zip(split_pointer(one), split_pointer(other), strict=False)
    )
