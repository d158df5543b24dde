"""One secretKey twice in one ExternalSecret

What it finds: two entries of `spec.data` with the same `secretKey`, also in the template of a ClusterExternalSecret.

Why it hurts: the later entry silently overwrites the earlier one, so the Secret has another value than the manifest suggests. The admission
webhook of newer operators refuses it (`duplicate secretKey found`), and then the sync fails. With `deletionPolicy: Delete` or `Merge` it is
allowed: an entry with a lost key is skipped, and the earlier one counts. That may be intended.

How to fix: give each entry its own key, or remove the wrong one.

Example:

    ExternalSecret shop/paypal lists secretKey "client-id" twice (entries 0 and 2): the value of entry 0 is overwritten.

Sources: external-secrets apis/externalsecrets/v1/externalsecret_validator.go.
"""

import re
from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Rule
from argolint.values import dig, items, mapping

from . import _external_secret as es


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each entry that overwrites an earlier one."""
    for found in es.declared(app):
        listed = items(found.manifest, "spec", "data")
        first: dict[str, int] = {}
        keys = {str(dig(entry, "secretKey")) for entry in listed}
        spare = es.deletion_policy(found.manifest) != "Retain"
        for index, entry in enumerate(listed):
            key = str(dig(entry, "secretKey") or "")
            if key not in first:
                first[key] = index
                continue
            earlier = first[key]
            outcome = (
                f"the value of entry {earlier} counts only while the provider lacks that of entry {index}"
                if spare
                else f"the value of entry {earlier} is overwritten"
            )
            yield Finding(
                message=f'{found.resource.id} lists secretKey "{key}" twice (entries {earlier} and {index}): {outcome}.',
                at=Location(app.ref, found.resource.id, found.pointer(f"/spec/data/{index}/secretKey")),
                severity="info" if spare else None,
                fixes=tuple(_fixes(found, earlier, index, keys)),
            )


def _fixes(found: es.Declared, first: int, index: int, keys: set[str]) -> Iterator[Fix]:
    where = str(found.resource.id)
    entries = items(found.manifest, "spec", "data")
    key, remote = str(dig(entries[index], "secretKey") or ""), mapping(entries[index], "remoteRef")
    property_ = str(remote.get("property") or str(remote.get("key") or "").rpartition("/")[2])
    separator = "_" if "_" in key else "-"
    name = re.sub(r"[^A-Za-z0-9.]+", separator, property_).strip(separator)
    if name and name not in keys:
        place = found.pointer(f"/spec/data/{index}/secretKey")
        edit = Edit("json-patch", [{"op": "replace", "path": place, "value": name}])
        yield Fix(
            f'Call the later entry "{name}"',
            "manifest",
            where,
            edit,
            "workloads that read the overwritten value get the first one again",
        )
    edit = Edit("json-patch", [{"op": "remove", "path": found.pointer(f"/spec/data/{first}")}])
    spare = es.deletion_policy(found.manifest) != "Retain"
    caveat = "no value is left when the provider loses the later one" if spare else ""
    yield Fix("Remove the entry that is overwritten", "manifest", where, edit, caveat, safe=not spare)


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, reads=es.holds_external_secrets)
