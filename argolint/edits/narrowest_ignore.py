"""The narrowest ignoreDifferences entry for a drift that is intended.

An injected CA bundle or a replica count of an autoscaler belongs to its writer. The entry names one object and exactly these fields,
extends an existing entry of the object, and makes syncs respect it if they would overwrite the field.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from argolint.application.app import App
from argolint.application.resource import Resource
from argolint.comparison import compare, managed_fields
from argolint.comparison.ignore import IgnoreRule, application_rules, locate
from argolint.comparison.scheme import GROUPS
from argolint.edits import RESPECT, application_place, ignore_entries, sync_option
from argolint.model import MISSING, Change, Edit, Fix, Json, Object
from argolint.values import annotations_of, comma_list, get, index_of, join_pointer, mapping, split_pointer
from argolint.values.kubernetes import COMPARE_OPTIONS, ITEM_NAMES
from argolint.values.patterns import regex

FOR_MANY = regex(
    r"argocd|kubectl|helm|terraform|pulumi|ansible|unknown|go-http-client|python|node-fetch|openapi-generator"
    r"|mozilla|k9s|lens|headlamp|rancher|dashboard|kube-controller-manager|^manager$|^controller$",
    re.IGNORECASE,
)
"""Field managers of people, pipelines or many controllers: trusting one hides more than one writer's fields."""


def narrowest_ignore(app: App, resource: Resource, pointers: Sequence[str], *, named: bool = True) -> Fix:
    """The Application edit that ignores exactly these differing fields of one managed object; if not `named`, of all objects of its kind.

    `pointers`: pointers of `resource.changes`. The edit is a json-patch on the Application; the engine verifies it.
    """
    joined = _joined_pointers(resource, pointers)
    places = _places(resource, joined)
    fields = _trusted(app, resource, joined) or places
    target = {"group": resource.group, "kind": resource.kind, "name": resource.name, "namespace": resource.namespace}
    entry = {key: value for key, value in target.items() if value and (named or key in ("group", "kind"))}
    operations = [*ignore_entries(app, {**entry, **fields}), *_respect_operations(app, resource, pointers)]
    return Fix(
        title=f"Ignore {', '.join(joined[:3])}{' …' if len(joined) > 3 else ''} of {resource.id if named else f'each {resource.kind}'}",
        target="application",
        where=application_place(app),
        edit=Edit("json-patch", operations),
        caveat=_caveat(app, resource, fields, operations, pointers),
        older=(
            (Edit("json-patch", ignore_entries(app, {**entry, **places})), _WRITES_ON),
            (Edit("json-patch", ignore_entries(app, {**entry, "jsonPointers": joined})), _WRITES_ON),
        ),
    )


_WRITES_ON = "hides every change of these fields; each sync still writes Git's value, which an Argo CD of 2.3 or later can leave alone"


def _joined_pointers(resource: Resource, pointers: Sequence[str]) -> list[str]:
    """The pointers; several plain items of one list become the list: entries apply one after the other, and each shifts the rest."""
    parents = Counter(pointer.rpartition("/")[0] for pointer in pointers)

    def plain(parent: str) -> bool:
        found = get(resource.normalized or {}, parent, None)
        return isinstance(found, list) and not any(isinstance(item, Mapping) for item in found)

    joined = {parent for parent, number in parents.items() if number > 1 and plain(parent)}
    found = list(dict.fromkeys(p if (up := p.rpartition("/")[0]) not in joined else up for p in pointers))
    return found if len(found) <= _MOST else list(dict.fromkeys(_list_above(resource, p) for p in found))


_MOST = 20
"""Most fields that an entry lists; beyond that, their whole lists are ignored."""


def _list_above(resource: Resource, pointer: str) -> str:
    """The outermost list that contains the pointer; the pointer itself if there is none."""
    tokens = split_pointer(pointer)
    node: Json = resource.normalized or {}
    for depth, token in enumerate(tokens):
        if isinstance(node, list):
            return join_pointer(*tokens[:depth])
        node = get(node, join_pointer(token), None)
    return pointer


def _caveat(
    app: App,
    resource: Resource,
    fields: Mapping[str, list[str]],
    operations: Iterable[Object],
    pointers: Sequence[str],
) -> str:
    blind = (
        f"hides what {', '.join(fields['managedFieldsManagers'])} changes there"
        if "managedFieldsManagers" in fields
        else "hides every change of these fields"
    )
    adds = any(RESPECT in json.dumps(operation.get("value")) for operation in operations)
    once = ", Git's too" if adds or RESPECT in app.sync_options else ""
    respected = adds or RESPECT in app.sync_options
    kept = any(
        get(resource.live, pointer) is not MISSING for pointer in pointers
    )  # what a sync takes from the live object
    closed = (
        "; no later commit to that list arrives"
        if respected and kept and "jqPathExpressions" in fields and resource.group not in GROUPS
        else ""
    )
    others = len(application_rules(app.raw)) if adds else 0
    wide = f"; {RESPECT} then holds for {others} other {'entries' if others > 1 else 'entry'} too" if others else ""
    return blind + once + closed + wide


def _trusted(app: App, resource: Resource, pointers: Sequence[str]) -> dict[str, list[str]]:
    """One trusted manager, if just these fields are its own; else empty.

    A server-side diff removes trusted managers' fields before the API server restores them (argoproj/argo-cd#20178).
    """
    by_server = "ServerSideDiff=true" in comma_list(annotations_of(app.raw).get(COMPARE_OPTIONS))
    manager = None if by_server else _sole_manager(resource.live or {}, pointers)
    exact = manager is not None and _hides_exactly(resource, manager, pointers)
    return {"managedFieldsManagers": [manager]} if manager is not None and exact else {}


def _places(resource: Resource, pointers: Sequence[str]) -> dict[str, list[str]]:
    """The entry's fields by their place: pointers, and jq inside lists."""
    changes = {change.pointer: change for change in reversed(resource.changes)}
    items = _Items()
    found: dict[str, dict[str, None]] = {}
    for pointer in pointers:
        path = _jq_path(resource, pointer, changes.get(pointer), items)
        found.setdefault("jsonPointers" if path is None else "jqPathExpressions", {})[path or pointer] = None
    return {key: list(paths) for key, paths in found.items()}


def _sole_manager(live: Object, pointers: Sequence[str]) -> str | None:
    """The manager that owns these fields and nothing else of the object, except status."""
    owned: dict[str, set[str]] = {}
    for entry in managed_fields.entries(live):
        if entry.get("subresource") != "status":
            owned.setdefault(str(entry.get("manager")), set()).update(_owned_pointers(mapping(entry, "fieldsV1"), live))
    names = [name for name, fields in owned.items() if fields == set(pointers) and not FOR_MANY.search(name)]
    return names[0] if len(names) == 1 else None


def _owned_pointers(fields: Object, node: Json, at: str = "") -> Iterable[str]:
    for step, below in fields.items():
        place = None if step == "." else locate(node, step)
        if place is not None:
            if below and isinstance(below, dict):
                yield from _owned_pointers(below, node[place], at + join_pointer(place))
            else:
                yield at + join_pointer(place)


def _hides_exactly(resource: Resource, manager: str, pointers: Sequence[str]) -> bool:
    live, desired, own = resource.live, resource.desired, resource.id
    if live is None or desired is None:
        return False
    rule = IgnoreRule(own.group, own.kind, own.name, own.namespace, managers=(manager,))
    return set(compare.hidden(rule, live, desired, compare.Rules((rule,)))) == set(pointers)


_IDENTIFIER = regex(r"[A-Za-z_][A-Za-z0-9_]*")


class _Items:
    """List items indexed by the fields that identify them. Each list is indexed once for any number of items."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], dict[Json, list[Object]]] = {}

    def called(self, found: Sequence[Json], key: str, value: Json) -> list[Object]:
        """The items of a list whose `key` has this text or number; the list must outlive the index."""
        if not isinstance(value, str | int):
            return []
        known = self._known.get((id(found), key))
        if known is None:
            known = self._known[id(found), key] = {}
            for item in found:
                if isinstance(item, Mapping) and isinstance(name := item.get(key), str | int):
                    known.setdefault(name, []).append(item)
        return known.get(value, [])


def _jq_path(resource: Resource, pointer: str, change: Change | None, items: _Items) -> str | None:
    """The jq path of a field inside a list, with items selected by an identifying field; None if the path has no list.

    An item without one is selected by its index, or, if it is plain text that one side lacks, by its value.
    """
    compared = resource.normalized or {}
    ignored_now = get(compared, pointer) is MISSING and get(resource.live or {}, pointer) is not MISSING
    nodes: list[Json] = [resource.live if ignored_now else compared, resource.predicted or {}]
    one_sided = change is not None and MISSING in (change.live, change.desired)
    tokens = split_pointer(pointer)
    if change is not None and change.live is MISSING and index_of(tokens[-1]) is not None:
        nodes.reverse()  # an item that only Git has needs Git's index
    path, listed, chosen = "", False, False
    for token in tokens:
        lists = [node for node in nodes if isinstance(node, list)]
        if lists:
            index = index_of(token)
            item = next((node[index] for node in lists if index is not None and index < len(node)), None)
            choice = _choice(item, lists, items) if one_sided or isinstance(item, Mapping) else None
            path += f"[] | select({choice})" if choice else f"[{token}]"
            listed, chosen = True, bool(choice)
        else:
            dot = " | ." if chosen else "." if not path or _IDENTIFIER.fullmatch(token) else ""
            path += dot + (token if _IDENTIFIER.fullmatch(token) else f"[{json.dumps(token)}]")
            chosen = False
        nodes = [found for node in nodes if (found := _at(node, token, item if lists else None, items)) is not MISSING]
    return path if listed else None


def _at(node: Json, token: str, item: Json, items: _Items) -> Json:
    """The value at the token; in a list, the item of the same name, else of the same index."""
    name = next((key for key in ITEM_NAMES if isinstance(item, Mapping) and key in item), None)
    if not isinstance(node, list) or name is None or not isinstance(item[name], str | int):
        return get(node, join_pointer(token))
    return next(iter(items.called(node, name, item[name])), MISSING)


def _choice(item: Json, lists: Iterable[Sequence[Json]], items: _Items) -> str | None:
    """The jq condition that selects only this item, on every side that has it."""
    if isinstance(item, str):
        return f". == {json.dumps(item)}"
    for key in ITEM_NAMES if isinstance(item, Mapping) else ():
        value = item.get(key)
        if isinstance(value, str | int) and all(len(items.called(found, key, value)) <= 1 for found in lists):
            return f".{key} == {json.dumps(value)}"
    return None


def _respect_operations(app: App, resource: Resource, pointers: Sequence[str]) -> list[dict[str, Any]]:
    """The option edits; none if the application already respects its ignore entries, or a sync would not change the fields."""
    live, desired = resource.live, resource.desired
    if live is None or desired is None or compare.has_sync_option(app.raw, desired, RESPECT):
        return []
    synced = compare.apply(live, desired, server_side=compare.syncs_server_side(app.raw, desired))
    if all(get(synced, pointer) == get(live, pointer) for pointer in pointers):
        return []
    return sync_option(app, RESPECT)
