"""ignoreDifferences: the fields that Argo CD leaves out of its comparison.

Sources: util/argo/normalizers/diff_normalizer.go and knowntypes_normalizer.go, util/argo/managedfields/managed_fields.go,
util/glob/glob.go. Two kinds of entries work differently: pointers and jq paths remove fields from each side separately; trusted field
managers remove only fields that both sides have with different values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from argolint.comparison import jq
from argolint.comparison.scheme import as_known_type
from argolint.model import Json, Object
from argolint.values import glob, index_of, integer, items, join_pointer, json_in, mapping, maps, split_pointer, text_at
from argolint.values.kubernetes import group_of
from argolint.values.manifests import ManifestError, mapping_of
from argolint.values.memo import by_identity, one
from argolint.values.patterns import regex


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One ignoreDifferences entry. An empty `group` is the core group; an empty name or namespace matches all."""

    group: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    json_pointers: tuple[str, ...] = ()
    jq_paths: tuple[str, ...] = ()
    managers: tuple[str, ...] = ()
    """managedFieldsManagers: the fields that these managers own are ignored."""
    origin: str = ""
    """Its place: a pointer into the Application, or the key of the server's resourceOverrides."""

    @property
    def errors(self) -> tuple[str, ...]:
        """The parts that Argo CD cannot parse, one sentence each. Argo CD then compares nothing of the whole application."""
        return tuple(f"{path}: {problem}" for path in self.jq_paths if (problem := jq.refusal(path)))


@dataclass(frozen=True, slots=True)
class KnownTypes:
    """knownTypeFields of one group and kind: fields of a custom resource that are formatted like a built-in type."""

    group: str
    kind: str
    fields: tuple[tuple[str, str], ...]
    """(dotted field path, type such as `core/v1/PodSpec`)"""


ROLLOUT = KnownTypes("argoproj.io", "Rollout", (("spec.template.spec", "core/v1/PodSpec"),))
"""Argo CD's built-in entry (knowntypes_normalizer.go, ensureDefaultCRDsConfigured)."""


@by_identity(8)
def application_rules(application: Object) -> tuple[IgnoreRule, ...]:
    """The entries of an Application's spec.ignoreDifferences in order, without malformed ones."""
    entries = items(application, "spec", "ignoreDifferences")
    return tuple(
        _rule(entry, str(entry.get("group") or ""), str(entry.get("kind") or ""), f"/spec/ignoreDifferences/{index}")
        for index, entry in enumerate(entries)
        if isinstance(entry, dict)
    )


@by_identity(8)
def server_rules(settings: Object) -> tuple[IgnoreRule, ...]:
    """The ignore rules for all applications: `ignoreDifferences` (YAML text) of settings.resourceOverrides."""
    return tuple(_server_rules(mapping(settings, "resourceOverrides")))


def _server_rules(overrides: Mapping[str, Json]) -> Iterator[IgnoreRule]:
    for key, override in sorted(overrides.items()):
        entry = _parsed(text_at(override, "ignoreDifferences"))
        rule = _rule(entry, *_group_kind(key), key) if isinstance(entry, dict) else IgnoreRule()
        if rule.managers and not _MANAGED_KEY.fullmatch(key):
            rule = replace(rule, managers=())
        if rule.json_pointers or rule.jq_paths or rule.managers:
            yield rule


_MANAGED_KEY = regex(r"\*/\*|[^*?\[{/]+/[^*?\[{/]+")
"""Keys under which Argo CD looks up managedFieldsManagers: all kinds, or one by its exact name and group (util/argo/diff/ignore.go)."""


@lru_cache(maxsize=256)
def _parsed(text: str) -> Json:
    try:
        return mapping_of(text)
    except ManifestError:  # Argo CD rejects such settings; they ignore nothing
        return None


@by_identity(8)
def known_types(settings: Object) -> tuple[KnownTypes, ...]:
    """The server's knownTypeFields, and Argo CD's own for Rollout unless the server has others."""
    named = tuple(
        KnownTypes(
            *_group_kind(key),
            tuple((text_at(f, "field"), text_at(f, "type")) for f in maps(override, "knownTypeFields")),
        )
        for key, override in sorted(mapping(settings, "resourceOverrides").items())
        if maps(override, "knownTypeFields")
    )
    return named if any((k.group, k.kind) == (ROLLOUT.group, ROLLOUT.kind) for k in named) else (*named, ROLLOUT)


def _group_kind(key: str) -> tuple[str, str]:
    group, _, kind = key.rpartition("/")
    return group, kind


def _rule(entry: Object, group: str, kind: str, origin: str) -> IgnoreRule:
    def texts(field: str) -> tuple[str, ...]:
        return tuple(text for text in items(entry, field) if isinstance(text, str))

    found = IgnoreRule(
        group,
        kind,
        str(entry.get("name") or ""),
        str(entry.get("namespace") or ""),
        texts("jsonPointers"),
        texts("jqPathExpressions"),
        texts("managedFieldsManagers"),
        origin,
    )
    return one(found)


def matches(rule: IgnoreRule, group: str, kind: str, namespace: str, name: str) -> bool:
    """True if the entry applies to this object: group and kind are globs, name and namespace exact."""
    return (
        glob.matches(rule.group, group)
        and glob.matches(rule.kind, kind)
        and rule.name in ("", name)
        and rule.namespace in ("", namespace)
    )


def matches_object(rule: IgnoreRule, obj: Object) -> bool:
    """`matches` for a decoded object."""
    where = text_at(obj, "metadata", "namespace"), text_at(obj, "metadata", "name")
    return matches(rule, group_of(obj), str(obj.get("kind")), *where)


def normalize(obj: Object, rules: Iterable[IgnoreRule], types: Iterable[KnownTypes] = ()) -> Object:
    """The object without the fields that these rules ignore, and with known type fields in their type's format."""
    normalized = obj
    jq_paths: list[str] = []
    """pending jq paths: those of several rules run together"""
    for rule in rules:
        if (rule.json_pointers or rule.jq_paths) and matches_object(rule, normalized):
            if rule.json_pointers:
                obj, jq_paths = jq.deleted(obj, jq_paths), []
            for pointer in rule.json_pointers:
                obj = without(obj, pointer)
            jq_paths += rule.jq_paths
    obj = jq.deleted(obj, jq_paths)
    for known in types:
        if (known.group, known.kind) == (group_of(obj), obj.get("kind")):
            for field, kind in known.fields:
                obj = _retyped(obj, field.split("."), kind)
    return obj


def without(node: Json, pointer: str) -> Json:
    """The node without the value at the pointer; a path that does not exist changes nothing.

    As in evanphx/json-patch, text before the first slash is ignored.
    """
    return _without(node, split_pointer(pointer))


def _without(node: Json, tokens: tuple[str, ...]) -> Json:
    if not tokens:
        return node
    token = tokens[0]
    if isinstance(node, dict) and token in node:
        if len(tokens) == 1:
            return {key: value for key, value in node.items() if key != token}
        return {**node, token: _without(node[token], tokens[1:])}
    index = _counted(token, len(node)) if isinstance(node, list) else None
    if isinstance(node, list) and index is not None:
        item = [] if len(tokens) == 1 else [_without(node[index], tokens[1:])]
        return [*node[:index], *item, *node[index + 1 :]]
    return node


def _counted(token: str, length: int) -> int | None:
    """The index as evanphx/json-patch parses it (strconv.Atoi): `+1` and `01` are 1, and -1 is the last one."""
    index = integer(token)
    if index is None or not -length <= index < length:
        return None
    return index + length if index < 0 else index


def _retyped(node: Json, path: list[str], kind: str) -> Json:
    if isinstance(node, list):
        return [_retyped(item, path, kind) for item in node]
    if not path:
        return as_known_type(node, kind)
    if isinstance(node, dict) and path[0] in node:
        return {**node, path[0]: _retyped(node[path[0]], path[1:], kind)}
    return node


def trusted(live: Object, desired: Object, rules: Iterable[IgnoreRule]) -> tuple[Object, Object]:
    """Both objects without the fields that a trusted manager owns and that have different values."""
    left, right = live, desired
    for here, desired_pointer in _trusted(live, desired, rules):
        left, right = without(left, here), without(right, desired_pointer)
    return left, right


def disputed(live: Object, desired: Object, rules: Iterable[IgnoreRule]) -> tuple[str, ...]:
    """The pointers into desired of the fields that `trusted` removes."""
    return tuple(there for _, there in _trusted(live, desired, rules))


def _trusted(live: Object, desired: Object, rules: Iterable[IgnoreRule]) -> Iterator[tuple[str, str]]:
    managers = {m for rule in rules if rule.managers and matches_object(rule, desired) for m in rule.managers}
    for entry in maps(live, "metadata", "managedFields") if managers else ():
        if text_at(entry, "manager") in managers:
            yield from _disputed(mapping(entry, "fieldsV1"), live, desired)


def _disputed(fields: Object, live: Json, desired: Json, at: tuple[str, str] = ("", "")) -> Iterator[tuple[str, str]]:
    """The pointers, into live and into desired, of owned leaves with different values on both sides."""
    for step, below in fields.items():
        here, desired_step = (None, None) if step == "." else (locate(live, step), locate(desired, step))
        if here is None or desired_step is None:
            continue
        pointers = (at[0] + join_pointer(here), at[1] + join_pointer(desired_step))
        both_maps = isinstance(live[here], dict) and isinstance(desired[desired_step], dict)
        if below and isinstance(below, dict):
            if not (step == "f:port" and at[0].endswith(_BACKENDS)):
                yield from _disputed(below, live[here], desired[desired_step], pointers)
        elif both_maps and (step in _PARTED or (step.startswith("k:") and not at[0].endswith(_WHOLE_ITEMS))):
            continue  # the difference is deeper than the owned field, and only equal paths count
        elif live[here] != desired[desired_step]:
            yield pointers


_PARTED = ("f:dataSourceRef", "f:resources")
"""Maps that a manager may own as one leaf (by the API server's schema, or as an empty map) and that Argo CD's schema splits into fields."""
_BACKENDS = ("/backend/service", "/defaultBackend/service")
"""Backends of an Ingress: older API servers record each field of the port, to Argo CD the port is one leaf."""
_WHOLE_ITEMS = ("/imagePullSecrets", "/secrets")
"""Keyed lists whose items are leaves: references to an object."""


def locate(node: Json, step: str) -> Any:
    """The key or index in node for a FieldsV1 step (`f:name`, `k:{"name":"web"}`, `v:"x"`, `i:0`), or None."""
    kind, _, text = step.partition(":")
    if kind == "f":
        return text if isinstance(node, dict) and text in node else None
    if not isinstance(node, list):
        return None
    if kind == "i":
        index = index_of(text)
        return index if index is not None and index < len(node) else None
    wanted = json_in(text)
    for index, item in enumerate(node):
        if kind == "v" and item == wanted:
            return index
        if (
            kind == "k"
            and isinstance(item, dict)
            and isinstance(wanted, dict)
            and all(_key(item, k) == v for k, v in wanted.items())
        ):
            return index
    return None


def _key(item: Object, field: str) -> Json:
    """A merge key's value; `protocol` has a default in the schema (TCP)."""
    return item.get(field, "TCP" if field == "protocol" else None)


def removed(obj: Object, *rules: IgnoreRule) -> tuple[str, ...]:
    """The topmost pointers into `obj` that the rules' pointers and jq paths remove; sorted."""
    return _removed(obj, *map(one, rules)) if rules else ()


@by_identity(64)
def _removed(obj: Object, *rules: IgnoreRule) -> tuple[str, ...]:
    return tuple(sorted(_missing(obj, normalize(obj, rules))))


def _missing(before: Json, after: Json, at: str = "") -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key not in after:
                yield at + join_pointer(key)
            elif value is not after[key] and value != after[key]:
                yield from _missing(value, after[key], at + join_pointer(key))
    elif isinstance(before, list) and isinstance(after, list):
        remaining = iter(after)
        candidate = next(remaining, None)
        for index, item in enumerate(before):
            if candidate is not None and not any(True for _ in _changed(item, candidate)):
                yield from _missing(item, candidate, f"{at}/{index}")
                candidate = next(remaining, None)
            else:
                yield f"{at}/{index}"


def _changed(before: Json, after: Json) -> Iterator[None]:
    """Yields once for each part of `after` that `before` lacks: then `after` is not a remainder of `before`."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in after.items():
            yield from _changed(before.get(key), value)
    elif isinstance(before, list) and isinstance(after, list):
        if len(after) > len(before):
            yield None
    elif before != after:
        yield None
