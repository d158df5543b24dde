"""Whose manifest of an Application it is, where several Argo CDs have one of its name: a manifest does not say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from argolint.application.app import sources_of
from argolint.model import Object
from argolint.values import dig, mapping, same_repository, text_at

K = TypeVar("K")


def whose(manifest: Object, live: Mapping[K, Object]) -> tuple[K, ...]:
    """Those of the live Applications that deploy from and to where the manifest says; else those that deploy to it; else none.

    Several Argo CDs may well apply one manifest.
    """
    to = {
        key: app for key, app in live.items() if dig(app, "spec", "destination") == dig(manifest, "spec", "destination")
    }
    return tuple(key for key, app in to.items() if _of_one_source(manifest, app)) or tuple(to)


def _of_one_source(one: Object, other: Object) -> bool:
    """True where both render the same folders and charts, at whatever revision and with whatever values."""
    first, second = (sources_of(mapping(app, "spec")) for app in (one, other))
    return len(first) == len(second) and all(
        same_repository(text_at(a, "repoURL"), text_at(b, "repoURL"))
        and (a.get("path"), a.get("chart")) == (b.get("path"), b.get("chart"))
        for a, b in zip(first, second, strict=True)
    )
