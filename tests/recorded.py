"""Checks of recorded phases for several test files: each is made once for all test processes."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path

from argolint import Finding, Fleet
from argolint.engine import pipeline
from argolint.engine import run as engine
from argolint.engine.join import join
from argolint.engine.load import read_fleet
from argolint.engine.plan import ChosenRule, Plan
from argolint.plugins import load_rules
from argolint.snapshots.reader import SnapshotTransport
from tests.conftest import once, recording, shard_of


@cache
def rules() -> tuple[ChosenRule, ...]:
    """Every rule with its default options."""
    return tuple(ChosenRule(rule, rule.default_options) for rule in load_rules().values())


@cache
def in_depth(phase: str) -> tuple[Fleet, tuple[Finding, ...]]:
    """The fleet of a phase and the findings of every rule, with all applications read."""

    def write(file: Path) -> None:
        t = SnapshotTransport([recording(phase)])
        fleet, _ = read_fleet(t)
        found = join(engine.run(t, fleet, Plan(rules(), workers=2, deep=True)), rules()).findings
        file.write_bytes(pickle.dumps((fleet, found)))

    made: tuple[Fleet, tuple[Finding, ...]] = pickle.loads(
        once(f"in-depth-{phase.replace('/', '-')}.pickle", write).read_bytes()
    )
    return made


@cache
def plainly(phase: str) -> pipeline.Part:
    """The part of a plain check of a phase, before its conclusion."""
    return pipeline.from_json(shard_of(phase).read_bytes(), phase)
