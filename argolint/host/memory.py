"""Memory settings for a process that reads many answers of several megabytes and soon frees them."""

from __future__ import annotations

import ctypes
import gc
import sys

_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
"""glibc's constants in malloc.h."""
_LARGE_BYTES = 1 << 20


def expect_answers() -> None:
    """Collect garbage rarely, and return large blocks to the system. Decoded JSON has no cycles, and the search for some takes a third of a check.

    After glibc has seen a large block freed, it stops returning such blocks: it then takes them from its arenas, one per thread, where one
    small kept object holds a whole block. One arena serves all threads, since Python runs one at a time. Other C libraries do not do this, and
    have no mallopt.
    """
    if not gc.get_freeze_count():  # once: a service must still find garbage from between its checks
        gc.freeze()
    gc.set_threshold(200_000, 20, 20)
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        mallopt(_M_ARENA_MAX, 1)
