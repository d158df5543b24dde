"""The second choice: ignore the random fields, Secret and checksums together, and keep the live values at each sync.

Without RespectIgnoreDifferences=true the application is Synced and every sync still writes the new random value. If only the annotation is
ignored, the Secret stays OutOfSync (docs/user-guide/diffing.md, docs/user-guide/sync-options.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from argolint import App, Fix, Resource, ResourceId
from argolint.edits import RESPECT, application_patch, ignore_entries, sync_option
from argolint.values import join_pointer
from argolint.values.patterns import regex

from ..shared import charts
from ._items import is_workload_named
from ._shapes import GENERIC, checksum_name
from ._sign import Sign, checksum_values, referenced_names


def ignore_fix(app: App, roots: Sequence[Sign], symptoms: Sequence[Sign]) -> Fix | None:
    """One patch of the Application that ignores the Secret and all that hashes it, together."""
    following = tuple(_hashing_signs(app, roots, {(s.resource.key, s.pointer) for s in symptoms}))
    entries = _ignore_entries([s for s in (*roots, *symptoms, *following) if s.kind != "name"])
    if not entries:
        return None
    operations = [*ignore_entries(app, *entries), *sync_option(app, RESPECT)]
    secret = any(s.kind == "secret" for s in roots)
    stamp = all(s.kind == "stamp" for s in roots)
    hides = "" if stamp else "It also hides a change that is wanted."
    first = "The first sync still writes a random value." if secret else ""
    return application_patch(
        app, "Ignore the fields and keep their live values", operations, " ".join(filter(None, (hides, first)))
    )


def _hashing_signs(app: App, roots: Sequence[Sign], known: set[object]) -> Iterator[Sign]:
    """The checksum annotations of pod templates that may hash one of these Secrets: they change with it at each render."""
    for sign in roots:
        secret = app.resource(sign.resource.key) if sign.kind == "secret" else None
        if secret is None:
            continue
        for key, places in checksum_values(app).items():
            pointer = "/spec/template/metadata/annotations" + join_pointer(key)
            for workload, _ in places:
                if (workload.key, pointer) not in known and _may_hash(app, key, workload, sign, secret):
                    known.add((workload.key, pointer))
                    yield Sign(workload.id, pointer, "checksum", "possible", "")


_OF_CONFIG = regex(r"config|(?:^|-)cm(?:-|$)|scripts?")


def _may_hash(app: App, key: str, workload: Resource, sign: Sign, secret: Resource) -> bool:
    """Whether a checksum may hash the Secret, by the chart's record; without one, if it names no other object, in a reader or the same chart."""
    if sign.item is not None and sign.release is not None and sign.item.checksums:
        return is_workload_named(sign.release, sign.item.checksums.get(key, ()), workload)
    name = checksum_name(key)
    if name not in GENERIC and len(name) > 3:
        named = [r.key for r in app.resources if r.kind in ("Secret", "ConfigMap") and r.name.endswith(name)]
        if named:
            return secret.key in named
    if _OF_CONFIG.search(name) and "secret" not in name:
        return False
    label = charts.chart_label(secret.any)
    alike = label is not None and charts.chart_label(workload.any) == label and "secret" in name
    return alike or secret.name in referenced_names(workload.any)


def _ignore_entries(found: Sequence[Sign]) -> list[dict[str, Any]]:
    """ignoreDifferences, one entry for each object; lists need jq, since a pointer has no wildcard."""
    by_object: dict[ResourceId, list[Sign]] = {}
    for sign in found:
        by_object.setdefault(sign.resource, []).append(sign)
    entries: list[dict[str, Any]] = []
    for id_, places in by_object.items():
        pointers = [p for s in places for p in _sign_pointers(s)]
        if id_.kind == "Secret" and not id_.group:
            pointers += _with_string_data(pointers)
        webhooks = any(p.startswith("/webhooks/") for p in pointers)
        entry: dict[str, Any] = {"group": id_.group, "kind": id_.kind, "name": id_.name}
        plain = sorted({p for p in pointers if not p.startswith("/webhooks/")})
        if plain:
            entry["jsonPointers"] = plain
        if webhooks:
            entry["jqPathExpressions"] = [".webhooks[]?.clientConfig.caBundle"]
        entries.append(entry)
    return entries


def _sign_pointers(sign: Sign) -> list[str]:
    """The sign's own pointer; for a masked Secret, the keys that the chart's record gives."""
    if sign.pointer == "/data" and sign.item is not None and sign.release is not None:
        keys = [key for s in sign.item.secrets if sign.release.makes_name(s.name, sign.resource.name) for key in s.keys]
        return [f"/data/{key.replace('~', '~0').replace('/', '~1')}" for key in keys] or [sign.pointer]
    return [sign.pointer]


def _with_string_data(pointers: Sequence[str]) -> list[str]:
    """The same keys under `stringData` too, where a chart may write them: a sync sends that unchanged, and it takes precedence over the kept
    `data` (controller/sync.go, normalizeTargetResources). No answer of Argo CD shows which of the two a manifest has."""
    return [f"/stringData{p.removeprefix('/data')}" for p in pointers if p == "/data" or p.startswith("/data/")]
