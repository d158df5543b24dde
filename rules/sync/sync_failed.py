"""The last sync failed

What it finds: a failed operation, or an error condition, that no more specific rule explains. The rule sorts the server's reason into a cause:
`quota`, `admission` (a webhook or a policy refused), `forbidden` (RBAC, or the project refuses a kind or namespace, or will), `validation` (the API server refused the object, or
will, as the manifest alone shows: a value of another type, a request above its limit, a mount without a volume), `timeout`, `throttled`, `terminated` (someone
ended it), `hook` (a hook failed: the finding says how its pods ended), `gone` (deleted before its end was seen), `unknown`. Not reported: a failure before all
came in sync at another revision. If the failure comes from an object's health, that object's own finding reports it.

Why it hurts: the cluster differs from Git, and objects after the failed one were not applied at all.

How to fix: repair the cause in the message, then sync again; automated sync does not try the same revision twice.

Example: a ResourceQuota of the namespace is used up, so the API server refuses the next pod's PersistentVolumeClaim.

Sources: gitops-engine/pkg/sync/sync_context.go, controller/sync.go of Argo CD; k8s.io/apiserver pkg/admission.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from argolint import (
    Afterwards,
    App,
    Condition,
    Edit,
    Finding,
    Fix,
    Fleet,
    Follows,
    Location,
    Rank,
    Related,
    Resource,
    Rule,
    Severity,
    Symptom,
    Want,
)
from argolint.application.permissions import object_refusal
from argolint.edits import application_place
from argolint.edits.consequences import consequences, failed_by_health
from argolint.messages import field_errors, in_passing, quoting, shortened
from argolint.redaction import excerpt
from argolint.relations import Complaint, related_wants, resolved
from argolint.values import dig, get, split_pointer
from argolint.values.kubernetes import is_custom
from argolint.values.schema import Fault

from ..shared.crds import wanted_definitions
from ..shared.fields import EXPECTED, corrected, type_words
from ..shared.operations import retries_text, with_end_of_retries
from ._claims import class_wants, growth_findings
from ._comparison import repeats_comparison
from ._failed_hooks import HookFailure, hook_failure, hook_wants, with_removal
from ._failures import Failed, classify, complaint_of, failures, refusal_match
from ._field_checks import spot_of
from ._hooks import manifest_of
from ._leftovers import leftover_sentence
from ._options import failing_step
from ._refusals import is_created_twice, refusal_fixes, retype_advice, retyping_advice
from ._slips import coming_slips, mistyped_values
from ._validation import coming_refusals, server_message, validated
from ._webhooks import authority_changes

_ANSWERED_ELSEWHERE = ("ComparisonError", "InvalidSpecError", "SyncError")


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """Of the first failure: the state of a hook's pods, and the workloads behind the Services of other applications; the CRDs of what a sync brings."""
    for failed in [f for f in failures(app) if f.rule == "sync-failed"][:1]:
        yield from hook_wants(app, failed)
        yield from related_wants(complaint_of(app, fleet, failed))
    coming = (r for r in app.resources if r.status == "OutOfSync" and is_custom(r.group) and (r.absent or r.pending))
    for group, kind in islice(dict.fromkeys((r.group, r.kind) for r in coming if not r.requires_pruning), _MOST_KINDS):
        yield from wanted_definitions(app, fleet, group, kind)
    yield from class_wants(app, fleet)


_MOST_KINDS = 10
"""Most custom kinds whose CRD is read from other applications."""


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for the operation, and one for each error condition that is about something else."""
    unexplained = [f for f in failures(app) if f.rule == "sync-failed"]
    if unexplained and not failed_by_health(app):  # else the object's own finding says why
        yield _operation_finding(app, fleet, unexplained)
    elif not failures(app):
        yield from (
            _condition_finding(app, fleet, c) for c in app.conditions if c.type == "SyncError" and not _is_start_race(c)
        )
    for condition in app.conditions:
        if condition.is_error and condition.type not in _ANSWERED_ELSEWHERE and not repeats_comparison(app, condition):
            yield _condition_finding(app, fleet, condition)
    failed = {f.id.key for f in failures(app) if f.id}
    for resource in app.resources:
        if resource.key not in failed and (resource.hook or not (resource.live or resource.requires_pruning)):
            yield from _not_permitted_finding(app, fleet, resource)
        if (resource.status == "OutOfSync" or resource.hook) and resource.key not in failed:
            mistyped = tuple(mistyped_values(resource))
            yield from (_mistyped_finding(app, fleet, resource, fault) for fault in mistyped)
            if not mistyped:
                yield from _refused_finding(app, fleet, resource)
                yield from growth_findings(app, resource, failing_step(app, fleet, resource))


def _not_permitted_finding(app: App, fleet: Fleet, resource: Resource) -> Iterator[Finding]:
    """A finding for a new object, or a hook, that the project does not permit: its sync has a task that is not valid, and applies nothing."""
    message = object_refusal(app, fleet, resource.id) if resource.desired is not None else ""
    if message:
        of_kind = message.startswith("resource ")
        what = f"objects of kind {resource.kind}" if of_kind else f"objects in namespace {resource.namespace}"
        yield Finding(
            message=f"Project {app.project} permits no {what}: because of {resource.id}, the next sync of application {app.ref} applies nothing.",
            at=Location(app.ref, resource.id, "/kind" if of_kind else "/metadata/namespace"),
            cause="forbidden",
            confidence="likely",
            evidence=(f"Argo CD says: {message}",),
            fixes=refusal_fixes(app, fleet, Failed(resource.id, message, RULE.id, "forbidden")),
        )


def _refused_finding(app: App, fleet: Fleet, resource: Resource) -> Iterator[Finding]:
    """A finding for what the API server will refuse in the object, if this rule answers its message."""
    refusals = coming_refusals(app, resource)
    if not refusals:
        return
    message = server_message(resource, refusals)
    rule, cause = classify(message)
    if rule == RULE.id:
        first, known = refusals[0], refusal_match(message)
        spot = spot_of(resource.desired, first.pointer)
        is_there = get(resource.desired, first.pointer, None) not in (None, "", [], {})
        reason = first.reason.removeprefix("it is missing; ") if is_there else first.reason
        says = f"the API server refuses {spot} ({shortened(reason, _REASON)})"
        if known and known.entry.knows == "cause":
            says = f"{known.says}, at {spot}" if first.pointer else known.says
        yield Finding(
            message=f"The next {failing_step(app, fleet, resource)} fails at {resource.id}: {says}.",
            at=Location(app.ref, resource.id, first.pointer),
            cause=cause,
            confidence="likely",
            evidence=(f"{_who_says(resource)}: {excerpt(message, 600)}",),
            fixes=refusal_fixes(app, fleet, Failed(resource.id, message, rule, cause)),
        )


def _who_says(resource: Resource) -> str:
    return (
        "its definition or its operator's webhook says"
        if is_custom(resource.group)
        else "the API server's validation says"
    )


_REASON = 80
"""Characters of a reason in a message; the whole one is in the evidence."""


def _mistyped_finding(app: App, fleet: Fleet, resource: Resource, fault: Fault) -> Finding:
    value = get(resource.desired, fault.pointer, None)
    topic, right = corrected(value, fault.type)
    patch = [{"op": "replace", "path": fault.pointer, "value": right}]
    return Finding(
        message=f"{resource.id} has {type_words(value)} at {spot_of(resource.desired, fault.pointer)} in Git, where the API server expects {EXPECTED[fault.type]}: the next {failing_step(app, fleet, resource)} fails.",
        at=Location(app.ref, resource.id, fault.pointer),
        cause="validation",
        confidence="likely",
        fixes=retyping_advice(resource.id, topic, patch) if topic else retype_advice(resource.id, value, fault),
    )


def _operation_finding(app: App, fleet: Fleet, left: list[Failed]) -> Finding:
    first = left[0]
    operation = app.operation
    assert operation is not None  # failures come from an operation
    who = str(first.id) if first.id else f"application {app.ref}"
    more = f" and {len(left) - 1} more" if len(left) > 1 else ""
    hook = f"{first.hook} hook " if first.hook else ""
    subject = (
        f"The last sync could not delete {who}{more}" if first.deletes else f"The last sync failed at {hook}{who}{more}"
    )
    kept = leftover_sentence(app.held(first.id) if first.id else None, first.message)
    waits = f", since its patch {kept}" if kept.startswith("keeps a live item") else retries_text(app)
    severity: Severity = "warning" if app.sync_status == "Synced" and not app.automated else "error"
    why = hook_failure(app, fleet, first)
    finding = Finding(
        message=why.sentence(subject, waits)
        if why and why.says
        else in_passing(f"{subject}: {_CREATED_TWICE}", first.message, waits)
        if is_created_twice(app, first)
        else _failure_message(subject, first.message, waits),
        at=Location(app.ref, first.id),
        cause="hook" if first.hook and first.cause == "unknown" else first.cause,
        severity=severity,
        evidence=(*(why.evidence if why else ()), *_evidence(app, left)),
        related=tuple(Related(app.ref, f.id, role="symptom") for f in left[1:] if f.id),
        fixes=(
            *with_end_of_retries(
                app,
                with_removal(app, first, why.fixes if why else refusal_fixes(app, fleet, first)),
            ),
            *_no_retry_fixes(app, first),
        ),
        explains=tuple(consequences(app)) if len(left) == len(failures(app)) else tuple(_object_symptoms(left)),
        follows=tuple(_origins(app, fleet, first)),
    )
    return resolved(finding, _complaint(app, fleet, first, why))


_CREATED_TWICE = "with Replace=true, Argo CD creates an RBAC object twice"


def _no_retry_fixes(app: App, failed: Failed) -> Iterator[Fix]:
    """For a hook that is run again and again: automated sync tries five times where nothing is set (controller/appcontroller.go, autoSync)."""
    again = app.operation is not None and app.operation.waiting_to_retry and app.automated
    if again and failed.hook and not dig(app.spec, "syncPolicy", "retry"):
        yield Fix(
            "If a failed hook must not run again by itself: no retries",
            "application",
            application_place(app),
            Edit("yaml", "spec:\n  syncPolicy:\n    retry:\n      limit: 0\n"),
            caveat="automated sync tries five times where spec.syncPolicy.retry is not set",
        )


def _complaint(app: App, fleet: Fleet, failed: Failed, why: HookFailure | None) -> Complaint:
    """The failure; for a hook with its live manifest, and with the words of its pods first."""
    found = complaint_of(app, fleet, failed)
    if why is None or failed.id is None:
        return found
    return replace(found, manifest=manifest_of(app, failed.id), texts=tuple(filter(None, (why.words, *found.texts))))


def _failure_message(subject: str, message: str, after: str) -> str:
    """The cause where the catalogue knows it, and the server's words."""
    known = refusal_match(message)
    if known is None or known.entry.knows != "cause":
        return quoting(subject, message, after)
    return in_passing(f"{subject}: {known.says}", message, after)


def _origins(app: App, fleet: Fleet, failed: Failed) -> Iterator[Follows]:
    """The findings about the manifest, or the old object, that say why it was refused."""
    if failed.id is None:
        return
    if _is_going(failed):
        yield Follows(Symptom.health(failed.id))
    errors, resource = field_errors(failed.message), app.held(failed.id)
    if any(error.pointer.endswith("/nodePort") for error in errors):
        yield Follows.finding("node-port-taken", failed.id, mended=True)
    lacking = {split_pointer(error.pointer)[-1] for error in errors if error.sort == "Required value"}
    if resource and any(slip.meant in lacking for slip in coming_slips(resource, whole=False)):
        yield Follows.finding("schema-field-unknown", failed.id, mended=True)
    yield from (Follows(change, mended=True) for change in authority_changes(app, fleet, failed.message))


def _is_going(failed: Failed) -> bool:
    """Whether the old object is still being deleted: what holds it is a finding of its own."""
    known = refusal_match(failed.message)
    return known is not None and known.entry.id == "sync/being-deleted"


def _is_start_race(condition: Condition) -> bool:
    """Argo CD's own race of two starts of one sync, which servers of 2.x wrote down (util/argo/argo.go, SetAppOperation)."""
    return "another operation is already in progress" in condition.message


def _object_symptoms(left: list[Failed]) -> Iterator[Symptom]:
    """In addition to failures that other rules answer: only the objects, since the operation is theirs as well."""
    for failed in left:
        if failed.id:
            yield Symptom.change(failed.id)
            yield Symptom.missing(failed.id)


def _evidence(app: App, left: list[Failed]) -> Iterator[str]:
    operation = app.operation
    assert operation is not None
    yield f"operation {operation.phase}: {excerpt(operation.message, 600)}"
    for failed in left[:5]:
        yield f"{failed.id or app.ref}: {excerpt(failed.message, 400)}"
        hook = app.node(failed.id) if failed.hook and failed.id else None
        for pod in app.descendants(hook.uid) if hook else ():
            if pod.health.message:
                yield f"{pod.id}: {excerpt(pod.health.message, 400)}"
    if operation.retry_count:
        done = operation.retry_count - operation.waiting_to_retry  # it counts the retry that is to come
        yield f"retried {done} time{'' if done == 1 else 's'}" if done else "not retried yet"


def _condition_finding(app: App, fleet: Fleet, condition: Condition) -> Finding:
    rule, cause = classify(condition.message)
    what = "Automated sync refuses" if condition.type == "SyncError" else "Argo CD cannot process"
    wipes = "auto-sync will wipe out all resources" in condition.message
    return Finding(
        message=_failure_message(f"{what} application {app.ref} ({condition.type})", condition.message, ""),
        at=Location(app.ref),
        cause=cause if rule == "sync-failed" else "unknown",
        evidence=(f"condition {condition.type}: {excerpt(condition.message, 600)}",),
        fixes=refusal_fixes(
            app,
            fleet,
            Failed(None, condition.message, rule, cause, deletes=condition.type == "DeletionError"),
            empties=wipes,
        ),
        explains=(condition.symptom, *(Symptom("extra", r.key) for r in app.extra if wipes)),
    )


def then(fix: Fix, finding: Finding, after: App, fleet: Fleet) -> Afterwards | None:
    """The API server's answer to a manifest that it has refused, or would refuse."""
    return validated(fix, finding, after)


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    wants=wants,
    then=then,
    causes=(
        "quota",
        "admission",
        "forbidden",
        "validation",
        "timeout",
        "throttled",
        "terminated",
        "size",
        "hook",
        "gone",
        "unknown",
    ),
    rank=Rank.FAILURE,  # below every rule that knows a reason, above not-synced, which only says that nothing happened
)
