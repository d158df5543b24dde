"""Finds which live Application a manifest belongs to if several Argo CDs have one of its name; a manifest does not say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from argolint.application.app import sources_of
from argolint.model import Object
from argolint.values import dig, mapping, same_repository, text_at

K = TypeVar("K")


def whose(manifest: Object, live: Mapping[K, Object]) -> tuple[K, ...]:
    """The live Applications with the manifest's source and destination; else those with its destination; else none.

    Several Argo CDs may apply the same manifest.
    """
    to = {
        key: app for key, app in live.items() if dig(app, "spec", "destination") == dig(manifest, "spec", "destination")
    }
    return tuple(key for key, app in to.items() if _of_one_source(manifest, app)) or tuple(to)


def _of_one_source(one: Object, other: Object) -> bool:
    """True if both render the same folders and charts, at any revision and with any values."""
    first, second = (sources_of(mapping(app, "spec")) for app in (one, other))
    return len(first) == len(second) and all(
        same_repository(text_at(a, "repoURL"), text_at(b, "repoURL"))
        and (a.get("path"), a.get("chart")) == (b.get("path"), b.get("chart"))
        for a, b in zip(first, second, strict=True)
    )
