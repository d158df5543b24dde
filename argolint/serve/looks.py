"""The looks at one fleet that a service takes while it follows changes: at everything, or at what changed since."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from argolint.engine.kept import Kept
from argolint.engine.load import ReadFleet, load_fleet
from argolint.engine.refresh import refreshed
from argolint.engine.run import Look, here
from argolint.fleet import Fleet
from argolint.model import AppRef, Failure
from argolint.serve.checked import Checked
from argolint.serve.times import Times
from argolint.serve.watcher import Action, Everything, Some
from argolint.server.transport import Transport


class Collect(Protocol):
    """Runs a check that reads the fleet and looks at applications as it is told; `whole` when everything is read."""

    def __call__(self, read: ReadFleet, look: Look, *, whole: bool) -> Checked: ...


class FleetLooks:
    """Keeps the fleet and the results of the last check. `collect` runs a check."""

    def __init__(self, collect: Collect, times: Times, workers: int) -> None:
        self._collect = collect
        self._workers = workers
        self._kept = Kept(times.max_age_s, times.per_app_s)
        self._known: tuple[Fleet, tuple[Failure, ...]] | None = None
        self.size = 0
        self.reused = 0
        self.projects: Sequence[str] = ()
        self.default_namespace = "argocd"

    def look(self, action: Action) -> Checked:
        """One check. Raises ArgolintError; then the next one has to be of everything."""
        before, self._known = self._known, None
        if isinstance(action, Everything):
            before = None
            self._kept.let_go()

        def read(t: Transport) -> tuple[Fleet, tuple[Failure, ...]]:
            if before is None or isinstance(action, Everything):
                found = load_fleet(t)
            else:
                found = self._with(t, action, *before), before[1]
            self._kept.begin(found[0])
            self._known = found
            return found

        checked = self._collect(read, partial(here, one=self._kept.look), whole=before is None)
        if isinstance(action, Everything):
            gc.collect()  # a check raises the thresholds, and what it read is large
        if self._known is not None:
            fleet = self._known[0]
            self.size, self.reused = len(fleet.apps), self._kept.reused
            self.projects = sorted({app.ref.project for app in fleet.apps})
            self.default_namespace = fleet.control_plane
        return checked

    def _with(self, t: Transport, action: Some, fleet: Fleet, failures: tuple[Failure, ...]) -> Fleet:
        projects = {(app.ref.namespace, app.ref.name): app.ref.project for app in fleet.apps}
        refs = [
            AppRef(*place, project or projects.get(place, ""), fleet.server)
            for place, project in sorted(action.projects.items())
        ]
        return refreshed(t, fleet, refs, self._workers)
