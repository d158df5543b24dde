"""A fault of ownership is told once: the catch-alls, what waits behind a refused sync and other owners stay silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from argolint import testing
from argolint.plugins import load_rules

FIXTURES = Path(__file__).parent / "rules"
RULES = list(load_rules().values())


@pytest.mark.parametrize(
    ("fixture", "rules"),
    [
        ("shared-resource/bad-refused-sync.yaml", {"shared-resource", "retry-exhausted"}),
        ("phantom-owner/bad-refused-sync.yaml", {"phantom-owner", "retry-exhausted"}),
        ("phantom-owner/bad-copied-by-a-cloner.yaml", {"phantom-owner"}),
        ("tracking-label-too-long/bad-long-name.yaml", {"tracking-label-too-long"}),
    ],
)
def test_the_root_alone_answers(fixture: str, rules: set[str]) -> None:
    found = testing.check(testing.load_fixture(FIXTURES / fixture), RULES)
    assert {f.rule for f in found.findings if f.severity != "info"} == rules


def test_a_name_that_fits_label_tracking_leaves_room_for_the_namespace() -> None:
    fixture = "tracking-label-too-long/bad-namespace-counts.yaml"
    found = testing.check(testing.load_fixture(FIXTURES / fixture), RULES).findings
    (long,) = [finding for finding in found if finding.rule == "tracking-label-too-long"]
    assert long.fixes[1].edit.content == "at most 47 characters for metadata.name\n"
