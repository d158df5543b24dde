"""An edit of destination or project is verified when Argo CD's own checks of the spec take it, and only then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from argolint import testing
from argolint.plugins import load_rules

RULES = list(load_rules().values())
QUAY, YARD = "https://quay.example.com", "https://yard.example.com"
REFUSED = f"application destination server '{QUAY}' and namespace 'cranes' do not match any of the allowed destinations in project 'harbour'"


def first(destinations: list[dict[str, str]], clusters: list[str], message: str = REFUSED) -> Any:
    """The first fix of the finding about an Application whose destination is refused."""
    project = {"metadata": {"name": "harbour"}, "spec": {"destinations": destinations, "sourceRepos": ["*"]}}
    server = {"projects": [project], "clusters": [{"server": c, "name": c[8:12]} for c in clusters]}
    app = {
        "name": "cranes",
        "spec": {"project": "harbour", "destination": {"server": QUAY, "namespace": "cranes"}},
        "status": {"sync": {"status": "Unknown"}, "conditions": [{"type": "InvalidSpecError", "message": message}]},
    }
    report = testing.check(testing.Fixture(Path("inline.yaml"), {"server": server, "apps": [app]}), RULES)
    (found,) = [f for f in report.findings if f.rule == "invalid-spec"]
    return found.fixes[0]


def test_a_destination_that_the_project_permits_and_argo_cd_knows_is_verified() -> None:
    fix = first([{"server": YARD, "namespace": "*"}], [QUAY, YARD])
    assert (fix.target, fix.verified, fix.proof) == ("application", True, "replayed")


def test_a_permitted_cluster_that_is_not_registered_is_no_fix() -> None:
    fix = first([{"server": YARD, "namespace": "*"}], [QUAY])
    assert (fix.verified, YARD in fix.title) == (None, False)


def test_a_permission_that_another_one_takes_back_is_no_fix() -> None:
    fix = first([{"server": YARD, "namespace": "*"}, {"server": YARD, "namespace": "!cranes"}], [QUAY, YARD])
    assert fix.verified is None


@pytest.mark.parametrize("destinations", [[{"server": QUAY, "namespace": "*"}, {"server": YARD, "namespace": "*"}]])
def test_where_argolint_does_not_see_the_refusal_nothing_is_verified(destinations: list[dict[str, str]]) -> None:
    """The project's own words permit what Argo CD says it refuses: something else speaks there."""
    assert first(destinations, [QUAY, YARD]).verified is None
