"""A process that reads many answers, each of some megabytes and soon dropped."""

from __future__ import annotations

import ctypes
import gc
import sys

_M_MMAP_THRESHOLD = -3
"""glibc's name for it in malloc.h."""
_LARGE_BYTES = 1 << 20


def expect_answers() -> None:
    """Decoded JSON holds no cycles, so looking for some is a third of the time of a check; and what is large is given back to the system when it is dropped.

    glibc stops giving large blocks back once it has seen one freed: it then carves them out of its arenas, one for each thread, where
    a small thing that is kept behind one holds the whole of it. Other C libraries have no such habit, and no mallopt.
    """
    if not gc.get_freeze_count():  # once: what a service drops between its checks must be found again
        gc.freeze()
    gc.set_threshold(200_000, 20, 20)
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
