"""What a run is asked for and what it gives: rules with their options, one result an application, and the outcome of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.rule import Rule
from argolint.model import Severity
from argolint.model.selection import Shown
from argolint.sources.local_renders import LocalRenders


@dataclass(frozen=True)
class Chosen:
    """A rule as the user wants it: its options and, perhaps, another severity."""

    rule: Rule
    options: Any
    severity: Severity | None = None


@dataclass(frozen=True)
class Plan:
    """How to run: what to look at and what the server may be asked for.

    `local` renders Helm applications here: the server is then not asked for those that it covers. All rules run, whatever is
    `shown` of their findings. With `timings` each result says what it cost.
    """

    rules: tuple[Chosen, ...]
    wanted: Callable[[App, Fleet], bool] = lambda app, fleet: True
    workers: int = 8
    deep: bool = False
    renders: bool = False
    manifests: bool = False
    shard: tuple[int, int] = (1, 1)
    local: LocalRenders | None = None
    shown: Shown = field(default_factory=Shown)
    timings: bool = False
    app_labels: tuple[str, ...] = ()
    """Labels of Applications that results name."""


Progress = Callable[[int, int], None]
