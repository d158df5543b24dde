"""The provider behind a store: its name, the store's credential, and its fixes.

The fixes are data (provider_advice.yaml). Without a visible store, words that only one provider's errors contain identify it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from argolint import App, Edit, Fix, Fleet, Json, Object
from argolint.edits import set_field
from argolint.relations.operator_version import OperatorVersion
from argolint.values import dig, enumerated, get, join_pointer, mapping
from argolint.values.knowledge import load
from argolint.values.patterns import regex

from . import _external_secret as es
from . import _stores as stores

UNKNOWN = "other"
_ACCOUNTS = ("serviceAccountRef", "serviceAccount")
_WRITE = "The identity that the store uses needs the right to make and change secrets there, and the key must not belong to someone else."
_SINCE = regex(r"\[(?P<since>v\d{1,9}\.\d{1,9}\.\d{1,9})\+: (?P<text>[^\[\]]*)\]")
_NO_CREDENTIAL = ("caProvider", "credConfig")  # a CA certificate, a ConfigMap of an identity federation


@dataclass(frozen=True)
class Credential:
    """A Secret or ServiceAccount for the store's authentication; `namespace` is empty if the store has none."""

    kind: str
    name: str
    namespace: str
    key: str
    pointer: str


def provider_name(store: stores.Store | None, text: str = "") -> str:
    """The entry of provider_advice.yaml: by the store, else by its error text; `other` if neither is enough."""
    table: Mapping[str, Object] = load(__package__, "provider_advice.yaml")
    if store is not None and store.provider:
        service = dig(store.manifest, "spec", "provider", "aws", "service")
        name = f"aws/{service or 'SecretsManager'}" if store.provider == "aws" else store.provider
        return name if name in table else UNKNOWN
    found = (name for name, entry in table.items() if any(re.search(sign, text) for sign in entry["signs"]))
    return next(found, UNKNOWN)


_THROUGH_OTHERS = {
    "vault": ("iam", "gcp"),
    "openBao": ("iam", "gcp"),
    "infisical": ("awsAuthCredentials", "azureAuthCredentials", "gcpIamAuthCredentials", "gcpIdTokenAuthCredentials"),
}
"""Ways of a provider to log in through a cloud, whose errors the store then shows too."""
_ANY = ("akeyless", "webhook")  # it may log in through any cloud; any server answers


def answering_provider(store: stores.Store | None) -> str:
    """The provider whose answers the store's errors can be; empty if several can, or it is unknown."""
    if store is None or store.provider in _ANY:
        return ""
    auth = dig(store.manifest, "spec", "provider", store.provider, "auth")
    return "" if any(dig(auth, way) for way in _THROUGH_OTHERS.get(store.provider, ())) else store.provider


def may_have_said(store: stores.Store, text: str) -> bool:
    """Whether a text holds a sign of the store's own provider."""
    entry: Object = load(__package__, "provider_advice.yaml")[provider_name(store)]
    return any(re.search(sign, text) for sign in entry["signs"])


def facts(store: stores.Store | None, version: OperatorVersion, text: str = "") -> dict[str, Any]:
    """The provider's facts for advice.yaml, as this operator knows them: provider, identity, grant, write, throttle, compare, find, property_is, reach."""
    entry: Object = load(__package__, "provider_advice.yaml")[provider_name(store, text)]
    known = store is not None and bool(store.provider)
    title = entry["title"]
    if known and store is not None and title == "the provider":
        title = f"the provider ({store.provider})"
    settings = mapping(store.manifest, "spec", "provider", store.provider) if store is not None else {}
    if known and store is not None and store.provider == "kubernetes":
        title = f"Kubernetes, namespace {stores.remote_namespace(store)}"
    used = credentials(store) if store is not None else ()
    found = {
        "provider": title,
        "identity": " ".join(
            part for part in (_credentials_text(used), _renewal_text(entry["renew"], settings, known)) if part
        ),
        "grant": entry["grant"],
        "write": entry.get("write") or _WRITE,
        "throttle": entry.get("throttle", ""),
        "compare": entry["compare"],
        "find": entry.get("find", ""),
        "property_is": entry["property"],
        "reach": entry["reach"],
    }
    return {"retries": bool(entry.get("retries")), **{name: _known_text(text, version) for name, text in found.items()}}


def provider_texts(name: str) -> dict[str, str]:
    """Title, right and comparison of a provider of provider_advice.yaml, without what belongs to a store of External Secrets."""
    entry: Object = load(__package__, "provider_advice.yaml")[name]
    return {"provider": entry["title"], "grant": entry["grant"], "compare": _SINCE.sub("", entry["compare"])}


def _known_text(text: str, version: OperatorVersion) -> str:
    """The text without what this operator is too old for; where the version is not known, with the release that it takes."""

    def kept(found: re.Match[str]) -> str:
        known = version.at_least(found["since"])
        note = "" if known else f" ({found['since']} and later)"
        return "" if known is False else f"{found['text']}{note}"

    return _SINCE.sub(kept, text)


def credentials(store: stores.Store) -> tuple[Credential, ...]:
    """Every Secret and ServiceAccount that the settings of the store's provider name, in their order."""
    base = f"/spec/provider{join_pointer(store.provider)}"
    return tuple(_credentials_in(get(store.manifest, base, None), base, store.namespace)) if store.provider else ()


def _credentials_in(node: Any, pointer: str, namespace: str) -> Iterator[Credential]:
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from _credentials_in(item, f"{pointer}/{index}", namespace)
        return
    if not isinstance(node, Mapping):
        return
    field = pointer.rpartition("/")[2]
    name, key = node.get("name"), node.get("key")
    secret = isinstance(key, str) or field.lower().endswith("secretref")
    if isinstance(name, str) and (secret or field in _ACCOUNTS):
        kind = "ServiceAccount" if field in _ACCOUNTS else "Secret"
        stated = node.get("namespace")
        yield Credential(kind, name, namespace or str(stated or ""), str(key or ""), pointer)
        return
    for child, value in node.items():
        if child not in _NO_CREDENTIAL:
            yield from _credentials_in(value, pointer + join_pointer(str(child)), namespace)


def _credentials_text(found: tuple[Credential, ...]) -> str:
    """`The store reads Secret "token" (key a) in namespace n.`; empty when it names none."""
    keys: dict[tuple[str, str, str], list[str]] = {}
    for each in found:
        keys.setdefault((each.kind, each.name, each.namespace), []).append(each.key)
    texts = [
        f'{kind} "{name}"{_keys_text(names)} in {f"namespace {namespace}" if namespace else "the namespace of each ExternalSecret"}'
        for (kind, name, namespace), names in keys.items()
    ]
    return f"The store uses {enumerated(texts)}." if texts else ""


def _keys_text(names: list[str]) -> str:
    found = [name for name in dict.fromkeys(names) if name]
    return f" (key{'s' if len(found) > 1 else ''} {', '.join(found)})" if found else ""


def _renewal_text(ways: Mapping[str, str], settings: Object, known: bool) -> str:
    """The way to renew the credential, by the block in the store; all ways if the store is not visible."""
    if not known:
        return ways.get("") or next(iter(ways.values()))
    return next((say for path, say in ways.items() if path and dig(settings, *path.split("."))), ways.get("", ""))


def credentials_without_namespace(store: stores.Store) -> tuple[Credential, ...]:
    """References of a ClusterSecretStore without a namespace: the operator uses each ExternalSecret's namespace, or refuses them."""
    if store.ref.kind != "ClusterSecretStore":
        return ()
    return tuple(each for each in credentials(store) if not each.namespace)


def credential_named(store: stores.Store, name: str) -> Credential | None:
    """The store's credential of this name; None if it uses none."""
    return next((each for each in credentials(store) if each.name == name), None)


def namespaces_with(app: App, fleet: Fleet, kind: str, name: str) -> tuple[str, ...]:
    """Namespaces of this cluster in which applications have an object of this kind and name, or a maker of that Secret."""
    makers = ((es.GROUP, "ExternalSecret"), (es.SEALED_GROUP, "SealedSecret")) if kind == "Secret" else ()
    found = {
        key.namespace
        for group, each in (("", kind), *makers)
        for key in fleet.of_kind(app.cluster, group, each)
        if key.name == name
    }
    return tuple(sorted(found))


def namespaces_fix(app: App, fleet: Fleet, store: stores.Store) -> Fix | None:
    """The fix with the namespaces of a ClusterSecretStore's credentials, if applications have each name in only one namespace."""
    operations: list[dict[str, Json]] = []
    for each in credentials_without_namespace(store):
        found = namespaces_with(app, fleet, each.kind, each.name)
        if len(found) != 1:
            return None
        operations += set_field(store.manifest, f"{each.pointer}/namespace", found[0])
    if not operations:
        return None
    return Fix(
        f'Give the namespace of each Secret and ServiceAccount that {store.ref.kind} "{store.ref.name}" names',
        "manifest",
        f"{store.ref.kind} {store.ref.name}",
        Edit("json-patch", operations),
        "force a sync of its ExternalSecrets afterwards",
        resource=store.resource.id if store.resource else None,
        effects=("needs-force-sync",),
    )
