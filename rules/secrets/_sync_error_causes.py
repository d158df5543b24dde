"""The shared causes of an ExternalSecret's failure: its store, or a fault that affects all readers of the same store."""

from __future__ import annotations

import json
from collections.abc import Iterator

from argolint import App, Follows, Object, Resource, Symptom
from argolint.values import dig
from argolint.values.patterns import regex

from . import _external_secret as es
from ._sync_error_texts import Diagnosis

_STORE_CAUSES = {
    "store-not-found": "does not exist",
    "unmanaged-store": "is served by no running operator",
    "store-not-ready": "is not ready",
    "namespace-denied": "does not admit namespaces that use it",
    "store-credential": "names credentials that cannot be read",
    "store-settings": "lacks a setting, or holds a wrong one",
    "auth": "is refused by its provider",
    "throttled": "is slowed down by its provider",
    "network": "does not reach its provider",
}
_TARGET_CAUSES = ("owned-by-external-secret",)
_EVALUATED = regex(r"<nil>|<no value>")
"""What Go's templates print for a value that they do not have: Helm has evaluated the template of the Secret."""


def follows(app: App, resource: Resource, obj: Object | None, found: Diagnosis) -> Iterator[Follows]:
    """What the failure follows from: another ExternalSecret with the same target, or its stores.

    `obj`: the state that was checked: live, or desired for a prediction.
    """
    if found.cause in _TARGET_CAUSES:
        yield Follows.finding("external-secret-duplicate-target", resource.id)
    if found.cause == "admission" and _EVALUATED.search(json.dumps(dig(obj, "spec", "target", "template"))):
        yield Follows.finding("external-secret-value-unused", resource.id, mended=True)
    if found.cause not in _STORE_CAUSES:
        return
    stores = tuple(ref.id(resource.namespace, app.cluster) for ref in es.store_refs(obj))
    for store in stores:
        yield Follows(Symptom.health(store))
        yield Follows(Symptom.missing(store))
    if len(stores) == 1:
        (store,) = stores
        title = f"{store} {_STORE_CAUSES[found.cause]} (cluster {app.cluster})."
        yield Follows.common(title, "store", found.cause, *store.key)
