"""What could not be read changes no finding's identity: it is the one that a whole read makes, or it is not there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from argolint import testing
from argolint.engine import run as engine
from argolint.engine.join import join
from argolint.engine.load import load_fleet
from argolint.engine.plan import Chosen, Plan
from argolint.model.fingerprint import identity
from argolint.plugins import load_rules
from argolint.server.transport import Answer, Query
from argolint.snapshots.reader import SnapshotTransport
from tests.conftest import recording
from tests.recorded import in_depth, rules

PHASE = "harbourline-3.6/3-after-commits"


class Silent(SnapshotTransport):
    """A recording whose server does not answer what ends with these words."""

    def __init__(self, *ends: str) -> None:
        super().__init__([recording(PHASE)])
        self._ends = ends

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        if path.endswith(self._ends):
            return Answer(500, "application/json", json.dumps({"message": "context deadline exceeded"}).encode())
        return super().get(path, query, anonymous=anonymous)


@pytest.mark.parametrize(
    ("ends", "least"), [("/managed-resources", 25), ("/resource-tree", 90), ("/events", 100)], ids=str
)
def test_what_could_not_be_read_makes_no_finding_that_looks_new(ends: str, least: int) -> None:
    t = Silent(ends)
    fleet, _ = load_fleet(t)
    outcome = join(engine.run(t, fleet, Plan(rules(), workers=1)), rules())
    known = {identity(f) for f in in_depth(PHASE)[1]}
    assert [f.message for f in outcome.findings if identity(f) not in known] == []
    assert len(outcome.findings) >= least
    assert any(f.stage == ends.removeprefix("/") for f in outcome.failures)


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
    fleet, _ = load_fleet(t)
    chosen = tuple(Chosen(rule, rule.default_options) for rule in load_rules().values())
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
    fleet, _ = load_fleet(t)
    (result,) = engine.run(t, fleet, Plan(rules(), workers=1))
    assert [f.stage for f in result.failures if f.stage in ("managed-resources", "resource-tree")] == [
        "managed-resources"
    ]
