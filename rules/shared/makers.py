"""Who else makes an object that Git renders, or fills in its content (data in makers.yaml)."""

from __future__ import annotations

from argolint import App, Fleet, Object, Resource
from argolint.relations import makers
from argolint.values import annotations_of, owner_references
from argolint.values.knowledge import load
from argolint.values.kubernetes import api_of


def filling_webhook(resource: Resource) -> str:
    """The webhook that the object's own annotations request for its content; empty if there is none."""
    fillers = load(__package__, "makers.yaml")["fillers"]
    names = annotations_of(resource.desired)
    return next((str(f["tool"]) for f in fillers if any(name.startswith(f["prefix"]) for name in names)), "")


def controlling_owner(resource: Resource) -> str:
    """The object whose controller owns the live one, where Git does not write that owner itself; empty if there is none."""
    written = {owner.get("name") for owner in owner_references(resource.desired or {})}
    owners = (
        o
        for o in owner_references(resource.live or {})
        if o.get("controller") and o.get("name") not in written and not _is_anchor(o)
    )
    return next((f'{o.get("kind")} "{o.get("name")}"' for o in owners), "")


def _is_anchor(owner: Object) -> bool:
    """Whether no controller makes anything of such an owner: it is there so that the object is deleted with it."""
    group, kind = api_of(owner)[0], str(owner.get("kind"))
    return kind in load(__package__, "makers.yaml")["anchors"].get(group, ())


def second_maker(app: App, fleet: Fleet, resource: Resource) -> str:
    """The object from which a controller makes this one too: by its owner, by the controller's own annotation, or by an object that names the Secret."""
    if owner := controlling_owner(resource):
        return owner
    if (resource.group, resource.kind) != ("", "Secret"):
        return ""
    notes = annotations_of(resource.live)
    known = (e for e in load(__package__, "makers.yaml")["makers"] if notes.get(e["annotation"]))
    if noted := next((f'{e["kind"]} "{notes[e["annotation"]]}" of {e["tool"]}' for e in known), ""):
        return noted
    found = makers.maker_of(app, fleet, resource.namespace, resource.name)
    return str(found.id) if found is not None and found.live else ""
