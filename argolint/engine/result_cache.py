"""Results of earlier checks, and the conditions under which they are still valid.

A result is valid while the application's list entry and all answers of the fleet that it used are unchanged, nothing failed, the
application waits for nothing, and its reads are not too old: differences inside of an object that is already OutOfSync can change without a
trace in the list. Findings of a waiting application change with time alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.engine.plan import Plan
from argolint.engine.questions import Answers, Mark, Question, RecordingFleet, entry_mark
from argolint.engine.run import examine_application
from argolint.model import AppRef, Object
from argolint.model.results import AppResult
from argolint.server.transport import Answer, Query, Stats, Transport
from argolint.snapshots.index import named_application
from argolint.values import mapping

MAX_AGE_S = 15 * 60.0
LEAST_AGE_S = 60.0


@dataclass(frozen=True)
class _CachedResult:
    result: AppResult
    entry: bytes | None
    answers: Mapping[Question, Mark]
    read_at: float
    is_timeless: bool
    """Nothing was read from the server and nothing was found: the result does not age."""


class ResultCache:
    """Examines applications, or returns valid earlier results. Safe to share among threads within one check.

    `max_age_s`: most age of a valid result; a waiting application is read again after `least_age_s`.
    """

    def __init__(
        self,
        max_age_s: float = MAX_AGE_S,
        least_age_s: float = LEAST_AGE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_age_s = max_age_s
        self._least_age_s = least_age_s
        self._clock = clock
        self._kept: dict[AppRef, _CachedResult] = {}
        self._marks: dict[AppRef, tuple[Object, bytes]] = {}
        self._is_current: list[AppRef] = []
        self._ahead_s = 0.0
        self._answers = _NO_ANSWERS

    @property
    def reused(self) -> int:
        """Applications of the last check whose earlier result was valid."""
        return len(self._is_current)

    def begin(self, fleet: Fleet, ahead_s: float = 0.0) -> None:
        """A check of this fleet begins. The next one may come only after `ahead_s`; results that are too old by then are not valid now."""
        self._ahead_s = ahead_s
        known = self._marks
        self._marks = {app.ref: _entry_and_mark(app, known.get(app.ref)) for app in fleet.apps}
        self._kept = {ref: kept for ref, kept in self._kept.items() if ref in self._marks}
        self._answers = Answers(fleet, {ref: mark for ref, (_, mark) in self._marks.items()})
        self._is_current = []

    def drop_fleet(self) -> None:
        """Drop the fleet of the last check, before another one takes memory."""
        self._marks = {}
        self._answers = _NO_ANSWERS

    def look(self, t: Transport, app: App, fleet: Fleet, plan: Plan) -> AppResult:
        """See engine.run.examine_application."""
        entry = self._answers.entry(app.ref)
        kept = self._kept.get(app.ref)
        if kept is not None and kept.entry == entry and self._is_young(kept, app) and self._is_valid(kept):
            self._is_current.append(app.ref)
            return kept.result
        noted, noting = RecordingFleet(self._answers), _RecordingTransport(t)
        read_at = self._clock()
        result = examine_application(noting, app, noted, plan)
        for ref in noting.others(app.ref):
            noted.note(ref)
        timeless = not noting.seen and not result.findings
        if result.failures:
            self._kept.pop(app.ref, None)
        else:
            self._kept[app.ref] = _CachedResult(result, entry, noted.questions, read_at, timeless)
        return result

    def _is_young(self, kept: _CachedResult, app: App) -> bool:
        age_s = self._clock() - kept.read_at
        return (
            age_s < self._least_age_s
            if is_in_progress(app)
            else kept.is_timeless or age_s + self._ahead_s < self._max_age_s
        )

    def _is_valid(self, kept: _CachedResult) -> bool:
        return all(self._answers.mark(question) == mark for question, mark in kept.answers.items())


_NO_ANSWERS = Answers(Fleet("", "", {}), {})


def is_in_progress(app: App) -> bool:
    """True if an operation, a deletion or the like is in progress, whose duration rules look at."""
    running = app.operation is not None and app.operation.phase in ("Running", "Terminating")
    return app.deleting or running or bool(mapping(app.raw, "operation")) or app.health.status == "Progressing"


def _entry_and_mark(app: App, known: tuple[Object, bytes] | None) -> tuple[Object, bytes]:
    return known if known is not None and known[0] is app.raw else (app.raw, entry_mark(app))


class _RecordingTransport:
    """A transport that records whose answers were read through it."""

    def __init__(self, t: Transport) -> None:
        self.server = t.server
        self.offline = t.offline
        self.stats: Stats = t.stats
        self.seen: set[tuple[str, str, str]] = set()
        self._inner = t

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        self.seen.add(named_application(path, query, ""))
        return self._inner.get(path, query, anonymous=anonymous)

    def now(self) -> datetime:
        return self._inner.now()

    def others(self, own: AppRef) -> set[AppRef]:
        """The other applications that were read."""
        refs = {AppRef(namespace, name, project, own.server) for name, namespace, project in self.seen if name}
        return refs - {own}
