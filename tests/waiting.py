"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 900.0
"""Ends what hangs; far more than anything takes on a machine where everything is slow. No test is decided by it."""


def until(what: Callable[[], object], explain: Callable[[], object] = lambda: "") -> None:
    """Returns as soon as it is so. AssertionError with the explanation when it never gets so."""
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, f"it never happened: {explain()}"
        time.sleep(0.01)
