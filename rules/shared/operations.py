"""Commands for a running operation."""

from __future__ import annotations

from argolint import App, Edit, Fix, ResourceId
from argolint.edits import handover
from argolint.values import dig, sh


def sync_again_command(app: App) -> str:
    """The command that ends the running operation and starts another one.

    An operation ends some time after the request, and until then the server accepts no other one ("another operation is already in progress",
    util/argo/argo.go SetAppOperation). So the command waits for that.
    """
    name = sh(app.ref)
    ended = _ended(name)
    synced = f"argocd app wait {name} --sync --timeout 600"
    if app.self_heal:  # self-heal starts the next operation, which would block a sync by hand
        return f"{ended} && {synced}"
    if app.automated:  # a new commit does the same; Argo CD does not retry a revision that it has tried
        return f"{ended} && {{ argocd app sync {name} || {synced}; }}"
    return f"{ended} && argocd app sync {name}"


def with_end_of_retries(app: App, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
    """The fixes of a failed sync, and the step after an edit where its next attempts still apply what was there before.

    They take the revision and the options with which the operation began (controller/appcontroller.go, processRequestedAppOperation; tried
    with Argo CD 3.6.1), unless spec.syncPolicy.retry.refresh is set.
    """
    retries = app.operation is not None and app.operation.waiting_to_retry
    if not retries or dig(app.spec, "syncPolicy", "retry", "refresh"):
        return fixes
    return _with_end(app, fixes, "After the edit end the retries, which still apply what was there before")


def with_end_of_wait(app: App, awaited: ResourceId, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
    """The fixes of an object, and the step after an edit where the running operation waits for it: it stays at the revision with which it began."""
    if not app.is_awaiting(awaited):
        return fixes
    return _with_end(app, fixes, "After the edit end the running sync, which takes no newer revision")


def _with_end(app: App, fixes: tuple[Fix, ...], title: str) -> tuple[Fix, ...]:
    """Ends the operation after the first fix, if that is an edit."""
    if not fixes or fixes[0].target not in ("manifest", "application", "helm-values"):
        return fixes
    return (*fixes, Fix(title, "live", f"Application {app.ref}", Edit("command", sync_again_command(app))))


def whole_sync_command(app: App) -> str:
    """The command of a sync with all hooks; it ends the running operation first. A self-heal syncs what differs alone, without hooks."""
    running = app.operation is not None and app.operation.phase == "Running"
    return f"{_ended(sh(app.ref))} && {handover.sync(app.ref)}" if running else handover.sync(app.ref)


def _ended(name: str) -> str:
    return f"argocd app terminate-op {name} && argocd app wait {name} --operation --timeout 120"
