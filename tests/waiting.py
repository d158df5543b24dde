"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 120.0
"""Ends a test that hangs; far more than anything takes on a machine where everything is slow."""


def until(what: Callable[[], object], explain: Callable[[], object] = lambda: "") -> None:
    """Returns as soon as it is so. AssertionError with the explanation when it never gets so."""
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, f"it never happened: {explain()}"
        time.sleep(0.01)
