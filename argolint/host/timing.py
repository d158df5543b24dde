"""`--timings`: measures the time of a run by stage and rule.

A stage's time is that of its own thread, without inner stages. Without the option, nothing is measured.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import TracebackType

from argolint.model.stats import Cost

_WHOLE = "verify"
"""Rules that run to verify a fix count for the verification."""


class Ledger:
    """The time that one thread spends on one thing, such as an application; `clock` returns processor seconds and elapsed seconds."""

    def __init__(
        self, clock: Callable[[], tuple[float, float]] = lambda: (time.thread_time(), time.perf_counter())
    ) -> None:
        self._clock = clock
        self._spent: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
        self._open: list[tuple[str, str]] = []
        self._marks = (0.0, 0.0)

    @property
    def costs(self) -> tuple[Cost, ...]:
        return tuple(Cost(stage, rule, *spent) for (stage, rule), spent in sorted(self._spent.items()))

    def enter(self, stage: str, rule: str) -> None:
        self._charge()
        within = self._open[-1] if self._open else ("", "")
        self._open.append(within if within[0] == _WHOLE else (stage, rule))

    def leave(self) -> None:
        self._charge()
        self._open.pop()

    def _charge(self) -> None:
        now = self._clock()
        if self._open:
            spent = self._spent[self._open[-1]]
            spent[0] += now[0] - self._marks[0]
            spent[1] += now[1] - self._marks[1]
        self._marks = now


class _Here(threading.local):
    ledger: Ledger | None = None


_HERE = _Here()
_FREE: AbstractContextManager[None] = nullcontext()


@contextmanager
def measured(wanted: bool) -> Iterator[Ledger]:
    """A ledger that records this thread's stages, if wanted."""
    ledger, before = Ledger(), _HERE.ledger
    _HERE.ledger = ledger if wanted else before
    try:
        yield ledger
    finally:
        _HERE.ledger = before


def measuring() -> bool:
    """Whether this thread is being measured."""
    return _HERE.ledger is not None


def charged(stage: str, rule: str = "") -> AbstractContextManager[None]:
    """Count the block for this stage, if the thread is being measured."""
    return _FREE if _HERE.ledger is None else _Charge(_HERE.ledger, stage, rule)


class _Charge(AbstractContextManager[None]):
    def __init__(self, ledger: Ledger, stage: str, rule: str) -> None:
        self._ledger, self._stage, self._rule = ledger, stage, rule

    def __enter__(self) -> None:
        self._ledger.enter(self._stage, self._rule)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ledger.leave()


def summed(*costs: Iterable[Cost]) -> tuple[Cost, ...]:
    """One cost per stage and rule."""
    found: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for cost in (cost for group in costs for cost in group):
        spent = found[cost.stage, cost.rule]
        spent[0] += cost.cpu_s
        spent[1] += cost.seconds
    return tuple(Cost(stage, rule, *spent) for (stage, rule), spent in sorted(found.items()))
