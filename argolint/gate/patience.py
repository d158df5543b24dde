"""Waiting for a branch that Argo CD does not know yet, all applications of one together no longer than once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

USUAL_S = 210.0
"""Argo CD asks a repository for its branches every three minutes, plus as much jitter as an installation sets."""


@dataclass
class Patience:
    """`seconds` in all, from the first wait on; `announce` is called once, with the revision that is waited for and the Argo CD's `name`."""

    seconds: float = 0.0
    announce: Callable[[str, str], None] = lambda revision, name: None
    name: str = ""
    _end: float | None = None
    _given_up: dict[str, str] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def of(self, name: str) -> Patience:
        """The same for one of several Argo CDs: each looks at the repository in its own time."""
        return Patience(self.seconds, self.announce, name)

    def given_up(self, repository: str) -> str | None:
        """What the Argo CD said last of the revision in a repository, once that was waited for in vain."""
        with self._lock:
            return self._given_up.get(repository)

    def give_up(self, repository: str, why: str) -> None:
        """No other application of the repository is to ask again."""
        with self._lock:
            self._given_up.setdefault(repository, why)

    def wait(self, pause: float, revision: str) -> bool:
        """Sleep for the pause, or as much of it as is left; False when no time is left."""
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
