"""What a store is known to hold: the values of the provider `fake` are in the store itself, those of `kubernetes` in Secrets that may be in sight.

The operator says "Secret does not exist" for a missing key, version and property of `fake` alike (pkg/provider/fake, GetSecret).
"""

from __future__ import annotations

import json
from dataclasses import replace
from difflib import get_close_matches

from argolint import App, Fleet, Object, Resource
from argolint.values import enumerated, get, mapping, maps, text_at
from argolint.values.kubernetes import data_keys

from . import _stores as stores
from ._sync_error_general import failing_store
from ._sync_error_pointers import remote_pointer
from ._sync_error_texts import Diagnosis


def diagnosis_by_values(app: App, fleet: Fleet, resource: Resource, found: Diagnosis) -> Diagnosis:
    """The cause where the store's values are in sight: a property or a version is missing, or what was missing is there by now."""
    pointer = remote_pointer(resource, found) if found.cause in ("not-found", "property-missing") else ""
    remote = mapping(get(resource.live, pointer, None)) if pointer else {}
    store = failing_store(app, fleet, resource, found)
    if store.provider == "fake" and text_at(remote, "key"):
        return _of_fake(store.manifest, remote, found, whole="extract" not in pointer)
    if store.provider == "kubernetes" and found.cause == "property-missing":
        return _with_near(found, text_at(remote, "property"), _secret_keys(app, store, text_at(remote, "key")))
    return found


def _of_fake(store: Object, remote: Object, found: Diagnosis, *, whole: bool) -> Diagnosis:
    """`whole`: the entry takes the value as it is, and does not take a JSON object apart."""
    key, version, name = (text_at(remote, field) for field in ("key", "version", "property"))
    held = {
        text_at(entry, "version"): text_at(entry, "value")
        for entry in maps(store, "spec", "provider", "fake", "data")
        if text_at(entry, "key") == key
    }
    if not held:
        keys = tuple(text_at(entry, "key") for entry in maps(store, "spec", "provider", "fake", "data"))
        near = next(iter(get_close_matches(key, keys, n=1, cutoff=0.8)), "")
        return replace(found, detail={**found.detail, "near_key": near})
    if version not in held:
        those = enumerated([f'"{each}"' for each in held if each])
        says = f'the fake provider holds "{key}" {f"in version {those}" if those else "without a version"} alone'
        only = next(iter(held)) if len(held) == 1 else ""
        return replace(found, says=says, topic="not-found-version", detail={**found.detail, "version": only})
    names = properties(held[version])
    if not (whole or name or names):
        return found  # it is there, and is no object
    if not name or name in names:
        what = f'property "{name}" of "{key}"' if name else f'"{key}"'
        return replace(found, says=f"{what} was missing at the last attempt (by now it is there)", passing=True)
    return _with_near(replace(found, cause="property-missing", topic=""), name, names)


def _with_near(found: Diagnosis, name: str, names: tuple[str, ...]) -> Diagnosis:
    """The diagnosis with the missing property, and with the one of a similar name."""
    near = next(iter(get_close_matches(name, names, n=1, cutoff=0.6)), "")
    return replace(found, detail={**found.detail, "property": name, "near": near})


def properties(value: str) -> tuple[str, ...]:
    """The names in a JSON object; none in any other value."""
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        return ()
    return tuple(read) if isinstance(read, dict) else ()


def _secret_keys(app: App, store: stores.Store, name: str) -> tuple[str, ...]:
    """The keys of a Secret of this application that a store of the provider `kubernetes` reads."""
    space = stores.remote_namespace(store)
    held = app.find("", "Secret", space, name)
    return tuple(sorted(data_keys(held.live))) if held is not None and held.live else ()
