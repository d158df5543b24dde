"""Differences between live and desired that no commit made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from argolint import App, Change, Fleet, Resource, Symptom
from argolint.model import Confidence
from argolint.values import dig, labels_of, split_pointer

from . import charts
from .charts import Release
from .items import item_at
from .shapes import Kind, alike, classify, generated, twins
from .sign import Sign, own
from .syncs import Synced, by_argocd, outlived, synced, written_here

Place = tuple[Resource, Change, Kind]


def drift(app: App, fleet: Fleet, known: Sequence[Release]) -> Iterator[Sign]:
    """Signs among the differences that Argo CD shows, of fields that nobody but a sync wrote."""
    at = synced(app)
    found: list[Place] = []
    others: list[Change] = []
    for resource in (r for r in app.changed if own(app, fleet, r)):
        for change in resource.changes:
            if change.writer is not None and not by_argocd(change.writer):
                continue  # somebody else wrote it: a live edit, a controller, a rotation
            kind = classify(resource.id, change.pointer, change.desired, change.live)
            if kind is None:
                others.append(change)
            else:
                found.append((resource, change, kind))
    elsewhere: list[Place] = []
    for resource, change, kind in found:
        if written_here(at, resource, change):
            yield _from_outside(app, _at_one_revision(app, resource, change, kind))
        else:
            elsewhere.append((resource, change, kind))
    if at.same:
        yield from _names(app, at)
    yield from (_from_outside(app, sign) for sign in _after_a_move(app, at, elsewhere, others, known))


def _at_one_revision(app: App, resource: Resource, change: Change, kind: Kind) -> Sign:
    revision = ", ".join(r[:12] for r in app.revisions if r)
    if change.writer is not None:
        why = f"Argo CD wrote one value at revision {revision} and renders another at the same revision; nobody else wrote the field"
        return _shown(resource, change, kind, "proven", why)
    why = f"revision {revision} was synced and now renders another value; who wrote the live one is not recorded"
    return _shown(resource, change, kind, "likely" if kind not in ("config", "value") else "possible", why)


def _after_a_move(
    app: App, at: Synced, found: Sequence[Place], others: Sequence[Change], known: Sequence[Release]
) -> Iterator[Sign]:
    """The last sync did not write this value at this revision, as far as is known: a difference may be the commit's own.

    A checksum follows a real change of a ConfigMap or Secret, or the chart's version label; what the chart is known to
    draw, or what moved although nothing else did, is not the commit's.
    """
    bumped = any(_is_version_label(change.pointer) for change in others)
    configs = any(kind == "config" for *_, kind in found)
    lone = not (others or configs or any(r.missing or r.extra for r in app.resources))
    for resource, change, kind in found:
        release, item = item_at(app, resource, change.pointer, known)
        if kind == "secret" and outlived(app, resource):
            continue  # an earlier commit left it as it was, so this one changed it
        if item is not None and release is not None and not charts.pinned(item, release):
            why = f"chart {release.label} draws the {item.what} anew at each render ({', '.join(item.functions)})"
            yield _shown(resource, change, kind, "likely", why)
        elif kind == "secret" and resource.kind == "Secret":
            likely = generated(change.pointer) and _by_helm(app, resource)
            if lone and likely and not (at.moved and _decrypted(app)):
                why = "nothing else that Git renders changed with it"
                yield _shown(resource, change, kind, "likely", why)
            elif likely:
                yield _shown(
                    resource, change, kind, "possible", "its name is that of a generated value; Git may have changed it"
                )
        elif kind == "checksum" and not bumped:
            if lone and not any(k == "secret" for *_, k in found):
                yield _shown(resource, change, kind, "likely", "nothing that it could hash differs")
            elif lone:
                yield _shown(resource, change, kind, "possible", "a Secret of the application differs as well")
        elif kind == "stamp":
            drawn = alike(str(change.desired), str(change.live)) or not at.moved
            yield _shown(
                resource, change, kind, "likely" if drawn else "possible", "it marks the time or the turn of a render"
            )
        elif kind == "ca-bundle" and lone:
            yield _shown(resource, change, kind, "likely", "a certificate authority that nothing else in Git changed")


_DECRYPTED = re.compile(r"^secrets(?:\+[a-z-]+)?://|(?:^|[./_-])(?:sops|enc|dec)\.(?:ya?ml|json)$")


def _decrypted(app: App) -> bool:
    """True when value files are decrypted on the way (helm-secrets, sops): a commit that rotates one changes a Secret and no more."""
    files = (str(file) for source in app.sources for file in dig(source, "helm", "valueFiles") or ())
    return any(_DECRYPTED.search(file) for file in files)


def _from_outside(app: App, sign: Sign) -> Sign:
    """A plugin may read its values elsewhere, a vault for one: that one value follows another proves nothing then."""
    if not any(charts.source_type(app, index) == "Plugin" for index in range(len(app.sources))):
        return sign
    why = f"{sign.why}\na plugin renders it, which may read the value elsewhere"
    return replace(sign, confidence="possible", why=why)


def _shown(resource: Resource, change: Change, kind: Kind, confidence: Confidence, why: str) -> Sign:
    masked = "; the server masks both values" if kind == "secret" else ""
    line = f"{resource.id} {change.pointer}: {why}{masked}"
    return Sign(resource.id, change.pointer, kind, confidence, line, (Symptom.change(resource.id, change.pointer),))


def _names(app: App, at: Synced) -> Iterator[Sign]:
    """An object that this revision's sync applied is no longer desired, and a twin with another random end is."""
    gone = [r for r in app.resources if r.extra and (r.group, r.kind, r.namespace, r.name) in at.applied]
    for new in (r for r in app.resources if r.missing):
        old = [r for r in gone if (r.group, r.kind, r.namespace) == (new.group, new.kind, new.namespace)]
        same = [r for r in old if twins(r.name, new.name)]
        if same and (new.group, new.kind, new.namespace, new.name) not in at.applied:
            yield Sign(
                new.id,
                "/metadata/name",
                "name",
                "proven",
                f"the sync of this very revision created {same[0].id}, which the revision now renders as {new.name}",
                (Symptom.missing(new.id), *map(Symptom.extra, (r.id for r in same))),
            )


def _is_version_label(pointer: str) -> bool:
    *_, parent, key = ("", *split_pointer(pointer))
    return parent == "labels" and key in ("helm.sh/chart", "chart", "app.kubernetes.io/version")


def _by_helm(app: App, resource: Resource) -> bool:
    """By the labels that charts give; where the application has Helm sources only, in any case."""
    types = {charts.source_type(app, index) for index in range(len(app.sources))} - {""}
    labels = labels_of(resource.any)
    managers = (labels.get("app.kubernetes.io/managed-by"), labels.get("heritage"))
    return types == {"Helm"} or charts.chart_label(resource.any) is not None or "Helm" in managers
