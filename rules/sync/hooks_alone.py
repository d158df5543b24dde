"""An application of hooks alone, which automated sync never starts

What it finds: an application with automated sync whose manifests are hooks and nothing else.

Why it hurts: hooks do not count in the comparison, so the application is always Synced, and automated sync starts only what is OutOfSync. A new
commit, such as a new image of the hook's Job, runs nothing.

How to fix: render an ordinary object with the hooks that changes when they have to run, or make the Job an ordinary object. A sync by hand runs hooks.

Example: a chart that holds one Job with `argocd.argoproj.io/hook: Sync`.

Sources: controller/appcontroller.go (autoSync), gitops-engine/pkg/sync/hook of Argo CD. The hooks are known from the plain render (--manifests),
or from the result of a sync by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Finding, Fleet, Location, Rule, Want
from argolint.edits.advice import advice
from argolint.sequence.order import is_hook
from argolint.values import enumerated, text_at


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether automated sync has no object to look at."""
    return app.automated and not app.rows


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The plain render: hooks are not among the managed objects."""
    if app.automated and not app.rows:
        yield Want("manifests")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for the application."""
    idle = app.operation is None or app.operation.phase == "Succeeded"
    if not app.automated or app.rows or not app.desired_known or not idle or app.sync_status != "Synced":
        return
    names, known_by = _hooks(app)
    if names:
        yield Finding(
            message=f"Application {app.ref} contains only hooks, so it is always Synced, and automated sync never runs them.",
            at=Location(app.ref),
            confidence="proven" if known_by == "render" else "likely",
            evidence=(f"the {known_by} holds {enumerated(names, limit=3)} and no other object",),
            fixes=advice(__package__, "hooks-alone/object", {"first": names[0], "place": f"Application {app.ref}"}),
        )


def _hooks(app: App) -> tuple[list[str], str]:
    """The hooks of an application that holds nothing else, and what shows them; none if it holds another object or nothing is known."""
    rendered = app.evidence.get(Want("manifests"))
    if rendered:
        names = [f"{m.get('kind')} {text_at(m, 'metadata', 'name')}" for m in rendered if is_hook(m)]
        return (names, "render") if len(names) == len(rendered) else ([], "")
    results = app.operation.results if app.operation else ()
    names = [f"{text_at(r, 'kind')} {text_at(r, 'name')}" for r in results if r.get("hookType")]
    return (names, "last sync") if rendered is None and names and len(names) == len(results) else ([], "")


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, wants=wants, reads=reads)
