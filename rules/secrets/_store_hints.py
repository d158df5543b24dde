"""Hints in a store's settings for a failure with an unclear text: fields that the version drops or ignores, forms of keys.

The versions' fields are data (store_fields.yaml).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from argolint import MISSING, Change, Fix, Object, Symptom
from argolint.edits import removals, set_field
from argolint.edits.advice import advice
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
    """`says` completes "... fails because", `evidence` is the evidence, `fixes` end the failure, `explains` is the drift that follows; `sure`: nothing else fits."""

    says: str
    fixes: tuple[Fix, ...]
    explains: tuple[Symptom, ...] = ()
    evidence: str = ""
    sure: bool = True


def hints(
    store: stores.Store,
    version: OperatorVersion,
    cause: str,
    topic: str,
    key: str,
    version_wanted: str = "",
    secret_key: str = "",
    found_keys: Sequence[str] = (),
    served: frozenset[str] = frozenset(),
) -> Iterator[Hint]:
    """Hints at another root cause than the text's; none for a store that no application shows.

    `served`: the versions that the cluster serves; `version_wanted` and `secret_key`: the failing entry's `version` and key of the Secret; `found_keys`: keys that the store finds; `topic`: the text's entry of advice.yaml, which may have a
    fault of its own: then the cloud is not checked.
    """
    if store.resource is None or cause not in ("auth", "access-denied", "not-found", "property-missing", "network"):
        return
    lost = tuple(_dropped_field_hints(store, version, served))
    yield from lost
    if cause in ("auth", "network") and topic in ("", "azure-cloud", "azure-application") and not lost:
        yield from _cloud_hints(store)
    if cause in ("auth", "network", "not-found"):
        yield from _site_hints(store, version)
    if topic == "address":
        yield from _no_address_hints(store)
    yield from _ignored_field_hints(store, version, cause)
    if version_wanted and cause == "not-found":
        yield from _version_hints(store, version_wanted)
    if key and cause in ("access-denied", "not-found", "property-missing"):
        yield from _vault_hints(store, key)
        if store.provider in ("vault", "openBao") and cause != "access-denied":
            yield from _mount_hints(store, key, topic)
        yield from _region_hints(store, key)
    if key and cause == "not-found":
        yield from _item_id_hints(store, version, key)
        yield from _field_hints(store, key, secret_key)
        yield from _arn_end_hints(store, key)
        yield from _spelling_hints(store, key, found_keys)


def _newest_api_version(version: OperatorVersion, served: frozenset[str]) -> str:
    """The API version for a new store: one that the cluster serves, else that of the operator's version (v1 since v0.16.0)."""
    known = [f"{es.GROUP}/{each}" for each in ("v1", "v1beta1")]
    return next((each for each in known if each in served), known[version.at_least("v0.16.0") is not True])


def _dropped_field_hints(store: stores.Store, version: OperatorVersion, served: frozenset[str]) -> Iterator[Hint]:
    """Fields in Git that the cluster's API lacks: the API server accepts the store and drops them."""
    resource = store.resource
    manifest = resource.desired if resource else None
    wanted = str((manifest or {}).get("apiVersion") or "")
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
                _advised("older-crd", store, since=entry["since"], path=path, old=old),
                drift,
                f"the operator is {version}; its API drops spec.provider.{path}",
            )
        elif old:
            to = _newest_api_version(version, served)
            yield Hint(
                f"{_store_text(store)} loses `{field}`, which {wanted} does not have",
                _advised("older-api", store, to=to, served=to in served, patch=set_field(manifest, "/apiVersion", to)),
                drift,
                f"Git has spec.provider.{path}, the live store does not",
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
        says = f"{_store_text(store)} sets `{field}`, which operators before {until} ignore"
        facts = {"field": field, "until": until, "instead": entry["instead"]}
        if later is True:
            patch = removals(store.resource.desired if store.resource else None, [pointer])
            fixes = _advised("field-read", store, **facts, patch=patch)
            yield Hint(f"{_store_text(store)} {entry['alone']}", fixes, evidence=f"the operator is {version}")
        elif later is False:
            seen = f"it is ignored {entry['what']}; the operator is {version}"
            yield Hint(says, _advised("field-ignored", store, **facts), evidence=seen)
        else:
            seen = f"before {until} it is ignored {entry['what']}; the operator's version is not known here"
            yield Hint(f"{says}, and others look in alone", _advised("field-perhaps", store, **facts), evidence=seen)


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
        _advised("item-id", store, until=known["until"], issue=known["issue"]),
        evidence=f"operators before {known['until']} take no id of 1Password (external-secrets issue {known['issue']})",
    )


_VARIABLE = regex(r"[A-Z][A-Z0-9]{0,60}(?:_[A-Z0-9]{1,60}){1,9}")


def _field_hints(store: stores.Store, key: str, secret_key: str) -> Iterator[Hint]:
    """The name of a variable as the title of an item of 1Password: it is rather the label of a field."""
    if store.provider == "onepassword" and key == secret_key and _VARIABLE.fullmatch(key):
        yield Hint(
            f'its key "{key}" is spelt as a field, and 1Password takes an item\'s title',
            _advised("field-for-item", store, key=key),
            evidence="remoteRef.key is the title of an item, remoteRef.property the label of a field",
            sure=False,
        )


_ARN_END = regex(r"(?P<name>(?!arn:).{1,500})-(?P<end>(?=[a-z\d]*[A-Z])(?=[A-Z\d]*[a-z])[A-Za-z\d]{6})")


def _arn_end_hints(store: stores.Store, key: str) -> Iterator[Hint]:
    """A name of AWS Secrets Manager with what looks like the end of its ARN: a dash and six characters at random, which are no part of the name."""
    found = _ARN_END.fullmatch(key)
    service = str(dig(store.manifest, "spec", "provider", "aws", "service") or "SecretsManager")
    if found and store.provider == "aws" and service == "SecretsManager":
        yield Hint(
            f'its key ends like an ARN ("-{found["end"]}"), and AWS wants the name',
            _advised("arn-end", store, name=found["name"]),
            evidence="AWS Secrets Manager ends each ARN with a dash and six characters at random",
            sure=False,
        )


def _spelling_hints(store: stores.Store, key: str, found_keys: Sequence[str]) -> Iterator[Hint]:
    """A key with other separators than those that the store finds: `app-db` where it finds `app/cache`, or one without its first slash."""
    for found in found_keys:
        parts = found.strip("/").split("/")
        alike = max((n for n in range(1, len(parts)) if key.startswith("-".join(parts[:n]) + "-")), default=0)
        slash = found.startswith("/") and key.startswith(f"{parts[0]}/")
        if ("/" in key.strip("/") and not slash) or not ((alike and "/" not in key) or slash):
            continue
        like = f"/{key}" if slash else "/".join(parts[:alike]) + "/" + key.removeprefix("-".join(parts[:alike]) + "-")
        yield Hint(
            f'"{key}" is not spelt like "{found}", which {_store_text(store)} finds',
            _advised("spelling", store, key=key, like=like, found=found),
            evidence=f'an ExternalSecret of this application reads "{found}" from it and is Ready',
            sure=False,
        )
        return


def _cloud_hints(store: stores.Store) -> Iterator[Hint]:
    """An Azure vault of one cloud under the environmentType of another."""
    settings = dig(store.manifest, "spec", "provider", "azurekv")
    host = _host(str(dig(settings, "vaultUrl") or ""))
    environment = str(dig(settings, "environmentType") or "PublicCloud")
    for suffix, cloud in load(__package__, "store_fields.yaml")["clouds"].items():
        if host.endswith(f".{suffix}") and environment not in (cloud, "AzureStackCloud"):
            patch = set_field(store.manifest, "/spec/provider/azurekv/environmentType", cloud)
            says = f"the vault of {_store_text(store)} is in {cloud}, its environmentType is {environment}"
            yield Hint(says, _advised("cloud", store, cloud=cloud, patch=patch))


def _site_hints(store: stores.Store, version: OperatorVersion) -> Iterator[Hint]:
    """An address of the web site in place of that of the API, and one with a slash at its end."""
    for field, name in load(__package__, "store_fields.yaml")["sites"].get(store.provider, {}).items():
        url = str(dig(store.manifest, "spec", "provider", store.provider, field) or "")
        host, bare = _host(url), url.rstrip("/")
        cut = url != bare and version.at_least("v0.10.3") is False
        below_host = bare.partition("://")[2].partition("/")[2]
        if not host or below_host or host.startswith(f"{name}."):
            to, fault = bare, "ends with a slash, which this operator does not remove" if cut else ""
        else:
            to = f"https://{name}.bitwarden.com" if host == "vault.bitwarden.com" else f"{bare}/{name}"
            fault = "is the address of the web site, not of the API"
        if host and fault:
            patch = set_field(store.manifest, f"/spec/provider/{store.provider}/{field}", to)
            says = f"{field} of {_store_text(store)} {fault}"
            yield Hint(
                says,
                _advised("site", store, to=to, field=field, patch=patch),
                evidence=f"{field} is {url}",
                sure=cut or host.startswith("vault.bitwarden."),
            )


def _no_address_hints(store: stores.Store) -> Iterator[Hint]:
    """An address that its provider needs, and the API server accepts the store without."""
    for field, like in load(__package__, "store_fields.yaml")["addresses"].get(store.provider, {}).items():
        if not dig(store.manifest, "spec", "provider", store.provider, field):
            says = f"{_store_text(store)} lacks {field}, the address that the operator asks"
            path = f"spec.provider.{store.provider}.{field}"
            yield Hint(says, _advised("no-address", store, field=field, path=path, like=like))


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
    engine, _, below_engine = below_mount.partition("/")
    if engine in table["vault_engines"]:  # the mount is before the key, and the store reads another one
        mount, below_mount = engine, below_engine
    dynamic = re.match(table["vault_dynamic"], below_mount) and not re.search(table["vault_kv"], mount)
    if version == "v2" and dynamic:
        yield Hint(
            f'"{key}" looks like credentials that Vault makes, and {_store_text(store)} reads KV version 2',
            _advised("dynamic", store, path=mount or path),
            evidence=f"the operator asks Vault for {vault_path(store, key)}: KV version 2 puts data/ into the path",
            sure=mount != engine,
        )
    elif version == "v2" and (key.startswith("data/") or "data" in path.split("/")[1:]):
        mount, _, folder = f"{path}/".partition("/data/")
        own = key.removeprefix(f"{path}/")
        where = (
            "the key begins"
            if key.startswith("data/")
            else f"spec.provider.{store.provider}.path {'goes on' if folder else 'ends'}"
        )
        written = (
            f"The path is the mount alone, {mount}; what follows data/ belongs before the key: {folder}{own}."
            if folder
            else ""
        )
        yield Hint(
            f'{where} with "data", which KV version 2 adds by itself',
            _advised("data-twice", store, written=written),
        )


def vault_path(store: stores.Store, key: str) -> str:
    """The path that the operator asks Vault for (providers/v1/vault, buildPath): a mount before the key counts once."""
    settings = dig(store.manifest, "spec", "provider", store.provider)
    path, versioned = str(dig(settings, "path") or ""), str(dig(settings, "version") or "v2") == "v2"
    if not path:
        first, _, rest = key.partition("/")
        return key if "/data/" in key or not versioned else f"{first}/data/{rest}"
    if key.startswith(f"{path}/"):
        key = key.removeprefix(f"{path}/")
        key = key.removeprefix("data/") if versioned else key
    return f"{path}/data/{key}" if versioned else f"{path}/{key}"


def _mount_hints(store: stores.Store, key: str, topic: str) -> Iterator[Hint]:
    """A key that begins with a mount, and a path that goes on behind the mount."""
    settings = dig(store.manifest, "spec", "provider", store.provider)
    path = str(dig(settings, "path") or "").strip("/")
    first, _, rest = key.partition("/")
    facts = {"provider": store.provider, "path": path}
    asked = vault_path(store, key)
    if path and rest and first != path and first in _DEFAULT_MOUNTS:
        yield Hint(
            f'its key begins with "{first}/", a usual mount, and {_store_text(store)} reads the mount "{path}"',
            _advised("other-mount", store, **facts, mount=first, rest=rest),
            evidence=f"the operator asks Vault for {asked}",
            sure=False,
        )
    mount, _, folder = path.partition("/")
    if folder and topic == "vault-kv-version" and str(dig(settings, "version") or "v2") == "v2":
        yield Hint(
            f'{_store_text(store)} has the path "{path}", and KV version 2 wants the mount alone there',
            _advised("folder-in-path", store, **facts, mount=mount, rest=f"{folder}/{key}"),
            evidence=f"the operator asks Vault for {asked}",
            sure=False,
        )


_DEFAULT_MOUNTS = ("secret", "kv", "kv-v2", "kvv2")


def _version_hints(store: stores.Store, version_wanted: str) -> Iterator[Hint]:
    """An entry's `version` that is not in the provider's form of versions."""
    service = str(dig(store.manifest, "spec", "provider", "aws", "service") or "SecretsManager")
    provider = f"aws/{service}" if store.provider == "aws" else store.provider
    for entry in load(__package__, "store_fields.yaml")["versions"]:
        if provider in entry["provider"] and not re.fullmatch(entry["valid"], version_wanted):
            yield Hint(
                f'its entry asks for version "{version_wanted}", which {_store_text(store)} cannot read',
                _advised("version", store, knows=entry["knows"]),
                evidence=f"the provider knows {entry['knows']}",
            )


def _region_hints(store: stores.Store, key: str) -> Iterator[Hint]:
    """An ARN of another region than that of the store."""
    found, region = _ARN.match(key), str(dig(store.manifest, "spec", "provider", "aws", "region") or "")
    if found and region and found["region"] != region:
        yield Hint(
            f"its key is of region {found['region']}, and {_store_text(store)} asks {region}",
            _advised("region", store, region=found["region"]),
        )


def _advised(topic: str, store: stores.Store, **facts: object) -> tuple[Fix, ...]:
    """The fixes of a topic in advice.yaml."""
    resource = store.resource.id if store.resource else None
    return advice(__package__, f"hint/{topic}", {"store": _store_text(store), **facts}, resource)


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
