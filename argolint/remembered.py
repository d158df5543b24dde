"""What a pure function makes of an object that cannot be a key, such as decoded JSON: kept for the last few objects of a thread."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


def by_identity(size: int) -> Callable[[Callable[[T], U]], Callable[[T], U]]:
    """Remembers the results of a function of one object, by the object itself: nobody may change it, nor the result."""

    def decorate(function: Callable[[T], U]) -> Callable[[T], U]:
        here = threading.local()

        @functools.wraps(function)
        def remembering(of: T) -> U:
            known: OrderedDict[int, tuple[T, U]] | None = getattr(here, "known", None)
            if known is None:
                known = here.known = OrderedDict()
            if (found := known.get(id(of))) is not None:  # the object is kept too, so that no other one gets its id
                known.move_to_end(id(of))
                return found[1]
            result = function(of)
            known[id(of)] = of, result
            if len(known) > size:
                known.popitem(last=False)
            return result

        return remembering

    return decorate
