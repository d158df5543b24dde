"""The type of a condition: it looks at one application or at the whole fleet, and returns the places where it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from argolint.application.app import App
from argolint.forecast.world import Hit, World
from argolint.model import Json

Asked = Mapping[str, Json]


def _never(app: App, world: World, asked: Asked) -> bool:
    return False


@dataclass(frozen=True)
class Condition:
    """Exactly one of `of_app` and `of_fleet`. `reads`: whether it needs the states of an application; `needs`: the lists without which it knows nothing."""

    of_app: Callable[[App, World, Asked], Iterator[Hit]] | None = None
    of_fleet: Callable[[World, Asked], Iterator[Hit]] | None = None
    reads: Callable[[App, World, Asked], bool] = _never
    needs: tuple[str, ...] = ()
