"""Defaults that a manifest may leave out: bundled ones (defaults.yaml) and those of a CRD's own schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from argolint import MISSING, App, AppRef, Change, Fleet, Json, Object, Resource, ResourceId, Want
from argolint.knowledge import load
from argolint.kubernetes import api_of
from argolint.values import dig, fits, index_of, items, mapping, split_pointer

_CRD_GROUP, _CRD = "apiextensions.k8s.io", "CustomResourceDefinition"


def is_default(rule: str, resource: Resource, change: Change) -> bool:
    """True when the bundled table of `rule` knows live's value as the default of a field that the manifest leaves out."""
    return change.desired is MISSING and _is_known(rule, resource, change)


def replaces_zero(resource: Resource, change: Change) -> bool:
    """True when live's value is what the API server puts in the place of the manifest's zero, which says nothing to it."""
    zero = change.desired in (None, "", 0) and not isinstance(change.desired, bool)
    return zero and _is_known("zero-default", resource, change)


def _is_known(rule: str, resource: Resource, change: Change) -> bool:
    for entry in load(__package__, "defaults.yaml")[rule]:
        if not (_matches(entry["groups"], resource.group) and _matches(entry["kinds"], resource.kind)):
            continue
        for pattern, accepted in entry["fields"].items():
            if fits(pattern, change.pointer):
                return any(value in ({"any": True}, change.live) for value in accepted)
    return False


def _matches(patterns: Sequence[str], text: str) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def is_custom(group: str) -> bool:
    """True for the groups that CRDs bring, Gateway API's among them."""
    return "." in group and group not in _BUILTIN_GROUPS


_BUILTIN_GROUPS = frozenset(
    f"{name}.k8s.io"
    for name in (
        "admissionregistration",
        "apiextensions",
        "apiregistration",
        "authentication",
        "authorization",
        "certificates",
        "coordination",
        "discovery",
        "events",
        "flowcontrol.apiserver",
        "internal.apiserver",
        "networking",
        "node",
        "rbac.authorization",
        "resource",
        "scheduling",
        "storage",
        "storagemigration",
    )
)


def wanted_crds(app: App, fleet: Fleet, resource: Resource) -> Iterator[Want]:
    """The CRD of this kind, when another application manages it: its name is `<plural>.<group>`, and plurals begin like kinds."""
    if next(_own_crds(app, resource), None) is not None:
        return
    stem = resource.kind.lower().rstrip("sy")
    for key in fleet.of_kind(app.cluster, _CRD_GROUP, _CRD):
        plural, _, group = key.name.partition(".")
        if group == resource.group and plural.startswith(stem):
            for owner in fleet.owners(key):
                yield _want(owner, ResourceId(key.group, key.kind, key.namespace, key.name, "", key.cluster))


def _want(owner: AppRef, crd: ResourceId) -> Want:
    return Want("peer", crd, app=owner)


def schema_of(app: App, resource: Resource) -> Object | None:
    """The openAPIV3Schema of this object's version, from the application's own CRD or one that was asked for."""
    version = resource.id.version or api_of(resource.any)[1]
    for crd in (*_own_crds(app, resource), *_peer_crds(app, resource)):
        for served in items(crd, "spec", "versions"):
            if served.get("name") == version:
                found = dig(served, "schema", "openAPIV3Schema")
                return found if isinstance(found, Mapping) else None
    return None


def _own_crds(app: App, resource: Resource) -> Iterator[Object]:
    for found in app.of_kind(_CRD, _CRD_GROUP):
        for crd in (found.live, found.desired):
            if crd is not None and _defines(crd, resource):
                yield crd


def _peer_crds(app: App, resource: Resource) -> Iterator[Object]:
    for want, peer in app.evidence.items():
        if want.kind == "peer" and want.resource is not None and want.resource.kind == _CRD and peer is not None:
            for crd in (peer.live, peer.desired):
                if crd is not None and _defines(crd, resource):
                    yield crd


def _defines(crd: Object, resource: Resource) -> bool:
    names = (dig(crd, "spec", "group"), dig(crd, "spec", "names", "kind"))
    return names == (resource.group, resource.kind)


def from_schema(schema: Object, change: Change) -> bool:
    """True when live's value is what the schema fills in where the manifest has nothing."""
    if change.desired is not MISSING:
        return False
    node: Json = schema
    for token in split_pointer(change.pointer):
        node = _child(node, token)
        if node is None:
            return False
    return "default" in node and bool(_filled(node, node["default"]) == change.live)


def _child(schema: Json, token: str) -> Object | None:
    if not isinstance(schema, Mapping):
        return None
    found = (
        dig(schema, "items") if index_of(token) is not None and "items" in schema else dig(schema, "properties", token)
    )
    found = dig(schema, "additionalProperties") if found is None else found
    return found if isinstance(found, Mapping) else None


def _filled(schema: Object, value: Json) -> Json:
    """The value with the defaults of what it leaves out, as the API server fills it (structural schema defaulting)."""
    if isinstance(value, Mapping):
        known = mapping(schema, "properties")
        given = {key: _filled(_child(schema, key) or {}, child) for key, child in value.items()}
        added = {k: _filled(s, s["default"]) for k, s in known.items() if k not in value and "default" in s}
        return {**given, **added}
    if isinstance(value, list):
        return [_filled(mapping(schema, "items"), child) for child in value]
    return value
