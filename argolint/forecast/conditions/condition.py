"""What a condition is: it looks at one application or at the whole fleet, and says where it holds."""

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
    """Exactly one of `of_app` and `of_fleet`. `reads` says which applications it wants to see the states of, `needs` without
    which lists it can tell nothing."""

    of_app: Callable[[App, World, Asked], Iterator[Hit]] | None = None
    of_fleet: Callable[[World, Asked], Iterator[Hit]] | None = None
    reads: Callable[[App, World, Asked], bool] = _never
    needs: tuple[str, ...] = ()
