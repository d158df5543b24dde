"""Caches: by identity for arguments that cannot be keys, such as decoded JSON (the last calls); and once for all threads."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
U = TypeVar("U")
V = TypeVar("V", bound=Hashable)


def one(value: V) -> V:
    """The first of all values equal to this one, so that caches by identity find it again."""
    return cast("V", _first(value))


@functools.lru_cache(maxsize=1024)
def _first(value: Hashable) -> Hashable:
    return value


def by_identity(size: int) -> Callable[[Callable[P, U]], Callable[P, U]]:
    """Cache a function's last results by the identity of its arguments: no one may change them, or the result.

    All threads share them: they keep the decoded states of some applications, and would keep as many for each thread.
    """

    def decorate(function: Callable[P, U]) -> Callable[P, U]:
        known: OrderedDict[tuple[object, ...], tuple[Any, U]] = OrderedDict()
        lock = threading.Lock()

        @functools.wraps(function)
        def remembering(*of: P.args, **named: P.kwargs) -> U:
            key = (*map(id, of), *named, *map(id, named.values())) if named else tuple(map(id, of))
            with lock:
                if (found := known.get(key)) is not None:
                    known.move_to_end(key)
                    return found[1]
            result = function(*of, **named)
            with lock:
                known[key] = (of, named), result  # the arguments are kept, too, so that no other object gets their ids
                if len(known) > size:
                    known.popitem(last=False)
            return result

        return remembering

    return decorate


class Once:
    """A value that the first caller makes; other threads wait for it. An error is not cached."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[Hashable, Future[Any]] = {}

    def of(self, key: Hashable, make: Callable[[], U]) -> U:
        """The result of `make`; all waiting callers get its error. `make` must not ask for the same key."""
        with self._lock:
            known = self._made.get(key)
            if known is None:
                future = self._made[key] = Future()
        if known is not None:
            return cast(U, known.result())
        try:
            value = make()
        except BaseException as error:
            with self._lock:
                del self._made[key]
            future.set_exception(error)
            raise
        future.set_result(value)
        return value
