"""The second choice: ignore what is random, Secret and checksums together, and keep the live values at each sync.

Without RespectIgnoreDifferences=true the diff is green and every sync still writes the new random value; ignoring only the
annotation leaves the Secret OutOfSync (docs/user-guide/diffing.md, docs/user-guide/sync-options.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argolint import App, Edit, Fix, ResourceId
from argolint.edits import RESPECT, application_place, ignore_entries, sync_option

from ._sign import Sign


def ignoring(app: App, own: Sequence[Sign], symptoms: Sequence[Sign]) -> Fix | None:
    """One patch of the Application that ignores the Secret and whatever hashes it, together."""
    entries = _entries([s for s in (*own, *symptoms) if s.kind != "name"])
    if not entries:
        return None
    operations = [*ignore_entries(app, *entries), *sync_option(app, RESPECT)]
    secret = any(s.kind == "secret" for s in own)
    stamp = all(s.kind == "stamp" for s in own)
    hides = (
        "Hides nothing but restarts." if stamp else "Hides a change of these fields that is wanted, a rotation for one."
    )
    first = "The first sync, and one after a deletion, still writes a random value." if secret else ""
    return Fix(
        title="Ignore the fields and keep their live values at each sync",
        target="application",
        where=application_place(app),
        edit=Edit("json-patch", operations),
        caveat=" ".join(filter(None, ("Second choice.", hides, first))),
    )


def _entries(found: Sequence[Sign]) -> list[dict[str, Any]]:
    """ignoreDifferences, one entry an object; lists need jq, since a pointer has no wildcard."""
    by_object: dict[ResourceId, list[Sign]] = {}
    for sign in found:
        by_object.setdefault(sign.resource, []).append(sign)
    entries: list[dict[str, Any]] = []
    for id_, places in by_object.items():
        pointers = [p for s in places for p in _pointers(s)]
        webhooks = any(p.startswith("/webhooks/") for p in pointers)
        entry: dict[str, Any] = {"group": id_.group, "kind": id_.kind, "name": id_.name}
        plain = sorted({p for p in pointers if not p.startswith("/webhooks/")})
        if plain:
            entry["jsonPointers"] = plain
        if webhooks:
            entry["jqPathExpressions"] = [".webhooks[]?.clientConfig.caBundle"]
        entries.append(entry)
    return entries


def _pointers(sign: Sign) -> list[str]:
    """The sign's own pointer; for a masked Secret whose key is only known from the chart, those keys."""
    if sign.pointer == "/data" and sign.item is not None and sign.release is not None:
        keys = [key for s in sign.item.secrets if sign.release.named(s.name, sign.resource.name) for key in s.keys]
        return [f"/data/{key.replace('~', '~0').replace('/', '~1')}" for key in keys] or [sign.pointer]
    return [sign.pointer]
