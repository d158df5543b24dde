"""The references to an object in the manifests of an application."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

from argolint import App, AppRef, Fleet, Json, Object, ResourceId
from argolint.relations.references import namespaced, references
from argolint.values import dig, get, items, leaves, mapping, text_at
from argolint.values.kubernetes import containers, pod_spec, reads, without_hash


@dataclass(frozen=True, order=True)
class User:
    """An object of an application that refers to another one, and the place."""

    app: AppRef
    id: ResourceId
    pointer: str


def users(app: App) -> Mapping[tuple[str, str, str, str], Sequence[User]]:
    """(group, kind, namespace, name) -> the users of that object: desired objects of the application, and those read from others."""
    found: dict[tuple[str, str, str, str], list[User]] = {}
    known = [(app.ref, r) for r in app.resources]
    for ref, resource in (*known, *app.peers()):
        for named in references(resource.desired) if resource.desired else ():
            namespace = named.namespace or (resource.namespace if named.kind in namespaced() else "")
            user = User(ref, resource.id, named.pointer)
            found.setdefault((named.group, named.kind, namespace, named.name), []).append(user)
        if (resource.group, resource.kind) == ("apps", "StatefulSet"):
            name = text_at(resource.desired, "spec", "serviceName")
            user = User(ref, resource.id, "/spec/serviceName")
            found.setdefault(("", "Service", resource.namespace, name), []).append(user)
    return found


class ReadKey(NamedTuple):
    """A single key that pods need: its pointer, the kind and name of the ConfigMap or Secret, and the key."""

    pointer: str
    kind: str
    name: str
    key: str


_KEY_FIELDS = (
    ("Secret", "secretKeyRef", "secret", "secretName"),
    ("ConfigMap", "configMapKeyRef", "configMap", "name"),
)
"""The kind, the field of a variable, the field of a volume, and the name in that field."""


def read_keys(manifest: Object | None) -> Iterator[ReadKey]:
    """Each single key of a ConfigMap or Secret that the pods of this manifest need; optional ones are left out."""
    for at, container in containers(manifest):
        for index, variable in enumerate(items(container, "env")):
            for kind, field, _, _ in _KEY_FIELDS:
                ref = mapping(variable, "valueFrom", field)
                if ref.get("key") and not ref.get("optional"):
                    yield ReadKey(
                        f"{at}/env/{index}/valueFrom/{field}/key", kind, text_at(ref, "name"), str(ref["key"])
                    )
    base, spec = pod_spec(manifest)
    for index, volume in enumerate(items(spec, "volumes")):
        at = f"{base}/volumes/{index}"
        for kind, _, field, name in _KEY_FIELDS:
            yield from _volume_keys(f"{at}/{field}", kind, mapping(volume, field), name)
            for number, source in enumerate(items(volume, "projected", "sources")):
                yield from _volume_keys(
                    f"{at}/projected/sources/{number}/{field}", kind, mapping(source, field), "name"
                )


class NamedKey(NamedTuple):
    """A key that a custom resource names next to a Secret or ConfigMap; its namespace is empty for that of the resource."""

    read: ReadKey
    namespace: str


def named_keys(manifest: Object | None) -> Iterator[NamedKey]:
    """Each `{name, key}` in a custom resource, such as the credentials of a store: by the name of its field of a ConfigMap, else of a Secret."""
    for pointer, name in leaves(manifest):
        place, _, field = pointer.rpartition("/")
        holder = get(manifest, place, None) if field == "name" and place else None
        if isinstance(holder, dict) and isinstance(holder.get("key"), str) and holder.keys() <= _NAMES_A_KEY:
            is_config = holder.get("type") == "ConfigMap" or "configmap" in place.rpartition("/")[2].lower()
            kind = "ConfigMap" if is_config else "Secret"
            yield NamedKey(ReadKey(f"{place}/key", kind, str(name), holder["key"]), text_at(holder, "namespace"))


_NAMES_A_KEY = {"name", "key", "namespace", "type"}


class MountedKey(NamedTuple):
    """A file of a ConfigMap or Secret that a container mounts alone (subPath): the key, its pointer, and the path in the container. The kubelet makes a directory where the key is missing."""

    read: ReadKey
    path: str
    container: str


def mounted_keys(manifest: Object | None) -> Iterator[MountedKey]:
    """Each key that the containers of this manifest mount alone; those of optional and projected volumes, and of volumes with items, are left out."""
    holders = {
        text_at(volume, "name"): (kind, text_at(volume, field, name))
        for volume in items(pod_spec(manifest)[1], "volumes")
        for kind, _, field, name in _KEY_FIELDS
        if mapping(volume, field) and not items(volume, field, "items") and not dig(volume, field, "optional")
    }
    for at, container in containers(manifest):
        for index, mount in enumerate(items(container, "volumeMounts")):
            holder, key = holders.get(text_at(mount, "name")), text_at(mount, "subPath")
            if holder and key and "/" not in key:
                read = ReadKey(f"{at}/volumeMounts/{index}/subPath", *holder, key)
                yield MountedKey(read, text_at(mount, "mountPath"), text_at(container, "name"))


def near_key(key: str, keys: frozenset[str]) -> str:
    """The key that is nearly this one; empty if there is none."""
    return next(iter(get_close_matches(key, sorted(keys), 1, cutoff=0.6)), "")


def reads_whole(manifest: Object | None, secret: str) -> bool:
    """Whether the pods of this manifest get every key of a Secret: as variables, or as the files of a volume."""
    found = (read for read in reads(manifest) if (read.kind, read.name) == ("Secret", secret))
    return any(
        "/envFrom/" in read.pointer
        or (read.by == "volume" and not dig(get(manifest, read.pointer.rpartition("/")[0], None), "items"))
        for read in found
    )


def _volume_keys(at: str, kind: str, volume: object, field: str) -> Iterator[ReadKey]:
    if dig(volume, "optional"):
        return
    for index, item in enumerate(items(volume, "items")):
        if key := text_at(item, "key"):
            yield ReadKey(f"{at}/items/{index}/key", kind, text_at(volume, field), key)


def near_names(app: App, fleet: Fleet, kind: str, namespace: str, name: str) -> tuple[str, str]:
    """Of the ConfigMaps or Secrets in the namespace: the name that is nearly this one, and that of Kustomize for it; each empty if there is none."""
    listed = (key for key in fleet.of_kind(app.cluster, "", kind) if key.namespace == namespace)
    there = {key.name for key in listed if fleet.owners(key)}
    there |= {node.id.name for node in app.nodes_of(kind, "") if node.id.namespace == namespace}
    hashed = next((n for n in sorted(there) if without_hash(n) == name), "")
    near = "" if hashed else next(iter(get_close_matches(name, sorted(there), 1, cutoff=0.85)), "")
    return near, hashed


def rename_operations(manifest: Object | None, kind: str, name: str, to: str) -> list[Json]:
    """Operations that put another name into each reference to an object; none where the manifest reads the other one as well."""
    found = [r for r in references(manifest or {}) if r.kind == kind]
    if any(r.name == to for r in found):
        return []
    return [{"op": "replace", "path": r.pointer, "value": to} for r in found if r.name == name]
