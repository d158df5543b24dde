"""One secretKey twice in one ExternalSecret

What it finds: two entries of `spec.data` with the same `secretKey`.

Why it hurts: the later entry overwrites the earlier one in silence, so the Secret holds another value than a reader of the
manifest expects. The admission webhook of newer operators refuses it (`duplicate secretKey found`), which then fails the sync.

How to fix: give each entry its own key, or remove the one that is not meant.

Example:

    ExternalSecret shop/paypal lists secretKey "client-id" twice (entries 0 and 2): the value of entry 0 is overwritten.

Sources: external-secrets apis/externalsecrets/v1/externalsecret_validator.go.
"""

import re
from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Resource, Rule
from argolint.values import dig, items, mapping

from . import external_secret as es


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each entry that overwrites an earlier one."""
    for resource in es.external_secrets(app):
        first: dict[str, int] = {}
        for index, entry in enumerate(items(resource.any, "spec", "data")):
            key = str(dig(entry, "secretKey") or "")
            if key not in first:
                first[key] = index
                continue
            yield Finding(
                message=f'{resource.id} lists secretKey "{key}" twice (entries {first[key]} and {index}): the value of entry '
                f"{first[key]} is overwritten.",
                at=Location(app.ref, resource.id, f"/spec/data/{index}/secretKey"),
                fixes=tuple(_fixes(resource, key, first[key], index)),
            )


def _fixes(resource: Resource, key: str, first: int, index: int) -> Iterator[Fix]:
    where = f"ExternalSecret {resource.namespace}/{resource.name}"
    entries = items(resource.any, "spec", "data")
    remote = mapping(entries[index], "remoteRef")
    told = str(remote.get("property") or str(remote.get("key") or "").rpartition("/")[2])
    separator = "_" if "_" in key else "-"
    name = re.sub(r"[^A-Za-z0-9.]+", separator, told).strip(separator)
    if name and name not in {str(dig(e, "secretKey")) for e in entries}:
        edit = Edit("json-patch", [{"op": "replace", "path": f"/spec/data/{index}/secretKey", "value": name}])
        yield Fix(
            f'Call the later entry "{name}"',
            "manifest",
            where,
            edit,
            "workloads that read the overwritten value get the first one again",
        )
    edit = Edit("json-patch", [{"op": "remove", "path": f"/spec/data/{first}"}])
    yield Fix("Remove the entry that is overwritten", "manifest", where, edit, safe=True)


RULE = Rule(
    id="external-secret-duplicate-key",
    family="secrets",
    severity="warning",
    doc=__doc__,
    check=check,
    reads=es.holds_external_secrets,
)
