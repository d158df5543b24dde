"""On recorded Argo CDs every value that is known to be drawn anew is found, and nothing is said of a healthy application."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from argolint.engine import pipeline as lint
from argolint.engine.plan import ChosenRule, Plan
from argolint.model.stats import Stats
from argolint.plugins import load_rules
from argolint.reports import assemble
from argolint.reports import document as report
from argolint.snapshots.reader import SnapshotTransport
from argolint.suppression.suppress import Suppressions
from argolint.values.knowledge import parse
from tests.conftest import recording

RULES = [rule for rule in load_rules().values() if rule.family == "nondeterminism"]
RUNS = [
    ("harbourline", "1-first-sync", ()),
    ("harbourline", "2-after-mutate", ()),
    ("harbourline", "3-after-commits", ()),
    ("harbourline", "5-after-renders", ()),
    ("harbourline", "5-after-renders", ("4-renders",)),
    ("harbourline-2.14", "1-first-sync", ()),
    ("harbourline-2.14", "2-after-mutate", ()),
    ("harbourline-2.14", "3-after-commits", ()),
]


@pytest.fixture(scope="module", params=RUNS, ids=lambda run: "+".join((run[0], run[1], *run[2])))
def run(request: pytest.FixtureRequest) -> tuple[str, tuple[str, ...], report.Report]:
    """(set, phases, the family's report) of each recorded phase; renders are laid over the phase after them."""
    name, phase, layers = request.param
    t = SnapshotTransport([recording(f"{name}/{p}") for p in (phase, *layers)])
    chosen = tuple(ChosenRule(r, r.default_options) for r in RULES)
    part = lint.examine_shard(t, Plan(chosen))
    ids = frozenset(r.id for r in RULES)
    outcome = lint.conclude(part, chosen, Suppressions(known_rules=ids, now=t.now()))
    made = assemble.build(
        outcome,
        servers=part.servers,
        started_at=part.started_at,
        stats=Stats(),
        tool_version="0",
    )
    return name, (phase, *layers), made


def truth(name: str) -> dict[str, Any]:
    found: dict[str, Any] = parse((recording(name) / "truth.yaml").read_text(encoding="utf-8"))
    return found


def spoken(made: report.Report) -> Iterator[tuple[str, str, str, str]]:
    """(application, kind, namespace, name) of every place that a finding of warning or above names."""
    for f in made.findings:
        if f.severity != "info" and f.rule.startswith("nondeterministic"):
            for r in filter(None, (f.resource, *(x.resource for x in f.related))):
                yield f"{f.app.namespace}/{f.app.name}", r.kind, r.namespace, r.name


def test_every_value_drawn_anew_is_found(run: tuple[str, tuple[str, ...], report.Report]) -> None:
    name, phases, made = run
    places = set(spoken(made))
    wanted = {
        (fault["app"], fault["resource"]["kind"], fault["resource"]["namespace"], fault["resource"]["name"])
        for fault in truth(name)["faults"]
        if fault["fault"].startswith("nondeterministic") and set(fault["seen_in"]) & set(phases)
    }
    assert len(wanted) > 10
    assert wanted - places == set()


def test_nothing_is_said_of_healthy_applications(run: tuple[str, tuple[str, ...], report.Report]) -> None:
    name, _, made = run
    healthy = set(truth(name)["healthy"])
    loud = [f.message for f in made.findings if f.severity != "info" and f"{f.app.namespace}/{f.app.name}" in healthy]
    assert loud == []
    assert [f.error for f in made.failures] == []


def test_two_renders_prove_what_a_moved_revision_leaves_likely(
    run: tuple[str, tuple[str, ...], report.Report],
) -> None:
    _, phases, made = run
    hashed = [
        f
        for f in made.findings
        if f.rule.startswith("nondeterministic") and any("checksum" in r.pointer for r in f.related)
    ]
    assert hashed
    if "4-renders" in phases:
        assert {f.confidence for f in hashed} == {"proven"}


def test_each_fault_names_a_way_to_pin_and_ignoring_was_replayed(
    run: tuple[str, tuple[str, ...], report.Report],
) -> None:
    for f in run[2].findings:
        if f.severity == "error":
            assert f.fixes[0].target == "helm-values", f.message
            assert f.fixes[-1].target == "application", f.message
            if "4-renders" in run[1]:
                assert (f.fixes[-1].verified, f.fixes[-1].proof) == (True, "rendered-twice"), f.message
            elif not f.fixes[-1].verified:  # masked values: one render does not tell what follows from them
                assert "--render-twice" in f.fixes[-1].unverified, f.message
