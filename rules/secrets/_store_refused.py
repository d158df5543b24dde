"""A store that the operator's own admission webhook refuses: it never reaches the cluster, and its sync fails.

The webhook asks the provider to validate the settings. Most refusals are about the namespaces of references: a ClusterSecretStore must set them,
a SecretStore may not (up to v0.9.18 not even its own).

Sources: external-secrets apis/externalsecrets/v1/secretstore_validator.go, runtime/esutils (ValidateSecretSelector,
ValidateServiceAccountSelector); issues 2727, 2769, 2892, 3520, 5013.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from argolint import App, Edit, Fix, Json, Resource
from argolint.values import dig, enumerated, join_pointer, text_at
from argolint.values.patterns import regex

from . import _stores as stores
from ._provider import answering_provider, credentials_without_namespace
from ._sync_error_texts import classify, cleaned_text

_REFUSED = regex(
    r'admission webhook "validate\.(?:cluster)?secretstore\.external-secrets\.io" denied the request: (?P<why>.+)',
    re.DOTALL,
)
_RETRIED = regex(r"(?<!\s)\s*\(retried \d{1,9} times\)\.?$")


def webhook_refusal(app: App, resource: Resource) -> str:
    """The webhook's reason to refuse this store at the last sync; empty without a refusal."""
    operation = app.operation
    if operation is None or not operation.failed or resource.desired is None:
        return ""
    message = next((text_at(result, "message") for result in operation.results_of(resource.id)), "")
    found = _REFUSED.search(message)
    return cleaned_text(_RETRIED.sub("", found["why"])) if found else ""


def refusal_topic(store: stores.Store, why: str) -> str:
    """The entry of advice.yaml; if a provider reports "missing: ...auth" for a reference, it means its namespace (issue 5013)."""
    found = classify(why, provider=answering_provider(store))
    if found is not None and found.topic:
        return found.topic
    if credentials_without_namespace(store):
        return "credential-namespace"
    return "credential-own-namespace" if store.namespace and tuple(placed_references(store)) else "provider-settings"


def topic_meaning(which: str, text: str) -> str:
    """The meaning of an entry of advice.yaml for the sentence of a finding."""
    return {
        "credential-namespace": "a ClusterSecretStore must give a namespace in each reference",
        "credential-own-namespace": "a SecretStore may not give a namespace in its references",
    }.get(which, f'"{text}"')


def placed_references(store: stores.Store) -> Iterator[tuple[str, str]]:
    """Pointer and namespace of every reference below spec.provider with a namespace, CA certificates among them."""
    yield from _placed_in(dig(store.manifest, "spec", "provider"), "/spec/provider")


def _placed_in(node: Json, pointer: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        if isinstance(node.get("name"), str) and node.get("namespace"):
            yield f"{pointer}/namespace", str(node["namespace"])
        for key, value in node.items():
            yield from _placed_in(value, pointer + join_pointer(str(key)))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _placed_in(value, f"{pointer}/{index}")


def no_namespaces_fix(store: stores.Store) -> Fix | None:
    """The references of a SecretStore without their namespaces."""
    found = tuple(placed_references(store))
    if not found or store.resource is None:
        return None
    elsewhere = sorted({namespace for _, namespace in found} - {store.namespace})
    return Fix(
        f"Take {enumerated([pointer for pointer, _ in found], limit=4)} out of {store.ref.kind} {store.ref.name}",
        "manifest",
        f"{store.ref.kind} {store.ref.name}",
        Edit("json-patch", [{"op": "remove", "path": pointer} for pointer, _ in found]),
        f"what is in namespace {enumerated(elsewhere)} must then move to {store.namespace}, or the store must become a ClusterSecretStore"
        if elsewhere
        else "",
        resource=store.resource.id,
    )
