"""A command is proven by what it does to the live object: that is replayed in its place, and the command itself never runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from argolint import Edit, Finding, Rule, testing
from argolint.plugins import load_rules

FIXTURES = Path(__file__).parent / "rules"


def first_fix(rule_id: str, name: str, plays: Edit | None) -> list[Any]:
    """The fixes of the fixture's first finding, of which the first one plays this."""
    rule = load_rules()[rule_id]

    def check(app: Any, fleet: Any, options: Any) -> Iterator[Finding]:
        for finding in rule.check(app, fleet, options):  # type: ignore[misc]
            first, *others = finding.fixes
            yield replace(finding, fixes=(replace(first, plays=plays), *others))

    report = testing.check(testing.load_fixture(FIXTURES / rule_id / f"{name}.yaml"), [replace(rule, check=check)])
    assert not report.failures
    return list(report.findings[0].fixes)


def scaled(to: int) -> Edit:
    return Edit("json-patch", [{"op": "replace", "path": "/spec/replicas", "value": to}])


def test_a_command_whose_effect_ends_the_fault_is_verified_and_stays_a_command() -> None:
    (fix,) = first_fix("down-by-hand", "bad-zero", scaled(2))
    assert (fix.verified, fix.edit.kind, fix.target, fix.proof) == (True, "command", "live", "replayed")
    assert fix.edit.content.startswith("argocd app sync ")


@pytest.mark.parametrize("to", [0, 3])
def test_a_command_whose_effect_ends_nothing_is_not_verified(to: int) -> None:
    """0 is what is there, and 3 is not what Git asks for."""
    assert [f.title for f in first_fix("down-by-hand", "bad-zero", scaled(to)) if f.verified] == []


def test_a_command_that_says_nothing_of_its_effect_is_not_verified() -> None:
    (fix,) = first_fix("down-by-hand", "bad-zero", None)
    assert (fix.verified, fix.unverified) == (None, "a command is not run")


def test_what_a_command_plays_of_a_secret_may_take_a_key_away_and_write_none() -> None:
    taken = first_fix(
        "secret-key-leftover", "bad-dropped-key", Edit("json-patch", [{"op": "remove", "path": "/data/old-token"}])
    )
    written = Edit("json-patch", [{"op": "replace", "path": "/data/old-token", "value": "eA=="}])
    assert taken[0].verified is True
    assert first_fix("secret-key-leftover", "bad-dropped-key", written)[0].verified is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {
                "/apps/1/resources/-": {
                    "desired": {
                        "apiVersion": "v1",
                        "kind": "Secret",
                        "metadata": {"name": "cargo", "namespace": "ship"},
                    }
                }
            },
            'an application renders Secret "cargo" too',
        ),
        (
            {"/apps/1/resources/0/live/spec/target/template": {"data": {"url": "{{ .password }}"}}},
            "what the operator's engine makes of the template is not played here",
        ),
    ],
)
def test_what_an_operator_does_after_a_fix_rests_on_what_is_known_of_the_secret(
    change: dict[str, Any], why: str
) -> None:
    rule = load_rules()["external-secret-sync-error"]
    fixture = testing.load_fixture(FIXTURES / rule.id / "bad-owners.yaml")
    assert _unverified(fixture, rule) == ""
    assert _unverified(testing.Fixture(fixture.path, testing._changed(fixture.data, change)), rule) == why


def _unverified(fixture: testing.Fixture, rule: Rule) -> str:
    (finding,) = (f for f in testing.check(fixture, [rule]).findings if f.app.name == "former")
    return finding.fixes[0].unverified or ""
