"""Follows the Argo CDs of a run: a stream and a watcher for each, and one check of all whenever something is due.

An Argo CD without a due look keeps its earlier results, without requests. One that cannot be read is a failure in the served report until
its own next look; the others go on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.engine.load import ReadFleet
from argolint.engine.plan import Plan
from argolint.engine.run import Look
from argolint.errors import ArgolintError, AuthError
from argolint.model import Failure
from argolint.model.results import AppResult
from argolint.serve.check_result import Check, CheckResult
from argolint.serve.fleet_reader import FleetReader
from argolint.serve.follower import Follower
from argolint.serve.live import State
from argolint.serve.watcher import Action, Everything, Some
from argolint.server.transport import Transport

Ways = Mapping[str, tuple[ReadFleet, Look]]
"""How to read each Argo CD, by name, and its applications."""


class Collect(Protocol):
    """Runs a check of all Argo CDs, each read as in `ways`; `whole`: everything is read."""

    def __call__(self, ways: Ways, *, whole: bool) -> CheckResult: ...


class FleetReaders:
    """Looks at all Argo CDs together, each with its own action. `fleets`: the known state of each, by name."""

    def __init__(self, fleets: Mapping[str, FleetReader], collect: Collect) -> None:
        self._fleets = fleets
        self._collect = collect
        self.down: dict[str, ArgolintError] = {}
        """The Argo CDs that could not be read in their last look, and why."""

    def look(self, actions: Mapping[str, Action]) -> CheckResult:
        """One check; an Argo CD without an action keeps its results. Raises ArgolintError if none can be read."""
        due = {name: actions.get(name) or self._idle(name) for name in self._fleets}
        ways = {}
        for name, action in due.items():
            read, look = self._fleets[name].begin(action) if action is not None else (None, None)
            ways[name] = self._noting(name, read), look or _never
        checked = self._collect(ways, whole=all(isinstance(action, Everything) for action in due.values()))
        for name, action in due.items():
            if action is not None and name not in self.down:
                self._fleets[name].end(action)
        self.down |= _unread(checked)
        return checked

    def _idle(self, name: str) -> Action | None:
        """The action for an Argo CD without a due look: none; everything if it is unknown, unless that has just failed."""
        if self._fleets[name].known:
            return Some({})
        return None if name in self.down else Everything()

    def _noting(self, name: str, read: ReadFleet | None) -> ReadFleet:
        def noting(t: Transport) -> tuple[Fleet, tuple[Failure, ...]]:
            if read is None:
                raise self.down[name]
            try:
                found = read(t)
            except ArgolintError as error:
                self.down[name] = error
                raise
            self.down.pop(name, None)
            return found

        return noting


def _never(t: Transport, fleet: Fleet, plan: Plan, apps: Sequence[App]) -> Iterator[AppResult]:
    raise AssertionError("what could not be read has no applications to look at")


def _unread(checked: CheckResult) -> dict[str, ArgolintError]:
    """The Argo CDs without a single readable application."""
    found: dict[str, ArgolintError] = {}
    for server in checked.report.servers:
        failed = {f.app: f for f in checked.report.failures if f.app is not None and f.app.server == server.url}
        if failed and failed.keys() >= {app for app in checked.apps if app.server == server.url}:
            first = next(iter(failed.values()))
            found[server.name or ""] = (AuthError if first.stage == "login" else ArgolintError)(first.error, first.hint)
    return found


class Followers:
    """Returns a check whenever something is due. All of `followers` share the condition `turn`."""

    def __init__(self, followers: Mapping[str, Follower], looks: FleetReaders, turn: threading.Condition) -> None:
        self._followers = followers
        self._looks = looks
        self._turn = turn
        self._actions: dict[str, Action] = {}
        self._stopped = False

    def start(self) -> None:
        for follower in self._followers.values():
            follower.start()

    def stop(self) -> None:
        with self._turn:
            self._stopped = True
        for follower in self._followers.values():
            follower.stop()

    def next_check(self) -> Check | None:
        """The next check, when something is due; None after a stop. The first check waits for all, up to the limit of a first list."""
        with self._turn:
            while not self._stopped:
                now = time.monotonic()
                if not any(follower.waits_for_first(now) for follower in self._followers.values()):
                    self._actions = {
                        n: action for n, f in self._followers.items() if (action := f.due(now)) is not None
                    }
                    if actions := self._actions:
                        return lambda: self._looks.look(actions)
                moments = [m for f in self._followers.values() if (m := f.next_moment()) is not None]
                self._turn.wait(max(min(moments) - now, 0.001) if moments else None)
        return None

    @property
    def refused(self) -> bool:
        """True if every server refuses its token."""
        return all(follower.refused for follower in self._followers.values())

    def ended(self, *, good: bool, refused: bool = False) -> None:
        """Record the end of the last check."""
        for name in self._actions:
            down = self._looks.down.get(name)
            self._followers[name].ended(good=good and down is None, refused=refused or isinstance(down, AuthError))

    def states(self) -> Mapping[str, State]:
        """The state of each following."""
        return {name: follower.state() for name, follower in self._followers.items()}
