"""A plain Job deletes itself

What it finds: a Job with ttlSecondsAfterFinished that is no hook. Kubernetes removes it after it has finished, and Argo CD then shows it as
missing. Also a Job without it that is gone again after self-heal made it again: another Job or a controller cleans up. And one that is gone
once, if a hook of that sync deletes it, or if the hook annotation is on its pod template, where Argo CD does not read it. Another Job that is
gone once, or before its time to live has passed, was deleted by someone: unexplained-drift reports it.

Why it hurts: the application is OutOfSync after each run. With self-heal the Job is created, and run, again and again.

How to fix: make it a hook, which Argo CD does not miss and deletes itself. Or remove the time to live.

Example: a Job `load-rules` with `ttlSecondsAfterFinished: 60` and no hook annotation.

Sources: argoproj/argo-cd#8586, #21055; docs/user-guide/resource_hooks.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

from argolint import App, Finding, Fix, Fleet, Location, Object, Rank, Resource, Rule, Symptom, Want
from argolint.application.applied import settled
from argolint.edits import manifest_patch
from argolint.values import age_text, annotations_of, dig, maps, text_at, texts
from argolint.values.kubernetes import HOOK, containers
from argolint.values.patterns import regex

from ._options import hook_warnings, sync_hook_operations


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether there is a Job that is not removed yet: the list does not show its time to live."""
    return any(not job.hook for job in app.of_kind("Job", "batch"))


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The manifests of hooks, one of which may delete a Job that is gone."""
    if any(
        job.missing and dig(job.desired, "spec", "ttlSecondsAfterFinished") is None
        for job in app.of_kind("Job", "batch")
    ):
        yield Want("manifests")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each Job."""
    for job in app.of_kind("Job", "batch"):
        seconds = dig(job.desired, "spec", "ttlSecondsAfterFinished")
        if job.hook or HOOK in annotations_of(job.desired):
            continue
        if isinstance(seconds, int):
            if not (job.missing and (_was_never_created(app, job) or _is_too_early(app, job, seconds))):
                yield _finding(app, job, seconds)
        elif seconds is None and job.missing and settled(app):
            if times := _times_made_again(app, job):
                yield _cleaned_up(app, job, times)
            elif _was_created(app, job) and (reasons := _reasons(app, job)):
                yield _gone_once(app, job, *reasons)


def _was_never_created(app: App, job: Resource) -> bool:
    """True for a missing Job that the last sync, a whole one of this revision, does not list: it was never created, so no time to live has
    removed it."""
    operation = app.operation
    known = operation is not None and bool(operation.results) and settled(app)
    return job.missing and known and operation is not None and not operation.results_of(job.id)


def _is_too_early(app: App, job: Resource, seconds: int) -> bool:
    """True if the sync that applied the Job began less than its time to live ago: so someone deleted it."""
    operation = app.operation
    if operation is None or operation.started_at is None or not operation.applied(job.id):
        return False
    return app.observed_at < operation.started_at + timedelta(seconds=seconds)


def _times_made_again(app: App, job: Resource) -> int:
    """How often self-heal has made the Job again at this revision; 0 if the last sync was no self-heal that created it."""
    operation = app.operation
    if operation is None or not operation.automated:
        return 0
    healed = maps(operation.raw, "operation", "sync", "resources")
    named = any((text_at(r, "kind"), text_at(r, "name")) == (job.kind, job.name) for r in healed)
    return max(1, operation.self_heal_attempts) if named and _was_created(app, job) else 0


def _was_created(app: App, job: Resource) -> bool:
    """Whether the last sync created the Job."""
    operation = app.operation
    rows = operation.results_of(job.id) if operation is not None else ()
    return any(text_at(row, "message").endswith(" created") for row in rows)


def _misplaced_hook(job: Resource) -> str:
    """The hook annotation of the pod template, in words; empty if there is none."""
    marked = HOOK in annotations_of(dig(job.desired, "spec", "template"))
    return "its pod template has the hook annotation, which Argo CD reads of the Job alone" if marked else ""


def _cleaner(app: App, job: Resource) -> str:
    """The hook of the last sync that deletes the Job, by its name or its command, in words; empty if none does."""
    for kind, name, words in app.derive(_cleaning_hooks):
        if name != job.name and (name.startswith(job.name) or job.name in words):
            return f"hook {kind} {name} of that sync deletes it"
    return ""


def _cleaning_hooks(app: App) -> tuple[tuple[str, str, frozenset[str]], ...]:
    """The hooks of the last sync that delete something: kind, name, and the words of their commands."""
    manifests = {text_at(m, "metadata", "name"): m for m in app.evidence.get(Want("manifests")) or ()}
    found = []
    for row in app.operation.results if app.operation is not None else ():
        kind, name = text_at(row, "kind"), text_at(row, "name")
        words = _command(manifests.get(name))
        if row.get("hookType") and kind in ("Job", "Pod") and _CLEANS.search(" ".join((name, *words))):
            found.append((kind, name, frozenset(words)))
    return tuple(found)


_CLEANS = regex(r"(?i)\b(?:clean-?up|delet(?:e|es|ing|ion)|remov(?:e|es|al))\b")


def _command(manifest: Object | None) -> tuple[str, ...]:
    """The words of the commands of an object's containers."""
    parts = (part for _, c in containers(manifest) for key in ("command", "args") for part in texts(c, key))
    return tuple(word for part in parts for word in re.split(r"[\s/,;'\"]+", part))


def _reasons(app: App, job: Resource) -> tuple[str, ...]:
    """Who deletes the Job, and why Argo CD does not take it for a hook, as far as known."""
    return tuple(filter(None, (_cleaner(app, job), _misplaced_hook(job))))


def _gone_once(app: App, job: Resource, reason: str, *others: str) -> Finding:
    return Finding(
        message=f"{job.id} is gone after the sync that made it: {reason}.",
        at=Location(app.ref, job.id),
        confidence="likely",
        evidence=(f"the last sync created it, it has no time to live, and application {app.ref} {_then(app)}", *others),
        fixes=(_as_hook(app, job),),
        explains=(Symptom.missing(job.id), Symptom.health(job.id)),
    )


def _cleaned_up(app: App, job: Resource, times: int) -> Finding:
    made = f"{times} times" if times > 1 else "once"
    return Finding(
        message=f"{job.id} is gone again after self-heal made it: something deletes it each time, so application {app.ref} {_then(app)}.",
        at=Location(app.ref, job.id),
        confidence="likely",
        evidence=(f"self-heal has made it {made} at this revision, and it has no time to live", *_reasons(app, job)),
        fixes=(_as_hook(app, job),),
        explains=(Symptom.missing(job.id), Symptom.health(job.id)),
    )


def _then(app: App) -> str:
    return "runs it again (self-heal)" if app.self_heal else "is OutOfSync from then on"


def _as_hook(app: App, job: Resource) -> Fix:
    return manifest_patch(
        job.id,
        "Make it a hook that is replaced at each sync",
        sync_hook_operations(job.desired),
        "; ".join(("it then runs at each sync", *hook_warnings(app, job))),
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
            manifest_patch(
                job.id,
                "Or drop the time to live",
                [{"op": "remove", "path": "/spec/ttlSecondsAfterFinished"}],
                "the finished Job and its pods stay",
            ),
        ),
        explains=(Symptom.missing(job.id), Symptom.health(job.id)),
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, wants=wants, reads=reads, rank=Rank.CAUSE)
