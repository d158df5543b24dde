"""What is worked out once a fleet and forgotten with it: a service sees a new fleet with every check."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from argolint import Fleet

T = TypeVar("T")


def once_a_fleet(function: Callable[..., T]) -> Callable[..., T]:
    """The function, whose first argument is the fleet, worked out once for each fleet and further arguments."""
    known: WeakKeyDictionary[Fleet, dict[tuple[Hashable, ...], T]] = WeakKeyDictionary()

    @wraps(function)
    def found(fleet: Fleet, *args: Hashable) -> T:
        of_fleet = known.setdefault(fleet, {})
        if args not in of_fleet:
            of_fleet[args] = function(fleet, *args)
        return of_fleet[args]

    return found
