"""What was made is kept: of objects that cannot be keys, such as decoded JSON, for the last few calls of a thread; and once for all threads."""

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
    """The first of all values equal to this one: what is remembered of it by identity is found again."""
    return cast("V", _first(value))


@functools.lru_cache(maxsize=1024)
def _first(value: Hashable) -> Hashable:
    return value


def by_identity(size: int) -> Callable[[Callable[P, U]], Callable[P, U]]:
    """Remembers the results of a function by its arguments, the objects themselves: no one may change them, nor the result."""

    def decorate(function: Callable[P, U]) -> Callable[P, U]:
        here = threading.local()

        @functools.wraps(function)
        def remembering(*of: P.args, **named: P.kwargs) -> U:
            known: OrderedDict[tuple[object, ...], tuple[Any, U]] | None = getattr(here, "known", None)
            if known is None:
                known = here.known = OrderedDict()
            key = (*map(id, of), *named, *map(id, named.values())) if named else tuple(map(id, of))
            if (found := known.get(key)) is not None:  # the objects are kept too, so that no other one gets their ids
                known.move_to_end(key)
                return found[1]
            result = function(*of, **named)
            known[key] = (of, named), result
            if len(known) > size:
                known.popitem(last=False)
            return result

        return remembering

    return decorate


class Once:
    """What is made once, by the first thread that asks for it; the others wait for that one. An error is not kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[Hashable, Future[Any]] = {}

    def of(self, key: Hashable, make: Callable[[], U]) -> U:
        """What `make` gives; all who wait for it get its error. `make` must not ask for the same key."""
        with self._lock:
            known = self._made.get(key)
            if known is None:
                mine = self._made[key] = Future()
        if known is not None:
            return cast(U, known.result())
        try:
            value = make()
        except BaseException as error:
            with self._lock:
                del self._made[key]
            mine.set_exception(error)
            raise
        mine.set_result(value)
        return value
