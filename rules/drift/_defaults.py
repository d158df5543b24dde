"""Defaults of fields that a manifest may omit: Kubernetes' own (kubernetes_defaults.yaml, generated), other bundled ones (defaults.yaml) and
those of a CRD's own schema."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache

from argolint import MISSING, App, Change, Fleet, Json, Object, Resource, Want
from argolint.values import fits, index_of, join_pointer, mapping, split_pointer
from argolint.values.knowledge import load
from argolint.values.kubernetes import api_of

from ..shared import crds
from ..shared.crds import child_schema, wanted_definitions


def is_default(rule: str, resource: Resource, change: Change) -> bool:
    """True if the bundled table of `rule` has the live value as the default of a field that the manifest omits."""
    return change.desired is MISSING and _is_listed_default(rule, resource, change)


def is_kubernetes_default(resource: Resource, change: Change) -> bool:
    """True if the API server's Go code sets the live value in a field that the manifest omits."""
    return change.desired is MISSING and change.live in _field_defaults(resource, change.pointer).get("values", ())


def replaces_zero(resource: Resource, change: Change) -> bool:
    """True if the API server replaces the manifest's zero by the live value, since it treats zero as unset."""
    if change.desired not in (None, "", 0) or isinstance(change.desired, bool):
        return False
    row = _field_defaults(resource, change.pointer)
    is_zero_default = change.desired is None or row.get("zero", False)  # a null is unset, also in a pointer field
    return (is_zero_default and change.live in row.get("values", ())) or _is_listed_default(
        "zero-default", resource, change
    )


def _field_defaults(resource: Resource, pointer: str) -> Mapping[str, Json]:
    """`values` and `zero` of a field of a built-in kind; empty for a field without a default."""
    tokens = ("*" if index_of(token) is not None else token for token in split_pointer(pointer))
    return _kubernetes_defaults().get(f"{resource.group}/{resource.kind}", {}).get(join_pointer(*tokens), {})


@cache
def _kubernetes_defaults() -> Mapping[str, Mapping[str, Mapping[str, Json]]]:
    """kubernetes_defaults.yaml as "group/Kind" -> pointer -> values and zero; all lists of a pod's containers have the same."""
    table = load(__package__, "kubernetes_defaults.yaml")

    def rows(values: Mapping[str, Json], zeros: Sequence[str]) -> dict[str, dict[str, Json]]:
        return {pointer: {"values": found, "zero": pointer in zeros} for pointer, found in values.items()}

    zeros = table["zero"]
    found = {kind: rows(values, zeros.get(kind, ())) for kind, values in table["kinds"].items()}
    pod = rows(table["pod"], zeros["pod"])
    for kind, place in table["pods"].items():
        for pointer, row in pod.items():
            for containers in ("containers", "initContainers", "ephemeralContainers"):
                found.setdefault(kind, {})[place + pointer.replace("/containers/", f"/{containers}/", 1)] = row
    return found


def _is_listed_default(rule: str, resource: Resource, change: Change) -> bool:
    for entry in load(__package__, "defaults.yaml")[rule]:
        if not (_matches(entry["groups"], resource.group) and _matches(entry["kinds"], resource.kind)):
            continue
        for pattern, accepted in entry["fields"].items():
            if fits(pattern, change.pointer):
                return any(value in ({"any": True}, change.live) for value in accepted)
    return False


def _matches(patterns: Sequence[str], text: str) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def wanted_crds(app: App, fleet: Fleet, resource: Resource) -> Iterator[Want]:
    """The CRD of this kind from every application that claims it: each may have another version's defaults."""
    return wanted_definitions(app, fleet, resource.group, resource.kind, owners=sys.maxsize)


def schema_of(app: App, resource: Resource) -> Object | None:
    """The openAPIV3Schema of this object's version, from the application's own CRD or one that was read."""
    return crds.schema_of(app, resource.group, resource.kind, resource.id.version or api_of(resource.any)[1])


def is_schema_default(schema: Object, change: Change) -> bool:
    """True if the live value is the schema's default for a field that the manifest lacks."""
    if change.desired is not MISSING:
        return False
    node = schema
    for token in split_pointer(change.pointer):
        child = child_schema(node, token)
        if child is None:
            return False
        node = child
    return "default" in node and bool(_with_defaults(node, node["default"]) == change.live)


def _with_defaults(schema: Object, value: Json) -> Json:
    """The value with the defaults of its missing fields, as the API server sets them (structural schema defaulting)."""
    if isinstance(value, Mapping):
        known = mapping(schema, "properties")
        filled = {key: _with_defaults(child_schema(schema, key) or {}, child) for key, child in value.items()}
        added = {k: _with_defaults(s, s["default"]) for k, s in known.items() if k not in value and "default" in s}
        return {**filled, **added}
    if isinstance(value, list):
        return [_with_defaults(mapping(schema, "items"), child) for child in value]
    return value
