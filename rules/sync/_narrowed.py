"""Fields that a CRD in Git no longer declares, while objects set them: the API server stops keeping their values as soon as the CRD is applied."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from argolint import MISSING, App, AppRef, Finding, Fix, Fleet, Json, Location, Object, Related, Resource, Want
from argolint.edits import manifest_patch, manifest_text
from argolint.values import dig, enumerated, get, index_of, items, join_pointer, mapping, split_pointer, text_at
from argolint.values.kubernetes import api_of

from ..shared.crds import child_schema, declares, schema_in, sibling_names
from ..shared.peers import after_sync, peer_wants, peers

_MOST = 40
"""Most objects of other applications that are read for one CRD."""


class _Use(NamedTuple):
    """An object that sets the field, in this version."""

    app: AppRef
    object: Resource
    version: str
    pointer: str


def narrowed_wants(app: App, fleet: Fleet) -> Iterator[Want]:
    """The objects of a CRD that a sync will change, as other applications have them."""
    for crd in _changing(app):
        kinds = ((text_at(crd.desired, "spec", "group"), text_at(crd.desired, "spec", "names", "kind")),)
        yield from peer_wants(app, fleet, kinds, lambda key: True, _MOST)


def narrowed_findings(app: App, fleet: Fleet) -> Iterator[Finding]:
    """One finding for each CRD, with every object that sets such a field."""
    for crd in _changing(app):
        if uses := sorted(_uses(app, fleet, crd), key=lambda use: (use.pointer, use.object.key)):
            yield _finding(app, crd, uses)


def _changing(app: App) -> Iterator[Resource]:
    for crd in app.of_kind("CustomResourceDefinition", "apiextensions.k8s.io"):
        if crd.live and crd.desired and (crd.pending or crd.changes) and not crd.requires_pruning:
            yield crd


def _uses(app: App, fleet: Fleet, crd: Resource) -> Iterator[_Use]:
    group, kind = text_at(crd.desired, "spec", "group"), text_at(crd.desired, "spec", "names", "kind")
    own = ((app.ref, r) for r in app.of_kind(kind, group))
    for owner, one in (*own, *(pair for pair in peers(app, fleet, kind) if pair[1].group == group)):
        obj = after_sync(one)
        if not obj:
            continue
        will, was = api_of(obj)[1], api_of(one.live or obj)[1]
        whole = {k: v for k, v in obj.items() if k not in ("apiVersion", "kind", "metadata", "status")}
        for pointer in _undeclared(whole, schema_in(crd.desired, will), ""):
            if declares(crd.live, was, pointer):
                yield _Use(owner, one, will, pointer)


def _undeclared(value: Json, schema: Object | None, at: str) -> Iterator[str]:
    """The highest fields that the schema does not declare; nothing without a schema."""
    if schema is None or dig(schema, "x-kubernetes-preserve-unknown-fields") is True:
        return
    children: Sequence[tuple[str, Json]] = ()
    if isinstance(value, dict):
        children = [(key, child) for key, child in value.items() if child is not None]
    elif isinstance(value, list):
        children = [(str(index), child) for index, child in enumerate(value)]
    for token, child in children:
        place = at + join_pointer(token)
        below = child_schema(schema, token)
        if below is None and isinstance(value, dict) and "additionalProperties" not in schema:
            yield place
        else:
            yield from _undeclared(child, below, place)


def _without_indices(pointer: str) -> str:
    return join_pointer(*("*" if index_of(token) is not None else token for token in split_pointer(pointer)))


def _finding(app: App, crd: Resource, uses: Sequence[_Use]) -> Finding:
    fields = {_without_indices(use.pointer): use for use in reversed(uses)}
    names = list(dict.fromkeys(str(use.object.id) for use in uses))
    who, what = enumerated(names, limit=1), enumerated(sorted(fields), limit=1)
    verb, value = "sets" if len(names) == 1 else "set", "value" if len(fields) == 1 else "values"
    return Finding(
        message=f"{crd.id} no longer declares {what}, which {who} {verb}: the API server drops the {value}.",
        at=Location(app.ref, crd.id, "/spec/versions"),
        confidence="likely",
        evidence=tuple(f"{use.object.id} of {use.app}: {use.pointer}" for use in uses[:8]),
        related=tuple(Related(use.app, use.object.id, use.pointer, "dependent") for use in uses[:8]),
        fixes=(*_keep_fix(crd, uses), _leave_fix(crd, fields, names)),
    )


def _keep_fix(crd: Resource, uses: Sequence[_Use]) -> Iterator[Fix]:
    """The fields' own schemas, as the live CRD has them, in each version in which they are set."""
    found = [_kept(crd, use) for use in uses]
    steps = [step for n, step in enumerate(found) if step and step not in found[:n]]
    if all(found):
        plural = "s" if len({_without_indices(use.pointer) for use in uses}) > 1 else ""
        title = f"Keep the field{plural} in the definition while objects set {'them' if plural else 'it'}"
        yield manifest_patch(crd.id, title, steps)


def _kept(crd: Resource, use: _Use) -> dict[str, Any] | None:
    number = next(
        (n for n, v in enumerate(items(crd.desired, "spec", "versions")) if dig(v, "name") == use.version), None
    )
    node, place = schema_in(crd.live, api_of(use.object.live or {})[1] or use.version), ""
    for token in split_pointer(use.pointer):
        listed = index_of(token) is not None and "items" in mapping(node)
        named = join_pointer("properties", token) if token in mapping(node, "properties") else "/additionalProperties"
        place += "/items" if listed else named
        node = child_schema(node, token)
    path = f"/spec/versions/{number}/schema/openAPIV3Schema{place}"
    if number is None or node is None or get(crd.desired, path.rpartition("/")[0]) is MISSING:
        return None
    return {"op": "add", "path": path, "value": node}


def _leave_fix(crd: Resource, fields: Mapping[str, _Use], names: Sequence[str]) -> Fix:
    """What to do where the fields are set: the name of a declared field that is nearly theirs, else their removal."""
    lines = []
    for at, use in sorted(fields.items()):
        siblings = {n.lower(): n for n in sibling_names(crd.desired, use.version, use.pointer)}
        near = difflib.get_close_matches(split_pointer(at)[-1].lower(), siblings, 1, 0.8)
        lines.append(f"{at}: {siblings[near[0]]} may be meant" if near else f"{at}: remove it")
    where = f"in {', '.join(names)}"
    text = "\n".join((*lines, where))
    return manifest_text(
        "the objects that set it", "Or rename or remove it in the same change, where it is set", f"{text}\n"
    )
