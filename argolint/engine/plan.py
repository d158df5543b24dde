"""What a run is asked for and what it gives: rules with their options, one result an application, and the outcome of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.rule import Rule
from argolint.engine.causes import Causes
from argolint.engine.selection import Shown
from argolint.engine.stats import Number
from argolint.host.timing import Cost
from argolint.model import AppRef, Fact, Failure, Finding, Note, Severity

if TYPE_CHECKING:
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


@dataclass(frozen=True)
class AppResult:
    """What inspecting one application gave; plain data that a shard can carry.

    `beside` says that it was not asked for: it shares objects with one that was, and only its facts count. `unread` says that it
    has objects whose states nobody asked for, since Argo CD shows it as fine.
    """

    ref: AppRef
    resources: Number = 0
    findings: tuple[Finding, ...] = ()
    facts: tuple[tuple[str, Fact], ...] = ()
    failures: tuple[Failure, ...] = ()
    notes: tuple[Note, ...] = ()
    beside: bool = False
    sync: str = ""
    health: str = ""
    spent: tuple[Cost, ...] = ()
    unread: bool = False
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ServerRead:
    """An Argo CD that was read: its own URL, and its name where a run reads several."""

    url: str
    version: str
    name: str = ""


@dataclass(frozen=True)
class Looked:
    """One application that was looked at, and how Argo CD shows it; `unread`: by what the list tells alone."""

    ref: AppRef
    resources: int = 0
    sync: str = ""
    health: str = ""
    unread: bool = False
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Outcome:
    """Findings and failures of a whole run, sorted. `causes` knows those of findings that were left out as well."""

    findings: tuple[Finding, ...]
    failures: tuple[Failure, ...]
    apps: tuple[AppRef, ...]
    resources: int
    notes: tuple[Note, ...] = ()
    looked: tuple[Looked, ...] = ()
    causes: Causes = field(default_factory=Causes)

    def showing(self, shown: Shown, families: Mapping[str, str]) -> Outcome:
        """What is shown of it, without crashes of rules none of whose findings would be; `families` by rule."""
        if shown == Shown():
            return self
        return replace(
            self,
            findings=tuple(f for f in self.findings if shown.takes(f.rule, f.family, f.severity or "warning")),
            failures=tuple(
                f
                for f in self.failures
                if f.stage not in _CRASHED or f.rule is None or shown.may_take(f.rule, families.get(f.rule, ""))
            ),
        )


_CRASHED = frozenset({"check", "wants", "verify", "join"})
"""Stages of failures that are a rule's own."""


Progress = Callable[[int, int], None]
