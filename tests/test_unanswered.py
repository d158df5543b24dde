"""What could not be read changes no finding's identity: it is the one that a whole read makes, or it is not there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from argolint import testing
from argolint.engine import run as engine
from argolint.engine.join import join
from argolint.engine.load import read_fleet
from argolint.engine.plan import ChosenRule, Plan
from argolint.model import SEVERITIES, Finding
from argolint.model.fingerprint import fingerprint
from argolint.model.results import Outcome
from argolint.plugins import load_rules
from argolint.server.transport import Answer, Query
from argolint.snapshots.reader import SnapshotTransport
from tests.conftest import recording
from tests.recorded import rules

PHASE = "harbourline-3.6/3-after-commits"


FEW = (
    "airflow-ml-batch",
    "alert-router",
    "edge-scanner-hub",
    "identity-directory",
    "payments-gateway",
    "payments-invoices",
    "platform-shared-secrets",
    "tracking-archive",
    "tracking-ingest",
    "tracking-normalizer",
)
"""Applications of every family, and of all that is read of one: states, trees, Events, renders."""
STATES, TREE, SETTINGS = "managed-resources", "resource-tree", "settings"
TOLD = json.dumps({"message": "context deadline exceeded", "code": 4}).encode()


def _nulls(body: bytes) -> bytes:
    """The answer with a null in the place of each entry of its list."""
    answer = json.loads(body)
    for name in ("items", "nodes", "manifests", "windows"):
        if isinstance(answer, dict) and isinstance(answer.get(name), list):
            answer[name] = [None] * len(answer[name])
    return json.dumps(answer).encode()


DAMAGES: Mapping[str, Callable[[Answer], Answer]] = {
    "500": lambda answer: Answer(500, "application/json", TOLD),
    "403": lambda answer: Answer(403, "application/json", TOLD),
    "504": lambda answer: Answer(504, "text/html", b"<html>Gateway Time-out</html>"),
    "empty": lambda answer: Answer(200, "application/json", b"{}"),
    "no list": lambda answer: Answer(200, "application/json", b'{"items": null}'),
    "nulls": lambda answer: replace(answer, body=_nulls(answer.body)),
}


class Damaged(SnapshotTransport):
    """A recording whose server answers in this way whatever ends with these words."""

    def __init__(self, end: str = "", damage: str = "500") -> None:
        super().__init__([recording(PHASE)])
        self._end, self._damage = end, DAMAGES[damage]

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        answer = super().get(path, query, anonymous=anonymous)
        return self._damage(answer) if self._end and path.endswith(f"/{self._end}") else answer


def _looked_at(t: Damaged) -> Outcome:
    fleet, failures = read_fleet(t)
    plan = Plan(rules(), wanted=lambda app, fleet: app.ref.name in FEW, workers=1)
    outcome = join(engine.run(t, fleet, plan), rules())
    return replace(outcome, failures=(*failures, *outcome.failures))


def _without_events(finding: Finding) -> bool:
    """Whether it says that it was judged without Events: a server that has none left answers alike."""
    return any(re.search(r"no (?:Warning )?Event", text) for text in (finding.message, *finding.evidence))


@cache
def _whole() -> Mapping[str, Finding]:
    """The findings of the recording as it is, by their fingerprints."""
    found = {fingerprint(finding): finding for finding in _looked_at(Damaged()).findings}
    assert len(found) >= 30
    return found


OTHERS = ("events", "resource", "syncwindows", "metadata", "projects", "clusters", "applicationsets", "version")


@pytest.mark.parametrize(
    ("end", "damage"),
    [
        *((end, damage) for end in (STATES, TREE, SETTINGS) for damage in DAMAGES),
        *((end, damage) for end in OTHERS for damage in ("403", "nulls")),
        *((end, "empty") for end in ("events", "resource")),
    ],
)
def test_what_could_not_be_read_makes_no_finding_that_looks_new_and_proves_nothing(end: str, damage: str) -> None:
    outcome, whole = _looked_at(Damaged(end, damage)), _whole()
    found = {fingerprint(finding): finding for finding in outcome.findings}
    known = {(f.rule, f.at.resource) for f in whole.values()}
    new = [f for mark, f in found.items() if mark not in whole]
    assert [f.message for f in new if not (_without_events(f) and (f.rule, f.at.resource) in known)] == []
    proven = [f for mark, f in found.items() if any(x.verified for x in f.fixes[:1]) and mark in whole]
    assert [f.fixes[0].title for f in proven if not any(x.verified for x in whole[fingerprint(f)].fixes)] == []
    rank = {severity: number for number, severity in enumerate(SEVERITIES)}
    severities = [
        (rank[f.severity or "info"], rank[whole[m].severity or "info"]) for m, f in found.items() if m in whole
    ]
    assert [pair for pair in severities if pair[0] > pair[1]] == []
    told = any(f.stage == end for f in outcome.failures)
    assert told or end not in (STATES, TREE, SETTINGS) or (end == SETTINGS and damage in ("no list", "nulls"))


WORDS = 'events is forbidden: User "system:serviceaccount:shop:deployer" cannot list resource "events"'


class Impersonating(testing.FixtureTransport):
    """A server that reads Events as the project's service account, which may not."""

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        if path.endswith("/events"):
            return Answer(403, "application/json", json.dumps({"message": WORDS, "code": 7}).encode())
        return super().get(path, query, anonymous=anonymous)


def _of_impersonation(version: str, *, on: bool) -> tuple[tuple[str, ...], list[str]]:
    claim: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "disk", "namespace": "shop", "uid": "u1", "creationTimestamp": "2026-01-01T01:00:00Z"},
        "spec": {"storageClassName": "fast"},
    }
    held = {"desired": claim, "live": claim, "health": {"status": "Progressing"}}
    app = {"name": "shop", "status": {"health": {"status": "Progressing"}}, "resources": [held]}
    t = Impersonating({"server": {"version": version, "settings": {"impersonationEnabled": on}}, "apps": [app]})
    fleet, _ = read_fleet(t)
    chosen = tuple(ChosenRule(rule, rule.default_options) for rule in load_rules().values())
    outcome = join(engine.run(t, fleet, Plan(chosen, workers=1)), chosen)
    return fleet.remarks, [f.hint for f in outcome.failures if f.stage == "events"]


def test_reads_as_a_service_account_are_said_beforehand_and_where_they_are_refused() -> None:
    remarks, hints = _of_impersonation("v3.6.1", on=True)
    assert ["destinationServiceAccounts" in remark for remark in remarks] == [True]
    assert hints
    assert all("service account that project default names" in hint for hint in hints)


@pytest.mark.parametrize(("version", "on"), [("v3.4.2", True), ("v3.6.1", False)])
def test_a_server_that_reads_by_its_own_rights_asks_for_those(version: str, on: bool) -> None:
    remarks, hints = _of_impersonation(version, on=on)
    assert remarks == ()
    assert hints
    assert all("argolint explain --setup" in hint for hint in hints)


class Forbidden(testing.FixtureTransport):
    """A server that lists the application, and shows nothing of it."""

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        if path.endswith(("/managed-resources", "/resource-tree")):
            return Answer(403, "application/json", json.dumps({"message": "permission denied", "code": 7}).encode())
        return super().get(path, query, anonymous=anonymous)


def test_an_application_that_may_not_be_read_is_one_failure() -> None:
    live = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "cranes", "namespace": "quay"},
        "data": {"a": "1"},
    }
    t = Forbidden({"apps": [{"name": "quay", "resources": [{"desired": {**live, "data": {"a": "2"}}, "live": live}]}]})
    fleet, _ = read_fleet(t)
    (result,) = engine.run(t, fleet, Plan(rules(), workers=1))
    assert [f.stage for f in result.failures if f.stage in ("managed-resources", "resource-tree")] == [
        "managed-resources"
    ]
