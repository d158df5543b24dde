"""Fields that a validation refuses although Git lacks them: they exist live, and a patch keeps fields that it does not contain.

Source: kubectl's three-way merge and server-side apply remove a field only after its last writer drops it; list items are merged by their key
(k8s.io/apimachinery pkg/util/strategicpatch).
"""

from __future__ import annotations

from argolint import MISSING, App, Fix, Json, Resource
from argolint.comparison import writers
from argolint.edits.advice import Shell, advice
from argolint.messages import FieldError, field_errors
from argolint.redaction import excerpt
from argolint.values import get, index_of, join_pointer, maps, split_pointer
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
    """What the merge keeps, and who has written it: "keeps a live item of /spec/ports that keel has written and Git lacks"; empty without a field or writer."""
    field = leftover_phrase(resource, message)
    above = field.removeprefix("an item of ")
    if resource is None or resource.live is None or not field or above == field:
        return ""
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
    facts = {
        "object": str(resource.id),
        "field": excerpt(field, 200),
        "app": str(app.ref),
        "syncable": app.desired_known,
        "selected": Shell(argocd_name(resource.id)),
        "by_kubectl": Shell(kubectl_name(resource.id)),
    }
    return advice(__package__, "sync-failed/left-over", facts)


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
