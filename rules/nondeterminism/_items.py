"""Signs from the chart's record: the item behind a field, and items that the chart generates although nothing differs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from argolint import App, Fleet, Resource
from argolint.model import Confidence
from argolint.values import fits, join_pointer, mapping, split_pointer
from argolint.values.patterns import regex

from ..shared import chart_catalogue, charts
from ..shared.chart_catalogue import Item
from ..shared.charts import Release
from ._shapes import checksum_name
from ._sign import WORKLOADS, Sign, checksum_values, is_own, named_secret, referenced_names
from ._syncs import has_outlived_sync, is_rewritten


def item_at(resource: Resource, pointer: str, known: Sequence[Release]) -> tuple[Release | None, Item | None]:
    """The known random item behind a field of an object, and the release whose chart generates it."""
    label = charts.chart_label(resource.any)
    of_label = [r for r in known if label is not None and r.chart == label[0]] or list(known)
    tokens = split_pointer(pointer)
    for release in of_label:
        for item in release.random():
            if resource.kind == "Secret":
                for secret in item.secrets:
                    if release.makes_name(secret.name, resource.name) and (
                        len(tokens) < 2 or tokens[-1] in secret.keys
                    ):
                        return release, item
            named = item.checksums.get(tokens[-1], ()) if tokens else ()
            if is_workload_named(release, named, resource):
                return release, item
            if any(_is_other_field(release, field, resource, pointer) for field in item.other_fields):
                return release, item
    return None, None


def is_workload_named(release: Release, named: Sequence[str], workload: Resource) -> bool:
    """Whether `Kind/name` entries match this workload; by its values a chart may turn a StatefulSet into a Deployment."""
    return workload.kind in WORKLOADS and any(release.makes_name(n.partition("/")[2], workload.name) for n in named)


def hashed_items(app: App, sign: Sign) -> Iterator[Item]:
    """The chart's known random items that the checksum hashes, without those that the Application's values already pin."""
    workload = app.resource(sign.resource.key) if sign.kind == "checksum" else None
    if workload is None or sign.release is None:
        return
    for item in sign.release.random():
        carried = is_workload_named(sign.release, item.checksums.get(sign.key, ()), workload)
        if carried and not charts.is_pinned(item, sign.release) and _is_generated_here(app, sign.release, item):
            yield item


def _is_generated_here(app: App, release: Release, item: Item) -> bool:
    """Whether the chart generates the item here: it does so at its default values, or one of its Secrets has a key of it."""
    return item.usual or any(
        release.makes_name(secret.name, resource.name) and set(secret.keys) & _secret_keys(resource)
        for secret in item.secrets
        for resource in app.of_kind("Secret", "")
    )


def sign_with_item(sign: Sign, app: App, known: Sequence[Release]) -> Sign:
    """The sign with the record of its field; for a chart that is known to render equally, a likely sign becomes possible."""
    resource = app.resource(sign.resource.key)
    if sign.item is not None or resource is None:
        return sign
    release, item = item_at(resource, sign.pointer, known)
    release = release or charts.release_of(resource, known)
    alike = release is not None and chart_catalogue.is_deterministic(release.chart, release.version)
    if item is None and release is not None and sign.confidence == "likely" and alike:
        note = f"chart {release.chart} is known to render alike each time at its default values"
        return replace(sign, release=release, confidence="possible", why=f"{sign.why}\n{note}")
    return replace(sign, release=release, item=item)


def hashed_secret_signs(app: App, found: Sequence[Sign]) -> Iterator[Sign]:
    """Secrets behind checksums and CA bundles that certainly differ, while the Secrets themselves are masked."""
    shown = {s.resource.key for s in found if s.kind == "secret"}
    for sign in found:
        object_ = app.resource(sign.resource.key)
        if object_ is None:
            continue
        if sign.kind == "checksum" and (sign.confidence == "proven" or not sign.claims):
            yield from (s for s in _hashed_secret_signs(app, sign, object_) if s.resource.key not in shown)
        elif sign.kind == "ca-bundle" and sign.confidence == "proven" and sign.item is None:
            yield from (s for s in _certificate_signs(app, sign, object_) if s.resource.key not in shown)


def known_secret_signs(app: App, fleet: Fleet, known: Sequence[Release]) -> Iterator[Sign]:
    """Secrets that the chart is known to generate at these values, although nothing differs now.

    Values in Git cannot be read: then it is likely only after a rewrite at the last sync. A Secret that stayed unchanged over a sync of another
    revision, or that two workloads hash equally, counts as pinned.
    """
    if not any(next(release.random(), None) for release in known):
        return
    for resource in app.of_kind("Secret", ""):
        if resource.hook or not is_own(app, fleet, resource) or not resource.desired_known:
            continue
        for key in sorted(_secret_keys(resource)):
            pointer = "/data" + join_pointer(key)
            release, item = item_at(resource, pointer, known)
            if (
                release is None
                or item is None
                or charts.is_pinned(item, release)
                or _is_constant(app, resource, release, item)
            ):
                continue
            written = is_rewritten(app, resource)
            confidence: Confidence = "likely" if release.complete or written else "possible"
            why = f"chart {release.label} generates a new {item.what} at each render unless its values pin it ({item.when})"
            if written:
                why += "\nthe last sync wrote the Secret again"
            elif release.complete:
                why += "\nthe Application's own values do not pin it, and it has no others"
            else:
                why += f"\nwhether {release.values_at} pins it cannot be read through Argo CD"
            yield Sign(resource.id, pointer, "secret", confidence, why, (), release, item)


def _is_other_field(release: Release, field: str, resource: Resource, pointer: str) -> bool:
    """Whether `Kind/name: /pointer/*/of` matches this field."""
    where, _, pattern = field.partition(": ")
    if pattern == "metadata.name":
        pattern = "/metadata/name"
    return fits(pattern, pointer) and release.makes_name(where, f"{resource.kind}/{resource.name}")


def _hashed_secret_signs(app: App, sign: Sign, workload: Resource) -> Iterator[Sign]:
    """The Secrets behind a checksum, by the chart's record; without one, the Secret in the checksum's key, or the only one that the workload reads."""
    secrets = [r for r in app.of_kind("Secret", "") if not r.hook]
    if sign.release is not None and sign.item is not None:
        why = f"{sign.key} hashes it in chart {sign.release.label}; its values are masked"
        for item in sign.release.random():
            if not is_workload_named(sign.release, item.checksums.get(sign.key, ()), workload):
                continue
            for secret, resource in ((s, r) for s in item.secrets for r in secrets):
                if sign.release.makes_name(secret.name, resource.name):
                    data = mapping(resource.desired or {}, "data")
                    for key in (k for k in secret.keys if not data or k in data):
                        yield Sign(
                            resource.id,
                            "/data" + join_pointer(key),
                            "secret",
                            sign.confidence,
                            f"{resource.id}: {why}",
                            (),
                            sign.release,
                            item,
                        )
        return
    named = named_secret(app, sign.key)
    read = [r for r in secrets if r.name in referenced_names(workload.any)]
    if named is not None:
        why = f"{named.id}: {sign.key} names it; its values are masked"
    elif len(read) == 1 and re.search(r"secret|pass|token|credential|cert|tls", checksum_name(sign.key)):
        named, why = read[0], f"{read[0].id}: the only Secret that {sign.resource} reads; its values are masked"
    if named is not None:
        yield Sign(named.id, "/data", "secret", "likely", why, (), sign.release)


def _certificate_signs(app: App, sign: Sign, webhook: Resource) -> Iterator[Sign]:
    """The keys of the only certificate from the CA bundle's chart: a new authority signs a new one."""
    label = charts.chart_label(webhook.any)
    secrets = [r for r in app.of_kind("Secret", "") if not r.hook and label and charts.chart_label(r.any) == label]
    found = [(r, keys) for r in secrets if len(keys := sorted(filter(_CERTIFICATE.search, _secret_keys(r)))) > 1]
    if len(found) == 1:
        ((secret, keys),) = found
        for key in keys:
            why = f"{secret.id}: the only certificate that the chart renders; its values are masked"
            yield Sign(secret.id, "/data" + join_pointer(key), "secret", "likely", why, (), sign.release)


_CERTIFICATE = regex(r"\.(?:crt|key|pem)$|^(?:ca|cert|key)$")


def _secret_keys(secret: Resource) -> set[str]:
    return set(mapping(secret.desired, "data")) | set(mapping(secret.desired, "stringData"))


def _is_constant(app: App, resource: Resource, release: Release, item: Item) -> bool:
    for key, places in checksum_values(app).items():
        named = item.checksums.get(key, ())
        values = [v for w, v in places if is_workload_named(release, named, w)]
        if len(values) > 1 and len(set(values)) == 1:
            return True
    return has_outlived_sync(app, resource)
