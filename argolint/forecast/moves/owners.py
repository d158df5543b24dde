"""Who else has a say in an Application: the parent that lists it, the project; and what it renders."""

from __future__ import annotations

from collections.abc import Iterator

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.permissions import is_widened, permits_destination
from argolint.application.resource import Resource
from argolint.forecast.moves.plan import found
from argolint.model import Finding, Object
from argolint.values import dig, maps, text_at


def parent_of(app: App, fleet: Fleet) -> App | None:
    """The application among whose objects this Application is."""
    ours = ("argoproj.io", "Application", app.name)
    places = ("", app.ref.namespace)
    above = (a for a in fleet.apps if any((r.group, r.kind, r.name) == ours and r.namespace in places for r in a.rows))
    return next((a for a in above if a.ref != app.ref), None)


def objects_of(app: App) -> list[Resource]:
    return [r for r in app.resources if not r.hook and not r.requires_pruning]


def release_names(app: App) -> Iterator[tuple[str, Object]]:
    """The Helm sources whose release is called as the application is: pointer and source."""
    several = bool(maps(app.spec, "sources"))
    for index, source in enumerate(app.sources):
        helm = bool(source.get("chart") or source.get("helm")) or str(app.status.get("sourceType")) == "Helm"
        if helm and not dig(source, "helm", "releaseName") and not source.get("ref"):
            yield f"/spec/sources/{index}" if several else "/spec/source", source


def project_allows(app: App, fleet: Fleet, project: str, destination: Object) -> Iterator[Finding]:
    """Whether the project takes the destination; nothing is said of a project that the account may not see, or that others widen."""
    raw = fleet.projects.get(project)
    if raw is None or is_widened(project, raw, fleet) or permits_destination(raw, {"destination": destination}, fleet):
        return
    server, namespace = text_at(destination, "server") or app.cluster, text_at(destination, "namespace")
    message = f"Project {project} does not allow {server}, namespace {namespace or 'none'}, as a destination."
    yield found("project-forbids", app, message)
