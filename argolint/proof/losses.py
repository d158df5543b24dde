"""What a sync removes from the cluster after a field has left Git, and the step that keeps it.

A client-side apply deletes fields that the last-applied configuration has and the manifest does not; the API server then sets its own
default, which is 1 for replicas. Removing the field from the last-applied configuration first keeps the live value (kubectl apply
view-last-applied and set-last-applied; k8s.io/kubectl pkg/util/apply.go).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from argolint.application.app import App
from argolint.application.applied import by_argocd
from argolint.comparison import compare, managed_fields
from argolint.comparison.ignore import without
from argolint.comparison.scheme import builtin, merge_key
from argolint.model import MISSING, Fix, Json, Object, ResourceId
from argolint.values import annotations_of, below, get, index_of, join_pointer, sh, split_pointer
from argolint.values.kubernetes import ITEM_NAMES, is_secret, kubectl_name
from argolint.values.patterns import regex

REPLICAS = "/spec/replicas"
_OF_THE_SERVER = (
    "/status",
    *(
        f"/metadata/{f}"
        for f in ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")
    ),
)
"""Fields that no apply removes."""


def removed_pointers(fix: Fix) -> tuple[str, ...]:
    """The pointers of the manifest that the edit removes; whole list items are meant to be removed."""
    paths = (str(o.get("path", "")) for o in fix.edit.content if o.get("op") == "remove")
    own = [path for path in paths if not any(below(path, root) for root in _OF_THE_SERVER)]
    return tuple(path for path in own if index_of(split_pointer(path)[-1]) is None)


def removed_items(fix: Fix) -> tuple[str, ...]:
    """The list items that the edit removes, with the manifest's indexes before the edit."""
    paths = [str(o.get("path", "")) for o in fix.edit.content if o.get("op") == "remove"]
    found = [path for path in paths if index_of(split_pointer(path)[-1]) is not None]
    ends = [(path.rpartition("/")[0], int(path.rpartition("/")[2])) for path in found]
    backwards = all(later < index for (place, index), (other, later) in pairwise(ends) if place == other)
    return tuple(found) if backwards and len(paths) == len(fix.edit.content) else ()


def lost_fields(fix: Fix, before: Object, after: Object, live: Object, synced: Object) -> Iterator[str]:
    """The removed fields with a live value of another writer that the sync removes.

    `before` and `after`: the manifest. A value that Argo CD wrote from Git is meant to be removed with it; but a workload without its own
    replica count falls to 1.
    """
    for pointer in removed_pointers(fix):
        here = _pointer_there(before, live, pointer)
        had = MISSING if here is None else get(live, here)
        if here is None or had is MISSING or get(after, pointer) is not MISSING or _is_allocated(after, here):
            continue
        live_pointer = _pointer_there(live, synced, here)
        now = MISSING if live_pointer is None else get(synced, live_pointer)
        if now == had or (isinstance(had, dict) and isinstance(now, dict)):
            continue
        writer = managed_fields.writer(live, here)
        foreign = get(before, pointer) != had or not (writer is None or by_argocd(writer))
        if foreign or here == REPLICAS:
            yield pointer


def _is_allocated(manifest: Object, pointer: str) -> bool:
    """A number or address of a Service that the API server sets again to what it was (pkg/registry/core/service/strategy.go, patchAllocatedValues)."""
    return manifest.get("kind") == "Service" and bool(_ALLOCATED.fullmatch(pointer))


_ALLOCATED = regex(r"/spec/(?:ports/\d{1,4}/nodePort|clusterIPs?|healthCheckNodePort)")


def closed_list(pointers: Iterable[str], desired: Object, sync: Callable[[Object], Object]) -> str | None:
    """A list of the manifest with items that contain some of these pointers, where later commits to other items have no effect.

    A list without a merge key is kept from live as a whole, as in a JSON merge patch (controller/sync.go, normalizeTargetResources).
    """
    places = {place for pointer in pointers for place in _lists(desired, pointer)}
    for place in sorted(places):
        new = _another_item(get(desired, place)[-1])
        if new is None:
            continue
        committed = _appended(desired, split_pointer(place), new)
        if not any(_has_item(item, new) for item in get(sync(committed), place, None) or ()):
            return place
    return None


def is_sent_whole(pointer: str, sent: Object, live: Object) -> bool:
    """True if another writer's live field is in an item of a list without merge key, and the applied list lacks it.

    The API server fills such an item with its own defaults and keeps nothing else of it.
    """
    if get(sent, pointer) is not MISSING or get(live, pointer) is MISSING:
        return False
    tokens = split_pointer(pointer)
    for depth, token in enumerate(tokens):
        listed = index_of(token) is not None and isinstance(get(sent, join_pointer(*tokens[:depth])), list)
        if listed and not (builtin(sent) and merge_key(*_field_and_parent(tokens[:depth]))):
            writer = managed_fields.writer(live, pointer)
            return writer is not None and not by_argocd(writer)
    return False


def repeated_item_list(obj: Json, at: tuple[str, str] = ("", "")) -> str:
    """The name of a list in a built-in object that has two items of one merge key; empty if there is none."""
    if at == ("", "") and not builtin(obj):
        return ""
    if isinstance(obj, Mapping):
        found = (
            repeated_item_list(value, (at[1], field))
            for field, value in obj.items()
            if field not in ("metadata", "status")
        )
        return next(filter(None, found), "")
    if not isinstance(obj, list):
        return ""
    key = merge_key(*at)
    names = (
        [tuple(item.get(k) for k in _KEYS.get(at[1], (key,))) for item in obj if isinstance(item, Mapping)]
        if key
        else []
    )
    if len(set(names)) < len(names):
        return at[1]
    return next(filter(None, (repeated_item_list(item, at) for item in obj)), "")


_KEYS = {
    "ports": ("containerPort", "port", "protocol"),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}
"""Lists that a schema merge identifies by more than one field."""


def _field_and_parent(tokens: Sequence[str]) -> tuple[str, str]:
    """The names of the parent and of the field, without list indexes; empty for one that does not exist."""
    names = [token for token in tokens if index_of(token) is None]
    return (names[-2] if len(names) > 1 else "", names[-1] if names else "")


def _lists(desired: Json, pointer: str) -> Iterator[str]:
    tokens = split_pointer(pointer)
    for depth, token in enumerate(tokens):
        place = join_pointer(*tokens[:depth])
        if index_of(token) is not None and isinstance(held := get(desired, place), list) and held:
            yield place
            return


def _another_item(item: Json) -> Json:
    """An item that the list does not have yet; None if it cannot be named."""
    if isinstance(item, str):
        return f"{item}-more"
    names = [n for n in ITEM_NAMES if isinstance(item, Mapping) and isinstance(item.get(n), str)]
    return {**item, **{name: f"{item[name]}-more" for name in names}} if names else None


def _has_item(item: Json, new: Json) -> bool:
    if isinstance(item, Mapping) and isinstance(new, Mapping):
        return all(item.get(name) == new[name] for name in ITEM_NAMES if isinstance(new.get(name), str))
    return bool(item == new)


def _appended(node: Json, tokens: Sequence[str], item: Json) -> Json:
    if not tokens:
        return [*node, item]
    if isinstance(node, list):
        at = index_of(tokens[0]) or 0
        return [*node[:at], _appended(node[at], tokens[1:], item), *node[at + 1 :]]
    return {**node, tokens[0]: _appended(node[tokens[0]], tokens[1:], item)}


def _pointer_there(one: Json, other: Json, pointer: str) -> str | None:
    """The pointer in another state of the object: list items by name, else by index."""
    found: list[str] = []
    for token in split_pointer(pointer):
        step = token
        index = index_of(token)
        if isinstance(one, list) and isinstance(other, list) and index is not None and index < len(one):
            at = index if one == other else _matching_index(one[index], other, index)
            if at is None:
                return None
            step = str(at)
        one, other = get(one, join_pointer(token), None), get(other, join_pointer(step), None)
        found.append(step)
    return join_pointer(*found)


def _matching_index(item: Json, others: Sequence[Json], index: int) -> int | None:
    name = next((key for key in ITEM_NAMES if isinstance(item, Mapping) and key in item), None)
    if name is None:
        return index if index < len(others) else None
    same = [n for n, other in enumerate(others) if isinstance(other, Mapping) and other.get(name) == item[name]]
    return same[0] if len(same) == 1 else None


def without_last_applied(
    live: Object, before: Object, pointers: Iterable[str]
) -> tuple[Object, tuple[str, ...]] | None:
    """Live without these fields in its last-applied configuration, and their pointers there.

    None if that configuration is missing or masked, or lacks one of them.
    """
    applied = compare.last_applied(live)
    if applied is None or is_secret(live):
        return None
    places: list[str] = []
    for pointer in pointers:
        place = _pointer_there(before, applied, pointer)
        if place is None or get(applied, place) is MISSING:
            return None
        places.append(place)
    for place in places:
        applied = without(applied, place)
    text = json.dumps(applied, separators=(",", ":"))
    annotations = {**annotations_of(live), compare.LAST_APPLIED: text}
    return {**live, "metadata": {**live["metadata"], "annotations": annotations}}, tuple(places)


def last_applied_commands(app: App, resource: ResourceId, places: Sequence[str]) -> tuple[str, ...]:
    """The commands that remove the fields from the last-applied configuration; self-heal would restore them at once.

    With empty input, `set-last-applied` succeeds: without pipefail an unreadable configuration would go unnoticed.
    """
    name = kubectl_name(resource)
    space = f" -n {sh(resource.namespace)}" if resource.namespace else ""
    gone = sh(f"del({', '.join(map(_jq_path, places))})")
    command = f"set -o pipefail; kubectl apply view-last-applied {name} -o json | jq {gone} | kubectl apply set-last-applied{space} -f -"
    calm = f"argocd app set {sh(f'{app.ref.namespace}/{app.ref.name}')} --self-heal=false"
    return (calm, command) if app.self_heal else (command,)


_WORD = regex(r"[A-Za-z_][A-Za-z0-9_]*")


def _jq_path(pointer: str) -> str:
    path = ""
    for token in split_pointer(pointer):
        if index_of(token) is not None:
            path += f"[{token}]"
        else:
            path += f".{token}" if _WORD.fullmatch(token) else ("." if not path else "") + f"[{json.dumps(token)}]"
    return path
