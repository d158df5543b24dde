"""Where a finding about an ApplicationSet is made, and where it belongs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from argolint import App, AppRef, Fleet, Object, ResourceKey
from argolint.application.application_sets import owned_applications, reporting_ref
from argolint.application.fleet import IN_CLUSTER
from argolint.values import text_at


def reporter(fleet: Fleet, raw: Object) -> AppRef | None:
    """The Application with whose check a set is reported: `_nearest`, or else one of the project of its template, or else the fleet's first."""
    project = text_at(raw, "spec", "template", "spec", "project")
    peers = (app for app in fleet.apps if app.ref.project == project)
    candidates = (*_nearest(fleet, raw), *islice(peers, 1), *fleet.apps[:1])
    return candidates[0].ref if candidates else None


def place_of(fleet: Fleet, raw: Object) -> AppRef:
    """Where a finding about a set belongs: to `_nearest`; without one to the set's own name, and to no Application that has no part in it."""
    return next((app.ref for app in _nearest(fleet, raw)), reporting_ref(fleet, raw))


def _nearest(fleet: Fleet, raw: Object) -> tuple[App, ...]:
    """The Applications that the set made, and those that render it."""
    return (*owned_applications(fleet, raw), *_managers(fleet, raw))


def _managers(fleet: Fleet, raw: Object) -> Iterator[App]:
    """The Applications that render the set."""
    namespace, name = text_at(raw, "metadata", "namespace"), text_at(raw, "metadata", "name")
    for ref in fleet.owners(ResourceKey(IN_CLUSTER, "argoproj.io", "ApplicationSet", namespace, name)):
        if (app := fleet.app(ref.name, ref.namespace)) is not None:
            yield app
