"""kubectl's three-way merge in memory: of live, desired and last-applied.

Built-in kinds merge as apimachinery pkg/util/strategicpatch/patch.go does (lists by key, retainKeys, order); custom resources as a JSON
merge patch in which Argo CD ignores fields that last-applied does not have (gitops-engine pkg/diff/diff.go, threeWayMergePatch;
pkg/utils/json/json.go).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

from argolint.comparison.scheme import MERGED_SCALARS, REPLACED_BELOW, RETAIN_KEYS, builtin, merge_key
from argolint.model import Json, Object
from argolint.values import mapping
from argolint.values.kubernetes import group_of

Place = tuple[str, str] | None
"""(enclosing field, field) inside a built-in kind, which decides how a list merges; None inside a custom resource."""


def three_way(original: Object, desired: Object, live: Object) -> Object:
    """Live after a client-side apply of desired, before defaults; `original`: the last-applied configuration."""
    original, desired = _bare(original), _bare(desired)
    if builtin(original):
        merged = _merge(original, desired, live, _trimmed_claims(original, live), ("", ""))
        return _whole(merged, desired, live)
    return _merge(original, desired, live, trim(original, live), None)


_WHOLE = {
    ("policy", "PodDisruptionBudget"): "selector",
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): "variables",
}
"""Spec fields that merge in other kinds and are replaced as a whole in this one (patchStrategy of k8s.io/api's types.go)."""


def _whole(merged: Object, desired: Object, live: Object) -> Object:
    field = _WHOLE.get((group_of(desired), str(desired.get("kind"))), "")
    want, spec = mapping(desired, "spec").get(field), merged.get("spec")
    if not want or not isinstance(spec, dict) or want == mapping(live, "spec").get(field):
        return merged
    return {**merged, "spec": {**spec, field: want}}


def trim(original: Json, live: Json) -> Json:
    """Live without fields that original does not have: maps by key, lists item by item; live's extra items stay."""
    if isinstance(original, dict) and isinstance(live, dict):
        return {key: trim(value, live[key]) for key, value in original.items() if key in live}
    if isinstance(original, list) and isinstance(live, list):
        return [*map(trim, original, live), *live[len(original) :]]
    return live


def completed(desired: Json, live: Json, original: Json = None, *, listed: bool = False) -> Json:
    """Desired with the API server's defaults for items of lists that are replaced as a whole.

    There is no schema: a value that live has in the same item and `original` never had counts as such a default.
    """
    if desired == live:
        return desired
    if isinstance(desired, dict) and isinstance(live, dict):
        was = original if isinstance(original, dict) else {}
        rest = {key: value for key, value in live.items() if key not in desired and key not in was} if listed else {}
        own = {key: completed(v, live.get(key), was.get(key), listed=listed) for key, v in desired.items()}
        return {**own, **rest}
    if isinstance(desired, list) and isinstance(live, list) and len(desired) == len(live):
        olds = original if isinstance(original, list) and len(original) == len(live) else [None] * len(live)
        return [completed(*three, listed=True) for three in zip(desired, live, olds, strict=True)]
    return desired


def interleave(mine: list[Json], others: list[Json], order: list[Json], key: Callable[[Json], Json]) -> list[Json]:
    """Two lists of items as one: mine in their order, the others before those of mine that they precede in `order`.

    This is strategicpatch's mergeSortedSlice, which orders the result of a patch with $setElementOrder.
    """
    keys = [key(item) for item in order]

    def place(item: Json) -> int | None:
        return keys.index(key(item)) if key(item) in keys else None

    result: list[Json] = []
    left, right = list(others), list(mine)
    while left and right:
        before, after = place(left[0]), place(right[0])
        result.append(left.pop(0) if before is not None and after is not None and before < after else right.pop(0))
    return [*result, *right, *left]


def _bare(obj: Object) -> Object:
    """The object without namespace and empty annotations, which a manifest may omit (removeNamespaceAnnotation)."""
    if "metadata" not in obj:  # an ignore rule took it out
        return obj
    metadata = {key: value for key, value in mapping(obj, "metadata").items() if key != "namespace"}
    if not metadata.get("annotations"):
        metadata.pop("annotations", None)
    return {**obj, "metadata": metadata}


def _trimmed_claims(original: Object, live: Object) -> Object:
    """Live trimmed like a custom resource in a StatefulSet's volumeClaimTemplates (statefulSetWorkaround)."""
    spec, was, field = live.get("spec"), original.get("spec"), "volumeClaimTemplates"
    if live.get("kind") != "StatefulSet" or not isinstance(spec, dict) or not isinstance(was, dict):
        return live
    return {**live, "spec": {**spec, field: trim(was[field], spec[field])}} if field in spec and field in was else live


def _merge(original: Json, desired: Object, live: Object, seen: Json, at: Place) -> Object:
    """Live with the patch that turns `seen` (live, perhaps trimmed) into desired; original shows the fields that were given up."""
    was, shown = (side if isinstance(side, dict) else {} for side in (original, seen))
    result = {key: value for key, value in live.items() if key in desired or key not in was}
    for key, want in desired.items():
        have = live.get(key)
        place = (at[1], key) if at else None
        if want is None:
            if at and have is not None:
                del result[key]
        elif want == have:  # most sides are equal and merge to themselves: do not walk them
            result[key] = have
        elif isinstance(want, dict) and isinstance(have, dict):
            result[key] = _merge_map(was.get(key), want, have, shown.get(key), place)
        elif isinstance(want, list) and isinstance(have, list):
            result[key] = _merge_list(was.get(key), want, have, shown.get(key), place)
        elif want != shown.get(key):
            result[key] = want
    return result


def _merge_map(original: Json, desired: Object, live: Object, seen: Json, at: Place) -> Object:
    merged = _merge(original, desired, live, seen, at)
    if at and at[1] in RETAIN_KEYS:
        return {key: value for key, value in merged.items() if key in desired}
    return merged


def _merge_list(original: Json, desired: list[Json], live: list[Json], seen: Json, at: Place) -> list[Json]:
    key = merge_key(*at) if at else None
    if at and key and all(isinstance(item, dict) and key in item for item in (*desired, *live)):
        return _merge_items(original if isinstance(original, list) else [], desired, live, key, at)
    if at and at[1] in MERGED_SCALARS and at not in REPLACED_BELOW:
        given_up = [item for item in original or () if item not in desired]
        kept = [item for item in live if item not in given_up]
        return [*kept, *(item for item in desired if item not in kept)]
    return live if desired == seen else desired


def _merge_items(original: list[Json], desired: list[Json], live: list[Json], key: str, at: Place) -> list[Json]:
    """A built-in list merged by key. Items that share a key (port 53, TCP and UDP) are paired in order.

    A patch names items by key alone. Removing one of several items with the same key deletes all of them, even those that stay in the
    manifest, and a change of one reaches the first (diffListsOfMaps, mergeSliceWithSpecialElements).
    """
    before, wanted, have = numbered(original, key), numbered(desired, key), numbered(live, key)
    lost = {name for name, count in before.keys() - wanted.keys() if (name, 0) in wanted}
    own_items: dict[tuple[str, int], Json] = {}
    for name, item in wanted.items():
        if name[0] in lost:
            continue
        own_items[name] = (
            _merge_map(before.get(name), item, have[name], have[name], at) if have.get(name, item) != item else item
        )
        first = (name[0], 0)
        if name != first and name in have and first in own_items and own_items[name] != have[name]:
            changed = {k: v for k, v in own_items[name].items() if have[name].get(k, v) != v or k not in have[name]}
            own_items[first], own_items[name] = {**own_items[first], **changed}, have[name]
    others = [item for name, item in have.items() if name not in wanted and name not in before and name[0] not in lost]
    return interleave(list(own_items.values()), others, live, lambda item: item[key])


def numbered(items: list[Json], key: str) -> dict[tuple[str, int], Json]:
    """Items by key value and by the number of earlier items with that value; an item without the key has the empty value."""
    found: dict[tuple[str, int], Json] = {}
    seen: Counter[str] = Counter()
    for item in items:
        value = item.get(key) if isinstance(item, dict) else ""
        name = value if isinstance(value, str) else "\0" + json.dumps(value, sort_keys=True)
        found[name, seen[name]] = item
        seen[name] += 1
    return found
