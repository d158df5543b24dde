"""Runs several waits for servers in threads; an interrupt does not wait for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")

THINKING = threading.Lock()
"""Lock of the one thread that examines an application without waiting. Python runs one thread at a time anyway: several in turns would each
keep their decoded data, and memory would grow with the number of threads.
"""
LOOK_S = 0.5
"""Seconds of one wait of the main thread. Python handles signals only there, and a signal that the system gives to another thread does not end the wait: it is handled after it."""


def each(items: Iterable[S], call: Callable[[S], T], at_once: int, name: str = "argolint") -> list[T]:
    """The results of `call` in the order of the items; the first error in that order is raised.

    With one thread, or one item, the call runs in the caller's thread.
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
        pool.shutdown(wait=ended, cancel_futures=True)  # after Ctrl-C, do not wait for a server


def first(futures: Collection[Future[T]]) -> tuple[set[Future[T]], set[Future[T]]]:
    """The finished futures, at least one, and the others."""
    while True:
        done, others = wait(futures, LOOK_S, FIRST_COMPLETED)
        if done:
            return done, others


def until(event: threading.Event) -> None:
    """Wait for an event, without a limit."""
    while not event.wait(LOOK_S):
        pass
