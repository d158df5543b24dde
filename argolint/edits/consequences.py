"""The consequences of a sync that failed or does not end.

Later waves' objects stay missing and changed fields keep old values. The finding that explains the operation also explains these, so that
one fault is reported once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from argolint.application.app import App
from argolint.application.applied import not_yet_applied
from argolint.application.operation import Operation
from argolint.application.resource import Resource
from argolint.model import Finding, Symptom


def consequences(app: App) -> Iterator[Symptom]:
    """The operation itself, SyncError, and everything that still waits: missing objects and fields that changed only in Git."""
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
    """The finding; if it explains the health of an object that blocks the operation, with the consequences.

    That is the object that the running operation waits for, or one whose health alone failed the last operation.
    """
    operation = app.operation
    if operation is None or (operation.awaited is None and not app.derive(failed_by_health)):
        return finding
    explained = {claim.resource for claim in finding.explains if claim.kind == "health" and claim.resource}
    if not any(r.key in explained and _holds_up(operation, r) for r in app.resources):
        return finding
    more = tuple(claim for claim in consequences(app) if claim not in finding.explains)
    return replace(finding, explains=finding.explains + more)


def failed_by_health(app: App) -> bool:
    """True if the last operation failed only because objects that it had applied became Degraded, and one still is."""
    operation = app.operation
    if operation is None or not operation.failed or not operation.turned_degraded:
        return False
    refused = any(r.get("status") == "SyncFailed" for r in operation.results)
    return not (refused or operation.hook_failed) and any(
        r.health.status == "Degraded" and _holds_up(operation, r) for r in app.resources
    )


def _holds_up(operation: Operation, resource: Resource) -> bool:
    if operation.awaited is not None:
        return operation.awaited.is_(resource.id)
    return operation.degraded(resource.id)
