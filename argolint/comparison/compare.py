"""Argo CD's comparison of a live and a desired object, in memory: for states that no server has seen yet.

Follows gitops-engine pkg/diff/diff.go (Diff, ThreeWayDiff, StructuredMergeDiff, ServerSideDiff), util/argo/diff/diff.go (preDiffNormalize)
and, for the built-in kinds, apimachinery pkg/util/strategicpatch/patch.go. For states from a server, its own normalized and predicted
states are better: this module is for verifying fixes and for the gate.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import msgspec

from argolint.comparison.diff import differences
from argolint.comparison.ignore import (
    ROLLOUT,
    IgnoreRule,
    KnownTypes,
    application_rules,
    known_types,
    normalize,
    server_rules,
    trusted,
)
from argolint.comparison.kinds import endpoints
from argolint.comparison.scheme import builtin, canonical, defaulted, merge_key
from argolint.comparison.server_side import server_side_apply, with_owner
from argolint.comparison.three_way import Place, completed, interleave, numbered, three_way
from argolint.model import MISSING, Json, Object
from argolint.values import annotations_of, at_and_above, comma_list, items, json_in, labels_of, mapping, parse_version
from argolint.values.kubernetes import COMPARE_OPTIONS, SYNC_OPTIONS, group_of, is_secret
from argolint.values.memo import by_identity, one

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
TRACKING_ID = "argocd.argoproj.io/tracking-id"


class Strategy(StrEnum):
    """How Argo CD predicts the outcome of a sync (docs/user-guide/diff-strategies.md)."""

    THREE_WAY = "three-way"
    """Default; two-way if live has no last-applied configuration."""
    STRUCTURED = "structured-merge"
    """Servers up to 3.5."""
    SERVER_SIDE = "server-side"


@dataclass(frozen=True, slots=True)
class Tracking:
    """How the server marks its objects: settings.trackingMethod (an empty one counts as `label`) and settings.appLabelKey."""

    method: str = "annotation"
    label_key: str = "app.kubernetes.io/instance"
    overwrites: bool = False
    """Before Argo CD 3.4.6: an existing tracking id, even of another application, is replaced before the comparison on objects with the instance label."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings of an application and its server that affect the comparison of an object."""

    ignore: tuple[IgnoreRule, ...] = ()
    known_types: tuple[KnownTypes, ...] = (ROLLOUT,)
    tracking: Tracking = Tracking()
    merges_lists: bool = True
    """Whether RespectIgnoreDifferences merges the lists of built-in kinds item by item; otherwise live's list is applied as a whole."""
    restores_fields: bool = True
    """Whether RespectIgnoreDifferences puts back what the manifest has and no entry ignores there, if live's list came in its place."""


@dataclass(frozen=True)
class Comparison:
    """Argo CD's result: `normalized` live against `predicted` live; None for a side that does not exist."""

    normalized: Object | None
    predicted: Object | None
    modified: bool

    @cached_property
    def pointers(self) -> tuple[str, ...]:
        """The pointers of every difference, sorted; empty for an object that exists on one side only.

        An explicit null equals an absent field: older Go types print `creationTimestamp: null` into templates.
        """
        if not self.modified or self.normalized is None or self.predicted is None:
            return ()
        found = differences(self.predicted, self.normalized)
        return tuple(sorted(pointer for pointer, want, have in found if not is_nothing(want, have)))


def is_nothing(want: Json, have: Json) -> bool:
    """True for an explicit null against an absent field, which is no difference."""
    return (want is None or want is MISSING) and (have is None or have is MISSING)


@by_identity(8)
def rules_of(application: Object, settings: Object, version: str = "") -> Rules:
    """The rules from the Application's spec and the server's settings (the answer of /api/v1/settings).

    `version`: the server's; an unknown one compares as the newest.
    """
    found = Rules(
        application_rules(application) + server_rules(settings),
        known_types(settings),
        Tracking(
            str(settings.get("trackingMethod") or ""),
            str(settings.get("appLabelKey") or Tracking().label_key),
            (parse_version(version) or _KEEPS_IDS) < _KEEPS_IDS,
        ),
        (parse_version(version) or _MERGES_LISTS) >= _MERGES_LISTS,
        _restores_fields(parse_version(version)),
    )
    return one(found)


def _restores_fields(version: tuple[int, ...] | None) -> bool:
    """Whether the release has restoreNonIgnoredFields (controller/sync.go); an unknown one counts as the newest."""
    return version is None or version >= (3, 5) or any(first <= version < (3, first[1] + 1) for first in _RESTORING)


_RESTORING = ((3, 3, 13), (3, 4, 5))
"""The first patch releases before 3.5 that restore fields."""


_KEEPS_IDS = (3, 4, 6)
"""The first release whose Normalize keeps a live tracking id (util/argo/resource_tracking.go; also in 3.5.0)."""


_MERGES_LISTS = (2, 11)
"""The first release whose normalizeTargetResources makes a strategic merge patch for built-in kinds (controller/sync.go)."""


def strategy_of(application: Object, desired: Object | None, version: str, *, server_side: bool = False) -> Strategy:
    """The strategy for this object: annotations of the resource and the Application, syncOptions, the controller's flag.

    `version` is the server's; an unknown one compares as the newest. `server_side` is the controller's
    `controller.diff.server.side`, which no API gives. Sources: controller/state.go CompareAppState and (3.6)
    shouldUseServerSideDiff, gitops-engine pkg/diff/diff.go Diff, docs/operator-manual/upgrading/3.5-3.6.md.
    """
    compare_options = comma_list(annotations_of(application).get(COMPARE_OPTIONS))
    newer = (parse_version(version) or _NO_STRUCTURED_MERGE) >= _NO_STRUCTURED_MERGE
    applied = "ServerSideApply=true" in items(application, "spec", "syncPolicy", "syncOptions")
    is_server_side = server_side or "ServerSideDiff=true" in compare_options or (newer and applied)
    if is_server_side and "ServerSideDiff=false" not in compare_options:
        return Strategy.SERVER_SIDE
    if not newer and has_sync_option(application, desired, "ServerSideApply=true"):
        return Strategy.STRUCTURED  # a resource's ServerSideApply=false changes only its sync
    return Strategy.THREE_WAY


_NO_STRUCTURED_MERGE = (3, 6)
"""The first release without structured merge: an Application's ServerSideApply=true asks for server-side diff there. A resource's
own annotation no longer changes how the controller compares, because only the Application's options give it a dry run."""


def syncs_server_side(application: Object, desired: Object | None) -> bool:
    """True if a sync applies this object server-side."""
    refused = "ServerSideApply=false" in comma_list(annotations_of(desired).get(SYNC_OPTIONS))
    return has_sync_option(application, desired, "ServerSideApply=true") and not refused


def has_sync_option(application: Object, desired: Object | None, option: str) -> bool:
    """True if the Application's syncOptions or the resource's own annotation set the option.

    RespectIgnoreDifferences is read from the Application only (controller/sync.go, SyncAppState).
    """
    if option in items(application, "spec", "syncPolicy", "syncOptions"):
        return True
    own = annotations_of(desired) if not option.startswith("RespectIgnoreDifferences=") else {}
    return option in comma_list(own.get(SYNC_OPTIONS))


@by_identity(64)
def compare(
    live: Object | None, desired: Object | None, rules: Rules = Rules(), strategy: Strategy = Strategy.THREE_WAY
) -> Comparison:
    """Argo CD's comparison of one pair; neither object is changed. Raises ValueError if both are None."""
    if live is None and desired is None:
        raise ValueError("nothing to compare: neither live nor desired exists")
    live, desired = _readable(live), _readable(desired)
    if live is None or desired is None:
        sides = [None if side is None else _normalized(canonical(side), rules) for side in (live, desired)]
        return Comparison(sides[0], sides[1], modified=live is None)
    live, desired = trusted(_tracked(live, desired, rules.tracking), desired, rules.ignore)
    live, desired = canonical(live), canonical(desired)
    if strategy is Strategy.SERVER_SIDE:
        predicted = server_side_apply(live, desired, complete=True)
        sides = [defaulted(_unmanaged(_normalized(side, rules))) for side in (live, canonical(predicted))]
        return Comparison(sides[0], sides[1], modified=sides[0] != sides[1])
    live, desired = _normalized(live, rules), _normalized(desired, rules)
    if strategy is Strategy.STRUCTURED:
        predicted = _without_last_applied(server_side_apply(live, desired))
        live = _without_last_applied(live)
    else:
        original = last_applied(live)
        original = desired if original is None else _normalized(original, rules)
        predicted = three_way(original, desired, live)
    normalized, predicted = defaulted(live), defaulted(predicted)
    return Comparison(normalized, predicted, modified=normalized != predicted)


@by_identity(16)
def hidden(
    rule: IgnoreRule, live: Object, desired: Object, rules: Rules, strategy: Strategy = Strategy.THREE_WAY
) -> tuple[str, ...]:
    """The differences that only this rule, and no other of `rules`, hides from Argo CD: sorted pointers."""
    others = one(replace(rules, ignore=tuple(other for other in rules.ignore if other != rule)))
    shown = set(compare(live, desired, rules, strategy).pointers)
    return tuple(pointer for pointer in compare(live, desired, others, strategy).pointers if pointer not in shown)


@by_identity(16)
def caused(
    rule: IgnoreRule, live: Object, desired: Object, rules: Rules, strategy: Strategy = Strategy.THREE_WAY
) -> tuple[str, ...]:
    """The differences that exist only because of this rule; sorted pointers."""
    others = one(replace(rules, ignore=tuple(other for other in rules.ignore if other != rule)))
    without = compare(live, desired, others, strategy).pointers
    return _only_shown(compare(live, desired, rules, strategy).pointers, without)


def differing(live: Object, desired: Object, rules: Rules, strategy: Strategy = Strategy.THREE_WAY) -> tuple[str, ...]:
    """The differences with one strategy; sorted pointers."""
    return compare(live, desired, rules, strategy).pointers


def compared_by(live: Object, desired: Object, rules: Rules, strategy: Strategy) -> tuple[str, ...]:
    """The differences that one strategy shows and the default one does not; sorted pointers."""
    return _only_shown(differing(live, desired, rules, strategy), differing(live, desired, rules))


def _only_shown(shown: Iterable[str], otherwise: Sequence[str]) -> tuple[str, ...]:
    """The pointers that no pointer of the other list overlaps."""
    otherwise_shown = {place for pointer in otherwise for place in at_and_above(pointer)}
    places = frozenset(otherwise)
    return tuple(p for p in shown if p not in otherwise_shown and not any(place in places for place in at_and_above(p)))


@by_identity(16)
def apply(
    live: Object | None,
    desired: Object | None,
    rules: Rules = Rules(),
    *,
    server_side: bool = False,
    respect_ignored: bool = False,
    replaced: bool = False,
) -> Object | None:
    """The live object after a sync: None after a prune. Neither object is changed.

    `server_side`: the sync option ServerSideApply; `respect_ignored`: RespectIgnoreDifferences, with which live's values of ignored fields
    are applied (controller/sync.go, normalizeTargetResources). Defaults that only the API server knows are copied from live. `replaced`:
    the sync option Replace, with which nothing of live stays that is not applied.
    """
    live, desired = _readable(live), _readable(desired)
    if desired is None or live is None:
        return None if desired is None else _recorded(defaulted(canonical(desired)), desired, server_side)
    target = sent(live, desired, rules, respect_ignored=respect_ignored)
    if replaced:
        return _replaced(live, defaulted(canonical(target)))
    if server_side:
        return with_owner(server_side_apply(live, canonical(target), complete=True), target)
    was = last_applied(live)
    original = was or canonical(target)  # without a last-applied configuration, nothing is deleted
    result = completed(three_way(original, canonical(target), live), live, original)
    synced = defaulted(canonical(result))
    return synced if was == target else _recorded(synced, target, server_side)


def sent(live: Object, desired: Object, rules: Rules, *, respect_ignored: bool) -> Object:
    """What a sync applies: the manifest; with RespectIgnoreDifferences, live's values of ignored fields."""
    return _respecting(live, desired, rules) if respect_ignored else desired


def _replaced(live: Object, target: Object) -> Object:
    """The object after `kubectl replace`: fields that only the API server writes stay."""
    kept = {field: value for field, value in mapping(live, "metadata").items() if field in _SERVERS_OWN}
    status = {"status": live["status"]} if "status" in live else {}
    return {**target, "metadata": {**mapping(target, "metadata"), **kept}, **status}


_SERVERS_OWN = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")


@by_identity(16)
def last_applied(live: Object) -> Object | None:
    """The decoded last-applied configuration; None if live has no readable one."""
    found = json_in(annotations_of(live).get(LAST_APPLIED))
    return _readable(found) if isinstance(found, dict) else None


def _readable(obj: Object | None) -> Object | None:
    """The object without metadata of an invalid type: a template can render anything."""
    if obj is None:
        return None
    metadata = dict(given) if isinstance(given := obj.get("metadata"), Mapping) else {}
    for field in ("annotations", "labels"):
        found = metadata.get(field)
        texts = {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else None
        if found is not None and texts != found:
            metadata[field] = texts
    return obj if metadata == given else {**obj, "metadata": metadata}


def _recorded(live: Object, desired: Object, server_side: bool) -> Object:
    if server_side:
        return with_owner(live, desired)
    metadata = live.get("metadata") or {}
    text = msgspec.json.encode(desired).decode()
    return {**live, "metadata": {**metadata, "annotations": {**annotations_of(live), LAST_APPLIED: text}}}


def _respecting(live: Object, desired: Object, rules: Rules) -> Object:
    """Desired with live's values of the ignored fields; status is never applied."""
    kept_live, kept_desired = trusted(live, desired, rules.ignore)
    kept_live, kept_desired = normalize(kept_live, rules.ignore), normalize(kept_desired, rules.ignore)
    had = {key: value for key, value in live.items() if key != "status"}
    merges = builtin(desired) and rules.merges_lists
    result: Object = _with_kept_values(kept_desired, kept_live, had, ("", "") if merges else None)
    if (
        merges
        and desired.get("kind") == "PodDisruptionBudget"
        and isinstance(mapping(had, "spec").get("selector"), dict)
    ):
        # the schema marks it to be replaced (patchStrategy), so a patch between equal sides has it too (strategicpatch, handleMapDiff)
        result = {**result, "spec": {**mapping(result, "spec"), "selector": mapping(had, "spec")["selector"]}}
    return _with_git_values(result, desired, kept_desired) if rules.restores_fields else result


def _with_git_values(patched: Object, desired: Object, kept: Object) -> Object:
    """Patched with desired's values for all fields that are not ignored: lists are replaced as a whole, so live's extra items are removed.

    `kept`: desired without its ignored fields (controller/sync.go, restoreNonIgnoredFields; before it, such a list came
    from live as a whole, and later commits to it had no effect).
    """
    restored = dict(patched)
    for key, value in desired.items():
        have, left = patched.get(key), kept.get(key)
        if isinstance(have, dict) and isinstance(value, dict) and isinstance(left, dict):
            restored[key] = _with_git_values(have, value, left)
        elif key in kept and left == value:
            restored[key] = value
    return restored


def _with_kept_values(desired: Json, kept: Json, live: Json, at: Place) -> Json:
    """Desired with everything that live has and `kept`, live without its ignored fields, does not.

    Lists without a merge key come from live as a whole, as in a JSON merge patch.
    """
    if isinstance(live, dict) and isinstance(kept, dict):
        base = desired if isinstance(desired, dict) else {}
        changes = {
            key: _with_kept_values(base.get(key), kept[key], value, (at[1], key) if at else None)
            if key in kept
            else value
            for key, value in live.items()
            if key not in kept or kept[key] != value
        }
        return {**base, **changes}
    key = merge_key(*at) if at else None
    if key and isinstance(live, list) and isinstance(kept, list) and isinstance(desired, list):
        have, left, want = (numbered(side, key) for side in (live, kept, desired))
        merged = {name: item for name, item in have.items() if name not in left} | {
            name: _with_kept_values(item, left[name], have[name], at) if name in left and name in have else item
            for name, item in want.items()
        }
        patched = [merged[name] for name in have if name in merged]  # a patch names every item of live, in live's order
        others = [merged[name] for name in want if name not in have]
        return interleave(patched, others, desired, lambda item: mapping(item).get(key))
    return live


def _normalized(obj: Object, rules: Rules) -> Object:
    """gitops-engine's Normalize: creationTimestamp, Secret's stringData, empty Role rules, sorted Endpoints, then the ignore rules."""
    metadata = obj.get("metadata")
    if isinstance(metadata, dict) and "creationTimestamp" in metadata:
        obj = {**obj, "metadata": {key: value for key, value in metadata.items() if key != "creationTimestamp"}}
    if is_secret(obj):
        obj = _encoded(obj)
    elif group_of(obj) == "rbac.authorization.k8s.io" and obj.get("rules") == []:
        obj = {**obj, "rules": None}
    elif (group_of(obj), obj.get("kind")) == ("", "Endpoints"):
        obj = endpoints(obj)
    return normalize(obj, rules.ignore, rules.known_types)


def _encoded(secret: Object) -> Object:
    """The Secret with stringData merged into data and null values printed as empty."""
    data, plain = (found if isinstance(found := secret.get(f), Mapping) else {} for f in ("data", "stringData"))
    text = {
        key: base64.b64encode(value.encode()).decode() if isinstance(value, str) else value
        for key, value in plain.items()
    }
    given = {**data, **text}
    data = {key: "" if value is None else value for key, value in given.items()}
    rest = {key: value for key, value in secret.items() if key != "stringData"}
    return {**rest, "data": data} if "data" in secret or text else rest


def _tracked(live: Object, desired: Object, tracking: Tracking) -> Object:
    """Live with tracking as if it had always been by annotation (util/argo/resource_tracking.go, Normalize).

    An object with the instance label gets desired's tracking id if it has none (on older servers always), and loses the label if desired
    has none.
    """
    label = labels_of(live).get(tracking.label_key)
    if tracking.method in ("", "label") or not label or live.get("kind") == "CustomResourceDefinition":
        return live
    metadata = dict(mapping(live, "metadata"))
    if tracking.overwrites or not annotations_of(live).get(TRACKING_ID):
        metadata["annotations"] = {**annotations_of(live), TRACKING_ID: annotations_of(desired).get(TRACKING_ID, "")}
    if not labels_of(desired).get(tracking.label_key):
        metadata["labels"] = {key: value for key, value in labels_of(live).items() if key != tracking.label_key}
    return {**live, "metadata": metadata}


def _unmanaged(obj: Object) -> Object:
    drop = ("managedFields", "resourceVersion")
    metadata = {key: value for key, value in mapping(obj, "metadata").items() if key not in drop}
    return _without_last_applied({**obj, "metadata": metadata})


def _without_last_applied(obj: Object) -> Object:
    if LAST_APPLIED not in annotations_of(obj):
        return obj
    kept = {key: value for key, value in annotations_of(obj).items() if key != LAST_APPLIED}
    return {**obj, "metadata": {**obj["metadata"], "annotations": kept}}
