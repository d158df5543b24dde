"""What a pure function makes of objects that cannot be keys, such as decoded JSON: kept for the last few calls of a thread."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
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
    """Remembers the results of a function by its arguments, the objects themselves: nobody may change them, nor the result."""

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
