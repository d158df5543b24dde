"""What is done to a running operation."""

from __future__ import annotations

from argolint import App
from argolint.values import sh


def sync_again(app: App) -> str:
    """The command that ends the running operation and starts another one.

    An operation ends some time after it was asked to, and until then the server takes no other one ("another operation is already in progress",
    util/argo/argo.go SetAppOperation), so the command waits for that.
    """
    name = sh(app.ref)
    ended = f"argocd app terminate-op {name} && argocd app wait {name} --operation --timeout 120"
    synced = f"argocd app wait {name} --sync --timeout 600"
    if app.self_heal:  # it starts the next operation by itself, and a sync by hand would meet that one
        return f"{ended} && {synced}"
    if app.automated:  # so it does with a new commit; a revision that it has tried before it leaves alone
        return f"{ended} && {{ argocd app sync {name} || {synced}; }}"
    return f"{ended} && argocd app sync {name}"
