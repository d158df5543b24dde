"""Moves the objects of one Application into another one."""

from __future__ import annotations

from collections.abc import Iterator

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.edits import manifest_yaml
from argolint.forecast.moves.owners import objects_of, project_allows, release_names
from argolint.forecast.moves.plan import Step, move_finding
from argolint.forecast.moves.steps import release, remove_from_git, take_over
from argolint.model import Finding
from argolint.values import sh


def findings(app: App, fleet: Fleet, target: str) -> Iterator[Finding]:
    other = application_named(fleet, target)
    if other is None:
        yield move_finding("target-unknown", app, f"There is no application {target}, or the account may not see it.")
        return
    if other.ref == app.ref:
        yield move_finding("same-place", app, f"{app.ref} is the application itself.")
        return
    if other.deleting:
        yield move_finding(
            "application-deleting", app, f"{other.ref} is being deleted, and would delete what it takes over."
        )
    if other.cluster != app.cluster:
        message = f"{other.ref} deploys to another cluster ({other.cluster}) than {app.ref} ({app.cluster})."
        yield move_finding("other-cluster", app, message)
    yield from project_allows(app, fleet, other.ref.project, app.spec.get("destination") or {})
    implied = [r for r in objects_of(app) if r.namespace and r.namespace == app.destination_namespace]
    if implied and other.destination_namespace != app.destination_namespace:
        theirs = other.destination_namespace or "none"
        message = (
            f"Manifests of {app.ref} without a namespace would go to {theirs} instead of {app.destination_namespace}."
        )
        write = manifest_yaml(
            f"the manifests of {app.ref}",
            "Write the namespace into the manifests that move",
            f"metadata:\n  namespace: {app.destination_namespace}\n",
        )
        yield move_finding("namespace-differs", app, message, fixes=(write,))


def application_named(fleet: Fleet, name: str) -> App | None:
    namespace, _, short = name.rpartition("/")
    return fleet.app(short, namespace)


def steps(app: App, fleet: Fleet, target: str) -> Iterator[Step]:
    other = application_named(fleet, target)
    assert other is not None
    new = f"{other.ref.namespace}/{other.name}"
    yield from release(app, fleet)
    keep = "; render the Helm chart with the release name " + app.name if any(True for _ in release_names(app)) else ""
    yield Step(
        f"Commit the manifests of {app.ref} to the source of {new} as well{keep}. Leave them where they are, too.",
        "",
        f"argocd app diff {sh(new)} --refresh\n# of the objects that move it may show the tracking annotation or label, and nothing else",
    )
    yield from take_over(app, other, fleet, new, other.instance)
    yield from _steps_into(app, fleet, new)


def _steps_into(app: App, fleet: Fleet, new: str) -> Iterator[Step]:
    yield from remove_from_git(app, fleet)
    old = f"{app.ref.namespace}/{app.name}"
    yield Step(
        f"Delete the old Application {old} without its objects, and remove its manifests from their old place in Git.",
        f"argocd app delete {sh(old)} --cascade=false --yes",
        f"argocd app wait {sh(new)} --sync --health --timeout 300",
    )
