"""Hints in a store's settings for a failure with an unclear text: fields that the version drops or ignores, forms of keys.

The versions' fields are data (store_fields.yaml).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from argolint import MISSING, Change, Edit, Fix, Object, Symptom
from argolint.edits import removals, set_field
from argolint.relations.operator_version import OperatorVersion
from argolint.values import below, dig, get, mapping, split_pointer
from argolint.values.knowledge import load
from argolint.values.patterns import regex

from . import _external_secret as es
from . import _stores as stores

_VAULTS = regex(r"key not found in 1Password Vaults: .{1,300}? in: map\[(?P<vaults>[^\[\]]+)\]")
_VAULT = regex(r"(?<!\S)(\S[^:]{0,200}):\d+(?:\s|$)")  # Go's map[My Vault:1 Other:2]
_ARN = regex(r"arn:[\w-]{1,20}:(?:secretsmanager|ssm):(?P<region>[\w-]{1,40}):(?P<account>\d{12})?:")


@dataclass(frozen=True)
class Hint:
    """`says` completes "... fails because", `evidence` is the evidence, `fix` ends the failure, `explains` is the drift that follows."""

    says: str
    fix: Fix
    explains: tuple[Symptom, ...] = ()
    evidence: str = ""


def hints(
    store: stores.Store,
    version: OperatorVersion,
    cause: str,
    topic: str,
    key: str,
    version_wanted: str = "",
    served: frozenset[str] = frozenset(),
) -> Iterator[Hint]:
    """Hints at another root cause than the text's; none for a store that no application shows.

    `served`: the versions that the cluster serves; `version_wanted`: the failing entry's `version`; `topic`: the text's entry of advice.yaml, which may have a
    fault of its own: then the cloud is not checked.
    """
    if store.resource is None or cause not in ("auth", "access-denied", "not-found", "property-missing", "network"):
        return
    lost = tuple(_dropped_field_hints(store, version, served))
    yield from lost
    if cause in ("auth", "network") and topic in ("", "azure-cloud", "azure-application") and not lost:
        yield from _cloud_hints(store)
    yield from _ignored_field_hints(store, version, cause)
    if version_wanted and cause == "not-found":
        yield from _version_hints(store, version_wanted)
    if key and cause in ("access-denied", "not-found", "property-missing"):
        yield from _vault_hints(store, key)
        yield from _region_hints(store, key)
    if key and cause == "not-found":
        yield from _item_id_hints(store, version, key)


def _newest_api_version(version: OperatorVersion, served: frozenset[str]) -> str:
    """The API version for a new store: one that the cluster serves, else that of the operator's version (v1 since v0.16.0)."""
    known = [f"{es.GROUP}/{each}" for each in ("v1", "v1beta1")]
    return next((each for each in known if each in served), known[version.at_least("v0.16.0") is not True])


def _dropped_field_hints(store: stores.Store, version: OperatorVersion, served: frozenset[str]) -> Iterator[Hint]:
    """Fields in Git that the cluster's API lacks: the API server accepts the store and drops them."""
    resource = store.resource
    wanted = str((resource.desired or {}).get("apiVersion") or "") if resource else ""
    for change in resource.changes if resource else ():
        known = _known_field(change)
        if known is None:
            continue
        path, entry = known
        old = wanted.endswith("/v1alpha1") and not entry.get("v1alpha1")
        young = version.at_least(entry["since"]) is False
        field = path.rpartition(".")[2]
        drift = (Symptom.change(resource.id, change.pointer),) if resource else ()
        if young:
            yield Hint(
                f"{_store_text(store)} loses `{field}`, which came with {entry['since']}",
                Fix(
                    f"Upgrade External Secrets to {entry['since']} or later, with its CRDs",
                    "operator",
                    "values of the External Secrets chart",
                    Edit("text", f"The CRD of an older version drops spec.provider.{path}; {_next_step(old)}."),
                ),
                drift,
                f"the operator is {version}; its API drops spec.provider.{path}",
            )
        elif old:
            to = _newest_api_version(version, served)
            yield Hint(
                f"{_store_text(store)} loses `{field}`, which {wanted} does not have",
                Fix(
                    f"Write {_store_text(store)} as {to}, which has the field",
                    "manifest",
                    _store_text(store),
                    Edit("json-patch", set_field(resource.desired if resource else None, "/apiVersion", to)),
                    "force a sync of what reads the store afterwards"
                    if to in served
                    else f"{es.GROUP}/v1 is served by v0.16.0 and later; force a sync of what reads the store afterwards",
                    resource=resource.id if resource else None,
                    effects=("needs-force-sync",),
                ),
                drift,
                f"Git has spec.provider.{path}, the live store does not",
            )


def _next_step(old: bool) -> str:
    return (
        f"then write the store as {es.GROUP}/v1beta1 or v1, and sync it" if old else "sync the store again afterwards"
    )


def _known_field(change: Change) -> tuple[str, Object] | None:
    """The longest path of the table that contains a field which Git has and the live store lacks."""
    if change.live is not MISSING or change.desired is MISSING or not below(change.pointer, "/spec/provider"):
        return None
    table: dict[str, Object] = load(__package__, "store_fields.yaml")["fields"]
    tokens = split_pointer(change.pointer)[2:]
    for length in range(len(tokens), 0, -1):
        path = ".".join(tokens[:length])
        if path in table:
            return path, table[path]
    return None


def _ignored_field_hints(store: stores.Store, version: OperatorVersion, cause: str) -> Iterator[Hint]:
    for entry in load(__package__, "store_fields.yaml")["ignored"]:
        pointer = "/spec/provider/" + entry["field"].replace(".", "/")
        if cause not in entry["causes"] or get(store.manifest, pointer, None) in (None, ""):
            continue
        field, until, later = entry["field"].rpartition(".")[2], entry["until"], version.at_least(entry["until"])
        ignores, without = f"sets `{field}`, which operators before {until} ignore", f"Leave `{field}` out"
        if later is True:
            resource = store.resource
            fix = Fix(
                f"{without}, if the secret is a global one",
                "manifest",
                _store_text(store),
                Edit("json-patch", removals(resource.desired if resource else None, [pointer])),
                "all of its readers then look among global secrets; force a sync of them",
                resource=resource.id if resource else None,
                effects=("needs-force-sync",),
            )
            yield Hint(f"{_store_text(store)} {entry['alone']}", fix, evidence=f"the operator is {version}")
        elif later is False:
            chart = "values of the External Secrets chart"
            fix = Fix(
                f"Upgrade External Secrets to {until} or later",
                "operator",
                chart,
                Edit("text", f"Or {entry['instead']}."),
            )
            yield Hint(
                f"{_store_text(store)} {ignores}",
                fix,
                evidence=f"it is ignored {entry['what']}; the operator is {version}",
            )
        else:
            asked = "kubectl get deployments -A -o wide | grep external-secrets/external-secrets"
            then = f"# before {until}: upgrade, or {entry['instead']}\n# later: {without[0].lower()}{without[1:]} of the store, if the secret is a global one"
            title = f"Ask which release of External Secrets runs: {until} changed `{field}`"
            fix = Fix(title, "live", "the operator", Edit("command", f"{asked}\n{then}"))
            seen = f"before {until} it is ignored {entry['what']}; the operator's version is not known here"
            yield Hint(f"{_store_text(store)} {ignores}, and others look in alone", fix, evidence=seen)


_ITEM_ID = regex(r"(?P<id>[a-z2-7]{26})(?:/.*)?", re.DOTALL)


def _item_id_hints(store: stores.Store, version: OperatorVersion, key: str) -> Iterator[Hint]:
    """A 1Password id, for an operator that accepts only RFC 4122 UUIDs and otherwise looks for a title."""
    table = load(__package__, "store_fields.yaml")["titles_only"]
    found, known = _ITEM_ID.fullmatch(key), table.get(store.provider)
    if (
        found is None
        or known is None
        or version.at_least(known["until"]) is True
        or version.at_least(known["from"]) is False
    ):
        return
    who = "this operator" if version.at_least(known["until"]) is False else f"an operator before {known['until']}"
    yield Hint(
        f"its key is an id, and {who} looks for the title of an item",
        Fix(
            "Write the title of the item in place of its id",
            "manifest",
            "remoteRef.key of the ExternalSecret",
            Edit(
                "text",
                f"{known['until']} and later find items by their id too (external-secrets issue {known['issue']}).",
            ),
        ),
        evidence=f"operators before {known['until']} take no id of 1Password (external-secrets issue {known['issue']})",
    )


def _cloud_hints(store: stores.Store) -> Iterator[Hint]:
    """An Azure vault of one cloud under the environmentType of another."""
    settings = dig(store.manifest, "spec", "provider", "azurekv")
    host = _host(str(dig(settings, "vaultUrl") or ""))
    environment = str(dig(settings, "environmentType") or "PublicCloud")
    for suffix, cloud in load(__package__, "store_fields.yaml")["clouds"].items():
        if host.endswith(f".{suffix}") and environment not in (cloud, "AzureStackCloud"):
            edit = Edit("json-patch", set_field(store.manifest, "/spec/provider/azurekv/environmentType", cloud))
            yield Hint(
                f"the vault of {_store_text(store)} is in {cloud}, its environmentType is {environment}",
                Fix(
                    f"Set environmentType to {cloud}",
                    "manifest",
                    _store_text(store),
                    edit,
                    resource=store.resource.id if store.resource else None,
                ),
            )


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


def _vault_hints(store: stores.Store, key: str) -> Iterator[Hint]:
    """Keys that do not fit the KV version and the mount of the store."""
    settings = (
        dig(store.manifest, "spec", "provider", store.provider) if store.provider in ("vault", "openBao") else None
    )
    if settings is None:
        return
    version, path = str(dig(settings, "version") or "v2"), str(dig(settings, "path") or "").strip("/")
    table = load(__package__, "store_fields.yaml")
    mount, below_mount = (path, key.removeprefix(f"{path}/")) if path else key.partition("/")[::2]
    dynamic = re.match(table["vault_dynamic"], below_mount) and not re.search(table["vault_kv"], mount)
    if version == "v2" and dynamic:
        yield Hint(
            f'"{key}" looks like credentials that Vault makes, and {_store_text(store)} reads KV version 2',
            Fix(
                "Read it with the generator VaultDynamicSecret, or with a store of version v1",
                "manifest",
                "spec.dataFrom of the ExternalSecret",
                Edit(
                    "yaml",
                    "dataFrom:\n- sourceRef:\n    generatorRef:\n      apiVersion: generators.external-secrets.io/v1alpha1\n"
                    "      kind: VaultDynamicSecret   # spec.path: the mount and the key, spec.provider: server and auth of the store\n      name: <its name>",
                ),
                "each refresh of a generator makes new credentials: a refreshInterval below their lease",
            ),
            evidence="KV version 2 puts data/ into the path",
        )
    elif version == "v2" and (key.startswith("data/") or "data" in path.split("/")[1:]):
        mount, _, folder = f"{path}/".partition("/data/")
        where = (
            "the key begins"
            if key.startswith("data/")
            else f"spec.provider.{store.provider}.path {'goes on' if folder else 'ends'}"
        )
        written = (
            f"\nThe path is the mount alone, {mount}; what follows data/ belongs before the key: {folder}{key}."
            if folder
            else ""
        )
        yield Hint(
            f'{where} with "data", which KV version 2 adds by itself',
            Fix(
                'Leave "data" out of key and path',
                "manifest",
                _store_text(store),
                Edit("text", f"The operator reads <path>/data/<key>.{written}"),
            ),
        )


def _version_hints(store: stores.Store, version_wanted: str) -> Iterator[Hint]:
    """An entry's `version` that is not in the provider's form of versions."""
    service = str(dig(store.manifest, "spec", "provider", "aws", "service") or "SecretsManager")
    provider = f"aws/{service}" if store.provider == "aws" else store.provider
    for entry in load(__package__, "store_fields.yaml")["versions"]:
        if provider in entry["provider"] and not re.fullmatch(entry["valid"], version_wanted):
            yield Hint(
                f'its entry asks for version "{version_wanted}", which {_store_text(store)} cannot read',
                Fix(
                    "Leave `version` out, which reads the current one",
                    "manifest",
                    "remoteRef.version of the ExternalSecret",
                    Edit("text", f"The provider of {_store_text(store)} knows {entry['knows']}."),
                ),
                evidence=f"the provider knows {entry['knows']}",
            )


def _region_hints(store: stores.Store, key: str) -> Iterator[Hint]:
    """An ARN of another region than that of the store."""
    found, region = _ARN.match(key), str(dig(store.manifest, "spec", "provider", "aws", "region") or "")
    if found and region and found["region"] != region:
        yield Hint(
            f"its key is of region {found['region']}, and {_store_text(store)} asks {region}",
            Fix(
                f"Read it with a store of the region {found['region']}",
                "manifest",
                "spec.secretStoreRef of the ExternalSecret",
                Edit("text", f"spec.provider.aws.region: {found['region']}"),
            ),
        )


def foreign_vault(store: stores.Store, text: str) -> tuple[str, str] | None:
    """The 1Password vault in the error and the store's own, if they differ: the operator mixed its stores up."""
    named = _VAULTS.search(text)
    settings = dig(store.manifest, "spec", "provider", store.provider)
    own = {*mapping(settings, "vaults"), str(dig(settings, "vault") or "")} - {""}
    searched = set(_VAULT.findall(named["vaults"])) if named else set()
    if not searched or not own or searched & own:
        return None
    return ", ".join(sorted(searched)), ", ".join(sorted(own))


def _store_text(store: stores.Store) -> str:
    return f'{store.ref.kind} "{store.ref.name}"'
