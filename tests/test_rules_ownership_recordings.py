"""Ownership rules against real answers: what the truth names is found with all its applications, and nothing else is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pytest
import yaml

from argolint import Finding, Fleet, ResourceId
from argolint.engine import run as engine
from argolint.engine.join import join
from argolint.engine.load import read_application, read_fleet
from argolint.engine.plan import ChosenRule, Plan
from argolint.plugins import load_rules
from argolint.snapshots.reader import SnapshotTransport
from argolint.values.knowledge import parse
from tests.conftest import PHASES, recording

RULES = tuple(ChosenRule(rule, rule.default_options) for rule in load_rules().values() if rule.family == "ownership")
FAMILY = frozenset(chosen.rule.id for chosen in RULES)


@cache
def checked(phase: str) -> tuple[Fleet, Sequence[Finding]]:
    """The fleet of a phase and its ownership findings, sorted."""
    t = SnapshotTransport([recording(phase)])
    fleet, _ = read_fleet(t)
    return fleet, join(engine.run(t, fleet, Plan(RULES, workers=2)), RULES).findings


def truth(phase: str) -> Sequence[Mapping[str, Any]]:
    """The entries of the truth file that this phase shows and that are this family's."""
    name, _, step = phase.partition("/")
    entries = parse((recording(name) / "truth.yaml").read_text())["faults"]
    return [e for e in entries if e["fault"] in FAMILY and step in e["seen_in"]]


def parties(finding: Finding) -> set[str]:
    return {str(finding.at.app), *(str(r.app) for r in finding.related)}


def objects(finding: Finding) -> set[tuple[str, str, str, str]]:
    ids = [finding.at.resource, *(r.resource for r in finding.related)]
    return {(i.group, i.kind, i.namespace, i.name) for i in ids if isinstance(i, ResourceId)}


def meets(entry: Mapping[str, Any], finding: Finding) -> bool:
    want = entry.get("resource") or {}
    wanted = tuple(want.get(k, "") for k in ("group", "kind", "namespace", "name"))
    apps = set(entry.get("apps") or [entry["app"]])
    return finding.rule == entry["fault"] and apps == parties(finding) and (not want or wanted in objects(finding))


@pytest.mark.parametrize("phase", PHASES)
def test_every_known_fault_is_found_with_exactly_its_applications(phase: str) -> None:
    _, findings = checked(phase)
    assert [e for e in truth(phase) if not any(meets(e, f) for f in findings)] == []


@pytest.mark.parametrize("phase", PHASES)
def test_nothing_is_said_that_the_truth_does_not_name(phase: str) -> None:
    _, findings = checked(phase)
    told = [f.message for f in findings if f.severity != "info" and not any(meets(e, f) for e in truth(phase))]
    assert told == []


@pytest.mark.parametrize("phase", PHASES)
def test_every_warning_about_ownership_has_its_explanation(phase: str) -> None:
    fleet, findings = checked(phase)
    kinds = ("SharedResourceWarning", "RepeatedResourceWarning", "ExcludedResourceWarning", "OrphanedResourceWarning")
    claims = {(app, claim) for f in findings for claim in f.explains for app in parties(f)}
    open_ = [
        (str(app.ref), c.message)
        for app in fleet.apps
        for c in app.conditions
        if c.type in kinds and (str(app.ref), c.symptom) not in claims
    ]
    assert open_ == []


@pytest.mark.parametrize("phase", PHASES)
def test_a_shared_object_explains_every_difference_that_its_applications_show(phase: str) -> None:
    fleet, findings = checked(phase)
    t = SnapshotTransport([recording(phase)])
    for finding in findings:
        if finding.rule != "shared-resource" or finding.at.resource is None:
            continue
        for ref in {finding.at.app, *(r.app for r in finding.related)}:
            app, _ = read_application(t, fleet.by_ref[ref], fleet, Plan(RULES), states=True)
            resource = app.resource(finding.at.resource.key)
            claimed = {claim.detail for claim in finding.explains if claim.kind == "change"}
            assert resource is not None
            assert {change.pointer for change in resource.changes} <= claimed


def test_the_live_owner_follows_the_last_sync() -> None:
    name = "airflow-pre-checker-binding"
    owners = []
    for phase in ("harbourline/1-first-sync", "harbourline/5-after-renders"):
        found = next(f for f in checked(phase)[1] if f.at.resource is not None and f.at.resource.name == name)
        at = [str(found.at.app)] if not any(r.role == "owner" for r in found.related) else []
        owners += at + [str(r.app) for r in found.related if r.role == "owner"]
    assert owners == [
        "argocd/iclhk8s-prod-dl-ops-airflow-smartdq-dev-airflow",
        "argocd/iclhk8s-prod-dl-ops-airflow-pdp-dev-airflow",
    ]


def test_the_shared_owner_of_a_binding_gets_the_subjects_of_both_releases() -> None:
    found = next(
        f
        for f in checked("harbourline/1-first-sync")[1]
        if f.at.resource is not None and f.at.resource.kind == "ClusterRoleBinding"
    )
    subjects = yaml.safe_load(found.fixes[0].edit.content)["subjects"]
    assert [s["namespace"] for s in subjects] == ["airflow-pdp-dev", "airflow-smartdq-dev"]
    assert "ClusterRole airflow-pre-checker" in found.fixes[0].edit.content
