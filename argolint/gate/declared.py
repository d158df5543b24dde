"""Finds Argo CD's own objects in the texts of a change: Applications, ApplicationSets and AppProjects, in any YAML spelling."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from argolint.model import Object
from argolint.values.manifests import ManifestError, NoYamlError, objects, stream
from argolint.values.patterns import regex

OTHER_KINDS = ("ApplicationSet", "AppProject")
"""The kinds that generate Applications or restrict them."""

_NAMED = regex(r"Application|AppProject")
_DISGUISED = regex(r"\\[xuU\r\n\x85\u2028\u2029]|(?:^|[\s\[{,])!\S|^%TAG", re.MULTILINE)
"""`"\\x41pplication"` and `!!binary QXBwbGljYXRpb24=` are the same word in YAML."""


@dataclass(frozen=True)
class Declared:
    """Argo CD's own objects in a text, each once; and why another reader may find more."""

    objects: tuple[Object, ...] = ()
    unread: str = ""


def is_application(manifest: Object) -> bool:
    """True for an Argo CD Application, even an incomplete one."""
    return _is_of_argo(manifest) and manifest.get("kind") == "Application"


def is_other(manifest: Object) -> bool:
    """True for an ApplicationSet or AppProject."""
    return _is_of_argo(manifest) and manifest.get("kind") in OTHER_KINDS


def is_set(manifest: Object) -> bool:
    return _is_of_argo(manifest) and manifest.get("kind") == "ApplicationSet"


def _is_of_argo(manifest: Object) -> bool:
    return str(manifest.get("apiVersion") or "").startswith("argoproj.io/")


def may_declare(text: str) -> bool:
    """False if a text certainly has none of these objects: a cheap test."""
    return bool(_NAMED.search(text) or _DISGUISED.search(text))


def declared(text: str) -> Declared:
    """Applications, ApplicationSets and AppProjects of a YAML text.

    A template that is not valid YAML has none, since Go's readers refuse it, too: its render has them. YAML that is not read here (too
    deep, too large, characters that another reader accepts) may have any.
    """
    if not may_declare(text):
        return Declared()
    found = stream(text)
    why = next((str(error) for part, error in found.unread if may_declare(part) and not _is_template(part, error)), "")
    kept = (m for m in flat(objects(found.documents)) if is_application(m) or is_other(m))
    return Declared(tuple({json.dumps(m, sort_keys=True): m for m in kept}.values()), why)


def _is_template(part: str, error: ManifestError) -> bool:
    if not isinstance(error, NoYamlError):
        return False
    return "{{" in part or not ("argoproj.io/" in part or (_NAMED.search(part) and _DISGUISED.search(part)))


def flat(manifests: Iterable[Any]) -> Iterator[Object]:
    """The manifests, with nested lists resolved as `kubectl apply` does (cli-runtime, FlattenListVisitor)."""
    for manifest in manifests:
        if not isinstance(manifest, dict) or not manifest.get("kind"):
            continue
        if isinstance(listed := manifest.get("items"), list):
            yield from flat(listed)
        else:
            yield manifest
