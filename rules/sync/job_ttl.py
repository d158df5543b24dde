"""A plain Job deletes itself

What it finds: a Job with ttlSecondsAfterFinished that is no hook. Kubernetes removes it after it has finished, and Argo CD then shows it as
missing. Also a Job without it that is gone although the last sync applied it: another Job or a controller cleans up.

Why it hurts: the application is OutOfSync after each run. With self-heal the Job is created, and run, again and again.

How to fix: make it a hook, which Argo CD does not miss and deletes itself. Or remove the time to live.

Example: a Job `load-rules` with `ttlSecondsAfterFinished: 60` and no hook annotation.

Sources: argoproj/argo-cd#8586, #21055; docs/user-guide/resource_hooks.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from argolint import App, Edit, Finding, Fix, Fleet, Location, Rank, Resource, Rule, Symptom
from argolint.application.applied import settled
from argolint.values import age_text, annotations_of, dig
from argolint.values.kubernetes import HOOK

from ._options import hook_warnings, sync_hook_operations


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether there is a Job that is not removed yet: the list does not show its time to live."""
    return any(not job.hook for job in app.of_kind("Job", "batch"))


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each Job."""
    for job in app.of_kind("Job", "batch"):
        seconds = dig(job.desired, "spec", "ttlSecondsAfterFinished")
        plain = not job.hook and HOOK not in annotations_of(job.desired)
        if isinstance(seconds, int) and plain and not _was_never_created(app, job):
            yield _finding(app, job, seconds)
        elif seconds is None and plain and job.missing and settled(app) and _applied(app, job):
            yield _cleaned_up(app, job)


def _applied(app: App, job: Resource) -> bool:
    rows = app.operation.results_of(job.id) if app.operation is not None else ()
    return any(row.get("status") == "Synced" for row in rows)


def _was_never_created(app: App, job: Resource) -> bool:
    """True for a missing Job that the last sync, a whole one of this revision, does not list: it was never created, so no time to live has
    removed it."""
    operation = app.operation
    known = operation is not None and bool(operation.results) and settled(app)
    return job.missing and known and operation is not None and not operation.results_of(job.id)


def _cleaned_up(app: App, job: Resource) -> Finding:
    return Finding(
        message=f"{job.id} is gone after the sync that applied it: something deletes it, so application {app.ref} {_then(app)}.",
        at=Location(app.ref, job.id),
        confidence="likely",
        evidence=("the last sync of this revision applied it, and it has no time to live",),
        fixes=(_as_hook(app, job),),
        explains=(Symptom.missing(job.id), Symptom.health(job.id)),
    )


def _then(app: App) -> str:
    return "runs it again (self-heal)" if app.self_heal else "is OutOfSync from then on"


def _as_hook(app: App, job: Resource) -> Fix:
    return Fix(
        "Make it a hook that is replaced at each sync",
        "manifest",
        str(job.id),
        Edit("json-patch", sync_hook_operations(job.desired)),
        caveat="; ".join(("it then runs at each sync", *hook_warnings(app, job))),
        resource=job.id,
    )


def _finding(app: App, job: Resource, seconds: int) -> Finding:
    after = age_text(timedelta(seconds=seconds))
    fact = "is gone" if job.missing else "will be gone"
    return Finding(
        message=f"{job.id} {fact} {after} after it finishes (ttlSecondsAfterFinished), so application {app.ref} {_then(app)}.",
        at=Location(app.ref, job.id, "/spec/ttlSecondsAfterFinished"),
        evidence=("the live object is missing" if job.missing else "the live object is still there",),
        fixes=(
            _as_hook(app, job),
            Fix(
                "Or drop the time to live",
                "manifest",
                str(job.id),
                Edit("json-patch", [{"op": "remove", "path": "/spec/ttlSecondsAfterFinished"}]),
                caveat="the finished Job and its pods stay",
                resource=job.id,
            ),
        ),
        explains=(Symptom.missing(job.id), Symptom.health(job.id)),
    )


RULE = Rule(id="job-ttl", family="sync", severity="warning", doc=__doc__, check=check, reads=reads, rank=Rank.CAUSE)
