"""What a finding says of an object is found in the object: values, pointers, writers, counts, versions, quoted texts, and what its first fix edits.

tests/test_rules.py asks this of every fixture, tests/test_fixes_recordings.py of the recordings; here it is shown that what is untrue is noticed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from argolint import Edit, Finding, Fix, Location
from argolint.application.app import App
from argolint.plugins import load_rules
from argolint.testing import check, load_fixture
from tests import facts

HERE = Path(__file__).parent / "rules"


@pytest.fixture(scope="module")
def told() -> list[tuple[App, str, Finding]]:
    """What some rules find in their fixtures, with the application and all that the fixture holds."""
    found: list[tuple[App, str, Finding]] = []
    for name in ("quantity-normalised", "live-edit", "external-secret-sync-error"):
        rule = load_rules()[name]
        for path in sorted((HERE / name).glob("bad-*.yaml")):
            said: list[tuple[App, Finding]] = []
            fixture = load_fixture(path)
            check(fixture, [facts.watched(rule, said)])
            found += [(app, facts.of_fixture(fixture.data), finding) for app, finding in said]
    return found


def _said(app: App, seen: str, finding: Finding) -> Iterator[tuple[str, str, bool]]:
    return facts.said(app, finding, seen, of_states=load_rules()[finding.rule].family == "drift")


def test_statements_of_every_sort_are_recognised(told: list[tuple[App, str, Finding]]) -> None:
    checked = Counter(sort for app, seen, finding in told for sort, _, _ in _said(app, seen, finding))
    assert {sort for sort, number in checked.items() if number > 2} >= {"value", "pointer", "writer", "quote", "fix"}


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
