"""The field of an ExternalSecret for a cause: the place of a finding, and of an edit."""

from __future__ import annotations

from argolint import Resource
from argolint.values import dig, get, items, join_pointer, mapping

from . import _external_secret as es
from ._rewrite import lost_groups
from ._sync_error_texts import Diagnosis, names_key
from ._template import target_misreads


def failure_pointer(resource: Resource, found: Diagnosis) -> str:
    """The pointer by cause; empty for the whole object."""
    remote, store = remote_pointer(resource, found), found.detail.get("pointer") or "/spec/secretStoreRef"
    match found.cause:
        case "store-kind-omitted":
            return f"{store}/kind"
        case "store-not-found" | "unmanaged-store" | "namespace-denied":
            return f"{store}/name"
        case "store-not-ready" | "store-credential" | "auth" | "network":
            return store
        case "throttled":
            return pathless_find(resource) or "/spec/refreshInterval"
        case "not-found" | "access-denied":
            return f"{remote}/key" if remote and not remote.endswith("/find") else remote
        case "property-missing":
            return f"{remote}/property" if remote else ""
        case "decode":
            return f"{remote}/decodingStrategy" if remote else ""
        case "invalid-keys" if lost := next(lost_groups(resource.live), None):
            return lost.pointer
        case "invalid-keys":
            return remote.rpartition("/")[0] or "/spec/dataFrom"
        case "template":
            return _template_pointer(resource, found.text)
        case "generator":
            refs = es.generator_refs(resource.live)
            named = next(
                (p for _, _, p in refs if found.entry and p.startswith(f"/spec/{found.entry}/{found.index}/")), ""
            )
            return f"{found.detail.get('pointer') or named or (refs[0][2] if refs else '/spec/dataFrom')}/name"
        case "owned-by-external-secret" | "owned-by-other-controller" | "immutable" | "conflict":
            return "/spec/target/name"
        case "merge-target-missing":
            return "/spec/target/creationPolicy"
        case "delete-not-owner":
            return "/spec/target/deletionPolicy"
        case "duplicate-key":
            return "/spec/data"
        case _:
            return ""


def pathless_find(resource: Resource) -> str:
    """The first entry of dataFrom that searches by an expression in all of the store; empty without one."""
    for index, entry in enumerate(items(resource.live, "spec", "dataFrom")):
        if dig(entry, "find", "name", "regexp") and not dig(entry, "find", "path"):
            return f"/spec/dataFrom/{index}/find"
    return ""


def _template_pointer(resource: Resource, text: str) -> str:
    misread = target_misreads(resource.live) if "bad character" in text or "bad number" in text else ()
    if misread:
        return misread[0].pointer
    data = mapping(resource.live, "spec", "target", "template", "data")
    key = next((k for k in sorted(data, key=len, reverse=True) if f"at key {k}" in text), "")
    if key:
        return "/spec/target/template/data" + join_pointer(key)
    return "/spec/target/template"


def remote_pointer(resource: Resource, found: Diagnosis) -> str:
    """Pointer of the remoteRef, extract or find that failed; empty if it is unknown."""
    place = _failed_entry(resource, found)
    if place is None:
        return ""
    field, index = place
    entry = get(resource.live, f"/spec/{field}/{index}", None)
    inner = (
        "remoteRef" if field == "data" else "extract" if dig(entry, "extract") else "find" if dig(entry, "find") else ""
    )
    return f"/spec/{field}/{index}/{inner}".rstrip("/")


def failed_key(resource: Resource, found: Diagnosis) -> str:
    """The provider's key that failed: from the text, else from its entry; empty if neither is known."""
    place = _failed_entry(resource, found)
    named = found.detail.get("key", "")
    written = es.remote_key(resource.live, *place) if place else ""
    return written if not named or names_key(named, written) else named


def _failed_entry(resource: Resource, found: Diagnosis) -> tuple[str, int] | None:
    """The entry that failed: from the envelope, else the only one with the key."""
    if found.entry:
        return found.entry, found.index
    key = found.detail.get("key", "")
    same = [
        (field, index)
        for field in ("data", "dataFrom")
        for index in range(len(items(resource.live, "spec", field)))
        if key and es.remote_key(resource.live, field, index) == key
    ]
    entries = items(resource.live, "spec", "data"), items(resource.live, "spec", "dataFrom")
    if not same and len(entries[0]) + len(entries[1]) == 1:
        return ("data" if entries[0] else "dataFrom"), 0
    return same[0] if same else None
