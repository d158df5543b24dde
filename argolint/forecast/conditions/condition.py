"""The type of a condition: it looks at one application or at the whole fleet, and returns the places where it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from argolint.application.app import App
from argolint.forecast.world import Hit, World
from argolint.model import Json

Args = Mapping[str, Json]


def _reads_nothing(app: App, world: World, args: Args) -> bool:
    return False


@dataclass(frozen=True)
class Condition:
    """Exactly one of `of_app` and `of_fleet`.

    `reads`: whether it needs the states of an application; `needs`: the lists without which it knows nothing.
    """

    of_app: Callable[[App, World, Args], Iterator[Hit]] | None = None
    of_fleet: Callable[[World, Args], Iterator[Hit]] | None = None
    reads: Callable[[App, World, Args], bool] = _reads_nothing
    needs: tuple[str, ...] = ()
