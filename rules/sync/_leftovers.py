"""Fields that a validation refuses although Git lacks them: they exist live, and a patch keeps fields that it does not contain.

Source: kubectl's three-way merge and server-side apply remove a field only after its last writer drops it; list items are merged by their key
(k8s.io/apimachinery pkg/util/strategicpatch).
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import MISSING, App, Fix, Json, Resource
from argolint.comparison import writers
from argolint.edits import live_patch
from argolint.edits.advice import Shell, advice
from argolint.messages import FieldError, field_errors
from argolint.redaction import excerpt, is_hidden
from argolint.values import enumerated, get, index_of, join_pointer, leaves, maps, sh, split_pointer
from argolint.values.kubernetes import argocd_name, kubectl_name
from argolint.values.patterns import regex

from ._options import is_sent_whole

_SIBLING = regex(r"when `(\w{1,60})` is (?:not empty|set|specified)")


def leftover_phrase(resource: Resource | None, message: str) -> str:
    """A phrase for the live-only field that makes the API server refuse the merged object; empty if Git has the field itself."""
    errors = field_errors(message)
    if resource is None or resource.desired is None or resource.live is None or not errors:
        return ""
    error = errors[0]
    if error.sort == "Duplicate value" or (
        error.sort == "Required value" and get(resource.desired, error.pointer) is MISSING
    ):
        return _list_with_live_items(resource, error)
    if error.sort not in ("Invalid value", "Forbidden"):
        return ""
    if get(resource.desired, error.pointer) is MISSING:
        return error.pointer if get(resource.live, error.pointer, None) else ""
    return _excluding_sibling(resource, error)


def leftover_sentence(resource: Resource | None, message: str) -> str:
    """What the merge keeps, and who has written it: "keeps a live item of /spec/ports that keel has written and Git lacks"; empty without a field, or a list's writer."""
    field = leftover_phrase(resource, message)
    above = field.removeprefix("an item of ")
    if resource is None or resource.live is None or not field:
        return ""
    if above == field:
        return f"keeps {excerpt(field, 120)}, which live has and Git lacks"
    stated, live = maps(get(resource.desired, above, None)), maps(get(resource.live, above, None))
    others = [
        writer.manager
        for place, item in enumerate(live)
        if not any(wanted.items() <= item.items() for wanted in stated)
        for writer in writers(resource.live, join_pointer(*split_pointer(above), str(place)))
        if (writer.manager, writer.operation) != ("argocd-controller", "Apply")
    ]
    return f"keeps a live item of {above} that {others[0]} has written and Git lacks" if others else ""


def leftover_fixes(app: App, resource: Resource | None, message: str) -> tuple[Fix, ...]:
    """A fix: one sync that sends the object whole, if Argo CD can compare and so sync; none if each sync sends it whole already."""
    field = leftover_phrase(resource, message)
    if not field or resource is None or is_sent_whole(app, resource.desired):
        return ()
    patch = _patch_fix(app, resource, _operations(resource, message))
    facts = {
        "object": str(resource.id),
        "field": excerpt(field, 200),
        "app": str(app.ref),
        "syncable": app.desired_known,
        "patched": patch is not None,
        "selected": Shell(argocd_name(resource.id)),
        "by_kubectl": Shell(kubectl_name(resource.id)),
    }
    return (*filter(None, (patch,)), *advice(__package__, "sync-failed/left-over", facts))


def _patch_fix(app: App, resource: Resource, operations: list[Json]) -> Fix | None:
    """One patch of the live object; None without operations, or with a value that may not be printed."""
    if not operations or any(
        is_hidden(value, resource.desired, f"{step['path']}{at}")
        for step in operations
        for at, value in leaves(step.get("value"))
    ):
        return None
    places = sorted((str(step["path"]) for step in operations), key=split_pointer)
    return live_patch(
        resource.id,
        f"Patch {excerpt(enumerated(places, 'field'), 160)} of the live object to Git's value",
        operations,
        "a part of it alone is refused, or filled in again" if len(operations) > 1 else "",
        then=f"argocd app sync {sh(app.ref)}",
    )


def _operations(resource: Resource, message: str) -> list[Json]:
    """What brings the live object where a patch with Git's fields is taken; empty if that is not certain.

    The API server fills a field in again, or refuses its removal, as long as the field that decides over it (`type` of a Service or a strategy) has the live value.
    """
    errors = field_errors(message)
    if len(errors) == 1 and errors[0].sort == "Duplicate value":
        return _renumbered_item(resource, errors[0])
    deciding: dict[str, Json] = {}
    removed: dict[str, Json] = {}
    for error in errors:
        left = get(resource.desired, error.pointer) is MISSING and get(resource.live, error.pointer, None)
        decided = [*_deciders(resource, error)]
        if not left or not any(wanted is not MISSING for _, wanted in decided):
            return []
        removed[error.pointer] = {"op": "remove", "path": error.pointer}
        for at, wanted in decided:
            if wanted is MISSING:
                removed[at] = {"op": "remove", "path": at}
            else:
                deciding[at] = {"op": "replace", "path": at, "value": wanted}
    return [*deciding.values(), *(removed[at] for at in sorted(removed, key=split_pointer, reverse=True))]


_DECIDER = regex(r"`(\w{1,60})` is (?:not )?'")


def _deciders(resource: Resource, error: FieldError) -> Iterator[tuple[str, Json]]:
    """The fields that the refusal names, as far as live has another value than Git: the place and Git's value, MISSING if it has none."""
    tokens = split_pointer(error.pointer)
    for name in dict.fromkeys(_DECIDER.findall(error.detail)):
        for depth in range(len(tokens) - 1, 0, -1):
            at = join_pointer(*tokens[:depth], name)
            held, wanted = get(resource.live, at), get(resource.desired, at)
            if held is not MISSING:
                if held != wanted:
                    yield at, wanted
                break


def _renumbered_item(resource: Resource, error: FieldError) -> list[Json]:
    """The replacement of the live item that has the refused name by Git's item of that name, which a patch adds next to it under another key."""
    *above, _, name = split_pointer(error.pointer) or ("", "")
    at = join_pointer(*above)
    stated, live = maps(get(resource.desired, at, None)), get(resource.live, at, None)
    if not isinstance(live, list) or len(maps(live)) != len(live):
        return []
    twins = [
        (place, wanted)
        for wanted in stated
        for place, item in enumerate(live)
        if wanted.get(name) is not None and item.get(name) == wanted.get(name) and not wanted.items() <= item.items()
    ]
    if len(twins) != 1:
        return []
    place, wanted = twins[0]
    return [{"op": "replace", "path": f"{at}/{place}", "value": wanted}]


def _list_with_live_items(resource: Resource, error: FieldError) -> str:
    """The list that is longer after the merge with live items than in Git."""
    tokens = split_pointer(error.pointer)
    for place, token in enumerate(tokens):
        number, above = index_of(token), join_pointer(*tokens[:place])
        if number is None:
            continue
        stated, live = get(resource.desired, above, None), get(resource.live, above, None)
        if isinstance(stated, list) and isinstance(live, list) and number >= len(stated):
            return f"an item of {above}"
    return ""


def _excluding_sibling(resource: Resource, error: FieldError) -> str:
    """The neighbour that excludes the field (`value` next to `valueFrom`), if only the live object has it."""
    found, above = _SIBLING.search(error.detail), error.pointer.rpartition("/")[0]
    stated = get(resource.desired, above, None)
    if found is None or not isinstance(stated, dict) or found[1] in stated:
        return ""
    live_parent = _live_value(resource, above, stated)
    return above + join_pointer(found[1]) if isinstance(live_parent, dict) and live_parent.get(found[1]) else ""


def _live_value(resource: Resource, pointer: str, stated: dict[str, Json]) -> Json:
    """The live value at the pointer; in a list, that of the item with the same name."""
    tokens = split_pointer(pointer)
    if not tokens or index_of(tokens[-1]) is None or "name" not in stated:
        return get(resource.live, pointer, None)
    live = get(resource.live, join_pointer(*tokens[:-1]), None)
    return next((item for item in maps(live) if item.get("name") == stated["name"]), None)
