"""Edits of Applications and manifests as RFC 6902 operations: they extend existing values and repeat nothing.

A function returns no operation if the result is there already; a fix without operations is none. Options are `Name=value` (or a bare
`Name`): a contradicting value is replaced in its place.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import jsonpatch

from argolint.application.app import App
from argolint.comparison.ignore import application_rules, matches
from argolint.model import MISSING, Edit, Fix, Json, Object, ResourceId
from argolint.values import (
    annotations_of,
    below,
    comma_list,
    dig,
    get,
    index_of,
    items,
    join_pointer,
    owner_references,
    sh,
    split_pointer,
)
from argolint.values.kubernetes import kubectl_name

Operation = dict[str, Any]
"""One RFC 6902 operation."""

RESPECT = "RespectIgnoreDifferences=true"
"""The sync option that keeps syncs from overwriting fields in ignoreDifferences."""

_FIELDS = ("jsonPointers", "jqPathExpressions", "managedFieldsManagers")
_TARGET = ("group", "kind", "name", "namespace")


def application_place(app: App) -> str:
    """The place to edit an Application: the Application itself, or the template of the ApplicationSet that generates it."""
    maker = next((o.get("name") for o in owner_references(app.brief) if o.get("kind") == "ApplicationSet"), None)
    return f"Application {app.ref}" if maker is None else f"template of ApplicationSet {app.ref.namespace}/{maker}"


def set_field(obj: Object | None, pointer: str, value: Json) -> list[Operation]:
    """Set a field of the object, with missing parent maps; an existing value is replaced."""
    held = get(obj, pointer)
    if held == value:
        return []
    tokens = split_pointer(pointer)
    for depth in range(1, len(tokens)):
        if get(obj, join_pointer(*tokens[:depth]), None) is None:
            for token in reversed(tokens[depth:]):
                value = {token: value}
            return [{"op": "add", "path": join_pointer(*tokens[:depth]), "value": value}]
    return [{"op": "add" if held is MISSING else "replace", "path": pointer, "value": value}]


def set_fields(obj: Object | None, values: Mapping[str, Json]) -> list[Operation]:
    """Set the fields at these pointers, one after the other; nothing if one has no value (None): that leaves a choice. Nothing either if a parent is no map."""
    steps: list[Operation] = []
    try:
        for pointer, value in () if None in values.values() else values.items():
            steps += set_field(jsonpatch.apply_patch(obj, steps), pointer, value)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
        return []
    return steps


def patch_command(id_: ResourceId, operations: Sequence[Json]) -> str:
    """The command that patches the live object with these operations."""
    patch = json.dumps(operations, separators=(",", ":"))
    return f"kubectl patch {kubectl_name(id_)} --type=json -p {sh(patch)}"


def application_patch(app: App, title: str, operations: list[Operation], caveat: str = "") -> Fix:
    """A fix that edits the Application, or the template that it comes from."""
    return Fix(title, "application", application_place(app), Edit("json-patch", operations), caveat)


def manifest_text(where: object, title: str, text: str, caveat: str = "") -> Fix:
    """A fix of a manifest in words."""
    return Fix(title, "manifest", str(where), Edit("text", text), caveat)


def manifest_yaml(where: object, title: str, content: str, caveat: str = "") -> Fix:
    """A fix that shows the lines to write into a manifest."""
    return Fix(title, "manifest", str(where), Edit("yaml", content), caveat)


def argocd_cm(title: str, content: str, caveat: str = "") -> Fix:
    """A fix that shows the lines to write into Argo CD's own ConfigMap."""
    return Fix(title, "argocd-settings", "ConfigMap argocd-cm", Edit("yaml", content), caveat)


def live_command(where: object, title: str, command: str, caveat: str = "") -> Fix:
    """A fix by commands; nothing replays them."""
    return Fix(title, "live", str(where), Edit("command", command), caveat)


def live_patch(id_: ResourceId, title: str, operations: list[Operation], caveat: str = "", *, then: str = "") -> Fix:
    """A fix that patches the live object, which a replay plays; `then` is a command that follows the patch."""
    command = "\n".join(filter(None, (patch_command(id_, operations), then)))
    plays = Edit("json-patch", operations)
    return Fix(title, "live", str(id_), Edit("command", command), caveat, resource=id_, plays=plays)


def manifest_patch(
    id_: ResourceId, title: str, operations: list[Operation], caveat: str = "", *, safe: bool = False
) -> Fix:
    """A fix that edits the manifest of this object."""
    return Fix(title, "manifest", str(id_), Edit("json-patch", operations), caveat, safe=safe, resource=id_)


def removals(obj: Object | None, pointers: Iterable[str]) -> list[Operation]:
    """Remove fields of the object, later list items first, and the parents that become empty.

    A list item without its last field is removed, with the list if it was the only item, and so are empty annotations, labels and data: an
    API server treats `[{}]` differently from no list, and Argo CD compares an emptied map as none.
    """
    gone = set(pointers)
    for pointer in sorted(gone, key=lambda p: -p.count("/")):
        place = pointer
        while (above := _emptied(obj, place, gone)) is not None:
            gone = {other for other in gone if not below(other, above)} | {above}
            place = above
    ordered = sorted(gone, key=lambda p: [(index_of(t) is not None, index_of(t) or 0, t) for t in split_pointer(p)])
    return [{"op": "remove", "path": pointer} for pointer in reversed(ordered)]


def _emptied(obj: Object | None, pointer: str, gone: Collection[str]) -> str | None:
    """The parent to remove with the field, since it would be empty; None if something is left."""
    above, _, last = pointer.rpartition("/")
    held, name = get(obj, above), split_pointer(above)[-1] if above else ""
    if not above or pointer not in gone or not isinstance(held, Mapping | list):
        return None
    left = range(len(held)) if isinstance(held, list) else held
    if any(above + join_pointer(str(key)) not in gone for key in left):
        return None
    item = isinstance(get(obj, above.rpartition("/")[0]), list)
    was_item = isinstance(held, list) and isinstance(held[index_of(last) or 0], Mapping)
    of_core = above in ("/data", "/binaryData", "/stringData") and dig(obj, "kind") in ("ConfigMap", "Secret")
    return above if item or was_item or of_core or name in ("annotations", "labels") else None


def annotate(obj: Object | None, pairs: Mapping[str, str]) -> list[Operation]:
    """Set annotations. An unknown object (None) is assumed to have some, as all objects do that Argo CD tracks."""
    held = annotations_of(obj)
    if obj is not None and not held:
        return set_field(obj, "/metadata/annotations", dict(pairs))
    return [
        {
            "op": "replace" if name in held else "add",
            "path": join_pointer("metadata", "annotations", name),
            "value": value,
        }
        for name, value in pairs.items()
        if held.get(name) != value
    ]


def annotation_option(obj: Object | None, name: str, *options: str) -> list[Operation]:
    """Add options to an annotation with a comma list, such as sync-options and compare-options."""
    held = [*comma_list(annotations_of(obj).get(name))]
    wished = held
    for option in options:
        wished = _with_option(wished, option)
    return annotate(obj, {name: ",".join(wished)}) if wished != held else []


def sync_option(app: App, option: str) -> list[Operation]:
    """Add an option to the Application's spec.syncPolicy.syncOptions."""
    pointer = "/spec/syncPolicy/syncOptions"
    held = items(app.spec, "syncPolicy", "syncOptions")
    rivals = [index for index, other in enumerate(held) if isinstance(other, str) and _name(other) == _name(option)]
    if [held[index] for index in rivals] == [option]:
        return []
    if rivals:
        more = [{"op": "remove", "path": f"{pointer}/{index}"} for index in reversed(rivals[1:])]
        return [*more, {"op": "replace", "path": f"{pointer}/{rivals[0]}", "value": option}]
    return _append_operations(pointer, held, [option]) if held else set_field(app.raw, pointer, [option])


def _with_option(held: Sequence[str], option: str) -> list[str]:
    """The options with this one: unchanged if it is among them, else in the place of a contradicting one, else at the end."""
    if option in held:
        return list(held)
    place = next((index for index, other in enumerate(held) if _name(other) == _name(option)), len(held))
    others = [other for other in held if _name(other) != _name(option)]
    return [*others[:place], option, *others[place:]]


def _name(option: str) -> str:
    return option.partition("=")[0]


def ignore_entries(app: App, *entries: Mapping[str, Json]) -> list[Operation]:
    """Add entries to the Application's spec.ignoreDifferences.

    An entry with the same group, kind, name and namespace is extended; pointers, jq paths and managers that an entry for these objects
    already has are left out.
    """
    held = items(app.spec, "ignoreDifferences")
    grown: list[Operation] = []
    new: list[Mapping[str, Json]] = []
    for entry in entries:
        wished = {field: left for field in _FIELDS if (left := _unnamed_values(app, entry, field))}
        at = next((index for index, other in enumerate(held) if _target(other) == _target(entry)), None)
        if at is None:
            new += [{**{k: v for k, v in entry.items() if k not in _FIELDS}, **wished}] if wished else []
            continue
        for field, values in wished.items():
            grown += _append_operations(f"/spec/ignoreDifferences/{at}/{field}", dig(held[at], field), values)
    return [*grown, *_append_operations("/spec/ignoreDifferences", held, new)]


def _target(entry: Json) -> tuple[str, ...]:
    return tuple(str(dig(entry, field) or "") for field in _TARGET)


def _unnamed_values(app: App, entry: Mapping[str, Json], field: str) -> list[Json]:
    """The values of one field that no entry for the same objects, or a wider selection, has yet."""
    group, kind, name, namespace = _target(entry)
    known = {
        value
        for rule in application_rules(app.raw)
        if matches(rule, group, kind, namespace, name)
        for value in {_FIELDS[0]: rule.json_pointers, _FIELDS[1]: rule.jq_paths, _FIELDS[2]: rule.managers}[field]
    }
    return [value for value in entry.get(field) or () if value not in known]


def ignore_less(app: App, pointers: Iterable[str]) -> list[Operation]:
    """Remove expressions, or whole lists of them, from the Application's spec.ignoreDifferences.

    A list is removed with its last expression, and an entry with its last list: an entry that selects no field ignores nothing.
    """
    gone: set[str] = set()
    taken = set(pointers)
    for at, entry in enumerate(items(app.spec, "ignoreDifferences")):
        origin = f"/spec/ignoreDifferences/{at}"
        lists = {f"{origin}/{field}": len(items(entry, field)) for field in _FIELDS if items(entry, field)}
        left = {
            place: [f"{place}/{n}" for n in range(size) if not {place, f"{place}/{n}"} & taken]
            for place, size in lists.items()
        }
        touched = [place for place, size in lists.items() if len(left[place]) < size]
        if touched and not any(left.values()):
            gone.add(origin)
            continue
        for place in touched:
            every = {f"{place}/{n}" for n in range(lists[place])}
            gone |= every - {*left[place]} if left[place] else {place}
    return removals(app.raw, gone)


def _append_operations(pointer: str, held: Json, values: Sequence[Json]) -> list[Operation]:
    if not held:
        return [{"op": "add", "path": pointer, "value": list(values)}] if values else []
    return [{"op": "add", "path": f"{pointer}/-", "value": value} for value in values]
