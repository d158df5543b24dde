"""A change to a field that cannot change

What it finds: a sync that failed since the API server refuses to change a field of an existing object, and a change in Git
to such a field before it is synced.

Why it hurts: the object stays as it was, the sync fails each time, and what comes after it is not applied.

How to fix: by kind. A Job becomes a hook, or is replaced by force; a StatefulSet is deleted without its pods and made again;
a claim or a class gets a new name.

Example: a new image in a plain Job: `spec.template: field is immutable`.

Sources: k8s.io/kubernetes pkg/apis/*/validation (the table immutable.yaml); docs/user-guide/sync-options.md; argoproj/argo-cd#7430.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from argolint import (
    MISSING,
    App,
    Change,
    Edit,
    Finding,
    Fix,
    Fleet,
    Location,
    Object,
    Resource,
    ResourceId,
    Rule,
    Symptom,
)
from argolint.applied import not_yet_applied
from argolint.consequences import consequences
from argolint.knowledge import load
from argolint.redaction import excerpt
from argolint.values import fits, join_pointer, sh, split_pointer

from ._failures import Failed, answered_by
from ._options import as_hook, on_manifest, once_a_hook, pasted, sync_options

_REFUSED = re.compile(r"is invalid: (?:\[)?([a-zA-Z][\w.\[\]-]*): (?:Invalid value|Forbidden|Required)")
_NOT_TEMPLATES = (
    "/spec/replicas",
    "/spec/template",
    "/spec/updateStrategy",
    "/spec/ordinals",
    "/spec/minReadySeconds",
    "/spec/revisionHistoryLimit",
    "/spec/persistentVolumeClaimRetentionPolicy",
)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding an object: refused by the last sync, or about to be refused by the next one."""
    refused = answered_by(app, "immutable-field")
    for failed in refused:
        resource = app.resource(failed.id.key) if failed.id else None
        yield _failed(app, failed, resource)
    told = {f.id.key for f in refused if f.id}
    for resource in app.resources:
        if not (resource.modified or resource.pending):
            continue
        forced = "Force=true" in sync_options(resource.desired) | app.sync_options  # deleted and made again
        if resource.key not in told and not forced:
            due = (*resource.pending, *(c for c in resource.changes if not_yet_applied(app, resource, c)))
            change = next((c for c in due if _immutable(resource.id, c)), None)
            if change is not None:
                yield _foreseen(app, resource, change, shown=change not in resource.pending)


@cache
def _table() -> dict[tuple[str, str], Object]:
    return {(e["group"], e["kind"]): e for e in load(__package__, "immutable.yaml")}


def _immutable(id_: ResourceId, change: Change) -> bool:
    """A change of value, not a field that one side leaves out: the API server fills those in."""
    entry = _table().get((id_.group, id_.kind))
    if entry is None or change.desired is MISSING or change.live is MISSING:
        return False
    return any(fits(field, change.pointer) for field in entry["fields"])


def _failed(app: App, failed: Failed, resource: Resource | None) -> Finding:
    pointer = _pointer(failed.message, resource)
    id_ = resource.id if resource else failed.id
    what = f"{pointer} of {id_}" if pointer else str(id_ or f"an object of application {app.ref}")
    own = (Symptom.change(resource.id), Symptom.health(resource.id)) if resource else ()
    return Finding(
        message=f"{what} cannot be changed in place, so the sync of application {app.ref} fails each time.",
        at=Location(app.ref, id_, pointer),
        evidence=(excerpt(failed.message, 400),),
        fixes=tuple(_fixes(app, id_, resource, pointer)),
        explains=(*consequences(app), *own),
    )


def _foreseen(app: App, resource: Resource, change: Change, *, shown: bool) -> Finding:
    """`shown` is False for a change that is not merged yet, which Argo CD shows nowhere."""
    pointer = _top(change.pointer)
    return Finding(
        message=f"{pointer} of {resource.id} differs in Git and cannot be changed in place, so the next sync of application {app.ref} will fail.",
        at=Location(app.ref, resource.id, pointer),
        confidence="likely",
        evidence=(f"{change.pointer} differs from what was applied last, and live still holds that",),
        fixes=tuple(_fixes(app, resource.id, resource, pointer)),
        explains=tuple(
            Symptom.change(resource.id, c.pointer) for c in resource.changes if shown and _top(c.pointer) == pointer
        ),
    )


def _top(pointer: str) -> str:
    """The field of the spec that holds it: /spec/volumeClaimTemplates, /spec/template, /roleRef."""
    tokens = split_pointer(pointer)
    return join_pointer(*tokens[: 2 if tokens[:1] == ("spec",) else 1])


def _pointer(message: str, resource: Resource | None) -> str:
    found = _REFUSED.search(message)
    tokens = [t for t in re.split(r"[.\[\]]+", found.group(1)) if t] if found else []
    if tokens and tokens != ["spec"]:
        return join_pointer(*tokens)
    for change in resource.changes if resource else ():
        if change.pointer.startswith("/spec/") and not change.pointer.startswith(_NOT_TEMPLATES):
            return _top(change.pointer)
    return join_pointer(*tokens)


def _fixes(app: App, id_: ResourceId | None, resource: Resource | None, pointer: str) -> Iterator[Fix]:
    if id_ is None:
        return
    where, desired = str(id_), resource.desired if resource else None
    how = str((_table().get((id_.group, id_.kind)) or {}).get("fix") or "unknown")
    kind = f"{id_.kind.lower()}.{id_.group}" if id_.group else id_.kind.lower()
    namespaced = f"-n {sh(id_.namespace)} " if id_.namespace else ""
    if how == "hook":
        yield Fix(
            "Make it a hook, which is deleted before each run",
            "manifest",
            where,
            Edit("yaml", pasted(as_hook(desired))),
            caveat="; ".join(("it then runs at each sync", *(once_a_hook(app, resource) if resource else ()))),
            resource=id_,
        )
    if how == "orphan":
        yield Fix(
            "Delete the object without its pods, then sync",
            "live",
            where,
            Edit(
                "command",
                f"kubectl {namespaced}delete {sh(kind)} {sh(id_.name)} --cascade=orphan && argocd app sync {sh(app.ref)}",
            ),
            caveat="claims that exist keep their size and class: change them one by one",
        )
        return
    if how == "rename":
        yield Fix(
            "Give the object a new name and move the data, or take the change back",
            "manifest",
            where,
            Edit("text", f"restore {pointer or 'the field'} of {where} as it is live"),
        )
        return
    if how == "unknown":  # an operator's object may hold data that goes with it
        yield Fix(
            "Take the change back",
            "manifest",
            where,
            Edit("text", f"restore {pointer or 'the field'} of {where} as it is live"),
        )
    forced = on_manifest(desired, "Replace=true", "Force=true")
    if not forced:
        return
    yield Fix(
        "Let Argo CD replace the object by force",
        "manifest",
        where,
        Edit("yaml", pasted(forced)),
        caveat="the object is deleted and made again, with what it owns",
        resource=id_,
    )


RULE = Rule(id="immutable-field", family="sync", severity="error", doc=__doc__, check=check, rank=10)
