"""Drift rules against real answers: every difference that Argo CD shows has one reason, and the known ones have the right one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import pytest

from argolint import App, Change, Finding, Resource, Symptom
from argolint.application.resource import ManagedResource
from argolint.errors import ArgolintError
from argolint.plugins import load_rules
from argolint.server import api as argocd
from argolint.snapshots.reader import SnapshotTransport
from argolint.values.knowledge import parse
from tests.conftest import PHASES, recording
from tests.recorded import in_depth as checked

FAMILY = {rule.id for rule in load_rules().values() if rule.family == "drift"}
CATCH_ALLS = {"unexplained-drift", "not-synced"}


@pytest.fixture(scope="module", params=PHASES)
def phase(request: pytest.FixtureRequest) -> str:
    """A recorded phase: the tests of one follow each other, so that it is looked at once."""
    return str(request.param)


@cache
def changes(phase: str) -> tuple[tuple[App, Resource, Change], ...]:
    """Every difference of a phase."""
    t = SnapshotTransport([recording(phase)])
    return tuple(
        (app, resource, change)
        for app in checked(phase)[0].apps
        for states in [app.with_states(_states(t, app), None)]
        for resource in states.resources
        for change in resource.changes
    )


def _states(t: SnapshotTransport, app: App) -> Sequence[ManagedResource] | None:
    try:
        return argocd.managed_resources(t, app.ref)
    except ArgolintError:
        return None  # the server refuses them under a condition


def explaining(phase: str, app: App, resource: Resource, change: Change) -> Iterator[Finding]:
    """The findings that claim one difference."""
    shown = Symptom.change(resource.id, change.pointer)
    for finding in checked(phase)[1]:
        apps = {finding.at.app, *(related.app for related in finding.related)} if finding.key else {finding.at.app}
        if app.ref in apps and any(claim.covers(shown) for claim in finding.explains):
            yield finding


def test_every_difference_has_exactly_one_explaining_rule(phase: str) -> None:
    table = {
        f"{app.name} {resource.id} {change.pointer}": [f.rule for f in explaining(phase, app, resource, change)]
        for app, resource, change in changes(phase)
    }
    print(f"\n{phase}", *(f"{rules}  {place}" for place, rules in sorted(table.items())), sep="\n")  # noqa: T201  for people: pytest -rP
    assert {place: rules for place, rules in table.items() if len(set(rules)) != 1} == {}


@pytest.mark.parametrize("phase", PHASES[2:])
def test_a_drift_whose_reason_is_known_is_not_left_to_the_catch_alls(phase: str) -> None:
    """The truth lists the drift faults of the recorded company by application, object and pointer."""
    name, _, short = phase.partition("/")
    truth = parse((recording(name) / "truth.yaml").read_text(encoding="utf-8"))
    known = {
        (fault["app"].rpartition("/")[2], fault["resource"]["kind"], fault["resource"]["name"])
        for fault in truth["faults"]
        if short in fault["seen_in"] and fault.get("resource") and fault.get("app") and fault["fault"] in FAMILY
    }
    left = [
        f"{app.name} {resource.id} {change.pointer}"
        for app, resource, change in changes(phase)
        if (app.name, resource.kind, resource.name) in known
        and any(finding.rule in CATCH_ALLS for finding in explaining(phase, app, resource, change))
    ]
    assert known
    assert left == []


def test_no_finding_prints_what_a_secret_holds(phase: str) -> None:
    """The server masks Secrets with plus signs; not even those may reach a report as a value."""
    for finding in checked(phase)[1]:
        if finding.at.resource is not None and finding.at.resource.kind == "Secret" and finding.rule in FAMILY:
            text = repr((finding.message, finding.evidence, finding.fixes))
            assert "++++" not in text


def test_nothing_is_a_difference_under_a_comparison_error() -> None:
    fleet, findings = checked("harbourline/1-first-sync")
    blind = {app.ref for app in fleet.apps if not app.desired_known}
    assert blind
    told = [
        f
        for f in findings
        if f.at.app in blind
        and f.family == "drift"
        and any(c.kind in ("change", "missing", "extra") for c in f.explains)
    ]
    assert told == []
