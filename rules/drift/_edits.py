"""Edits that end a difference: of the manifest, or of the Application."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from argolint import MISSING, App, Change, Edit, Fix, Json, Resource
from argolint.edits import (
    RESPECT,
    annotation_option,
    application_patch,
    application_place,
    live_command,
    live_patch,
    removals,
    sync_option,
)
from argolint.values import get, index_of, join_pointer, leaves, sh, split_pointer
from argolint.values.kubernetes import COMPARE_OPTIONS, ITEM_NAMES, argocd_name
from argolint.values.memo import by_identity


def source_place(app: App) -> str:
    """The source of the application's manifests, for a fix: `apps/web in https://git.example.com/a.git`.

    The server's answers do not show which fields a chart's values reach.
    """
    for source in app.sources:
        if source.get("chart"):
            return f"chart {source['chart']} ({source.get('repoURL', '')}): a value that reaches the field, else the template"
        if source.get("path"):
            return f"{source['path']} in {source.get('repoURL', '')}"
    return f"the sources of {app.ref}"


def manifest_path(resource: Resource, pointer: str) -> tuple[tuple[str | int, ...], tuple[str, ...]] | None:
    """A live pointer in the desired manifest: the tokens that exist there and those that do not (`-` for a new item).

    None if a list on the way has no item that matches the live one.
    """
    live: Json = resource.normalized
    want: Json = resource.desired
    found: list[str | int] = []
    tokens = split_pointer(pointer)
    for position, token in enumerate(tokens):
        if isinstance(want, Mapping):
            if token not in want:
                return tuple(found), tokens[position:]
            step: str | int = token
        elif isinstance(want, list) and isinstance(live, list) and (at := index_of(token)) is not None:
            index = _matching_index(live, want, at)
            if index is None:
                added = position == len(tokens) - 1 and at >= len(want)
                return (tuple(found), ("-",)) if added else None
            step = index
        elif isinstance(want, list) and (at := index_of(token)) is not None and at < len(want):
            step = at
        else:
            return None
        found.append(step)
        want = want[step]
        live = get(live, join_pointer(token), None)
    return tuple(found), ()


def _matching_index(live: list[Any], want: list[Any], index: int) -> int | None:
    """The index in `want` of the item at `index` in `live`: by name, else by position."""
    if index < len(live) and isinstance(live[index], Mapping):
        for key in ITEM_NAMES:
            name = live[index].get(key)
            if isinstance(name, str | int) and (found := _indexes_by_name(want, key).get(name)) is not None:
                return found
    return index if len(live) == len(want) else None


@by_identity(64)
def _indexes_by_name(want: list[Any], key: str) -> Mapping[Json, int]:
    """The index of each item by its name; empty unless every item has a name. A name that occurs twice is left out."""
    names = [item.get(key) if isinstance(item, Mapping) else None for item in want]
    if not all(isinstance(name, str | int) for name in names):
        return {}
    times = Counter(names)
    return {name: index for index, name in enumerate(names) if times[name] == 1}


def write_live_fix(app: App, resource: Resource, changes: Sequence[Change], title: str, caveat: str = "") -> Fix | None:
    """The manifest edit to the live state: it writes the live values, and removes the fields that live lacks.

    None if one of them cannot be placed, is masked by Argo CD, or is not in the live object itself: an ignore entry may remove something from
    the comparison, and Git must not lose a running value.
    """
    if resource.desired is None or not all(is_absent_in_live(resource, change) for change in changes):
        return None
    manifest = copy.deepcopy(dict(resource.desired))
    operations: list[dict[str, Json]] = []
    removed = tuple(change for change in changes if change.live is MISSING)
    for change in changes:
        if change in removed:
            continue
        if change.masked:
            return None
        where = manifest_path(resource, change.pointer)
        if where is None:
            return None
        _set_value(manifest, where, change.live, operations)
    paths = written_paths(resource, removed)
    if paths is None:
        return None
    operations += removals(manifest, paths)  # of the edited manifest, whose item may hold an added field now
    return Fix(title, "manifest", source_place(app), Edit("json-patch", operations), caveat)


def rename(app: App, resource: Resource, old: Change, new: Change) -> Fix | None:
    """The manifest edit that gives a field the name under which live holds its value; None if the manifest has no such place."""
    found = manifest_path(resource, old.pointer)
    if found is None or found[1]:
        return None
    source = [str(token) for token in found[0]]
    operation = {
        "op": "move",
        "from": join_pointer(*source),
        "path": join_pointer(*source[:-1], split_pointer(new.pointer)[-1]),
    }
    title = f"Write the field as {split_pointer(new.pointer)[-1]}"
    return Fix(title, "manifest", source_place(app), Edit("json-patch", [operation]))


def is_absent_in_live(resource: Resource, change: Change) -> bool:
    """True if the live object itself, not only its compared form, lacks the value that the change shows as missing."""
    live_value = get(resource.live, change.pointer)
    if change.live is MISSING:
        return live_value is MISSING or live_value is None
    return not isinstance(change.live, Mapping | list) or _leaf_count(live_value) <= _leaf_count(change.live)


def _leaf_count(node: Json) -> int:
    return sum(1 for _ in leaves(node))


def _set_value(
    manifest: Json, where: tuple[tuple[str | int, ...], tuple[str, ...]], live: Json, operations: list[dict[str, Json]]
) -> None:
    """Sets one value in `manifest` and appends the operations: parent maps first, reusing those of an earlier change."""
    present, absent = list(where[0]), list(where[1])
    node = manifest
    for token in present:
        parent, node = node, node[token]
    while absent and isinstance(node, Mapping) and absent[0] in node:
        present.append(absent.pop(0))
        parent, node = node, node[present[-1]]
    if not absent:
        parent[present[-1]] = copy.deepcopy(live)
        operations.append({"op": "replace", "path": join_pointer(*present), "value": live})
        return
    for token in absent[:-1]:
        node[token] = {}
        present.append(token)
        operations.append({"op": "add", "path": join_pointer(*present), "value": {}})
        node = node[token]
    if isinstance(node, list):
        node.append(copy.deepcopy(live))
    else:
        node[absent[-1]] = copy.deepcopy(live)
    operations.append({"op": "add", "path": join_pointer(*present, absent[-1]), "value": live})


def written_paths(resource: Resource, changes: Iterable[Change]) -> list[str] | None:
    """Where the manifest has these fields; None if one of them is missing there."""
    places = [manifest_path(resource, change.pointer) for change in changes]
    if any(where is None or where[1] for where in places):
        return None
    return [join_pointer(*where[0]) for where in places if where]


def removal_fix(app: App, resource: Resource, pointers: Sequence[str], title: str, caveat: str = "") -> Fix:
    """The manifest edit that removes these pointers of the desired object, later list items first, and the parents that become empty."""
    return Fix(title, "manifest", source_place(app), Edit("json-patch", removals(resource.desired, pointers)), caveat)


def server_side_diff_fix(app: App) -> Fix | None:
    """The Application's annotation with which the API server itself computes the changes of a sync; None if it is set."""
    caveat = "each comparison costs a dry-run apply"
    return _compare_option_fix(app, "ServerSideDiff=true", "Let the API server compare", caveat)


def webhook_diff_fix(app: App) -> Fix | None:
    """The Application's annotation by which its server-side diff counts what admission webhooks make; None when it is there."""
    return _compare_option_fix(app, "IncludeMutationWebhook=true", "Compare with webhooks")


def _compare_option_fix(app: App, option: str, title: str, caveat: str = "") -> Fix | None:
    edit = Edit("json-patch", annotation_option(app.raw, COMPARE_OPTIONS, option))
    return Fix(f"{title}: {option}", "application", application_place(app), edit, caveat) if edit.content else None


def respect_fix(app: App) -> Fix:
    """The sync option that keeps syncs from overwriting ignored fields."""
    return application_patch(
        app, f"Add the sync option {RESPECT}", sync_option(app, RESPECT), "syncs then keep every ignored field"
    )


def live_removal_fix(resource: Resource, places: Sequence[str], title: str, caveat: str = "") -> Fix:
    """The fix that takes these places out of the live object."""
    return live_patch(resource.id, title, removals(resource.live or {}, places), caveat)


def sync_fix(app: App, resource: Resource, title: str) -> Fix:
    """The command that syncs this object alone."""
    command = f"argocd app sync {sh(app.ref)} --resource {argocd_name(resource.id)}"
    return live_command(resource.id, title, command, "undoes the edit")
