"""Automated sync gave up at this revision

What it finds: an automated application whose last sync failed, with the condition SyncError. Argo CD remembers revision and parameters of the
failed attempt and does not try them again. Not reported while a newer commit waits, such as for a sync window.

Why it hurts: a repair of the cluster (a missing CRD, a quota, a webhook) is not enough. Nothing happens until there is a new revision, another
`spec.source`, or a person syncs, and self-heal is off in the meantime.

How to fix: repair the cause, which another finding names. Then sync once by hand or push a commit. If the failure passes by itself, allow more
retries with a longer backoff. For a wrong manifest, more retries do not help.

Example: `Failed last sync attempt to [9c72…]: one or more synchronization tasks are not valid (retried 2 times).`

Sources: controller/appcontroller.go (autoSync, alreadyAttemptedSync); argoproj/argo-cd#18442.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Follows, Location, Operation, Rank, Rule, Symptom
from argolint.edits import live_command
from argolint.edits.consequences import failed_by_health
from argolint.redaction import excerpt
from argolint.values import annotations_of, dig, sh

from ..shared.operations import has_revision_moved
from ._failures import can_retry_succeed, failures


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """At most one finding: SyncError on an automated application whose operation has failed for good."""
    operation = app.operation
    condition = next((c for c in app.conditions if c.type == "SyncError"), None)
    if condition is None or operation is None or not app.automated or operation.phase not in ("Failed", "Error"):
        return
    if _has_newer_commit(app, operation):
        return
    tried = f" after {operation.retry_count + 1} attempts" if operation.retry_count else ""
    revision = ", ".join(r[:12] for r in operation.revisions) or "this revision"
    yield Finding(
        message=f"Automated sync of application {app.ref} gave up at {revision}{tried}: only a new revision or source, or a manual sync, ends that.",
        at=Location(
            app.ref, None, "/spec/syncPolicy/retry" if dig(app.spec, "syncPolicy", "retry") else "/spec/syncPolicy"
        ),
        evidence=(
            f"condition SyncError: {excerpt(condition.message, 600)}",
            f"operation {operation.phase}"
            + (f" at {operation.finished_at:%Y-%m-%d %H:%M:%SZ}" if operation.finished_at else ""),
        ),
        fixes=(
            live_command(
                f"Application {app.ref}",
                "Repair the cause of the failure, then sync once by hand, unless that brings a new revision",
                f"argocd app sync {sh(app.ref)}",
            ),
            *([_more_attempts_fix(app)] if _can_retries_succeed(app) else []),
        ),
        explains=(Symptom.condition("SyncError"),),
        follows=(Follows(Symptom.operation()),),
    )


def _can_retries_succeed(app: App) -> bool:
    """True if a retry can succeed for each failure: if a change must come first, more attempts only wait."""
    problems = failures(app)
    return bool(problems) and all(can_retry_succeed(app, failed) for failed in problems) and not failed_by_health(app)


def _more_attempts_fix(app: App) -> Fix:
    return Fix(
        "Allow more attempts, if the failure passes by itself",
        "application",
        f"Application {app.ref}",
        Edit(
            "yaml",
            "spec:\n  syncPolicy:\n    retry:\n      limit: 10\n      backoff:\n        duration: 30s\n        factor: 2\n        maxDuration: 10m",
        ),
        caveat="does not help against a manifest that is wrong",
    )


def _has_newer_commit(app: App, operation: Operation) -> bool:
    """True if another revision than the failed one waits: Argo CD tries it as soon as a sync window allows it.

    The condition stays in the meantime (autoSync returns early). With manifest-generate-paths, a commit elsewhere in the repository changes the
    revision and is not tried.
    """
    by_paths = "argocd.argoproj.io/manifest-generate-paths" in annotations_of(app.raw)
    return has_revision_moved(app, operation) and not by_paths


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.ROOT, standing=True)
