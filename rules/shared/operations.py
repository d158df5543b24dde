"""Commands for a running operation."""

from __future__ import annotations

from argolint import App
from argolint.values import sh


def sync_again_command(app: App) -> str:
    """The command that ends the running operation and starts another one.

    An operation ends some time after the request, and until then the server accepts no other one ("another operation is already in progress",
    util/argo/argo.go SetAppOperation). So the command waits for that.
    """
    name = sh(app.ref)
    ended = f"argocd app terminate-op {name} && argocd app wait {name} --operation --timeout 120"
    synced = f"argocd app wait {name} --sync --timeout 600"
    if app.self_heal:  # self-heal starts the next operation, which would block a sync by hand
        return f"{ended} && {synced}"
    if app.automated:  # a new commit does the same; Argo CD does not retry a revision that it has tried
        return f"{ended} && {{ argocd app sync {name} || {synced}; }}"
    return f"{ended} && argocd app sync {name}"
