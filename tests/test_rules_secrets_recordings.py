"""Secrets rules against real answers: every known fault with its cause, no alarm on what is healthy, fixes that were tried."""

from __future__ import annotations

import fnmatch
from functools import cache
from typing import Any

import pytest

from argolint import Finding
from argolint.engine import run as engine
from argolint.engine.join import join
from argolint.engine.load import read_fleet
from argolint.engine.plan import ChosenRule, Plan
from argolint.plugins import load_rules
from argolint.snapshots.reader import SnapshotTransport
from argolint.values.knowledge import parse
from tests.conftest import PHASES, recording

FAMILY = {rule.id: rule for rule in load_rules().values() if rule.family == "secrets"}


@cache
def findings(phase: str) -> tuple[Finding, ...]:
    """What the rules of this family say of a phase."""
    t = SnapshotTransport([recording(phase)])
    fleet, _ = read_fleet(t)
    rules = tuple(ChosenRule(rule, rule.default_options) for rule in FAMILY.values())
    return join(engine.run(t, fleet, Plan(rules, workers=2)), rules).findings


@cache
def truth(name: str) -> Any:
    return parse((recording(name) / "truth.yaml").read_text(encoding="utf-8"))


def expected(phase: str) -> list[dict[str, Any]]:
    """The faults of this family that a phase shows, under the rules' own names."""
    name, _, part = phase.partition("/")
    return [t for t in truth(name)["faults"] if part in t["seen_in"] and t["fault"] in FAMILY]


def of(phase: str, entry: dict[str, Any]) -> list[Finding]:
    wanted = entry.get("resource") or {}
    apps = {app.rpartition("/")[2] for app in entry.get("apps") or [entry["app"]]}
    return [
        f
        for f in findings(phase)
        if f.rule in {entry["fault"], *(entry.get("also_accept") or ())}
        and f.at.app.name in apps
        and f.at.resource is not None
        and all(fnmatch.fnmatchcase(getattr(f.at.resource, k), str(v)) for k, v in wanted.items())
    ]


@pytest.mark.parametrize("phase", PHASES)
def test_every_known_fault_is_told(phase: str) -> None:
    assert expected(phase)
    assert [(t["fault"], t.get("resource")) for t in expected(phase) if not of(phase, t)] == []


@pytest.mark.parametrize("phase", PHASES)
def test_every_cause_is_right(phase: str) -> None:
    with_cause = [t for t in expected(phase) if t.get("cause")]
    assert with_cause
    wrong = {
        t["resource"]["name"]: [f.cause for f in of(phase, t)]
        for t in with_cause
        if t["cause"] not in {f.cause for f in of(phase, t)}
    }
    assert wrong == {}


@pytest.mark.parametrize("phase", PHASES)
def test_nothing_is_said_of_healthy_applications(phase: str) -> None:
    healthy = {name.rpartition("/")[2] for name in truth(phase.partition("/")[0])["healthy"]}
    assert [f.message for f in findings(phase) if f.at.app.name in healthy and f.severity != "info"] == []


@pytest.mark.parametrize("phase", PHASES)
def test_every_finding_has_a_fix_and_no_command_uses_a_short_name(phase: str) -> None:
    assert [f.message for f in findings(phase) if not f.fixes] == []
    commands = [str(fix.edit.content) for f in findings(phase) for fix in f.fixes if fix.edit.kind == "command"]
    assert [c for c in commands if "get es " in c or "annotate es " in c or "annotate externalsecret " in c] == []


def test_the_first_fixes_are_those_that_cured_the_seeds_and_neither_fault_is_told_afterwards() -> None:
    stuck = {
        f.at.resource.name: f
        for f in findings("seeds/1-stuck")
        if f.rule == "external-secret-sync-error" and f.at.resource
    }
    after = {
        f.at.resource.name
        for f in findings("seeds/2-force-synced")
        if f.rule == "external-secret-sync-error" and f.at.resource
    }
    race, owned = stuck["sample-application-name-here"], stuck["test-secret-eso"]
    assert race.fixes[0].edit.content == (
        "kubectl -n legacy-sample-application annotate externalsecrets.external-secrets.io sample-application-name-here "
        'force-sync="$(date +%s)" --overwrite'
    )
    assert "remove" in owned.fixes[0].edit.content
    assert "/metadata/ownerReferences" in owned.fixes[0].edit.content
    assert "annotate externalsecrets.external-secrets.io test-secret-eso force-sync=" in owned.fixes[0].edit.content
    assert after & {"sample-application-name-here", "test-secret-eso"} == set()
    assert after == {"testweb-datadog-env", "ledger-cred", "courier-cred"}
