"""The input of a run: the rules with the user's options, which applications to look at, and which requests are allowed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.rule import Rule
from argolint.model import Severity
from argolint.model.selection import FindingFilter

if TYPE_CHECKING:
    from argolint.sources.local_renders import LocalRenders


@dataclass(frozen=True)
class ChosenRule:
    """A rule with the user's options and, possibly, another severity."""

    rule: Rule
    options: Any
    severity: Severity | None = None


@dataclass(frozen=True)
class Plan:
    """How to run: which applications, and which requests are allowed.

    `local` renders Helm applications here instead of on the server, for those that it covers. All rules run; `shown` filters their
    findings. With `timings` each result has its cost.
    """

    rules: tuple[ChosenRule, ...]
    wanted: Callable[[App, Fleet], bool] = lambda app, fleet: True
    workers: int = 8
    deep: bool = False
    renders: bool = False
    manifests: bool = False
    shard: tuple[int, int] = (1, 1)
    local: LocalRenders | None = None
    shown: FindingFilter = field(default_factory=FindingFilter)
    timings: bool = False
    app_labels: tuple[str, ...] = ()
    """Keys of Application labels to copy into results."""


Progress = Callable[[int, int], None]
