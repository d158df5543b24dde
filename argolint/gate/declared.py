"""Argo CD's own objects in the texts of a change: Applications, and what makes or permits them, however they are written down."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from argolint.model import Object
from argolint.values import dig
from argolint.values.manifests import ManifestError, documents, objects

OTHER_KINDS = ("ApplicationSet", "AppProject")
"""What makes Applications, and what permits them."""

_NAMED = re.compile(r"Application|AppProject")
_DISGUISED = re.compile(r"\\[xuU\r\n\x85\u2028\u2029]|(?:^|[\s\[{,])!\S|^%TAG", re.MULTILINE)
"""`"\\x41pplication"` and `!!binary QXBwbGljYXRpb24=` are the same word."""
_ENCODED = re.compile(r"(?<!\S)[^\s!]*+!\S*(?:binary|%)|^%TAG", re.MULTILINE)


class UnreadableError(ValueError):
    """A text that names Applications, is no template, and is no YAML for us: another reader may well read it."""


def is_application(manifest: Object) -> bool:
    """True for an Argo CD Application, whatever it lacks."""
    return _is_of_argo(manifest) and manifest.get("kind") == "Application"


def is_other(manifest: Object) -> bool:
    """True for an ApplicationSet or AppProject."""
    return _is_of_argo(manifest) and manifest.get("kind") in OTHER_KINDS


def _is_of_argo(manifest: Object) -> bool:
    return str(manifest.get("apiVersion") or "").startswith("argoproj.io/")


def may_declare(text: str) -> bool:
    """False when a text surely holds none of these objects: a cheap look."""
    return bool(_NAMED.search(text) or _DISGUISED.search(text))


def declared(text: str) -> tuple[Object, ...]:
    """Applications, ApplicationSets and AppProjects of a YAML text. A template holds none: what renders it will say so.

    Raises UnreadableError.
    """
    if not may_declare(text):
        return ()
    try:
        found = documents(text)
    except ManifestError:
        if ("argoproj.io/" in text or _ENCODED.search(text)) and "{{" not in text:
            raise UnreadableError from None
        return ()
    return tuple(m for m in flat(objects(found)) if is_application(m) or is_other(m))


def applications_of(text: str) -> tuple[Object, ...]:
    """The Applications of a YAML text that have a name. Raises UnreadableError."""
    return tuple(m for m in declared(text) if is_application(m) and dig(m, "metadata", "name"))


def flat(manifests: Iterable[Any]) -> Iterator[Object]:
    """The manifests without lists in lists, which `kubectl apply` opens, too (cli-runtime, FlattenListVisitor)."""
    for manifest in manifests:
        if not isinstance(manifest, dict) or not manifest.get("kind"):
            continue
        if isinstance(listed := manifest.get("items"), list):
            yield from flat(listed)
        else:
            yield manifest
