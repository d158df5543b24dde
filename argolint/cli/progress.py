"""Progress on the terminal, and the duration of a command."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

from argolint.cli.given import CommandOptions
from argolint.values import plain


class Clock:
    """Seconds since it was made, for the report's stats."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        return round(time.monotonic() - self._start, 3)


class Progress:
    """One line on a terminal's standard error that shows the current step from the first second; it is erased at the end."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted
        self._shown = 0
        self._lock = threading.Lock()

    def say(self, what: str) -> None:
        """Set the current step."""
        if not self._wanted:
            return
        text = f"{plain(what)}…"
        with self._lock:
            sys.stderr.write("\r" + text.ljust(self._shown))
            sys.stderr.flush()
            self._shown = len(text)

    def of(self, server: str) -> Callable[[int, int], None]:
        """A callback that shows how many applications of a server were looked at; `server` is empty for a single one."""
        before = f"{server}: " if server else ""
        return lambda done, total: self.say(f"{before}looking at applications: {done}/{total}")

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._wanted:
            sys.stderr.write("\r" + " " * self._shown)
            sys.stderr.write("\r")
            sys.stderr.flush()


def progress(opts: CommandOptions) -> Progress:
    """A progress line; silent with -q and if standard error is no terminal."""
    return Progress(wanted=not opts.quiet and sys.stderr.isatty())
