"""Every rule against its fixtures: bad ones get exactly the findings they expect, which tell the truth; good ones get none from any rule; a near miss of either says what it must."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from argolint import App, Finding, testing
from argolint.engine import guard, join
from argolint.plugins import load_rules
from argolint.redaction import findings
from argolint.values import knowledge
from tests import facts
from tests.shell_commands import faults

FIXTURES = Path(__file__).parent / "rules"
RULES = load_rules()


def _files(pattern: str) -> list[Path]:
    return sorted(FIXTURES.glob(f"*/{pattern}"))


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


ON_PURPOSE: list[str] = knowledge.parse((FIXTURES.parent / "redaction_stays.yaml").read_bytes())["fixtures"]
"""Secrets that fixtures quote."""


@pytest.fixture(autouse=True)
def _nothing_of_our_own_is_masked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What rules say of a fixture is printed as they say it: a command with a masked word in it would be none."""
    lost: list[tuple[object, object]] = []

    def guarded(finding: Finding, *more: Any) -> Finding:
        printed = findings.guarded(finding, *more)
        if printed != finding:
            told = json.dumps(msgspec.to_builtins(finding, enc_hook=str))
            if not any(secret in told for secret in ON_PURPOSE):
                lost.append((finding, printed))
        return printed

    for module in (guard, join):
        monkeypatch.setattr(module, "guarded", guarded)
    yield
    assert lost == []


@pytest.mark.parametrize("path", _files("bad-*.yaml"), ids=_name)
def test_bad_fixture_gets_exactly_the_findings_it_expects(path: Path) -> None:
    fixture = testing.load_fixture(path)
    assert fixture.expected, "a bad fixture names its findings"
    told: list[tuple[App, Finding]] = []
    mine = RULES[path.parent.name]
    rules = [facts.watched(rule, told) if rule is mine else rule for rule in RULES.values()]
    found = testing.check(fixture, rules)
    assert testing.mismatches(found, mine.id, fixture.expected) == []
    assert faults(fix for finding in found.findings for fix in finding.fixes) == []
    seen, states = facts.of_fixture(fixture.data), mine.family in ("drift", "nondeterminism", "ownership")
    said = [
        (finding.message, *each) for app, finding in told for each in facts.said(app, finding, seen, of_states=states)
    ]
    assert [statement for statement in said if not statement[-1]] == []
    assert testing.near_mismatches(fixture, mine) == []


@pytest.mark.parametrize("path", _files("good-*.yaml"), ids=_name)
def test_good_fixture_is_silent_under_every_rule(path: Path) -> None:
    fixture = testing.load_fixture(path)
    found = testing.check(fixture, list(RULES.values()))
    infos = path.parent.name if RULES[path.parent.name].severity == "info" else ""
    assert [
        (f.rule, f.message) for f in found.findings if (f.severity != "info" or f.rule == infos) and not f.suppressed
    ] == []
    assert [f.error for f in found.failures] == []
    assert testing.near_mismatches(fixture, RULES[path.parent.name]) == []


def test_every_rule_has_a_bad_and_a_good_fixture_and_no_fixture_lacks_a_rule() -> None:
    bad = {path.parent.name for path in _files("bad-*.yaml")}
    good = {path.parent.name for path in _files("good-*.yaml")}
    assert set(RULES) - bad == set()
    assert set(RULES) - good == set()
    assert (bad | good) - set(RULES) == set()


def test_what_waits_for_a_failed_server_side_apply_is_told_once_with_the_failure() -> None:
    path = FIXTURES / "sync-failed" / "bad-server-side-apply.yaml"
    found = testing.check(testing.load_fixture(path), list(RULES.values()))
    assert [f.rule for f in found.findings if f.resource is not None] == ["sync-failed"]
