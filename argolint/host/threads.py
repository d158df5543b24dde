"""Threads that wait for servers: some at a time, and nobody who is interrupted waits for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")


def each(items: Iterable[S], call: Callable[[S], T], at_once: int, name: str = "argolint") -> list[T]:
    """What the call gives for each, in the order of the items; the first error in that order is raised.

    With one thread, or one item, the caller's own does it.
    """
    waiting = list(items)
    if at_once < 2 or len(waiting) < 2:
        return [call(item) for item in waiting]
    pool = ThreadPoolExecutor(at_once, thread_name_prefix=name)
    ended = False
    try:
        found = list(pool.map(call, waiting))
        ended = True
        return found
    finally:
        pool.shutdown(wait=ended, cancel_futures=True)  # who is interrupted does not wait for a server
