"""Threads that wait for servers: some at a time, and no one who is interrupted waits for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")

THINKING = threading.Lock()
"""Held by the one thread of this process that looks at an application, as long as it waits for nothing. Python runs one at a time
anyway: several that take turns each hold all that they have decoded, and the memory of a process grows with its threads."""
LOOK_S = 0.5
"""How long the main thread waits at a time. Python answers a signal there alone, and one that the system gives to another thread does
not end the main thread's wait: it is answered when the wait is over."""


def each(items: Iterable[S], call: Callable[[S], T], at_once: int, name: str = "argolint") -> list[T]:
    """What the call gives for each, in the order of the items; the first error in that order is raised.

    With one thread, or one item, the caller's own does it.
    """
    waiting = list(items)
    if at_once < 2 or len(waiting) < 2:
        return [call(item) for item in waiting]
    pool = ThreadPoolExecutor(at_once, thread_name_prefix=name)
    found: list[T] = []
    ended = False
    try:
        futures = [pool.submit(call, item) for item in waiting]
        for future in futures:
            first([future])
            found.append(future.result())
        ended = True
        return found
    finally:
        pool.shutdown(wait=ended, cancel_futures=True)  # who is interrupted does not wait for a server


def first(futures: Collection[Future[T]]) -> tuple[set[Future[T]], set[Future[T]]]:
    """Those that are done, at least one, and the others."""
    while True:
        done, others = wait(futures, LOOK_S, FIRST_COMPLETED)
        if done:
            return done, others


def until(event: threading.Event) -> None:
    """Waits for an event, or forever."""
    while not event.wait(LOOK_S):
        pass
