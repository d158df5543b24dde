"""The looks at one fleet while a service follows changes: at everything, or at what has changed."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.engine.load import ReadFleet, read_fleet
from argolint.engine.plan import Plan
from argolint.engine.refresh import refreshed
from argolint.engine.result_cache import ResultCache
from argolint.engine.run import Look, in_this_process
from argolint.model import AppRef, Failure
from argolint.model.results import AppResult
from argolint.serve.times import Times
from argolint.serve.watcher import Action, Everything, Some
from argolint.server.transport import Transport


class FleetReader:
    """Keeps the fleet and the results of the last check of one Argo CD, and reads what an action requires."""

    def __init__(self, times: Times, workers: int) -> None:
        self._workers = workers
        self._kept = ResultCache(times.max_age_s, times.per_app_s)
        self._list_s = times.list_s
        self._known: tuple[Fleet, tuple[Failure, ...]] | None = None
        self.size = 0
        self.reused = 0
        self.projects: Sequence[str] = ()
        self.default_namespace = "argocd"

    @property
    def known(self) -> bool:
        """True if its last check succeeded."""
        return self._known is not None

    def begin(self, action: Action) -> tuple[ReadFleet, Look]:
        """How to read the fleet, then its applications. After a failure, the next action must read everything."""
        before = self._known
        if isinstance(action, Everything):
            before = self._known = None
            self._kept.drop_fleet()

        def read(t: Transport) -> tuple[Fleet, tuple[Failure, ...]]:
            self._known = None
            if before is None or isinstance(action, Everything):
                found = read_fleet(t)
            else:
                found = self._with(t, action, before[0]), before[1]
            self._known = found
            return found

        def look(t: Transport, fleet: Fleet, plan: Plan, apps: Sequence[App]) -> Iterator[AppResult]:
            self._kept.begin(fleet, self._list_s if isinstance(action, Everything) else 0.0)
            return in_this_process(t, fleet, plan, apps, self._kept.look)

        return read, look

    def end(self, action: Action) -> None:
        """Record the success of the check."""
        if isinstance(action, Everything):
            gc.collect()  # a check raises the thresholds, and its data is large
        if self._known is not None:
            fleet = self._known[0]
            self.size, self.reused = len(fleet.apps), self._kept.reused
            self.projects = sorted({app.ref.project for app in fleet.apps})
            self.default_namespace = fleet.control_plane

    def _with(self, t: Transport, action: Some, fleet: Fleet) -> Fleet:
        if not action.projects:
            return fleet
        projects = {(app.ref.namespace, app.ref.name): app.ref.project for app in fleet.apps}
        refs = [
            AppRef(*place, project or projects.get(place, ""), fleet.server)
            for place, project in sorted(action.projects.items())
        ]
        return refreshed(t, fleet, refs, self._workers)
