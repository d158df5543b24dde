"""The application as a change will leave it: a base App and two renders in, a hypothetical App out.

The moment that rules then look at lies after the merge and around the sync: `desired` is the change's, `live` is still
today's (a sync must get from one to the other: immutable fields, objects to be pruned), while `changes` are only those that
a sync will not cure. So what merely waits for its sync is no symptom, and what will stay OutOfSync for ever is one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from argolint import compare
from argolint.app import BLINDING, App, Resource
from argolint.diff import changes, differences
from argolint.fleet import Fleet
from argolint.model import MISSING, Change, Json, Object, ResourceId, ResourceKey
from argolint.rule import Want
from argolint.values import annotations_of, dig, get, labels_of, split_pointer

CLUSTER_SCOPED = frozenset(
    (group, kind)
    for group, kinds in {
        "": "Namespace Node PersistentVolume",
        "admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration "
        "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
        "apiextensions.k8s.io": "CustomResourceDefinition",
        "apiregistration.k8s.io": "APIService",
        "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle",
        "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
        "networking.k8s.io": "IngressClass IPAddress ServiceCIDR",
        "node.k8s.io": "RuntimeClass",
        "policy": "PodSecurityPolicy",
        "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
        "resource.k8s.io": "DeviceClass ResourceSlice",
        "scheduling.k8s.io": "PriorityClass",
        "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
    }.items()
    for kind in kinds.split()
)
"""Built-in kinds without a namespace (kubectl api-resources --namespaced=false)."""

MASKED = "++++++++"
"""What /manifests answers for every value of a Secret (gitops-engine pkg/diff, HideSecretData)."""


@dataclass(frozen=True)
class Rendered:
    """One render as Argo CD reads it: namespaces filled in, duplicates dropped (the last one stays), hooks apart."""

    objects: Mapping[ResourceKey, Object]
    hooks: Mapping[ResourceKey, Object] = field(default_factory=dict)
    repeated: Mapping[ResourceKey, int] = field(default_factory=dict)
    manifests: tuple[Object, ...] = ()


@dataclass(frozen=True)
class Edited:
    """An object that both renders hold: `pointers` are the places, in base's coordinates, where they differ."""

    base: Object
    head: Object
    pointers: tuple[str, ...]


@dataclass(frozen=True)
class Delta:
    """What a change does to the objects of one application; hooks are not among them."""

    added: Mapping[ResourceKey, Object] = field(default_factory=dict)
    removed: Mapping[ResourceKey, Object] = field(default_factory=dict)
    changed: Mapping[ResourceKey, Edited] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


Masks = Mapping[ResourceKey, frozenset[str]]
"""Pointers whose values differ between any two renders, by object."""


def rendered(manifests: Sequence[Object], app: App, fleet: Fleet) -> Rendered:
    """Manifests as they come from a render (controller/state.go, GetRepoObjs and DeduplicateTargetObjects)."""
    scopes = _scopes(manifests)
    kept: list[tuple[ResourceKey, Object]] = []
    hooks: dict[ResourceKey, Object] = {}
    for manifest in manifests:
        if not manifest.get("kind") or not dig(manifest, "metadata", "name"):
            continue  # generateName serves hooks only: such an object has no identity that a change could alter
        group, kind = _group(manifest), str(manifest["kind"])
        scoped = _cluster_scoped(group, kind, scopes, app, fleet)
        placed = _placed(_masked_secret(manifest), "" if scoped else app.destination_namespace, drop=scoped)
        key = ResourceKey(
            app.cluster, group, kind, dig(placed, "metadata", "namespace") or "", str(placed["metadata"]["name"])
        )
        if is_hook(placed):
            hooks[key] = placed
        else:
            kept.append((key, placed))
    counts = Counter(key for key, _ in kept)
    return Rendered(dict(kept), hooks, {k: n for k, n in counts.items() if n > 1}, tuple(manifests))


def is_hook(manifest: Object) -> bool:
    """Argo CD's own hooks and Helm's (gitops-engine pkg/sync/hook/hook.go); a `Skip` hook is an object, never applied."""
    annotations = annotations_of(manifest)
    own = annotations.get("argocd.argoproj.io/hook")
    if own is not None:
        return own.strip() != "Skip"
    return annotations.get("helm.sh/hook", "crd-install") != "crd-install"


def _group(manifest: Object) -> str:
    group, slash, _ = str(manifest.get("apiVersion") or "").rpartition("/")
    return group if slash else ""


def _scopes(manifests: Iterable[Object]) -> Mapping[tuple[str, str], bool]:
    """Which custom kinds have no namespace, told by the CRDs of the same render."""
    return {
        (str(dig(m, "spec", "group")), str(dig(m, "spec", "names", "kind"))): dig(m, "spec", "scope") == "Cluster"
        for m in manifests
        if m.get("kind") == "CustomResourceDefinition"
    }


def _cluster_scoped(group: str, kind: str, scopes: Mapping[tuple[str, str], bool], app: App, fleet: Fleet) -> bool:
    """By the built-in kinds, the CRDs at hand, else by what Argo CD manages of that kind on the cluster."""
    if (group, kind) in CLUSTER_SCOPED:
        return True
    if (group, kind) in scopes:
        return scopes[group, kind]
    seen = fleet.of_kind(app.cluster, group, kind) or [r.key for r in app.of_kind(kind, group)]
    return bool(seen) and all(not key.namespace for key in seen)


def _placed(manifest: Object, namespace: str, *, drop: bool) -> Object:
    metadata = manifest["metadata"]
    if drop:
        kept = {k: v for k, v in metadata.items() if k != "namespace"}
        return {**manifest, "metadata": kept} if len(kept) != len(metadata) else manifest
    if metadata.get("namespace") or not namespace:
        return manifest
    return {**manifest, "metadata": {**metadata, "namespace": namespace}}


def _masked_secret(manifest: Object) -> Object:
    """As /manifests answers it: every value masked alone, stringData folded in. Renders made elsewhere hold the values."""
    if manifest.get("kind") != "Secret" or manifest.get("apiVersion") != "v1":
        return manifest
    names = {**(manifest.get("data") or {}), **(manifest.get("stringData") or {})}
    rest = {k: v for k, v in manifest.items() if k not in ("data", "stringData")}
    return {**rest, "data": dict.fromkeys(names, MASKED)} if names else rest


def tracked(manifest: Object, app: App, fleet: Fleet) -> Object:
    """A manifest rendered outside Argo CD, with the tracking data that the repo-server would give it.

    util/argo/resource_tracking.go, SetAppInstance; CRDs get none.
    """
    if manifest.get("kind") == "CustomResourceDefinition" or not dig(manifest, "metadata", "name"):
        return manifest
    metadata = dict(manifest["metadata"])
    if "annotation" in fleet.tracking_method:
        namespace = metadata.get("namespace") or app.destination_namespace
        name = f"{_group(manifest)}/{manifest.get('kind')}:{namespace}/{metadata['name']}"
        metadata["annotations"] = {
            **(metadata.get("annotations") or {}),
            compare.TRACKING_ID: f"{app.instance}:{name}",
        }
    if "label" in fleet.tracking_method:
        metadata["labels"] = {**(metadata.get("labels") or {}), fleet.label_key: app.instance[:63]}
    return {**manifest, "metadata": metadata}


def settled(head: Rendered, base: Rendered, masks: Masks) -> Rendered:
    """Head with base's values wherever the values are drawn anew in each render, and for what a Secret holds."""
    objects = {
        key: _settled(obj, base.objects.get(key), masks.get(key, frozenset())) for key, obj in head.objects.items()
    }
    return replace(head, objects=objects)


def _settled(head: Object, base: Object | None, pointers: frozenset[str]) -> Object:
    if base is None:
        return head
    for pointer in pointers:
        before = get(base, pointer)
        if before is not MISSING and get(head, pointer) is not MISSING:
            head = with_value(head, split_pointer(pointer), before)
    return head


def unnamed(head: Rendered, base: Rendered) -> Rendered:
    """Head with base's names for objects whose name alone is drawn anew: `migrate-x7k2p` and then `migrate-q9d4z`."""
    coming = {key: obj for key, obj in head.objects.items() if key not in base.objects}
    objects = dict(head.objects)
    for key, before in base.objects.items():
        if key in head.objects:
            continue
        twin = next((k for k, after in coming.items() if _twin(key, before, k, after)), None)
        if twin is not None:
            del coming[twin], objects[twin]
            objects[key] = before
    return replace(head, objects=objects)


_DRAWN_NAME = re.compile(r"(.*[-.])([a-z0-9]{4,})")


def _twin(key: ResourceKey, before: Object, other: ResourceKey, after: Object) -> bool:
    if (key.group, key.kind, key.namespace) != (other.group, other.kind, other.namespace):
        return False
    one, two = _DRAWN_NAME.fullmatch(key.name), _DRAWN_NAME.fullmatch(other.name)
    if not (one and two and one[1] == two[1] and len(one[2]) == len(two[2])):
        return False
    return _text_without(before, key.name) == _text_without(after, other.name)


def _text_without(obj: Object, name: str) -> str:
    return json.dumps(obj, sort_keys=True).replace(name, "")


def with_value(node: Json, tokens: Sequence[str], value: Json) -> Json:
    """The node with another value at this place; MISSING removes it. A path that does not exist changes nothing."""
    if not tokens:
        return value
    first, rest = tokens[0], tokens[1:]
    if isinstance(node, Mapping):
        if first not in node and rest:
            return node
        if not rest and value is MISSING:
            return {k: v for k, v in node.items() if k != first}
        return {**node, first: with_value(node.get(first), rest, value)}
    if isinstance(node, list) and first.isdigit() and int(first) <= len(node):
        index = int(first)
        if not rest and value is MISSING:
            return [*node[:index], *node[index + 1 :]]
        if index == len(node):
            return node if rest or value is MISSING else [*node, value]
        return [*node[:index], with_value(node[index], rest, value), *node[index + 1 :]]
    return node


def delta(base: Rendered, head: Rendered) -> Delta:
    """What differs between two renders, values of Secrets aside (both are masked)."""
    changed = {}
    for key, after in head.objects.items():
        before = base.objects.get(key)
        if before is not None and before != after:
            pointers = tuple(sorted({pointer for pointer, _, _ in differences(after, before)}))
            if pointers:
                changed[key] = Edited(before, after, pointers)
    return Delta(
        {k: o for k, o in head.objects.items() if k not in base.objects},
        {k: o for k, o in base.objects.items() if k not in head.objects},
        changed,
    )


def head_app(app: App, change: Delta, head: Rendered, fleet: Fleet) -> App:
    """The application after the merge, of a base whose desired state is known."""
    resources = []
    for resource in app.resources:
        if resource.hook:
            resources.append(resource)
        elif resource.key in change.changed:
            resources.append(_edited(resource, change.changed[resource.key], app, fleet))
        elif resource.key in change.removed:
            if _owned(resource.live, app, fleet):
                resources.append(_dropped(resource))
        elif resource.key in change.added:
            resources.append(_readded(resource, change.added[resource.key], app, fleet))
        else:
            resources.append(resource)
    listed = {r.key for r in app.resources}
    resources += [added(key, obj) for key, obj in change.added.items() if key not in listed]
    return _concluded(app, tuple(resources), head)


def rendered_app(app: App, head: Rendered, fleet: Fleet) -> App:
    """The application after the merge, of a base that Argo CD could not render: nothing is known to compare with."""
    by_key = {r.key: r for r in app.resources}
    resources = [r for r in app.resources if r.key not in head.objects]
    for key, obj in head.objects.items():
        known = by_key.get(key)
        resources.append(_readded(known, obj, app, fleet) if known else added(key, obj))
    raw = without_conditions(app.raw, lambda condition: condition.get("type") in BLINDING)
    return _concluded(replace(app, raw=raw), tuple(resources), head)


def failed_app(app: App, error: str) -> App:
    """The application when the change does not render: Argo CD will show a ComparisonError and forget what it compared."""
    condition = {
        "type": "ComparisonError",
        "message": f"Failed to load target state: failed to generate manifest for source 1 of {max(1, len(app.sources))}: "
        f"rpc error: code = Unknown desc = {error}",
        "lastTransitionTime": app.observed_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    status = {**app.status, "conditions": [*(app.status.get("conditions") or ()), condition]}
    status["sync"] = {**(status.get("sync") or {}), "status": "Unknown"}
    resources = tuple(
        replace(r, status="Unknown" if r.status else "", desired_state=None, desired_known=False, modified=False)
        for r in app.resources
    )
    return replace(app, raw={**app.raw, "status": status}, resources=resources)


def respecified(app: App, spec: Object, metadata: Object, fleet: Fleet) -> App:
    """The application with another spec (an Application manifest that the change edits), its objects compared anew.

    Differences that the new rules no longer see are gone; those that only argolint's emulation sees, under the old rules
    as under the new ones, do not count.
    """
    own = {**(app.raw.get("metadata") or {})}
    for part in ("annotations", "labels"):
        own[part] = metadata.get(part) or {}
    raw = {**app.raw, "spec": spec, "metadata": own}
    after = replace(app, raw=raw)
    if not app.read or not app.desired_known:
        return after
    return replace(after, resources=tuple(_recompared(r, app, after, fleet) for r in app.resources))


def _recompared(resource: Resource, before: App, after: App, fleet: Fleet) -> Resource:
    if resource.desired is None or resource.live is None:
        return resource
    rules = [compare.rules_of(a.raw, fleet.settings) for a in (before, after)]
    if rules[0] == rules[1]:
        return resource
    made = [
        compare.compare(resource.live, resource.desired, r, compare.strategy_of(a.raw, resource.desired))
        for r, a in zip(rules, (before, after), strict=True)
    ]
    old, new = (set(m.pointers) for m in made)
    kept = [c for c in resource.changes if c.pointer not in old or c.pointer in new]
    fresh = [
        Change(pointer, want, have)
        for pointer, want, have in differences(made[1].predicted, made[1].normalized)
        if pointer not in old and pointer not in {c.pointer for c in kept}
    ]
    return _showing(resource, made[1].predicted, (*kept, *fresh))


def without_conditions(raw: Object, unwanted: Any) -> Object:
    """An Application without the conditions that `unwanted(condition)` picks."""
    conditions = dig(raw, "status", "conditions") or []
    kept = [c for c in conditions if not unwanted(c)]
    return raw if len(kept) == len(conditions) else {**raw, "status": {**raw["status"], "conditions": kept}}


def added(key: ResourceKey, desired: Object) -> Resource:
    """An object that the change brings: what of it is live, if anything, is not known."""
    version = str(desired.get("apiVersion") or "").rpartition("/")[2]
    id_ = ResourceId(key.group, key.kind, key.namespace, key.name, version, key.cluster)
    return Resource(id_, status="OutOfSync", sync_wave=_wave(desired), desired_state=desired, desired_known=True)


def _readded(resource: Resource, desired: Object, app: App, fleet: Fleet) -> Resource:
    """An object that base did not want, or of which base could not say so, and that is live or was."""
    known = replace(
        resource, status="OutOfSync", requires_pruning=False, desired_state=desired, desired_known=True, modified=False
    )
    live = known.live
    if live is None:
        return replace(known, live_state=None, live_known=False, normalized_state=None, predicted_state=None)
    return _showing(known, _after(live, desired, app, fleet).predicted, ())


def _owned(live: Object | None, app: App, fleet: Fleet) -> bool:
    """False when tracking data gives the live object to another application: this one then just forgets it.

    Argo CD looks for live objects to prune by their tracking data alone (gitops-engine pkg/cache, GetManagedLiveObjs).
    """
    if live is None:
        return False
    if fleet.tracking_method == "label":
        return labels_of(live).get(fleet.label_key) == app.instance
    return str(annotations_of(live).get(compare.TRACKING_ID) or "").partition(":")[0] == app.instance


def _dropped(resource: Resource) -> Resource:
    """An object to be pruned."""
    return replace(
        resource,
        status="OutOfSync",
        requires_pruning=True,
        modified=False,
        desired_state="null",
        predicted_state="null",
    )


def _edited(resource: Resource, edit: Edited, app: App, fleet: Fleet) -> Resource:
    desired = _with_secrets(edit.head, resource.desired)
    changed = replace(
        resource,
        id=replace(resource.id, version=str(desired.get("apiVersion") or "").rpartition("/")[2]),
        sync_wave=_wave(desired),
        desired_state=desired,
    )
    live = resource.live
    if live is None or not resource.desired_known:
        return changed
    after = _after(live, desired, app, fleet)
    always = set(_after(live, resource.desired, app, fleet).pointers) if resource.desired else set()
    otherwise = compare.strategy_of(app.raw, edit.base) != compare.strategy_of(app.raw, desired)
    new = [
        Change(pointer, want, have)
        for pointer, want, have in differences(after.predicted, after.normalized)
        if pointer not in always and (otherwise or any(overlap(pointer, touched) for touched in edit.pointers))
    ]
    old = [c for c in resource.changes if not any(overlap(c.pointer, touched) for touched in edit.pointers)]
    lasting = {c.pointer for c in (*old, *new)}
    pending = tuple(c for c in _before(live, desired, app, fleet) if c.pointer not in lasting)
    shown = _showing(changed, after.predicted, (*old, *new))
    return replace(shown, pending=pending, status="OutOfSync" if pending else shown.status)


def _before(live: Object, desired: Object, app: App, fleet: Fleet) -> tuple[Change, ...]:
    """What Argo CD shows between the merge and the sync."""
    rules = compare.rules_of(app.raw, fleet.settings)
    made = compare.compare(live, desired, rules, compare.strategy_of(app.raw, desired))
    return changes(made.predicted or {}, made.normalized or {}, live) if made.modified else ()


def _after(live: Object, desired: Object, app: App, fleet: Fleet) -> compare.Comparison:
    """What Argo CD shows once a sync has applied desired."""
    rules = compare.rules_of(app.raw, fleet.settings)
    applied = compare.apply(
        live,
        desired,
        rules,
        server_side=compare.syncs_server_side(app.raw, desired),
        respect_ignored="RespectIgnoreDifferences=true" in app.sync_options,
    )
    return compare.compare(applied, desired, rules, compare.strategy_of(app.raw, desired))


def _showing(resource: Resource, predicted: Object | None, shown: Iterable[Change]) -> Resource:
    """The resource with exactly these differences: its normalised state is the predicted one with their live values."""
    normalized: Json = predicted
    for change in sorted(shown, key=lambda c: c.pointer, reverse=True):
        normalized = with_value(normalized, split_pointer(change.pointer), change.live)
    modified = normalized != predicted
    return replace(
        resource,
        status="OutOfSync" if modified else "Synced",
        modified=modified,
        normalized_state=normalized,
        predicted_state=predicted,
    )


def _with_secrets(desired: Object, before: Object | None) -> Object:
    """A Secret's desired state with the masks that the server made for the pair of desired and live."""
    if desired.get("kind") != "Secret" or before is None:
        return desired
    masks = before.get("data") or {}
    data = desired.get("data") or {}
    return {**desired, "data": {key: masks.get(key, value) for key, value in data.items()}} if data else desired


def overlap(one: str, other: str) -> bool:
    """True when one pointer is the other's or lies above it; indexes of lists are not compared, since sides may be shifted."""
    return all(
        a == b or (a.isdigit() and b.isdigit()) for a, b in zip(split_pointer(one), split_pointer(other), strict=False)
    )


def _wave(desired: Object) -> int:
    text = annotations_of(desired).get("argocd.argoproj.io/sync-wave") or "0"
    return int(text) if re.fullmatch(r"-?\d+", text) else 0


def _cured(resource: Resource, app: App) -> bool:
    """True when the next sync ends what makes the object OutOfSync."""
    coming = resource.desired_known and not resource.live_known
    return coming or (resource.requires_pruning and app.prune) or bool(resource.pending and not resource.modified)


def _concluded(app: App, resources: tuple[Resource, ...], head: Rendered) -> App:
    """Status, conditions and evidence that go with the new resources."""
    raw = without_conditions(app.raw, lambda c: c.get("type") == "RepeatedResourceWarning")
    status = dict(raw.get("status") or {})
    stamp = app.observed_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    repeated = [
        {
            "type": "RepeatedResourceWarning",
            "message": f"Resource {k.group}/{k.kind}/{k.namespace}/{k.name} appeared {count} times among application resources.",
            "lastTransitionTime": stamp,
        }
        for k, count in head.repeated.items()
    ]
    status["conditions"] = [*(status.get("conditions") or ()), *repeated]
    out = any(r.status == "OutOfSync" and not _cured(r, app) for r in resources)
    status["sync"] = {**(status.get("sync") or {}), "status": "OutOfSync" if out else "Synced"}
    evidence = {**app.evidence, Want("manifests"): (*head.objects.values(), *head.hooks.values())}
    return replace(app, raw={**raw, "status": status}, resources=resources, evidence=evidence, read=True)
