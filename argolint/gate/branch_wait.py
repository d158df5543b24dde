"""Waits for a branch that Argo CD does not know yet; all applications of a repository share one wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

USUAL_S = 210.0
"""Argo CD polls a repository every three minutes, plus the jitter of the installation."""


@dataclass
class BranchWait:
    """A total of `seconds` from the first wait on; `announce` is called once, with the revision and the `name` of the Argo CD."""

    seconds: float = 0.0
    announce: Callable[[str, str], None] = lambda revision, name: None
    name: str = ""
    _end: float | None = None
    _given_up: dict[str, str] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def of(self, name: str) -> BranchWait:
        """The same wait for one of several Argo CDs: each polls the repository at its own time."""
        return BranchWait(self.seconds, self.announce, name)

    def given_up(self, repository: str) -> str | None:
        """Argo CD's last error for the revision in a repository, after a wait without success; else None."""
        with self._lock:
            return self._given_up.get(repository)

    def give_up(self, repository: str, why: str) -> None:
        """Record the error, so that no other application of the repository waits again."""
        with self._lock:
            self._given_up.setdefault(repository, why)

    def wait(self, pause: float, revision: str) -> bool:
        """Sleep for the pause or the remaining time; False if no time remains."""
        with self._lock:
            if self._end is None:
                self._end = time.monotonic() + self.seconds
                if self.seconds > 0:
                    self.announce(revision, self.name)
            left = self._end - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(pause, left))
        return True
