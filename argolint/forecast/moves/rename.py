"""Gives an Application another name."""

from __future__ import annotations

from collections.abc import Iterator

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.forecast.moves.owners import release_names
from argolint.forecast.moves.plan import Step, move_finding
from argolint.forecast.moves.steps import creation, delete_old, release, take_over
from argolint.model import Edit, Finding, Fix
from argolint.values import sh


def findings(app: App, fleet: Fleet, target: str) -> Iterator[Finding]:
    if fleet.app(target, app.ref.namespace) is not None:
        message = f"There is an application {app.ref.namespace}/{target} already; `--to {target}` moves into it."
        yield move_finding("name-taken", app, message)
    for pointer, _ in release_names(app):
        message = f"The Helm release of {app.ref} is called as the application is, so a new name makes new objects and leaves the old ones."
        keep = Fix(
            "Keep the name of the release (the plan below does)",
            "application",
            f"{pointer}/helm/releaseName of the new application",
            Edit("yaml", f"helm:\n  releaseName: {app.name}\n"),
        )
        yield move_finding("release-name", app, message, fixes=(keep,))
        return


def steps(app: App, fleet: Fleet, target: str) -> Iterator[Step]:
    new = f"{app.ref.namespace}/{target}"
    yield from release(app, fleet)
    yield Step(
        f"Make the new Application {new}, with the same spec and without automated sync; keep the name of the Helm release. "
        "In Git, if that is where it comes from: add it, and leave the old one.",
        creation(app, target),
        f"argocd app diff {sh(new)}\n# it may show the tracking annotation or label, and nothing else",
    )
    yield from take_over(app, app, fleet, new, _instance(app, target))
    yield from delete_old(app, fleet, new)


def _instance(app: App, name: str) -> str:
    """The tracking name of an application in the same Argo CD and namespace."""
    return name if app.instance == app.name else f"{app.ref.namespace}_{name}"
