"""Predicts an application after a change: from a base App and two renders to a hypothetical App.

Rules see the moment after the merge, around the sync: `desired` is the change's, `live` is the current state (a sync must get from one to
the other: immutable fields, objects to prune), while `changes` are only those that a sync will not end. So an object that merely waits for
its sync has no symptom; one that stays OutOfSync has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from msgspec import structs

from argolint.application.app import BLINDING, App
from argolint.application.fleet import Fleet
from argolint.application.resource import Resource
from argolint.application.shared_warnings import without_conditions
from argolint.comparison import compare, diff
from argolint.edits.pruning import refuses_to_empty
from argolint.gate.delta import Delta, Edited, overlap, with_value
from argolint.model import MISSING, Change, Json, Object, ResourceId, ResourceKey, Want
from argolint.sources.rendered import Rendered
from argolint.values import annotations_of, items, labels_of, mapping, split_pointer
from argolint.values.kubernetes import api_of, is_secret, wave


def head_app(app: App, change: Delta, head: Rendered, fleet: Fleet) -> App:
    """The application after the merge, from a base whose desired state is known."""
    resources = []
    for resource in app.resources:
        if resource.hook and resource.key not in change.added:
            resources.append(resource)
        elif resource.key in change.changed:
            resources.append(_edited_object(resource, change.changed[resource.key], app, fleet))
        elif resource.key in change.removed:
            if _is_owned(resource.live, app, fleet):
                resources.append(_pruned_object(resource))
        elif resource.key in change.added:
            resources.append(_readded_object(resource, change.added[resource.key], app, fleet))
        else:
            resources.append(resource)
    listed = {r.key for r in app.resources}
    resources += [added_object(key, obj) for key, obj in change.added.items() if key not in listed]
    return _with_resources(app, tuple(resources), head)


def with_hooks(app: App, hooks: Mapping[ResourceKey, Object]) -> App:
    """The application with these hooks in place of those that the server lists: the next sync runs what the render has."""
    known = {r.key: r for r in app.resources if r.hook or r.key in hooks}
    plain = tuple(r for r in app.resources if r.key not in known)
    return replace(
        app, resources=(*plain, *(_hook(known.get(key) or added_object(key, obj), obj) for key, obj in hooks.items()))
    )


def _hook(resource: Resource, desired: Object) -> Resource:
    return structs.replace(
        resource,
        status="",
        hook=True,
        requires_pruning=False,
        desired_state=desired,
        desired_known=True,
        sync_wave=wave(desired),
    )


def rendered_app(app: App, head: Rendered, fleet: Fleet) -> App:
    """The application after the merge, from a base that Argo CD could not render: there is nothing to compare with."""
    by_key = {r.key: r for r in app.resources}
    resources = [r for r in app.resources if r.key not in head.objects]
    for key, obj in head.objects.items():
        known = by_key.get(key)
        resources.append(_readded_object(known, obj, app, fleet) if known else added_object(key, obj))
    raw = without_conditions(app.raw, lambda condition: condition.get("type") in BLINDING)
    return _with_resources(app.with_raw(raw), tuple(resources), head)


def failed_app(app: App, error: str) -> App:
    """The application if the change does not render: Argo CD will show a ComparisonError and drop its comparison."""
    condition = {
        "type": "ComparisonError",
        "message": f"Failed to load target state: failed to generate manifest for source 1 of {max(1, len(app.sources))}: "
        f"rpc error: code = Unknown desc = {error}",
        "lastTransitionTime": app.observed_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    status = {**app.status, "conditions": [*items(app.status, "conditions"), condition]}
    status["sync"] = {**mapping(status, "sync"), "status": "Unknown"}
    resources = tuple(
        structs.replace(
            r, status="Unknown" if r.status else "", desired_state=None, desired_known=False, modified=False
        )
        for r in app.resources
    )
    return app.with_raw({**app.raw, "status": status}, resources=resources)


def respecified(app: App, spec: Object, metadata: Object, fleet: Fleet) -> App:
    """The application with another spec (the change edits its manifest), compared again.

    Differences that the new spec ignores are gone. Differences that only argolint's comparison sees, under the old and the new spec, do not
    count.
    """
    own = {**mapping(app.raw, "metadata")}
    for part in ("annotations", "labels"):
        own[part] = metadata.get(part) or {}
    raw = {**app.raw, "spec": spec, "metadata": own}
    after = app.with_raw(raw)
    if not app.read or not app.desired_known:
        return after
    return replace(after, resources=tuple(_recompared_object(r, app, after, fleet) for r in app.resources))


def _recompared_object(resource: Resource, before: App, after: App, fleet: Fleet) -> Resource:
    if resource.desired is None or resource.live is None:
        return resource
    rules = [compare.rules_of(a.raw, fleet.settings, fleet.version) for a in (before, after)]
    if rules[0] == rules[1]:
        return resource
    made = [
        compare.compare(resource.live, resource.desired, r, compare.strategy_of(a.raw, resource.desired, fleet.version))
        for r, a in zip(rules, (before, after), strict=True)
    ]
    old, new = (set(m.pointers) for m in made)
    kept = [c for c in resource.changes if c.pointer not in old or c.pointer in new]
    fresh = [
        diff.change(pointer, want, have, made[1].predicted, made[1].normalized)
        for pointer, want, have in diff.differences(made[1].predicted, made[1].normalized)
        if pointer not in old and pointer not in {c.pointer for c in kept}
    ]
    return _with_differences(resource, made[1].predicted, (*kept, *fresh))


def added_object(key: ResourceKey, desired: Object) -> Resource:
    """An object that the change adds; whether it is live is not known."""
    version = api_of(desired)[1]
    id_ = ResourceId(key.group, key.kind, key.namespace, key.name, version, key.cluster)
    return Resource(id_, status="OutOfSync", sync_wave=wave(desired), desired_state=desired, desired_known=True)


def _readded_object(resource: Resource, desired: Object, app: App, fleet: Fleet) -> Resource:
    """An object that base did not want, or may not have wanted, and that is or was live."""
    known = structs.replace(
        resource,
        status="OutOfSync",
        hook=False,
        requires_pruning=False,
        desired_state=desired,
        desired_known=True,
        modified=False,
    )
    live = known.live
    if live is None:
        return structs.replace(known, live_state=None, live_known=False, normalized_state=None, predicted_state=None)
    return _with_differences(known, _comparison_after_sync(live, desired, app, fleet).predicted, ())


def _is_owned(live: Object | None, app: App, fleet: Fleet) -> bool:
    """False if tracking data assigns the live object to another application: this application then no longer lists it.

    Argo CD finds live objects to prune by their tracking data alone (gitops-engine pkg/cache, GetManagedLiveObjs).
    """
    if live is None:
        return False
    if fleet.tracking_method == "label":
        return labels_of(live).get(fleet.label_key) == app.instance
    return str(annotations_of(live).get(compare.TRACKING_ID) or "").partition(":")[0] == app.instance


def _pruned_object(resource: Resource) -> Resource:
    return structs.replace(
        resource,
        status="OutOfSync",
        requires_pruning=True,
        modified=False,
        desired_state="null",
        predicted_state="null",
    )


def _edited_object(resource: Resource, edit: Edited, app: App, fleet: Fleet) -> Resource:
    desired = _with_secrets(edit.head, resource.desired)
    changed = structs.replace(
        resource,
        id=structs.replace(resource.id, version=api_of(desired)[1]),
        sync_wave=wave(desired),
        desired_state=desired,
    )
    live = resource.live
    if live is None or not resource.desired_known:
        return changed
    after = _comparison_after_sync(live, desired, app, fleet)
    always = set(_comparison_after_sync(live, resource.desired, app, fleet).pointers) if resource.desired else set()
    otherwise = compare.strategy_of(app.raw, edit.base, fleet.version) != compare.strategy_of(
        app.raw, desired, fleet.version
    )
    new = [
        diff.change(pointer, want, have, after.predicted, after.normalized)
        for pointer, want, have in diff.differences(after.predicted, after.normalized)
        if pointer not in always and (otherwise or any(overlap(pointer, touched) for touched in edit.pointers))
    ]
    old = [c for c in resource.changes if not any(overlap(c.pointer, touched) for touched in edit.pointers)]
    lasting = {c.pointer for c in (*old, *new)}
    pending = tuple(c for c in _differences_before_sync(live, desired, app, fleet) if c.pointer not in lasting)
    shown = _with_differences(changed, after.predicted, (*old, *new))
    return structs.replace(shown, pending=pending, status="OutOfSync" if pending else shown.status)


def _differences_before_sync(live: Object, desired: Object, app: App, fleet: Fleet) -> tuple[Change, ...]:
    """The differences that Argo CD shows between the merge and the sync."""
    rules = compare.rules_of(app.raw, fleet.settings, fleet.version)
    made = compare.compare(live, desired, rules, compare.strategy_of(app.raw, desired, fleet.version))
    return diff.changes(made.predicted or {}, made.normalized or {}, live) if made.modified else ()


def _comparison_after_sync(live: Object, desired: Object, app: App, fleet: Fleet) -> compare.Comparison:
    """The comparison that Argo CD shows after a sync has applied desired."""
    rules = compare.rules_of(app.raw, fleet.settings, fleet.version)
    applied = compare.apply(
        live,
        desired,
        rules,
        server_side=compare.syncs_server_side(app.raw, desired),
        respect_ignored="RespectIgnoreDifferences=true" in app.sync_options,
    )
    return compare.compare(applied, desired, rules, compare.strategy_of(app.raw, desired, fleet.version))


def _with_differences(resource: Resource, predicted: Object | None, shown: Iterable[Change]) -> Resource:
    """The resource with exactly these differences: its normalized state is the predicted one with their live values."""
    normalized: Json = predicted
    placed = sorted(shown, key=lambda c: [(len(token), token) for token in split_pointer(c.pointer)])
    held = [c for c in placed if c.live is not MISSING]
    lost = [c for c in reversed(placed) if c.live is MISSING]  # from the end, so that no index shifts
    for change in (*held, *lost):
        normalized = with_value(normalized, split_pointer(change.pointer), change.live)
    modified = normalized != predicted
    return structs.replace(
        resource,
        status="OutOfSync" if modified else "Synced",
        modified=modified,
        normalized_state=normalized,
        predicted_state=predicted,
    )


def _with_secrets(desired: Object, before: Object | None) -> Object:
    """A Secret's desired state with the masks that the server made for the pair of desired and live."""
    if not is_secret(desired) or before is None:
        return desired
    masks = before.get("data") or {}
    data = desired.get("data") or {}
    return {**desired, "data": {key: masks.get(key, value) for key, value in data.items()}} if data else desired


def _is_cured(resource: Resource, app: App) -> bool:
    """True if the next sync ends the reason why the object is OutOfSync."""
    coming = resource.desired_known and not resource.live_known
    return coming or (resource.requires_pruning and app.prune) or bool(resource.pending and not resource.modified)


def _with_resources(app: App, resources: tuple[Resource, ...], head: Rendered) -> App:
    """The application with the status, conditions and evidence that match the new resources."""
    raw = without_conditions(app.raw, lambda c: c.get("type") == "RepeatedResourceWarning")
    status = dict(mapping(raw, "status"))
    stamp = app.observed_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    repeated = [
        {
            "type": "RepeatedResourceWarning",
            "message": f"Resource {k.group}/{k.kind}/{k.namespace}/{k.name} appeared {count} times among application resources.",
            "lastTransitionTime": stamp,
        }
        for k, count in head.repeated.items()
    ]
    status["conditions"] = [*items(status, "conditions"), *repeated]
    out = any(r.status == "OutOfSync" and not _is_cured(r, app) for r in resources)
    status["sync"] = {**mapping(status, "sync"), "status": "OutOfSync" if out else "Synced"}
    evidence = {**app.evidence, Want("manifests"): (*head.dropped, *head.objects.values(), *head.hooks.values())}
    made = app.with_raw({**raw, "status": status}, resources=resources, evidence=evidence, read=True)
    if not refuses_to_empty(made):
        return made
    refused = {
        "type": "SyncError",
        "message": "Skipping sync attempt: auto-sync will wipe out all resources",
        "lastTransitionTime": stamp,
    }
    status["conditions"] = [*status["conditions"], refused]
    status["sync"] = {**mapping(status, "sync"), "status": "OutOfSync"}
    return made.with_raw({**raw, "status": status})
