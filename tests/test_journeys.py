"""Sixteen ways in which a user meets an application that does not do what Git says: each has its cause told, with something to do."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from argolint import testing
from argolint.plugins import load_rules

PATH = Path(__file__).parent / "journeys.yaml"
JOURNEYS: list[dict[str, Any]] = yaml.safe_load(PATH.read_text(encoding="utf-8"))
CATCH_ALL = ("unexplained-drift", "unhealthy")


@pytest.mark.parametrize("given", JOURNEYS, ids=lambda given: given["journey"])
def test_the_cause_is_told_and_something_to_do(given: dict[str, Any]) -> None:
    data: dict[str, Any] = {
        "about": given["journey"],
        **{key: given[key] for key in ("apps", "server") if key in given},
    }
    outcome = testing.check(testing.Fixture(PATH, data), list(load_rules().values()))
    assert not outcome.failures
    told = [f for f in outcome.findings if f.rule in given["rule"]]
    assert told, [(f.rule, f.message) for f in outcome.findings]
    words = "\n".join(text for f in told for text in (f.message, *f.evidence))
    fixes = "\n".join(text for f in told for x in f.fixes for text in (x.title, str(x.edit.content)))
    assert all(re.search(word, words) for word in given["words"]), words
    assert all(re.search(word, fixes) for word in given["fix"]), fixes
    assert not [f.message for f in outcome.findings if f.rule in CATCH_ALL and f.severity == "error"]


def test_there_are_sixteen() -> None:
    assert len({given["journey"] for given in JOURNEYS}) == 16
