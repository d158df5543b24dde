"""What else controls an Application: the parent that lists it, and its project; and the release names that it renders."""

from __future__ import annotations

from collections.abc import Iterator

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.permissions import is_widened, permits_destination
from argolint.application.resource import Resource
from argolint.forecast.moves.plan import move_finding
from argolint.model import Finding, Object
from argolint.values import dig, maps, text_at


def parent_of(app: App, fleet: Fleet) -> App | None:
    """The application that lists this Application among its objects; None if there is none."""
    ours = ("argoproj.io", "Application", app.name)
    places = ("", app.ref.namespace)
    above = (a for a in fleet.apps if any((r.group, r.kind, r.name) == ours and r.namespace in places for r in a.rows))
    return next((a for a in above if a.ref != app.ref), None)


def objects_of(app: App) -> list[Resource]:
    return [r for r in app.resources if not r.hook and not r.requires_pruning]


def release_names(app: App) -> Iterator[tuple[str, Object]]:
    """The Helm sources whose release has the application's name: pointer and source."""
    several = bool(maps(app.spec, "sources"))
    for index, source in enumerate(app.sources):
        helm = bool(source.get("chart") or source.get("helm")) or str(app.status.get("sourceType")) == "Helm"
        if helm and not dig(source, "helm", "releaseName") and not source.get("ref"):
            yield f"/spec/sources/{index}" if several else "/spec/source", source


def project_allows(app: App, fleet: Fleet, project: str, destination: Object) -> Iterator[Finding]:
    """A finding if the project does not permit the destination; none for a project that the account cannot see, or that global projects extend."""
    raw = fleet.projects.get(project)
    if raw is None or is_widened(project, raw, fleet) or permits_destination(raw, {"destination": destination}, fleet):
        return
    server, namespace = text_at(destination, "server") or app.cluster, text_at(destination, "namespace")
    message = f"Project {project} does not allow {server}, namespace {namespace or 'none'}, as a destination."
    yield move_finding("project-forbids", app, message)
