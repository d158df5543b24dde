"""Waits for another thread or process."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 900.0
"""The limit for a hanging test; far more than needed on a machine where everything is slow. No test depends on it."""


def until(what: Callable[[], object], explain: Callable[[], object] = lambda: "") -> None:
    """Return as soon as `what` is true. AssertionError with the explanation if it never is."""
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, f"it never happened: {explain()}"
        time.sleep(0.01)
