"""Commands for a running operation."""

from __future__ import annotations

from dataclasses import replace

from argolint import App, Edit, Fix, Operation, ResourceId
from argolint.edits import handover
from argolint.values import dig, joined, mapping, sh


def sync_again_command(app: App) -> str:
    """The command that ends the running operation and starts another one.

    An operation ends some time after the request, and until then the server accepts no other one ("another operation is already in progress",
    util/argo/argo.go SetAppOperation). So the command waits for that.
    """
    name = sh(app.ref)
    ended = _ended(name)
    synced = f"argocd app wait {name} --sync --timeout 600"
    # A new commit starts the next operation, which blocks a sync by hand. For a revision that it has tried in vain Argo CD starts none,
    # with self-heal neither (controller/appcontroller.go, autoSync; tried with Argo CD 3.6.1).
    if app.automated:
        return f"{ended} && {{ argocd app sync {name} || {synced}; }}"
    return f"{ended} && argocd app sync {name}"


def sync_command(app: App) -> str:
    """The command of a sync; while an operation runs, which keeps another one off, it ends that first."""
    running = app.operation is not None and app.operation.phase == "Running"
    return sync_again_command(app) if running else f"argocd app sync {sh(app.ref)}"


def with_end_of_retries(app: App, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
    """The fixes of a failed sync, and the step after an edit where its next attempts still apply what was there before.

    They take the revision and the options with which the operation began (controller/appcontroller.go, processRequestedAppOperation; tried
    with Argo CD 3.6.1), unless spec.syncPolicy.retry.refresh is set.
    """
    retries = app.operation is not None and app.operation.waiting_to_retry
    if not retries or dig(app.spec, "syncPolicy", "retry", "refresh"):
        return fixes
    if former := _former(app):
        title = f"End the retries, which apply {former} and not what Git has now"
        return (_end_fix(app, title), *fixes)
    return _with_end(app, fixes, "After the edit end the retries, which still apply what was there before")


def retries_text(app: App) -> str:
    """The clause for an operation that will be tried again: what it applies, where the application has something else by now."""
    if app.operation is None or not app.operation.waiting_to_retry:
        return ""
    former = "" if dig(app.spec, "syncPolicy", "retry", "refresh") else _former(app)
    return f", and Argo CD retries {former}, not what Git has" if former else ", and Argo CD tries again"


def _former(app: App) -> str:
    """What the running operation applies, if the application is compared with another revision or source by now; else empty."""
    operation = app.operation
    if operation is None:
        return ""
    if has_revision_moved(app, operation):
        return next(was[:7] for was, now in zip(operation.revisions, app.revisions, strict=False) if was != now)
    applied = mapping(operation.raw, "syncResult", "source")
    return "the former source" if applied and app.spec.get("source") not in (None, applied) else ""


def has_revision_moved(app: App, operation: Operation) -> bool:
    """True if Argo CD now compares another revision than the operation applied; False if the latter is not resolved."""
    revisions = {str(source.get("targetRevision") or "HEAD") for source in app.sources}
    tried = {was for was, now in zip(operation.revisions, app.revisions, strict=False) if was and was != now}
    return bool(tried) and not revisions & tried


def with_end_of_wait(app: App, awaited: ResourceId, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
    """The fixes of an object, and the step that ends the operation which waits for it, since that stays at the revision with which it began.

    It comes first where Git has the object otherwise by now, else after an edit.
    """
    if not app.is_awaiting(awaited):
        return fixes
    held, former = app.held(awaited), _former(app)
    if former and held is not None and held.changes:
        title = f"End the running sync of {former}: it waits for {awaited}, which Git has otherwise by now"
        return (_end_fix(app, title), *fixes)
    return _with_end(app, fixes, "After the edit end the running sync, which takes no newer revision")


def _with_end(app: App, fixes: tuple[Fix, ...], title: str) -> tuple[Fix, ...]:
    """Ends the operation after the first fix, if that is an edit; its caveat says so, too, since a short report shows that fix alone."""
    if not fixes or fixes[0].target not in ("manifest", "application", "helm-values"):
        return fixes
    first, *rest = fixes
    then = f"then end the running sync: `argocd app terminate-op {sh(app.ref)}`"
    return (replace(first, caveat=joined(then, first.caveat)), *rest, _end_fix(app, title))


def _end_fix(app: App, title: str) -> Fix:
    return Fix(title, "live", f"Application {app.ref}", Edit("command", sync_again_command(app)))


def whole_sync_command(app: App) -> str:
    """The command of a sync with all hooks; it ends the running operation first. A self-heal syncs what differs alone, without hooks."""
    running = app.operation is not None and app.operation.phase == "Running"
    return f"{_ended(sh(app.ref))} && {handover.sync(app.ref)}" if running else handover.sync(app.ref)


def _ended(name: str) -> str:
    return f"argocd app terminate-op {name} && argocd app wait {name} --operation --timeout 120"
