"""The facts for advice.yaml: from the object, its store and provider, and the error text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from argolint import App, Fleet
from argolint.edits.advice import Shell
from argolint.redaction import excerpt
from argolint.relations.operator_version import version_of
from argolint.values import dig, enumerated, get, mapping, text_at
from argolint.values.knowledge import load
from argolint.values.kubernetes import data_keys
from argolint.values.patterns import regex

from . import _external_secret as es
from . import _provider
from . import _stores as stores
from ._refresh_cost import is_seldom_read

_FROM_TEXT = ("subject", "vault", "project", "principal", "action", "resource", "path", "absent")
_EXPIRED = regex(r"(?i)expired|invalid_grant|token is not yet valid")
_ROLE = regex(r"^arn:([\w-]+):sts::(\w+):assumed-role/([^/]+)/.*$")
_OF_NODE = regex(r"arn:[\w-]+:sts::\w+:assumed-role/[^/]+/i-[0-9a-f]{8,17}")
_NO_KEY = regex(r'cannot find secret data for key:? "([^"]{1,253})"')
_NAME = regex(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_OF_CLUSTER = "A ClusterSecretStore must give `namespace` in every secretRef and serviceAccountRef; without it the namespace of the ExternalSecret is searched. "
_BY_ITSELF = "by itself the operator retries within 7 min, before v0.14 within 17 min"


def facts(
    app: App,
    fleet: Fleet,
    store: stores.Store,
    namespace: str,
    name: str,
    text: str,
    detail: Mapping[str, str],
    sync: str,
) -> dict[str, Any]:
    """The facts for every topic; `sync` is the command that retries the object itself, or a comment."""
    ref = store.ref
    account_ns, account = _service_account(store, namespace)
    found = {each: detail.get(each) or f"<{each}>" for each in _FROM_TEXT}
    if not detail.get("subject"):
        found["subject"] = f"system:serviceaccount:{account_ns}:{account}"
    if not detail.get("project"):
        found["project"] = str(dig(store.manifest, "spec", "provider", "gcpsm", "projectID") or "<project>")
    found["role"] = role_of(found["principal"])
    found["permissions"] = f"--{detail.get('type', 'secrets').removesuffix('s')}-permissions"
    no_key = key[1] if (key := _NO_KEY.search(text)) else ""
    secret_ns, secret = _credential_secret(store, namespace, detail, no_key)
    return {
        **_provider.facts(store, version_of(app, fleet), text),
        **found,
        "ns": namespace,
        "name": name,
        "kind": ref.kind,
        "store": ref.name,
        "plural": es.PLURAL.get(ref.kind, "secretstores"),
        "in_ns": () if ref.kind == "ClusterSecretStore" else ("-n", namespace),
        "in_log": f'"{name}"',
        "seldom": is_seldom_read(app, ref),
        "sync": Shell(sync),
        "then": Shell(sync.removeprefix("# then ")),
        "again": Shell(_retry_steps(ref, namespace, sync)),
        "lists": bool(detail.get("action")) and not detail.get("resource"),
        "node": _OF_NODE.fullmatch(detail.get("principal") or "") is not None,
        "expired": bool(_EXPIRED.search(text)),
        "account": account,
        "account_ns": account_ns,
        "member": f"serviceAccount:{_cluster_project(store)}.svc.id.goog[{account_ns}/{account}]",
        "no_key": no_key,
        "of_cluster": _OF_CLUSTER if ref.kind == "ClusterSecretStore" else "",
        "held_keys": _held_keys(app, secret_ns, secret) if no_key else "",
        "credential": secret,
        "credential_ns": secret_ns,
        "about": _missing_credential(app, fleet, text, {"namespace": store.namespace or "", **detail}),
        "unplaced": enumerated(
            [
                *(f'{c.pointer} ({c.kind} "{c.name}")' for c in _provider.credentials_without_namespace(store)),
                *_authorities_without_namespace(store),
            ],
            limit=6,
        )
        or "every secretRef and serviceAccountRef",
        **_authority(store),
        **_vault_login(store),
        "verbs": "get, list, watch" + (", create, update, patch, delete" if stores.is_pushed_to(app, ref) else ""),
        "remote": _valid_or_placeholder(
            stores.remote_namespace(store),
            "remoteNamespace",
        ),
    }


def _held_keys(app: App, namespace: str, name: str) -> str:
    """A sentence with the keys of a Secret of this application; empty where they are not known."""
    held = app.find("", "Secret", namespace, name)
    keys = sorted(data_keys(held.live or held.desired)) if held is not None else []
    quoted = [f'"{excerpt(key)}"' for key in keys]
    return f"It has {enumerated(quoted, 'key', 5)} alone. " if keys else ""


def _authority(store: stores.Store) -> dict[str, str]:
    """The field for the CA of the provider's server (empty: the provider has none), and which CA the store trusts now."""
    known: Mapping[str, str] = load(__package__, "store_fields.yaml")["authorities"]
    if not store.provider:
        return {"ca_place": "spec.provider", "trusts": ""}
    if store.provider not in known:
        return {"ca_place": "", "trusts": ""}
    place = f"/spec/provider/{store.provider}/{known[store.provider]}".rstrip("/")
    settings = get(store.manifest, place, None)
    provided = mapping(settings, "caProvider")
    if provided:
        where = f" in namespace {text_at(provided, 'namespace')}" if provided.get("namespace") else ""
        key = f'key "{text_at(provided, "key")}" of ' if provided.get("key") else ""
        trusts = (
            f'It trusts what {key}{text_at(provided, "type") or "Secret"} "{text_at(provided, "name")}"{where} holds'
        )
    elif dig(settings, "caBundle"):
        trusts = "It trusts what caBundle holds"
    else:
        trusts = f"It trusts only the public CAs: {place} names no other"
    return {"ca_place": place, "trusts": f"{excerpt(trusts, 600)}."}


_ROLES = {
    "kubernetes": ("role", "mountPath"),
    "jwt": ("role", "path"),
    "gcp": ("role", "path"),
    "iam": ("vaultRole", "path"),
}
"""Ways to log in to Vault by a role: the field of its name, and that of the mount."""


def _vault_login(store: stores.Store) -> dict[str, str]:
    """Whose policies count at Vault, and the command that shows them."""
    auth = mapping(store.manifest, "spec", "provider", store.provider, "auth")
    for way, (field, place) in _ROLES.items():
        if role := text_at(auth, way, field):
            mount = text_at(auth, way, place) or {"iam": "aws"}.get(way, way)
            return {"holder": f'Vault role "{role}"', "shown_by": f"`vault read auth/{mount}/role/{role}`"}
    if auth.get("tokenSecretRef"):
        return {"holder": "the store's token", "shown_by": "`vault token lookup` with it"}
    return {"holder": "the store's login", "shown_by": "`vault token lookup` after it"}


def _authorities_without_namespace(store: stores.Store) -> Iterator[str]:
    """The caProviders of a store that name no namespace; the only reference of a SecretStore that may name one."""
    for name, provider in mapping(store.manifest, "spec", "provider").items():
        authority = mapping(provider, "caProvider")
        if authority and not authority.get("namespace"):
            yield f'/spec/provider/{name}/caProvider ({text_at(authority, "type")} "{text_at(authority, "name")}")'


def role_of(principal: str) -> str:
    """The role of a session of AWS; the principal itself if it is none."""
    return _ROLE.sub(r"arn:\1:iam::\2:role/\3", principal)


def _retry_steps(ref: es.StoreRef, namespace: str, sync: str) -> str:
    """The step after the repair of a store: first the store is retried, then its readers."""
    plural = es.PLURAL.get(ref.kind)
    if not plural or not ref.name:
        return f"{sync}   # afterwards"
    where = "" if ref.kind == "ClusterSecretStore" else namespace
    first = es.force_sync(f"{plural}.external-secrets.io", where, ref.name)
    return f"{first}   # afterwards; {_BY_ITSELF}\n{sync}"


def _service_account(store: stores.Store, namespace: str) -> tuple[str, str]:
    """Namespace and name of the ServiceAccount that the store uses, or placeholders."""
    for each in _provider.credentials(store):
        if each.kind == "ServiceAccount":
            return _valid_or_placeholder(each.namespace or namespace, "namespace"), _valid_or_placeholder(
                each.name, "ServiceAccount"
            )
    return "<namespace of the operator>", "external-secrets"


def _credential_secret(store: stores.Store, namespace: str, detail: Mapping[str, str], key: str) -> tuple[str, str]:
    """Namespace and name of the Secret in the text, else of the first one of which the store reads the key, or any."""
    named = detail.get("secret", "")
    for each in _provider.credentials(store):
        if each.kind == "Secret" and named in ("", each.name) and key in ("", each.key):
            return each.namespace or namespace, each.name
    return detail.get("namespace") or namespace, named or "<Secret>"


def _cluster_project(store: stores.Store) -> str:
    settings = dig(store.manifest, "spec", "provider", "gcpsm")
    own = dig(settings, "auth", "workloadIdentity", "clusterProjectID")
    return _valid_or_placeholder(str(own or dig(settings, "projectID") or ""), "project of the cluster")


def _valid_or_placeholder(name: str, otherwise: str) -> str:
    return name if _NAME.fullmatch(name) else f"<{otherwise}>"


def _missing_credential(app: App, fleet: Fleet, text: str, detail: Mapping[str, str]) -> str:
    """The missing part of the credential, from the text, and the other places with one of that name."""
    if key := _NO_KEY.search(text):
        return f'The Secret has no key "{key[1]}".'
    for named, field in (("Secret", "secret"), ("ServiceAccount", "account")):
        if name := detail.get(field):
            kind = "ConfigMap" if f'configmaps "{name}" not found' in text else named
            namespace = detail.get("namespace", "")
            others = [each for each in _provider.namespaces_with(app, fleet, kind, name) if each != namespace]
            where = f" in namespace {namespace}" if namespace else ""
            elsewhere = f"; one of that name is in namespace {enumerated(others)}" if others else ""
            return f'{kind} "{name}"{where} is missing{elsewhere}.'
    return "The error names it."
