"""The failures of a sync, one for each object."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from argolint import App, Fleet, Object, Operation, ResourceId
from argolint.messages import Match
from argolint.relations import Complaint
from argolint.values import dig
from argolint.values.patterns import regex

from ..shared.messages import catalogue
from ..shared.operations import has_revision_moved

UNEXPLAINED = ("sync-failed", "unknown")


@dataclass(frozen=True, slots=True)
class Failed:
    """One message of a failed operation: `id` is None when it is the operation's own.

    `rule` explains it, by the catalogue of messages; `cause` is sync-failed's. `hook` is the phase of a hook that failed. `deletes`: it was to
    be deleted, as left over in the cluster or with its application.
    """

    id: ResourceId | None
    message: str
    rule: str
    cause: str
    hook: str = ""
    deletes: bool = False


def refusal_match(message: str) -> Match | None:
    """The meaning of a message of a failed operation, or of an object in it; None if the catalogue has none."""
    return catalogue().match(message, "sync")


def classify(message: str) -> tuple[str, str]:
    """(rule, cause) for this message."""
    found = refusal_match(message)
    return (found.entry.rule, found.entry.cause) if found else UNEXPLAINED


def complaint_of(app: App, fleet: Fleet, failed: Failed) -> Complaint:
    """The failure, to be resolved against the objects around it."""
    resource = app.held(failed.id)
    return Complaint(
        app, fleet, failed.id, (resource.desired or resource.live) if resource else None, (failed.message,)
    )


def can_retry_succeed(app: App, failed: Failed) -> bool:
    """True if a retry can succeed without a change; False if the catalogue does not say.

    A manifest that writes metadata.resourceVersion or uid conflicts at each attempt.
    """
    resource = app.held(failed.id)
    fixed = any(dig(resource.desired, "metadata", key) for key in ("resourceVersion", "uid")) if resource else False
    found = refusal_match(failed.message)
    return bool(found and found.entry.passes) and not fixed and not failed.hook


def failures(app: App) -> tuple[Failed, ...]:
    """The failures of the last operation, one for each object, in the server's order; empty if it did not fail or is history."""
    return app.derive(_failures)


def _failures(app: App) -> tuple[Failed, ...]:
    operation = app.operation
    if operation is None or not operation.failed or _is_history(app, operation):
        return ()
    found = tuple(_result_failures(app, operation))
    return found or (Failed(None, operation.message, *classify(operation.message)),)


_BEFORE_ANY_TASK = regex(r"(ComparisonError|InvalidSpecError): ")  # controller/sync.go, FormatAppConditions


def _is_history(app: App, operation: Operation) -> bool:
    """True if the failure is history: all is in sync now at another revision, or only the comparison failed, or it was a dry run.

    Automated sync starts nothing while all is Synced, so the failed operation stays the last one. A failed hook is never history, since nothing
    shows that its work was done later.
    """
    if app.sync_status != "Synced" or operation.waiting_to_retry or operation.hook_failed:
        return False
    compares_again = bool(_BEFORE_ANY_TASK.match(operation.message)) and not any(
        c.type in ("ComparisonError", "InvalidSpecError") for c in app.conditions
    )
    dry = dig(operation.raw, "operation", "sync", "dryRun") is True
    return dry or compares_again or has_revision_moved(app, operation)


def _result_failures(app: App, operation: Operation) -> Iterator[Failed]:
    for result in operation.results:
        hook = str(result.get("hookPhase") or "") if result.get("hookType") else ""
        if result.get("status") != "SyncFailed" and hook not in ("Failed", "Error"):
            continue
        found = result_failure(app, result, operation.message)
        yield replace(found, hook=str(result.get("hookType") or "") if hook else "")
    for result in operation.turned_degraded:
        yield Failed(_resource_id(app, result), str(result.get("message") or operation.message), *UNEXPLAINED)


def result_failure(app: App, result: Object, otherwise: str = "") -> Failed:
    """The failure in the result of one object; a result without a message uses the operation's (`otherwise`)."""
    message, id_ = str(result.get("message") or otherwise), _resource_id(app, result)
    held = app.held(id_)
    return Failed(
        id_, message, *classify(message), deletes=held is not None and held.requires_pruning and not held.hook
    )


def _resource_id(app: App, result: Object) -> ResourceId:
    """The object of a result; for a cluster-scoped one the server writes the destination's namespace."""
    group, kind, namespace, name, version = (
        str(result.get(k) or "") for k in ("group", "kind", "namespace", "name", "version")
    )
    managed = app.find(group, kind, namespace, name) or app.find(group, kind, "", name)
    return managed.id if managed else ResourceId(group, kind, namespace, name, version, app.cluster)


def failures_explained_by(app: App, rule: str) -> tuple[Failed, ...]:
    """The failures that `rule` explains."""
    return tuple(f for f in failures(app) if f.rule == rule)
