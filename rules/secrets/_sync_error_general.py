"""The general advice on a failed ExternalSecret: the entry of its cause in advice.yaml, with the facts of its store and provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from argolint import GONE, App, Fix, Fleet, Resource
from argolint.edits.advice import advice
from argolint.relations.operator_version import version_of
from argolint.values import dig, items
from argolint.values.knowledge import load
from argolint.values.patterns import regex

from . import _external_secret as es
from . import _stores as stores
from ._advice_facts import facts
from ._rewrite import lost_groups
from ._store_hints import foreign_vault
from ._sync_error_generators import failed_generator, has_generator_run
from ._sync_error_pointers import failed_key
from ._sync_error_secret import is_encoding, secret_id, written_once_fix
from ._sync_error_texts import Diagnosis

_TYPE_KEPT = regex(r"\btype: Invalid value: [^,]{0,200}: field is immutable")
"""The Secret exists with another type, next to another fault."""


def general_fixes(app: App, fleet: Fleet, resource: Resource, found: Diagnosis) -> tuple[Fix, ...]:
    """The fixes of the cause in advice.yaml."""
    store = failing_store(app, fleet, resource, found)
    if found.cause == "invalid-keys" and any(lost_groups(resource.live)):
        return ()
    generated = has_generator_run(found) and not found.topic
    if found.cause == "store-kind-omitted" or generated or foreign_vault(store, found.text) is not None:
        return ()  # the generator exists; or the key is right, and eso-known-bug has the fix
    force = es.force_sync(es.FULL_NAME, resource.namespace, resource.name)
    sync = force if es.force_sync_works(resource.live) else "# force-sync does nothing with this refresh setting"
    known = facts(app, fleet, store, resource.namespace, resource.name, found.text, found.detail, sync)
    own = {
        "secret": es.target_name(resource.any),
        "key": failed_key(resource, found) or "its keys",
        "finds": any(dig(entry, "find") for entry in items(resource.live, "spec", "dataFrom")),
        "rewritten": any(dig(entry, "rewrite") for entry in items(resource.any, "spec", "dataFrom")),
        "controller": found.detail.get("controller", "<class>"),
        "generator": " ".join(failed_generator(resource, found)),
        "json_path": str(dig(store.manifest, "spec", "provider", "webhook", "result", "jsonPath") or ""),
        **_template_facts(app, fleet, resource, found),
    }
    advised = advice(__package__, found.advice, {**known, **own})
    if found.cause != "immutable" and _TYPE_KEPT.search(found.text):
        advised += advice(__package__, "immutable-type", {**known, **own})
    if found.cause != "immutable":
        return advised
    once = (written_once_fix(resource),) if es.keeps_first_value(resource.live) else ()
    return tuple(replace(fix, plays=GONE, resource=secret_id(resource)) for fix in advised[:1]) + once + advised[1:]


def _template_facts(app: App, fleet: Fleet, resource: Resource, found: Diagnosis) -> Mapping[str, object]:
    """A function that the template calls, a variable that it reads, the release that brings it to engine v2, the object that it reads, whether engine v1 reads the template
    and whether it encodes.
    """
    engine = str(dig(resource.live or resource.any, "spec", "target", "template", "engineVersion") or "")
    old = engine == "v1" or (not engine and str((resource.any or {}).get("apiVersion")).endswith("/v1alpha1"))
    since = "" if old else str(load(__package__, "template_functions.yaml").get(found.detail.get("function")) or "")
    is_late = bool(since) and version_of(app, fleet).at_least(since) is not True
    return {
        "function": found.detail.get("function", ""),
        "variable": found.detail.get("variable", ""),
        "of": found.detail.get("of", ""),
        "source": found.detail.get("source", ""),
        "item": found.detail.get("item", ""),
        "missing": found.detail.get("missing", ""),
        "since": since if is_late else "",
        "engine_v1": old,
        "encoded": is_encoding(resource, found.detail.get("item", "")),
    }


def failing_store(app: App, fleet: Fleet, resource: Resource, found: Diagnosis) -> stores.Store:
    """The store in the error, else that of the failed entry, else the first."""
    refs = es.store_refs(resource.live or resource.any)
    if name := found.detail.get("store"):
        ref = es.StoreRef(found.detail["kind"], name, "")
    else:
        own = f"/spec/{found.entry}/{found.index}/" if found.entry else ""
        of_entry = (ref for ref in refs if own and ref.pointer.startswith(own))
        ref = next(iter((*of_entry, *refs)), es.StoreRef("SecretStore", "", ""))
    return stores.find(app, fleet, ref, resource.namespace)
