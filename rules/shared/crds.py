"""CustomResourceDefinitions of the fleet: the one that defines a kind, and whether it declares a field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from argolint import App, AppRef, Fleet, Object, Resource, ResourceId, Want
from argolint.values import dig, index_of, items, split_pointer

_GROUP, _KIND = "apiextensions.k8s.io", "CustomResourceDefinition"


@dataclass(frozen=True, slots=True)
class Definition:
    """A CRD that an application manages. `live` and `desired` are None when they are absent or not known."""

    owner: AppRef
    id: ResourceId
    live: Object | None
    desired: Object | None


def wanted_definitions(app: App, fleet: Fleet, group: str, kind: str, owners: int = 1) -> Iterator[Want]:
    """The CRD of this kind if other applications manage it: its name is `<plural>.<group>`, and plurals begin like kinds.

    `owners`: from how many of the applications that claim one CRD it is read.
    """
    if not group or next(_own_definitions(app, group, kind), None) is not None:
        return
    stem = kind.lower().rstrip("sy")
    for key in fleet.of_kind(app.cluster, _GROUP, _KIND):
        plural, _, of = key.name.partition(".")
        if of == group and plural.startswith(stem):
            for owner in fleet.owners(key)[:owners]:
                yield Want("peer", key.id, app=owner)


def definition_of(app: App, group: str, kind: str) -> Definition | None:
    """The CRD that defines this kind: the application's own, or one of another application that was read."""
    return next(definitions(app, group, kind), None)


def definitions(app: App, group: str, kind: str) -> Iterator[Definition]:
    """Every known CRD of this kind: the application's own first, then those of other applications that were read."""
    return chain(_own_definitions(app, group, kind), _peer_definitions(app, group, kind))


def _own_definitions(app: App, group: str, kind: str) -> Iterator[Definition]:
    for found in app.of_kind(_KIND, _GROUP):
        if _defines(found, group, kind):
            yield Definition(app.ref, found.id, found.live, found.desired)


def _peer_definitions(app: App, group: str, kind: str) -> Iterator[Definition]:
    for owner, peer in app.peers():
        if peer.kind == _KIND and _defines(peer, group, kind):
            yield Definition(owner, peer.id, peer.live, peer.desired)


def _defines(crd: Resource, group: str, kind: str) -> bool:
    return any(
        (dig(side, "spec", "group"), dig(side, "spec", "names", "kind")) == (group, kind)
        for side in (crd.live, crd.desired)
    )


def schema_of(app: App, group: str, kind: str, version: str) -> Object | None:
    """The openAPIV3Schema of a version, from the first CRD with that version; None if that one has no schema."""
    for definition in definitions(app, group, kind):
        for crd in (definition.live, definition.desired):
            if (served := _version_entry(crd, version)) is not None:
                return _schema_in(served)
    return None


def declares(crd: Object | None, version: str, pointer: str) -> bool | None:
    """True if the version's schema has the field, None without a schema."""
    node = schema_in(crd, version)
    if node is None:
        return None
    for token in split_pointer(pointer):
        if dig(node, "x-kubernetes-preserve-unknown-fields") is True:
            return True
        node = child_schema(node, token)
        if node is None:
            return False
    return True


def sibling_names(crd: Object | None, version: str, pointer: str) -> tuple[str, ...]:
    """The fields that the schema declares next to the pointer's last token; none if they are unknown."""
    node = schema_in(crd, version)
    for token in split_pointer(pointer)[:-1]:
        node = child_schema(node, token)
    return tuple(dig(node, "properties") or ())


def schema_in(crd: Object | None, version: str) -> Object | None:
    """The openAPIV3Schema of a version in this CRD; None without one."""
    return _schema_in(_version_entry(crd, version))


def _version_entry(crd: Object | None, version: str) -> Object | None:
    return next((served for served in items(crd, "spec", "versions") if dig(served, "name") == version), None)


def _schema_in(served: Object | None) -> Object | None:
    found = dig(served, "schema", "openAPIV3Schema")
    return found if isinstance(found, Mapping) else None


def child_schema(schema: Object | None, token: str) -> Object | None:
    """The schema of a field, of a list's items, or of a map's values; None if the schema does not declare it."""
    listed = index_of(token) is not None and isinstance(dig(schema, "items"), Mapping)
    found = dig(schema, "items") if listed else dig(schema, "properties", token)
    found = dig(schema, "additionalProperties") if found is None else found
    return found if isinstance(found, Mapping) else None
