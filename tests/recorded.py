"""Checks of recorded phases that several test files ask about: each is made once for all processes that run tests."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from argolint import Finding, Fleet
from argolint.engine import pipeline
from argolint.engine import run as engine
from argolint.engine.join import join
from argolint.engine.load import load_fleet
from argolint.engine.plan import Chosen, Plan
from argolint.plugins import load_rules
from argolint.snapshots.reader import SnapshotTransport
from tests.conftest import once, recording


@cache
def rules() -> tuple[Chosen, ...]:
    """Every rule as it comes."""
    return tuple(Chosen(rule, rule.default_options) for rule in load_rules().values())


@cache
def in_depth(phase: str) -> tuple[Fleet, tuple[Finding, ...]]:
    """The fleet of a phase and the findings of every rule, all applications read."""

    def make() -> tuple[Fleet, tuple[Finding, ...]]:
        t = SnapshotTransport([recording(phase)])
        fleet, _ = load_fleet(t)
        return fleet, join(engine.run(t, fleet, Plan(rules(), workers=2, deep=True)), rules()).findings

    made: tuple[Fleet, tuple[Finding, ...]] = _kept("in-depth", phase, make)
    return made


@cache
def plainly(phase: str) -> pipeline.Part:
    """What a plain check of a phase reads and finds, before it is concluded."""
    made: pipeline.Part = _kept(
        "plainly", phase, lambda: pipeline.collect(SnapshotTransport([recording(phase)]), Plan(rules(), workers=1))
    )
    return made


def _kept(what: str, phase: str, make: Callable[[], object]) -> Any:
    def write(file: Path) -> None:
        file.write_bytes(pickle.dumps(make()))

    return pickle.loads(once(f"{what}-{phase.replace('/', '-')}.pickle", write).read_bytes())
