"""What a finding says of an object is found in the object: values, pointers, writers, counts, versions, quoted texts, and what its first fix edits.

Over every fixture of every rule, which is held against its own; tests/test_fixes_recordings.py does so over the recordings.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from argolint import Edit, Finding, Fix, Location
from argolint.application.app import App
from argolint.application.rule import Rule
from argolint.plugins import load_rules
from argolint.testing import check, load_fixture
from tests import facts

FAMILY = {rule.id: rule.family for rule in load_rules().values()}
HERE = Path(__file__).parent / "rules"
RULES = [rule for rule in load_rules().values() if rule.check is not None]
LEAST = {"value": 150, "pointer": 300, "writer": 70, "count": 3, "quote": 800, "version": 9, "fix": 1100}


@pytest.fixture(scope="module")
def told() -> list[tuple[App, str, Finding]]:
    """Every finding of a rule in its own fixtures, as the rule says it, with its application and all that the fixture holds."""
    found: list[tuple[App, str, Finding]] = []
    seen = ""

    def watched(rule: Rule) -> Rule:
        def look(app: App, fleet: Any, options: Any) -> Iterator[Finding]:
            assert rule.check is not None
            for finding in rule.check(app, fleet, options):
                found.append((app, seen, replace(finding, rule=rule.id)))
                yield finding

        return Rule(**{**{f.name: getattr(rule, f.name) for f in fields(Rule) if f.init}, "check": look})

    for rule in RULES:
        mine = [watched(rule)]
        for path in sorted((HERE / rule.id).glob("bad-*.yaml")):
            fixture = load_fixture(path)
            data = {key: value for key, value in fixture.data.items() if key != "expect"}
            seen = facts.plain(json.dumps(data, default=str, ensure_ascii=False))
            check(fixture, mine)
    return found


def _said(app: App, seen: str, finding: Finding) -> Iterator[tuple[str, str, bool]]:
    of_states = FAMILY[finding.rule] in ("drift", "nondeterminism", "ownership")
    return facts.said(app, finding, seen, of_states=of_states)


def test_what_findings_say_is_so(told: list[tuple[App, str, Finding]]) -> None:
    checked = Counter[str]()
    untrue = []
    for app, seen, finding in told:
        for sort, what, holds in _said(app, seen, finding):
            checked[sort] += 1
            if not holds:
                untrue.append(f"{finding.rule}: {sort} {what!r} of: {finding.message}")
    assert untrue == []
    assert {sort: n for sort, n in checked.items() if n < LEAST[sort]} == {}
    assert checked.keys() == LEAST.keys()


@pytest.mark.parametrize(
    ("sort", "change"),
    [
        ("value", lambda f: replace(f, evidence=tuple(line.replace(" desired, ", "x desired, ", 1).replace('"x desired', 'x" desired') for line in f.evidence))),
        ("pointer", lambda f: replace(f, message=f"/spec/nowhere/below of it, {f.message}")),
        ("pointer", lambda f: replace(f, at=Location(f.at.app, f.at.resource, "/spec/nowhere/below"))),
        ("writer", lambda f: replace(f, evidence=("/spec/replicas: live was written by nobody-knows at 2026-01-01 10:00 UTC",))),
        ("count", lambda f: replace(f, message="over /spec/a and 17 more fields", evidence=("/spec/a: x", "/spec/b: x"))),
        ("quote", lambda f: replace(f, message='It says "a sentence that none of its objects holds".')),
        ("version", lambda f: replace(f, evidence=("the operator is v9.87.65",))),
        ("fix", lambda f: replace(f, fixes=(Fix("Write it", "manifest", "", Edit("json-patch", [{"op": "replace", "path": "/spec/nowhere/below", "value": 1}])),))),
        ("fix", lambda f: replace(f, fixes=(Fix("Look", "live", "", Edit("command", "kubectl -n nowhere-known get pods")),))),
    ],
)  # fmt: skip
def test_an_untrue_sentence_is_noticed(told: list[tuple[App, str, Finding]], sort: str, change: Any) -> None:
    app, seen, finding = next(
        (app, seen, finding)
        for app, seen, finding in told
        if finding.rule == "quantity-normalised"
        and any('"' in line and " desired, " in line for line in finding.evidence)
    )
    assert all(holds for _, _, holds in _said(app, seen, finding))
    assert sort in {each for each, _, holds in _said(app, seen, change(finding)) if not holds}
