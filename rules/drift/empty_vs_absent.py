"""An empty value on one side, nothing on the other

What it finds: `{}`, `[]`, `""`, `null`, `0` or `false` in Git while the live object lacks the field, or the reverse. A controller that reads the
object into a typed structure and writes it back omits such values (Go's `omitempty`), and API servers drop some of them too. Or an ignore rule
removes the last key of a live map that Git does not have, and leaves `{}`.

Why it hurts: both sides mean the same, yet Argo CD shows a difference that no sync can end.

How to fix: leave the empty field out of Git; if live has the empty value, write it. If an ignore rule empties the map, add a key of its own in
Git, or ignore the whole map while it has no other key.

Example: `ipAddresses: []` in a Certificate that the operator stores without the field.

Sources: argoproj/argo-cd#18213, #16355, #18142; util/argo/normalizers/diff_normalizer.go (both sides lose the ignored fields, and keep their
parents).
"""

import json
from collections.abc import Iterator

from argolint import MISSING, App, Change, Edit, Finding, Fix, Fleet, Rank, Resource, Rule, narrowest_ignore
from argolint.application.applied import git_moved, new_in_git, rewritten_on_arrival
from argolint.comparison import rules_of
from argolint.edits import application_patch, ignore_entries, set_field
from argolint.values import below, enumerated, get, index_of, split_pointer
from argolint.values.kubernetes import is_custom

from ._edits import source_place
from ._fields import Drift, by_definition, drifts, is_of_published_chart, objects_text
from ._grammar import is_hollow_difference
from ._ignored import removed_pointers, selects
from ._writers import is_sort


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object, with all its empty fields, and one for each map that an ignore rule has emptied."""
    emptied: dict[tuple[str, str], tuple[str, ...]] = {}
    for drift in drifts(app, _is_emptied_map):
        for change in drift.changes:
            keys = _ignored_keys(app, fleet, drift.resource, change)
            if keys:
                emptied[str(drift.resource.id), change.pointer] = keys
                yield _emptied_map_finding(app, drift.resource, change, keys)

    def lasting(resource: Resource, change: Change) -> bool:
        if (str(resource.id), change.pointer) in emptied:
            return False
        empty = _is_meaningless_empty(change) and not _is_filled_in_empty(app, resource, change)
        return empty and not git_moved(app, resource, change) and not new_in_git(app, resource, change)

    for first, *others in by_definition(drifts(app, lasting)):
        ignored = first.ignore_in_all() if others else first.ignore()
        yield first.finding(
            f"{objects_text([first, *others])} OutOfSync over {first.places()}: {_sides_text(first)}.",
            fixes=(ignored,) if is_of_published_chart(first) else (_empty_field_fix(first), ignored),
            others=others,
        )


def _sides_text(drift: Drift) -> str:
    """What is on the two sides: `false on one side, absent on the other`."""
    sides = [side for change in drift.changes for side in (change.desired, change.live) if side is not MISSING]
    words = dict.fromkeys("empty" if isinstance(side, str | list | dict) else json.dumps(side) for side in sides)
    text = " or ".join(words)
    return f"{text} on one side, absent on the other" if len(sides) == len(drift.changes) else f"{text} on each side"


def _is_emptied_map(resource: Resource, change: Change) -> bool:
    """True for a map that is empty only in the comparison: it has content in the live object."""
    live_value = get(resource.live, change.pointer)
    return change.desired is MISSING and change.live == {} and isinstance(live_value, dict) and bool(live_value)


def _ignored_keys(app: App, fleet: Fleet, resource: Resource, change: Change) -> tuple[str, ...]:
    """The keys of that live map, if ignore rules remove all of them."""
    places = {
        pointer
        for entry in rules_of(app.raw, fleet.settings).ignore
        if selects(entry, resource)
        for pointer in removed_pointers(entry, resource)
        if below(pointer, change.pointer) and pointer != change.pointer
    }
    keys = {split_pointer(pointer)[len(split_pointer(change.pointer))] for pointer in places}
    live_map = get(resource.live, change.pointer)
    return tuple(sorted(keys)) if keys and set(live_map) <= keys else ()


def _emptied_map_finding(app: App, resource: Resource, change: Change, keys: tuple[str, ...]) -> Finding:
    names = enumerated([repr(key) for key in keys], "key", limit=2)
    return Drift(app, resource, (change,)).finding(
        f"An ignore rule removes {names} from {change.pointer} of {resource.id} and leaves an empty map.",
        fixes=(_own_key_fix(app, resource, change), _ignore_while_alone_fix(app, resource, change, keys)),
    )


def _own_key_fix(app: App, resource: Resource, change: Change) -> Fix:
    operations = set_field(resource.desired, change.pointer, {"placeholder": "keeps-this-map"})
    title = "Give the map a key of its own in Git"
    caveat = "the pods restart once" if below(change.pointer, "/spec/template") else ""
    return Fix(title, "manifest", source_place(app), Edit("json-patch", operations), caveat)


def _ignore_while_alone_fix(app: App, resource: Resource, change: Change, keys: tuple[str, ...]) -> Fix | None:
    """A jq path that ignores the map itself while it has no other keys than these; inside lists the plain pointer."""
    if any(index_of(token) is not None for token in split_pointer(change.pointer)):
        return narrowest_ignore(app, resource, (change.pointer,))
    *parents, last = (f"[{json.dumps(token)}]" for token in split_pointer(change.pointer))
    above = "." + "".join(parents) if parents else "."
    path = f'{above} | select(.{last} | type == "object" and (keys - {json.dumps(list(keys))} == [])) | .{last}'
    entry = {"group": resource.group, "kind": resource.kind, "name": resource.name, "jqPathExpressions": [path]}
    operations = ignore_entries(app, entry)
    title = "Or ignore the whole map while nothing else is in it"
    return application_patch(app, title, operations) if operations else None


def _empty_field_fix(drift: Drift) -> Fix | None:
    if all(change.live is MISSING for change in drift.changes):
        return drift.drop("Leave the empty field out of the manifest")
    return drift.write_live("Write the field as the cluster keeps it")


_OWN_MAPS = ("/metadata/labels", "/metadata/annotations", "/data", "/stringData")


def _is_meaningless_empty(change: Change) -> bool:
    """True for an empty field that no person wrote. In a user's own map, such as labels, an empty text is a value."""
    holds = change.pointer not in _OWN_MAPS or any(
        side for side in (change.desired, change.live) if side is not MISSING
    )
    entry = holds and any(below(change.pointer, own) for own in _OWN_MAPS)
    return not entry and is_hollow_difference(change.desired, change.live) and not is_sort(change.writer, "person")


def _is_filled_in_empty(app: App, resource: Resource, change: Change) -> bool:
    """True for an empty value that the API server filled in: `crd-default` reports it, like any other default."""
    return change.desired is MISSING and is_custom(resource.group) and rewritten_on_arrival(app, resource, change)


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.SPELLING)
