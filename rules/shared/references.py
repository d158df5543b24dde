"""The references to an object in the manifests of an application."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from argolint import App, AppRef, Resource, ResourceId
from argolint.relations.references import namespaced, references


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
