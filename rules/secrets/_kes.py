"""Converts a Kubernetes External Secrets manifest into the `external-secrets.io/v1` manifests that replace it.

The official converter (kes-to-eso) writes v1alpha1, which no supported operator serves, drops `versionStage`, `versionId`, `isBinary` and
`dataFromWithOptions`, skips files with `path` or an unknown template key, and adds a property to Vault entries; this module keeps all of that.
Meaning of the fields: kubernetes-external-secrets lib/poller.js and lib/backends/*.js.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from argolint import Object
from argolint.values import dig, items, mapping
from argolint.values.patterns import regex

API_VERSION = "external-secrets.io/v1"
UNKNOWN = "CHANGE-ME"
"""Placeholder for a value that only the old controller's environment has."""

_DATA = r"\s*data(?:\.(?P<name{0}>[A-Za-z_]\w*)|\[\s*['\"](?P<quoted{0}>[^'\"]+)['\"]\s*\])\s*"
# <%= data.a %>, for which ${data.a} is another spelling
_LODASH = regex(f"<%[=-]{_DATA.format('')}%>|\\${{{_DATA.format('2')}}}")
_IBM_PROPERTIES = {
    "username_password": "username or password",
    "imported_cert": "certificate, private_key or intermediate",
    "public_cert": "certificate, private_key or intermediate",
    "private_cert": "certificate, private_key or ca_chain",
}
"""Types of IBM's secrets that External Secrets reads by property only (providers/v1/ibm/provider.go)."""
_TRACKING = regex(r"^(argocd\.argoproj\.io/|kubectl\.kubernetes\.io/last-applied)")


@dataclass(frozen=True)
class Migration:
    """`manifests`: the stores and then the ExternalSecret; `notes`: points that a person must check."""

    manifests: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]

    @property
    def external_secret(self) -> dict[str, Any]:
        return self.manifests[-1]


def convert(old: Object, secret: str) -> Migration | None:
    """The replacement of one `kubernetes-client.io/v1` ExternalSecret that writes the Secret `secret`; None for a backend without a successor."""
    spec = mapping(old, "spec") or mapping(old, "secretDescriptor")  # the name of spec before version 2
    backend = str(spec.get("backendType") or "")
    if backend not in _PROVIDERS:
        return None
    notes: list[str] = []
    namespace, name = str(dig(old, "metadata", "namespace") or ""), str(dig(old, "metadata", "name") or "")
    mounts = _mounts(spec) if backend == "vault" else ("",)
    stores = {mount: f"{_slug(backend)}-{_slug(mount)}".strip("-") for mount in mounts}
    main = mounts[0]
    data, data_from = [], []
    for entry in items(spec, "dataFrom"):
        mount, key = _mount_and_key(backend, spec, str(entry))
        data_from.append({"extract": {"key": key}} | _store_reference(stores, main, mount))
    for entry in _maps(spec, "dataFromWithOptions"):
        # read there, but without effect (lib/backends/kv-backend.js)
        whole = {k: v for k, v in entry.items() if k != "isBinary"}
        mount, remote = _remote_reference(backend, spec, whole, notes)
        data_from.append({"extract": remote} | _store_reference(stores, main, mount))
    for entry in _entries(spec):
        if entry.get("path"):
            data_from.append(_find_entry(entry, notes))
            continue
        mount, remote = _remote_reference(backend, spec, entry, notes)
        data.append(
            {"secretKey": str(entry.get("name") or ""), "remoteRef": remote} | _store_reference(stores, main, mount)
        )
    target: dict[str, Any] = {"name": secret, "creationPolicy": "Owner"}
    if template := _template(spec, notes):
        target["template"] = template
    if spec.get("keyByName"):
        notes.append("keyByName: write the keys as `<secret group>/<type>/<name>`, with the group that holds them")
    external_secret = {
        "apiVersion": API_VERSION,
        "kind": "ExternalSecret",
        "metadata": _metadata(old, name, namespace),
        "spec": {
            "refreshInterval": "1h0m0s",
            "secretStoreRef": {"kind": "SecretStore", "name": stores[main]},
            "target": target,
            **({"data": data} if data else {}),
            **({"dataFrom": data_from} if data_from else {}),
        },
    }
    made = tuple(
        {
            "apiVersion": API_VERSION,
            "kind": "SecretStore",
            "metadata": {"name": stores[mount], **({"namespace": namespace} if namespace else {})},
            "spec": {"provider": _PROVIDERS[backend](spec, mount)},
        }
        for mount in mounts
    )
    if any(UNKNOWN in str(store) or UNKNOWN.lower() in str(store) for store in made):
        notes.append(f"{UNKNOWN}: what the old controller had in its environment (address, region, credentials)")
    return Migration((*made, external_secret), tuple(dict.fromkeys(notes)))


def _metadata(old: Object, name: str, namespace: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name}
    if namespace:
        found["namespace"] = namespace
    for field in ("labels", "annotations"):
        kept = {k: v for k, v in mapping(old, "metadata", field).items() if not _TRACKING.match(k)}
        if kept:
            found[field] = kept
    return found


def _maps(spec: Object, field: str) -> Iterator[Object]:
    return (entry for entry in items(spec, field) if isinstance(entry, Mapping))


def _entries(spec: Object) -> tuple[Object, ...]:
    """`data`, or `properties`, its older name, which is read only if `data` is absent."""
    return tuple(_maps(spec, "data" if spec.get("data") is not None else "properties"))


def _slug(text: str) -> str:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", text)
    return re.sub(r"[^a-z0-9]+", "-", spaced.lower()).strip("-")


def _mounts(spec: Object) -> tuple[str, ...]:
    """The secret engines that the keys begin with, the most used one first."""
    keys = [str(e) for e in items(spec, "dataFrom")]
    keys += [str(e.get("key") or "") for e in (*_entries(spec), *_maps(spec, "dataFromWithOptions"))]
    mounts = [_mount_and_key("vault", spec, key)[0] for key in keys if key]
    return tuple(sorted(dict.fromkeys(mounts), key=lambda m: (-mounts.count(m), m))) or ("secret",)


def _mount_and_key(backend: str, spec: Object, key: str) -> tuple[str, str]:
    """Mount and key: Vault keys were API paths (`<mount>/data/<key>` unless kvVersion is 1)."""
    if backend != "vault":
        return "", key
    if spec.get("kvVersion") != 1 and "/data/" in key:
        mount, _, rest = key.partition("/data/")
        return mount, rest
    mount, _, rest = key.partition("/")
    return mount, rest


def _store_reference(stores: Mapping[str, str], main: str, mount: str) -> dict[str, Any]:
    if mount == main:
        return {}
    return {"sourceRef": {"storeRef": {"kind": "SecretStore", "name": stores[mount]}}}


def _remote_reference(backend: str, spec: Object, entry: Object, notes: list[str]) -> tuple[str, dict[str, Any]]:
    mount, key = _mount_and_key(backend, spec, str(entry.get("key") or ""))
    kind = str(entry.get("secretType") or "")
    if kind:
        key = f"{kind}/{key}"
    if backend == "vault" and spec.get("kvVersion") != 1 and "/data/" not in str(entry.get("key") or ""):
        notes.append(
            f'"{entry.get("key")}" has no "/data/": is "{mount}" a mount of KV version 2 (else version: v1 in the store)?'
        )
    remote: dict[str, Any] = {"key": key}
    wanted = _property(kind, entry.get("property"))
    if wanted is not None:
        # lodash writes a[0].b, gjson a.0.b
        remote["property"] = re.sub(r"\[(\d+)\]", r".\1", wanted)
    elif kind in _IBM_PROPERTIES:
        notes.append(f'"{key}": a secret of type {kind} is read by a property ({_IBM_PROPERTIES[kind]}): name it')
    if entry.get("versionId"):
        remote["version"] = f"uuid/{entry['versionId']}"
    elif entry.get("versionStage") or entry.get("version") is not None:
        remote["version"] = str(entry.get("versionStage") or entry["version"])
    if entry.get("isBinary") is True:
        remote["decodingStrategy"] = "Base64"
        notes.append(f'"{key}": drop decodingStrategy if it is a SecretBinary of AWS, which arrives decoded')
    return mount, remote


def _property(kind: str, value: Any) -> str | None:
    """The property of one entry. KES used {payload: {...}} for a kv secret of IBM, External Secrets uses the payload itself."""
    if value is None:
        return None
    return (str(value).removeprefix("payload").removeprefix(".") or None) if kind == "kv" else str(value)


def _find_entry(entry: Object, notes: list[str]) -> dict[str, Any]:
    if entry.get("recursive") is not True:
        notes.append(f'"{entry["path"]}": find always reads the whole tree below the path')
    return {
        "find": {"path": str(entry["path"]), "name": {"regexp": ".*"}},
        "rewrite": [{"regexp": {"source": ".*/(.*)", "target": "$1"}}],
    }


def _template(spec: Object, notes: list[str]) -> dict[str, Any]:
    old = mapping(spec, "template")
    kind = old.get("type") or spec.get("type")
    found: dict[str, Any] = {}
    if kind:
        found["type"] = str(kind)
    metadata = {f: _go_template(v, notes) for f in ("labels", "annotations") if (v := dig(old, "metadata", f))}
    if metadata:
        found["metadata"] = metadata
    data = {k: _go_template(v, notes) for k, v in mapping(old, "stringData").items()}
    for key, value in mapping(old, "data").items():
        data[key] = _go_template(_decoded(str(value), key, notes), notes)
    if data:
        found["data"] = data
    if old.get("immutable"):
        notes.append("immutable: set spec.target.immutable")
    unread = sorted(set(old) - {"type", "metadata", "stringData", "data", "immutable", "apiVersion", "kind"})
    if unread:
        notes.append(f"template keys without a counterpart: {', '.join(unread)}")
    return {"engineVersion": "v2", "mergePolicy": "Merge", **found} if found else {}


def _decoded(text: str, key: str, notes: list[str]) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        notes.append(f'template.data "{key}" is no base64 text: look at it')
        return text


def _go_template(value: Any, notes: list[str]) -> Any:
    """lodash templates as Go templates; text that only Go would treat as an action (`{{`) is escaped."""
    if isinstance(value, Mapping):
        return {k: _go_template(v, notes) for k, v in value.items()}
    if not isinstance(value, str):
        return value
    made, at = "", 0
    for found in _LODASH.finditer(value):
        name, quoted = found["name"] or found["name2"], found["quoted"] or found["quoted2"]
        made += _literal(value[at : found.start()]) + (
            "{{ ." + name + " }}" if name else '{{ index . "' + quoted + '" }}'
        )
        at = found.end()
    made += _literal(value[at:])
    if "<%" in made or "${" in made:
        notes.append("a lodash expression is left: write it as a Go template (sprig)")
    return made


def _literal(text: str) -> str:
    return text.replace("{{", '{{ "{{" }}')


def _aws(service: str) -> Any:
    def provider(spec: Object, mount: str) -> dict[str, Any]:
        role = {"role": str(spec["roleArn"])} if spec.get("roleArn") else {}
        return {"aws": {"service": service, "region": str(spec.get("region") or UNKNOWN), **role}}

    return provider


def _vault(spec: Object, mount: str) -> dict[str, Any]:
    login = {
        "mountPath": str(spec.get("vaultMountPoint") or "kubernetes"),
        "role": str(spec.get("vaultRole") or UNKNOWN),
    }
    version = "v1" if spec.get("kvVersion") == 1 else "v2"
    return {"vault": {"server": f"https://{UNKNOWN}", "path": mount, "version": version, "auth": {"kubernetes": login}}}


def _gcp(spec: Object, mount: str) -> dict[str, Any]:
    return {"gcpsm": {"projectID": str(spec.get("projectId") or UNKNOWN)}}


def _azure(spec: Object, mount: str) -> dict[str, Any]:
    url = f"https://{spec.get('keyVaultName') or UNKNOWN}.vault.azure.net"
    return {
        "azurekv": {
            "vaultUrl": url,
            "tenantId": UNKNOWN,
            "authSecretRef": _placeholder_references("clientId", "clientSecret"),
        }
    }


def _ibm(spec: Object, mount: str) -> dict[str, Any]:
    auth = {"secretRef": {"secretApiKeySecretRef": {"name": UNKNOWN.lower(), "key": "apiKey"}}}
    return {"ibm": {"serviceUrl": f"https://{UNKNOWN}", "auth": auth}}


def _akeyless(spec: Object, mount: str) -> dict[str, Any]:
    auth = {"secretRef": _placeholder_references("accessID", "accessType", "accessTypeParam")}
    return {"akeyless": {"akeylessGWApiURL": f"https://{UNKNOWN}", "authSecretRef": auth}}


def _placeholder_references(*keys: str) -> dict[str, Any]:
    return {key: {"name": UNKNOWN.lower(), "key": key} for key in keys}


_PROVIDERS = {
    "secretsManager": _aws("SecretsManager"),
    "systemManager": _aws("ParameterStore"),
    "vault": _vault,
    "gcpSecretsManager": _gcp,
    "azureKeyVault": _azure,
    "ibmcloudSecretsManager": _ibm,
    "akeyless": _akeyless,
}
"""Backends with a successor; External Secrets v2.0.0 removed alicloudSecretsManager's provider."""
