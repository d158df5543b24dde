"""The whole check as one function: a transport and a plan in, a report out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from argolint import engine
from argolint.engine import AppResult, Outcome, Plan
from argolint.fleet import Fleet
from argolint.model import Failure
from argolint.transport import Transport


@dataclass(frozen=True)
class Part:
    """The results of one shard, before they are joined."""

    fleet: Fleet
    results: tuple[AppResult, ...]
    failures: tuple[Failure, ...]


def collect(t: Transport, plan: Plan, progress: engine.Progress = lambda done, total: None) -> Part:
    """Read the fleet and examine this shard's applications."""
    fleet, failures = engine.load_fleet(t)
    return Part(fleet, tuple(engine.run(t, fleet, plan, progress)), failures)


Suppress = Callable[[Outcome], Outcome]


def conclude(part: Part, plan: Plan) -> Outcome:
    """Join the results: what the whole fleet says."""
    outcome = engine.join(part.results, plan.rules)
    return Outcome(outcome.findings, (*part.failures, *outcome.failures), outcome.apps, outcome.resources)
