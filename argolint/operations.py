"""What a sync that failed or does not end leaves behind.

A later wave's objects stay missing and changed fields stay old: consequences, which the finding that explains the operation
answers as well, so that one fault is told once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from argolint.app import App
from argolint.applied import not_yet_applied
from argolint.model import Finding, Symptom


def consequences(app: App) -> Iterator[Symptom]:
    """The operation itself, SyncError, and everything that waits to be applied: missing objects and fields only Git moved."""
    yield Symptom.operation()
    yield Symptom.condition("SyncError")
    for resource in app.resources:
        if resource.missing:
            yield Symptom.missing(resource.id)
            yield Symptom.health(resource.id)
    for resource in app.changed:
        for change in resource.changes:
            if not_yet_applied(app, resource, change):
                yield Symptom.change(resource.id, change.pointer)


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
