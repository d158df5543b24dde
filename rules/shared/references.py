"""The references to an object in the manifests of an application."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from argolint import App, AppRef, Object, Resource, ResourceId
from argolint.relations.references import namespaced, references
from argolint.values import dig, get, items, mapping, text_at
from argolint.values.kubernetes import containers, pod_spec, reads


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
    peers = [(w.app, r) for w, r in app.evidence.items() if w.kind == "peer" and w.app and isinstance(r, Resource)]
    for ref, resource in (*known, *peers):
        for named in references(resource.desired) if resource.desired else ():
            namespace = named.namespace or (resource.namespace if named.kind in namespaced() else "")
            user = User(ref, resource.id, named.pointer)
            found.setdefault((named.group, named.kind, namespace, named.name), []).append(user)
    return found


def read_keys(manifest: Object | None) -> Iterator[tuple[str, str, str]]:
    """Pointer, Secret and key of each single key of a Secret that the pods of this manifest need."""
    for at, container in containers(manifest):
        for index, variable in enumerate(items(container, "env")):
            ref = mapping(variable, "valueFrom", "secretKeyRef")
            if ref.get("key") and not ref.get("optional"):
                yield f"{at}/env/{index}/valueFrom/secretKeyRef/key", text_at(ref, "name"), str(ref["key"])
    base, spec = pod_spec(manifest)
    for index, volume in enumerate(items(spec, "volumes")):
        at = f"{base}/volumes/{index}"
        yield from _volume_keys(f"{at}/secret", mapping(volume, "secret"), "secretName")
        for number, source in enumerate(items(volume, "projected", "sources")):
            yield from _volume_keys(f"{at}/projected/sources/{number}/secret", mapping(source, "secret"), "name")


def reads_whole(manifest: Object | None, secret: str) -> bool:
    """Whether the pods of this manifest get every key of a Secret: as variables, or as the files of a volume."""
    found = (read for read in reads(manifest) if (read.kind, read.name) == ("Secret", secret))
    return any(
        "/envFrom/" in read.pointer
        or (read.by == "volume" and not dig(get(manifest, read.pointer.rpartition("/")[0], None), "items"))
        for read in found
    )


def _volume_keys(at: str, volume: object, field: str) -> Iterator[tuple[str, str, str]]:
    if dig(volume, "optional"):
        return
    for index, item in enumerate(items(volume, "items")):
        if key := text_at(item, "key"):
            yield f"{at}/items/{index}/key", text_at(volume, field), key
