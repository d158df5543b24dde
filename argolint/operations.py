"""What a sync that failed or does not end leaves behind.

A later wave's objects stay missing and changed fields stay old: consequences, which the finding that explains the operation
answers as well, so that one fault is told once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from argolint.app import App, Resource
from argolint.model import Change, Finding, Symptom
from argolint.values import annotations_of, get

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def consequences(app: App) -> Iterator[Symptom]:
    """The operation itself, SyncError, and everything that waits to be applied: missing objects and fields only Git moved."""
    yield Symptom.operation()
    yield Symptom.condition("SyncError")
    for resource in app.resources:
        if resource.missing:
            yield Symptom.missing(resource.id)
            yield Symptom.health(resource.id)
        for change in resource.changes:
            if awaits_sync(resource, change):
                yield Symptom.change(resource.id, change.pointer)


def awaits_sync(resource: Resource, change: Change) -> bool:
    """True when live still is what was applied last, so that only Git moved: nobody else wrote the field."""
    try:
        applied = json.loads(annotations_of(resource.live).get(_LAST_APPLIED) or "null")
    except ValueError:
        return False
    return applied is not None and bool(get(applied, change.pointer) == change.live)


def with_consequences(finding: Finding, app: App) -> Finding:
    """The finding; when it explains the health of the object that the running operation waits for, with the consequences."""
    awaited = app.operation.awaited if app.operation else None
    if awaited is None:
        return finding
    explained = {claim.resource for claim in finding.explains if claim.kind == "health" and claim.resource}
    if not any(r.key in explained and awaited.is_(r.id) for r in app.resources):
        return finding
    more = tuple(claim for claim in consequences(app) if claim not in finding.explains)
    return replace(finding, explains=finding.explains + more)
