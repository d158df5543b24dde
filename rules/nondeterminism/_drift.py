"""Differences between live and desired that no commit caused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from argolint import MISSING, App, Change, Fleet, Resource, Symptom
from argolint.application.applied import applied_value
from argolint.comparison import reordered
from argolint.model import Confidence
from argolint.values import items, labels_of, mapping, split_pointer
from argolint.values.kubernetes import images
from argolint.values.patterns import regex

from ..shared import charts
from ..shared.charts import Release
from ._items import item_at
from ._keys import turned
from ._renamed import renamed_object_signs
from ._shapes import (
    Kind,
    are_both_random,
    are_random_suffixes,
    classify,
    differ_only_at_end,
    is_go_time,
    is_often_generated,
    is_version_label,
    look_alike,
    unusual_kind,
)
from ._sign import Sign, is_own
from ._syncs import (
    LastSync,
    has_outlived_sync,
    have_only_charts_moved,
    is_by_argocd,
    is_later_than_commits,
    is_written_at_revision,
    last_sync,
    rotation_subject,
)

Place = tuple[Resource, Change, Kind]


def drift_signs(app: App, fleet: Fleet, known: Sequence[Release]) -> Iterator[Sign]:
    """Signs among the differences that Argo CD shows, in fields that only a sync wrote."""
    at = last_sync(app)
    here: list[Place] = []
    elsewhere: list[Place] = []
    others: list[Change] = []
    for resource in (r for r in app.changed if is_own(app, fleet, r)):
        upgraded = _is_chart_upgraded(resource)
        keys = () if upgraded else tuple(_turned_keys(app, at, resource))
        yield from keys
        seen = {claim for sign in keys for claim in sign.claims}
        for change in resource.changes:
            if Symptom.change(resource.id, change.pointer) in seen:
                continue
            if change.writer is not None and not is_by_argocd(change.writer):
                continue  # another writer: a live edit, a controller, a rotation
            is_own_write = not upgraded and is_written_at_revision(at, resource, change)
            kind = classify(resource.id, change.pointer, change.desired, change.live) or (
                _random_kind(app, resource, change, is_own_write=is_own_write) if resource.kind != "Secret" else None
            )
            if kind is None:
                others.append(change)
            elif _sent(resource, change):
                continue
            else:
                (here if is_own_write else elsewhere).append((resource, change, kind))
    for resource, change, kind in here:
        sign = _plugin_sign(app, _one_revision_sign(app, resource, change, kind))
        if not _can_be_random(app, resource):
            why = f"{sign.why}\nno label names a chart behind it, and Kustomize itself generates nothing random"
            sign = replace(sign, confidence="possible", why=why)
        yield sign
    if at.same and not at.partial:
        yield from renamed_object_signs(app, at)
    elif at.moved and _has_only_helm(app):
        yield from _two_revision_name_signs(app, at)
    if _has_only_helm(app):
        yield from _leftover_name_signs(app)
    moved = tuple(_two_revision_signs(app, at, elsewhere, others, known))
    yield from (_plugin_sign(app, sign) for sign in (*moved, *_derived_signs(app, elsewhere, moved, known)))


def _random_kind(app: App, resource: Resource, change: Change, *, is_own_write: bool) -> Kind | None:
    """The kind of a field without a usual name, by its values alone.

    A list is one if Argo CD applied its items in another order than this revision has now.
    """
    sides = change.desired, change.live
    if is_own_write and reordered(change.desired, applied_value(resource, change)) and _can_be_random(app, resource):
        return "order"
    is_random = is_own_write and all(isinstance(side, str) for side in sides) and are_both_random(*sides)
    if not (is_random or is_later_than_commits(app, change)):
        return None
    return unusual_kind(change.pointer)


def _one_revision_sign(app: App, resource: Resource, change: Change, kind: Kind) -> Sign:
    revision = ", ".join(r[:12] for r in app.revisions if r)
    if kind == "order":
        why = f"Argo CD applied the same items at revision {revision} in another order than it renders at that revision now"
        return _change_sign(resource, change, kind, "proven", why)
    if kind == "config" and not are_both_random(str(change.desired), str(change.live)):
        why = (
            f"revision {revision} was synced and now renders another value, which is neither random nor a time: "
            "the cluster's version and kinds, or an input that is not pinned, may decide it"
        )
        return _change_sign(resource, change, kind, "possible", why)
    if change.writer is not None:
        why = f"Argo CD wrote one value at revision {revision} and renders another at the same revision; no one else wrote the field"
        return _change_sign(resource, change, kind, "proven", why)
    random = kind in ("config", "value") and are_both_random(str(change.desired), str(change.live))
    manner = ", which differs in random words or times alone" if random else ""
    why = (
        f"revision {revision} was synced and now renders another value{manner}; who wrote the live one is not recorded"
    )
    return _change_sign(
        resource, change, kind, "likely" if random or kind not in ("config", "value") else "possible", why
    )


def _turned_keys(app: App, at: LastSync, resource: Resource) -> Iterator[Sign]:
    """Keys of a map that the sync of this revision wrote, and that the revision now renders under other random names."""
    for pointer, kind, changes in turned(resource):
        if not all(is_written_at_revision(at, resource, change) and not _sent(resource, change) for change in changes):
            continue
        new, old = changes[0], changes[len(changes) // 2]
        sure = is_by_argocd(old.writer)
        if old.writer is not None and not sure:
            continue  # someone else wrote the key
        one, other = (repr(split_pointer(change.pointer)[-1]) for change in (new, old))
        names = "one key follows another of a like name" if kind == "secret" else f"key {one} follows {other}"
        claims = tuple(Symptom.change(resource.id, change.pointer) for change in changes)
        why = f"{resource.id} {pointer}: {names} at one revision"
        yield _plugin_sign(app, Sign(resource.id, pointer, kind, "proven" if sure else "likely", why, claims))


def _sent(resource: Resource, change: Change) -> bool:
    """Whether Argo CD sent this value, so that a webhook or an unrecorded writer changed it."""
    return change.desired is not MISSING and bool(applied_value(resource, change) == change.desired)


def _two_revision_signs(
    app: App, at: LastSync, found: Sequence[Place], others: Sequence[Change], known: Sequence[Release]
) -> Iterator[Sign]:
    """Signs if the last sync, as far as known, did not write this value at this revision: a difference may be the commit's own.

    A checksum follows a real change of a ConfigMap or Secret, or the chart's version label. A value that the chart is known to generate, or that
    alone changed, does not come from the commit.
    """
    bumped = any(is_version_label(change.pointer) for change in others)
    kinds = {kind for *_, kind in found}
    is_only_difference = not (at.partial or others or any(r.missing or r.extra for r in app.resources))
    lone = is_only_difference and "config" not in kinds
    random = (
        [place for place in found if _is_random(place) or is_later_than_commits(app, place[1])]
        if is_only_difference and at.moved and "secret" not in kinds
        else []
    )
    same_values = at.moved and "secret" in kinds and have_only_charts_moved(app)
    meant = rotation_subject(app) if "secret" in kinds else None
    only_random = bool(random) and len(random) == sum(kind in ("config", "value") for *_, kind in found)
    for resource, change, kind in found:
        release, item = item_at(resource, change.pointer, known)
        fixed = item is not None and release is not None and charts.is_pinned(item, release)
        if kind == "secret" and (fixed or has_outlived_sync(app, resource)):
            continue  # the Application sets it, or an earlier commit kept it: so this change is intended
        if kind not in ("secret", "checksum") and is_later_than_commits(app, change):
            why = "Git's time is later than the commit that it is rendered from, and nothing else in the text differs"
            yield _change_sign(resource, change, kind, "likely", why)
        elif item is not None and release is not None and not fixed:
            why = f"chart {release.label} generates a new {item.what} at each render ({', '.join(item.functions)})"
            pinned = meant is not None and kind in ("secret", "checksum") and not release.complete
            yield _change_sign(
                resource, change, kind, "possible" if pinned else "likely", f"{why}\n{meant}" if pinned else why
            )
        elif kind == "secret" and resource.kind == "Secret":
            likely = is_often_generated(change.pointer) and _is_by_helm(app, resource)
            if lone and likely and not (at.respecified or meant or (at.moved and _has_decrypted_values(app))):
                why = "nothing else that Git renders changed with it"
                yield _change_sign(resource, change, kind, "likely", why)
            elif likely and same_values and not _TEXT.search(change.pointer):
                yield _change_sign(
                    resource, change, kind, "likely", "the chart's version moved, and no value that could pin it"
                )
            elif likely:
                why = "its name is that of a generated value; Git may have changed it"
                yield _change_sign(resource, change, kind, "possible", f"{why}\n{meant}" if meant else why)
        elif kind == "checksum" and not bumped:
            # it hashes all values: one whose change shows nowhere else moves it too
            of_values = "values" in split_pointer(change.pointer)[-1]
            if not of_values and (only_random or (lone and "secret" not in kinds and not _has_hashable_change(app))):
                yield _change_sign(resource, change, kind, "likely", "nothing that it could hash differs for a reason")
            elif lone:
                yield _change_sign(resource, change, kind, "possible", "what it hashes may have changed in Git")
        elif kind == "stamp":
            sure = look_alike(str(change.desired), str(change.live)) or is_go_time(str(change.desired))
            yield _change_sign(
                resource,
                change,
                kind,
                "likely" if sure or (at.same and not at.partial) else "possible",
                "it marks the time or the turn of a render",
            )
        elif kind == "ca-bundle" and lone and "secret" in kinds:
            yield _change_sign(
                resource, change, kind, "likely", "a certificate authority that changed with a Secret alone"
            )
        elif kind == "ca-bundle" and lone:
            yield _change_sign(resource, change, kind, "possible", "a certificate authority; Git may have changed it")
        elif only_random and (resource, change, kind) in random:
            why = "one random word follows another, and nothing else that Git renders changed with it"
            yield _change_sign(resource, change, kind, "likely", why)


def _derived_signs(app: App, found: Sequence[Place], signs: Sequence[Sign], known: Sequence[Release]) -> Iterator[Sign]:
    """Keys without a telling name, next to a random one of the same Secret: a connection string contains the password."""
    for resource, change, kind in found:
        random_here = [
            s for s in signs if s.kind == "secret" and s.resource == resource.id and s.pointer != change.pointer
        ]
        if (
            kind != "secret"
            or not random_here
            or any(s.pointer == change.pointer and s.resource == resource.id for s in signs)
        ):
            continue
        release, item = item_at(resource, change.pointer, known)
        if item is not None and release is not None and charts.is_pinned(item, release):
            continue
        best = max((s.confidence for s in random_here), key=("possible", "likely", "proven").index)
        why = f"it changed together with key {random_here[0].key!r} of the same Secret, of which it may be made"
        yield _change_sign(resource, change, kind, best, why)


def _is_random(place: Place) -> bool:
    """Whether a chart's value differs in random words that no name of a commit, image or build explains."""
    resource, change, kind = place
    return (
        kind in ("config", "value")
        and charts.chart_label(resource.any) is not None
        and are_both_random(str(change.desired), str(change.live), hashes=False)
    )


def _has_hashable_change(app: App) -> bool:
    """Whether the live data of a ConfigMap or Secret differs from Git's render, also in ignored fields; or one belongs to a hook, whose states
    are not sent."""
    return any(
        r.hook or any(mapping(r.live, part).get(key) != value for key, value in mapping(r.desired, part).items())
        for kind in ("ConfigMap", "Secret")
        for r in app.of_kind(kind, "")
        for part in ("data", "binaryData")
    )


_TEXT = regex(r"\.(?:ya?ml|json|conf|cfg|ini|toml|properties|env|sh|xml)$")
"""Keys of whole files, whose wording a new chart version may change."""

_DECRYPTED = regex(r"^secrets(?:\+[a-z-]+)?://|(?:^|[./_-])(?:sops|enc|dec)\.(?:ya?ml|json)$")


def _has_decrypted_values(app: App) -> bool:
    """True if value files are decrypted in the render (helm-secrets, sops): a commit with a rotation changes only a Secret."""
    files = (str(file) for source in app.sources for file in items(source, "helm", "valueFiles"))
    return any(_DECRYPTED.search(file) for file in files)


def _plugin_sign(app: App, sign: Sign) -> Sign:
    """The sign, weaker for a plugin, which may read its values from elsewhere, such as a vault: then it proves nothing that one value follows another."""
    if not charts.uses(app, "Plugin"):
        return sign
    why = f"{sign.why}\na plugin renders it, which may read the value elsewhere"
    return replace(sign, confidence="possible", why=why)


def _change_sign(resource: Resource, change: Change, kind: Kind, confidence: Confidence, why: str) -> Sign:
    masked = "; the server masks both values" if kind == "secret" else ""
    line = f"{resource.id} {change.pointer}: {why}{masked}"
    return Sign(resource.id, change.pointer, kind, confidence, line, (Symptom.change(resource.id, change.pointer),))


def _two_revision_name_signs(app: App, at: LastSync) -> Iterator[Sign]:
    """The same over two revisions: only for a random suffix that is no hash or version, and only if the images stay."""
    dropped = _dropped_objects(app, at)
    for new in (r for r in app.resources if r.missing):
        for old in (r for r in dropped if (r.group, r.kind, r.namespace) == (new.group, new.kind, new.namespace)):
            ends = new.name.rpartition("-")[2], old.name.rpartition("-")[2]
            if (
                differ_only_at_end(old.name, new.name)
                and are_random_suffixes(*ends)
                and images(new.desired) == images(old.live)
            ):
                why = f"the last sync created {old.id}, and only the random or dated end of its name has changed in {new.name}"
                claims = (Symptom.missing(new.id), Symptom.extra(old.id))
                yield Sign(new.id, "/metadata/name", "name", "likely", why, claims)
                break


def _leftover_name_signs(app: App) -> Iterator[Sign]:
    """A live object whose name ends in a time or a random word, with several such leftovers of earlier renders; no image explains the suffix."""
    kinds = {(r.group, r.kind, r.namespace) for r in app.extra} if len(app.extra) > 1 else set()
    for new in (r for r in app.resources if (r.group, r.kind, r.namespace) in kinds):
        if new.hook or new.extra or new.missing or not new.desired_known:
            continue
        head, _, end = new.name.rpartition("-")
        old = [r for r in app.extra if (r.group, r.kind, r.namespace) == (new.group, new.kind, new.namespace)]
        leftovers = [
            r for r in old if r.name.rpartition("-")[0] == head and are_random_suffixes(end, r.name.rpartition("-")[2])
        ]
        if len(leftovers) > 1 and not any(end in image for image in images(new.desired)):
            why = f"earlier renders left {', '.join(str(r.id) for r in leftovers)}, which differ in the random or dated end of the name"
            yield Sign(new.id, "/metadata/name", "name", "likely", why)


def _dropped_objects(app: App, at: LastSync) -> list[Resource]:
    """Objects of the last sync that are no longer in the manifests."""
    return [r for r in app.resources if r.extra and r.key in at.applied]


def _is_chart_upgraded(resource: Resource) -> bool:
    """Whether the object's chart has another version now: at one revision that is an unpinned dependency, which explains every value."""
    return charts.chart_label(resource.desired or {}) != charts.chart_label(resource.live or {})


def _is_by_helm(app: App, resource: Resource) -> bool:
    """Whether Helm renders the object, by the labels of charts; True if the application has only Helm sources."""
    labels = labels_of(resource.any)
    managers = (labels.get("app.kubernetes.io/managed-by"), labels.get("heritage"))
    return _has_only_helm(app) or charts.chart_label(resource.any) is not None or "Helm" in managers


def _can_be_random(app: App, resource: Resource) -> bool:
    """False for objects that Kustomize makes from plain files: a plugin or a remote base may change there, but no random function."""
    types = {charts.source_type(app, index) for index in range(len(app.sources))}
    return "Kustomize" not in types or "Helm" in types or _is_by_helm(app, resource)


def _has_only_helm(app: App) -> bool:
    return {charts.source_type(app, index) for index in range(len(app.sources))} - {""} == {"Helm"}
