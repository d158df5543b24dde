"""Two renders of one revision, and two places of one render."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from msgspec import structs

from argolint import MISSING, App, Object, Resource, ResourceId, Symptom, Want
from argolint.comparison import differences, reordered
from argolint.model import Confidence
from argolint.values import annotations_of, below, join_pointer
from argolint.values.kubernetes import HOOK, api_of

from ..shared import charts
from ..shared.charts import Release
from ._items import is_workload_named
from ._keys import holder
from ._shapes import GENERIC, Kind, checksum_name, classify, differ_only_at_end, is_version_label, unusual_kind
from ._sign import Sign, checksum_values, named_secret, referenced_names


def two_render_signs(app: App) -> Iterator[Sign]:
    """Fields and names that differ between two renders of one revision: certain."""
    pair = app.evidence.get(Want("render"))
    if not pair:
        return
    first, second = ({_identity(app, m): m for m in side if not _is_hook(m)} for side in pair)
    both = [id_ for id_ in sorted(first.keys() & second.keys()) if first[id_] != second[id_]]
    found = [(id_, *difference) for id_ in both for difference in differences(first[id_], second[id_])]
    if any(pointer.endswith("/image") or is_version_label(pointer) for _, pointer, *_ in found):
        return  # these are not random: a commit came between the renders, whose revision the server does not show
    for id_, pointer, one, other in found:
        whole = holder(id_, pointer) if one is MISSING or other is MISSING else None
        kind = classify(id_, pointer, one, other) or ("order" if reordered(one, other) else unusual_kind(pointer))
        yield _render_sign(app, id_, *(whole or (pointer, kind)))
    for id_ in sorted(first.keys() - second.keys()):
        twin = next((o for o in sorted(second.keys() - first.keys()) if _differ_only_in_name(id_, o)), None)
        if twin is not None:
            sign = _render_sign(app, id_, "/metadata/name", "name")
            yield replace(sign, why=f"two renders of one revision name it {id_.name} and {twin.name}")


def one_render_signs(app: App, known: Sequence[Release]) -> Iterator[Sign]:
    """Workloads that hash one template and have different hashes: the template is evaluated again for each of them."""
    for key, places in sorted(checksum_values(app).items()):
        if len({value for _, value in places}) > 1:
            yield from _one_template_signs(app, known, key, places) or ()


Places = Sequence[tuple[Resource, str]]


def _one_template_signs(app: App, known: Sequence[Release], key: str, places: Places) -> Iterator[Sign] | None:
    """Signs of workloads that certainly hash one template: by the chart's record, else by the Secret in the key."""
    for release, item in ((r, i) for r in known for i in r.random()):
        hashing = [(w, v) for w, v in places if is_workload_named(release, item.checksums.get(key, ()), w)]
        one = len(item.templates) == 1 and (checksum_name(key) not in GENERIC or _has_one_secret(app, release))
        if one and len({v for _, v in hashing}) > 1:
            return _disagreeing_signs(
                hashing, key, "proven", f"chart {release.label} hashes one template in all of them"
            )
    secret = named_secret(app, key)
    hashing = [(w, v) for w, v in places if secret is not None and secret.name in referenced_names(w.any)]
    if (
        secret is not None
        and len({v for _, v in hashing}) > 1
        and len({charts.chart_label(w.any) for w, _ in hashing}) == 1
    ):
        return _disagreeing_signs(hashing, key, "likely", f"all of them read {secret.id}, which the key names")
    sole = _sole_secret(app, [w for w, _ in places]) if checksum_name(key) in ("secret", "secrets") else None
    if sole is not None:
        return _disagreeing_signs(
            places, key, "likely", f"{sole.id} is the chart's only Secret, and all of them read it alike"
        )
    return None


def _sole_secret(app: App, workloads: Sequence[Resource]) -> Resource | None:
    """The only Secret of these workloads' one chart, if all of them read it and the same other Secrets and ConfigMaps."""
    labels = {charts.chart_label(w.any) for w in workloads}
    read = {referenced_names(w.any) for w in workloads}
    if len(labels) != 1 or labels == {None} or len(read) != 1:
        return None
    secrets = [r for r in app.of_kind("Secret", "") if r.hook or charts.chart_label(r.any) in labels]
    return secrets[0] if len(secrets) == 1 and not secrets[0].hook and secrets[0].name in next(iter(read)) else None


def _render_sign(app: App, id_: ResourceId, pointer: str, kind: Kind) -> Sign:
    managed = app.resource(id_.key)
    changes = managed.changes if managed is not None else ()
    claims = tuple(Symptom.change(id_, c.pointer) for c in changes if below(c.pointer, pointer))
    why = f"{id_} {pointer}: two renders of one revision differ"
    return Sign(managed.id if managed else id_, pointer, kind, "proven", why, claims)


def _differ_only_in_name(one: ResourceId, other: ResourceId) -> bool:
    return (one.group, one.kind, one.namespace) == (other.group, other.kind, other.namespace) and differ_only_at_end(
        one.name, other.name
    )


def _identity(app: App, manifest: Object) -> ResourceId:
    """The object's identity as Argo CD lists it: a namespaced kind without a namespace gets the destination's."""
    group, version = api_of(manifest)
    metadata = manifest.get("metadata") or {}
    id_ = ResourceId(
        group,
        str(manifest.get("kind", "")),
        metadata.get("namespace", ""),
        metadata.get("name", ""),
        version,
        app.cluster,
    )
    if not id_.namespace and app.resource(id_.key) is None:
        placed = structs.replace(id_, namespace=app.destination_namespace)
        return placed if app.resource(placed.key) is not None else id_
    return id_


def _is_hook(manifest: Object) -> bool:
    annotations = annotations_of(manifest)
    return "helm.sh/hook" in annotations or HOOK in annotations


def _has_one_secret(app: App, release: Release) -> bool:
    """Whether the chart renders one Secret: then `checksum/secret` can hash no other."""
    labels = (charts.chart_label(r.any) for r in app.of_kind("Secret", "") if not r.hook)
    return sum(label is not None and label[0] == release.chart for label in labels) == 1


def _disagreeing_signs(places: Places, key: str, confidence: Confidence, why: str) -> Iterator[Sign]:
    names = ", ".join(sorted(str(w.id) for w, _ in places))
    for workload, _ in places:
        pointer = "/spec/template/metadata/annotations" + join_pointer(key)
        changed = any(c.pointer == pointer for c in workload.changes)
        yield Sign(
            workload.id,
            pointer,
            "checksum",
            confidence,
            f"one render holds different values of {key} in {names}: {why}, and it is evaluated again for each",
            (Symptom.change(workload.id, pointer),) if changed else (),
        )
