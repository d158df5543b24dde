"""Follows one Argo CD: a thread reads its stream, and says which looks are due.

The watcher makes all decisions; the thread, the clock and the network are here.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from argolint.errors import ApiError, ArgolintError, AuthError
from argolint.redaction import without_secrets
from argolint.serve import stream
from argolint.serve.live import State
from argolint.serve.times import Times
from argolint.serve.watcher import Action, Watcher
from argolint.server.http import HttpTransport


class FleetFacts(Protocol):
    """The facts on the fleet that a follower needs."""

    size: int
    """The number of applications of the last check."""
    reused: int
    """How many applications of the last check kept an earlier result."""
    projects: Sequence[str]
    """The projects of all applications, sorted."""
    default_namespace: str
    """The namespace of an application whose hint has none."""


class Follower:
    """Says when a look is due. `connect` makes a transport for the stream with the current token."""

    def __init__(
        self,
        looks: FleetFacts,
        connect: Callable[[], HttpTransport],
        times: Times,
        log: Callable[[str], None],
        turn: threading.Condition,
    ) -> None:
        self.looks = looks
        self._connect = connect
        self._times = times
        self._log = log
        self._watcher = Watcher(times, lambda: random.uniform(0.5, 1.5))  # noqa: S311  # jitter
        self._action: Action | None = None
        self._turn = turn
        self._stopped = False
        self._projects: Sequence[str] = ()
        self._last_event_at = 0.0
        self._said = ""
        self._unreadable = 0
        self._thread = threading.Thread(target=self._follow, name="argolint-stream", daemon=True)

    def start(self) -> None:
        self._watcher.begin(time.monotonic())
        self._thread.start()

    def stop(self) -> None:
        """Return no further check. The stream ends with the process, since it is only read."""
        with self._turn:
            self._stopped = True
            self._turn.notify_all()

    def due(self, now: float) -> Action | None:
        """The action that is due now; a call of `ended` must follow."""
        self._action = action = self._watcher.next_action(now)
        return action

    def waits_for_first(self, now: float) -> bool:
        """Whether nothing was looked at yet and the first list is not due."""
        return self._watcher.waits_for_first(now)

    def next_moment(self) -> float | None:
        """When something may be due; None if only an event can change that."""
        return self._watcher.next_moment()

    @property
    def refused(self) -> bool:
        """True if the server refuses the token."""
        return self._watcher.refused

    def ended(self, *, good: bool, refused: bool = False) -> None:
        """Record the end of the last check; `good`: it succeeded, `refused`: the server refused the token."""
        with self._turn:
            assert self._action is not None
            if good:
                self._watcher.done(time.monotonic(), self._action, self.looks.size)
            else:
                self._watcher.failed(time.monotonic(), refused=refused)
            self._turn.notify_all()

    def state(self) -> State:
        """The state of the following, for the metrics."""
        with self._turn:
            w = self._watcher
            return State(w.connected, self._last_event_at, w.dirty, self.looks.reused, w.reconnects, self._unreadable)

    def _follow(self) -> None:
        """Read the stream until the process ends; reopen it whenever it ends."""
        while not self._stopped:
            refused = False
            try:
                self._read()
                why = "the stream ended"
            except AuthError as error:
                why, refused = error.message, True
            except ApiError as error:
                why = error.message
                if error.status == 403 and not self._projects:
                    self._projects = self.looks.projects  # the projects in the list can be followed
                    why += "; following the projects of the listed applications"
            except ArgolintError as error:
                why = error.message
            except Exception as error:  # a bug here must not stop the lists
                why = f"crashed: {type(error).__name__}"
            with self._turn:
                reopen = self._watcher.lost(time.monotonic(), refused=refused)
                self._turn.notify_all()
                self._say(f"not following changes: {why}")
                while not self._stopped and (left := reopen - time.monotonic()) > 0:
                    self._turn.wait(left)

    def _read(self) -> None:
        with stream.opened(self._connect(), self._times, self._projects) as signs:
            with self._turn:
                self._watcher.opened(time.monotonic())
                self._turn.notify_all()
                self._say("following changes")
            for sign in signs:
                if self._stopped:
                    return
                if isinstance(sign, stream.Changed):
                    with self._turn:
                        place = sign.namespace or self.looks.default_namespace, sign.name
                        self._last_event_at = time.time()
                        if self._watcher.changed(time.monotonic(), place, sign.project):
                            self._turn.notify_all()
                elif sign == "unreadable":
                    self._unreadable += 1

    def _say(self, what: str) -> None:
        """Log it once, however often it is repeated."""
        if what != self._said:
            self._said = what
            self._log(without_secrets(what))
