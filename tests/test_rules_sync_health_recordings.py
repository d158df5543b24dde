"""Sync and health rules against real answers: whatever Argo CD shows as wrong has a finding, and one fault is told once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import cache

import pytest

from argolint import App, Finding, Symptom
from argolint.engine.load import _with_states_and_tree
from argolint.plugins import load_rules
from argolint.snapshots.reader import SnapshotTransport
from argolint.values.knowledge import parse
from tests.conftest import PHASES, recording
from tests.recorded import in_depth

FAMILIES = ("sync", "health")
PATIENCE = timedelta(minutes=5)


@cache
def checked(phase: str) -> tuple[tuple[App, ...], tuple[Finding, ...]]:
    """Every application with its states, and the findings of every rule."""
    t = SnapshotTransport([recording(phase)])
    fleet, findings = in_depth(phase)
    return tuple(_with_states_and_tree(t, app, fleet, []) for app in fleet.apps), findings


def told(phase: str, app: App) -> Iterator[Finding]:
    """The findings that name the application."""
    for finding in checked(phase)[1]:
        if app.ref in {finding.at.app, *(related.app for related in finding.related)}:
            yield finding


def explaining(phase: str, app: App, symptom: Symptom) -> set[str]:
    """The rules that claim a symptom of the application."""
    return {f.rule for f in told(phase, app) if any(claim.covers(symptom) for claim in f.explains)}


def shown(app: App) -> tuple[str, ...]:
    """What Argo CD's list shows as wrong."""
    found = [app.sync_status] if app.sync_status in ("OutOfSync", "Unknown") else []
    found += [app.health.status] if app.health.status in ("Degraded", "Missing", "Unknown") else []
    return (*found, *(c.type for c in app.conditions if c.type.endswith(("Error", "Warning"))))


def young(app: App) -> bool:
    """A sync that began a moment ago: what is not there yet may still come."""
    operation = app.operation
    return bool(
        operation
        and operation.phase == "Running"
        and operation.started_at
        and app.observed_at - operation.started_at <= PATIENCE
    )


@pytest.mark.parametrize("phase", PHASES)
def test_whatever_argocd_shows_as_wrong_has_a_finding(phase: str) -> None:
    apps, _ = checked(phase)
    silent = {str(app.ref): shown(app) for app in apps if shown(app) and not young(app) and not any(told(phase, app))}
    assert silent == {}


@pytest.mark.parametrize("phase", PHASES)
def test_every_failed_operation_has_an_explanation(phase: str) -> None:
    apps, _ = checked(phase)
    unexplained = [
        str(app.ref)
        for app in apps
        if app.operation and app.operation.failed and not explaining(phase, app, Symptom.operation())
    ]
    assert unexplained == []


@pytest.mark.parametrize("phase", PHASES)
def test_every_degraded_object_has_exactly_one_explaining_rule(phase: str) -> None:
    apps, _ = checked(phase)
    table = {
        f"{app.ref} {resource.id}": explaining(phase, app, Symptom.health(resource.id))
        for app in apps
        for resource in app.resources
        if resource.health.status in ("Degraded", "Unknown") and not resource.hook
    }
    assert {place: rules for place, rules in table.items() if len(rules) != 1} == {}


@pytest.mark.parametrize("phase", PHASES)
def test_error_conditions_are_answered(phase: str) -> None:
    apps, _ = checked(phase)
    unanswered = [
        f"{app.ref} {condition.type}"
        for app in apps
        for condition in app.conditions
        if condition.is_error and not explaining(phase, app, condition.symptom)
    ]
    assert unanswered == []


@pytest.mark.parametrize("phase", PHASES)
def test_catch_alls_are_left_without_work(phase: str) -> None:
    left = [(f.rule, str(f.at.app), f.message) for f in checked(phase)[1] if f.rule in ("unhealthy", "sync-failed")]
    assert [told for told in left if told[0] == "sync-failed"] == []
    assert len(left) <= 1


@pytest.mark.parametrize("phase", PHASES)
def test_known_causes_are_right(phase: str) -> None:
    path = recording(phase)
    truth = parse((path.parent / "truth.yaml").read_text(encoding="utf-8"))
    families = {rule.id: rule.family for rule in load_rules().values()}
    wrong = []
    for fault in truth["faults"]:
        rule, cause = fault["fault"], fault.get("cause")
        if families.get(rule) in FAMILIES and cause and path.name in fault["seen_in"]:
            name = str(fault["app"]).rpartition("/")[2]
            mine = {f.cause for f in checked(phase)[1] if f.rule == rule and f.at.app.name == name}
            other = {f.rule for f in checked(phase)[1] if f.at.app.name == name} & set(fault.get("also_accept") or ())
            if cause not in mine and not other:
                wrong.append((rule, name, cause, mine))
    assert wrong == []


@pytest.mark.parametrize("phase", PHASES)
def test_healthy_applications_hear_nothing(phase: str) -> None:
    path = recording(phase)
    truth = parse((path.parent / "truth.yaml").read_text(encoding="utf-8"))
    faulty = {str(fault.get("app")) for fault in truth["faults"]}
    clean = {name if "/" in name else f"argocd/{name}" for name in truth["healthy"]} - faulty
    heard = [
        (f.rule, f.message)
        for f in checked(phase)[1]
        if f.family in FAMILIES and f.severity != "info" and str(f.at.app) in clean and f.rule not in _TOLD_EVERYWHERE
    ]
    assert heard == []


_TOLD_EVERYWHERE = ("removed-api",)  # an old version is a fault of its own, on an application that works as well


def test_a_wait_is_a_finding_after_five_minutes_only() -> None:
    waits = {"hook-stuck", "lb-pending", "ingress-no-address", "pvc-first-consumer", "finalizer-stuck"}

    def of(phase: str) -> set[str]:
        return {f.rule for f in checked(phase)[1]} & waits

    assert of("harbourline/1-first-sync") == set()
    assert of("harbourline/3-after-commits") == waits
