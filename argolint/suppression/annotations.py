"""Suppression annotations: `argolint.dev/ignore.<rule>: <reason>` on an Application or on one of its objects."""

from __future__ import annotations

from collections.abc import Iterator

from argolint.application.app import App
from argolint.model import Note
from argolint.values import mapping

PREFIX = "argolint.dev/ignore."
_ANNOTATIONS = ("metadata", "annotations")


def notes(app: App) -> Iterator[Note]:
    """The suppression annotations of an application and its objects, live or desired; objects without one are not decoded."""
    for name, value in sorted(mapping(app.raw, *_ANNOTATIONS).items()):
        if name.startswith(PREFIX):
            yield Note(app.ref, None, name.removeprefix(PREFIX), value if isinstance(value, str) else "")
    for resource in app.mentioning(PREFIX):
        found = {**mapping(resource.live, *_ANNOTATIONS), **mapping(resource.desired, *_ANNOTATIONS)}
        for name, value in sorted(found.items()):
            if name.startswith(PREFIX):
                yield Note(app.ref, resource.id, name.removeprefix(PREFIX), value if isinstance(value, str) else "")
