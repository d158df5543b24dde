"""What ends a refusal, bad health or a failed sync is proven by playing who judges it; each proof fails when the edit is wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from argolint import AppRef, Edit, Fact, Finding, Fix, Location, ResourceId, testing
from argolint.engine import proving
from argolint.proof.replay import Checks
from argolint.proof.verify import played, verify, verify_together
from argolint.values import schema
from tests.test_rules import RULES

FIXTURES = Path(__file__).parent / "rules"
HARMLESS = Edit("json-patch", [{"op": "add", "path": "/metadata/generateName", "value": "mutant-"}])
"""An edit of any object that ends nothing."""


@dataclass(frozen=True)
class Proof:
    """A fix that is verified, and the question that was asked about it."""

    fix: Fix
    finding: Finding
    again: partial[Fix]


def proofs(path: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Proof, ...]:
    """Every verified fix that a rule with `then` gives in a fixture."""
    found: list[Proof] = []

    def asked(fix: Fix, finding: Finding, *more: Any) -> Fix:
        verdict = verify(fix, finding, *more)
        if verdict.verified and RULES[finding.rule].then is not None:
            found.append(Proof(fix, finding, partial(_verify, finding, *more[:4])))
        return verdict

    monkeypatch.setattr(proving, "verify", asked)
    testing.check(testing.load_fixture(FIXTURES / path), list(RULES.values()))
    return tuple(found)


def _verify(finding: Finding, app: Any, fleet: Any, checks: Checks, render: Any, fix: Fix) -> Fix:
    rule = RULES[finding.rule]
    assert rule.check is not None
    check = partial(_check, rule.check, fleet, rule.default_options)
    return verify(fix, finding, app, fleet, replace(checks, check=check), render)


def _check(check: Any, fleet: Any, options: Any, app: Any) -> Any:
    return check(app, fleet, options)


def mutants(fix: Fix) -> Iterator[Fix]:
    """The fix with an edit that does not touch the fault, and with each of its words wrong."""
    if fix.plays is not None:
        yield replace(fix, plays=HARMLESS)
        return
    if fix.target == "application":
        yield replace(fix, edit=Edit("json-patch", [{"op": "add", "path": "/spec/revisionHistoryLimit", "value": 3}]))
    else:
        yield replace(fix, edit=HARMLESS)
    for number, operation in enumerate(fix.edit.content):
        for wrong in _wrong(operation):
            yield replace(
                fix, edit=Edit("json-patch", [*fix.edit.content[:number], wrong, *fix.edit.content[number + 1 :]])
            )


def _wrong(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if operation["op"] == "move":
        yield {**operation, "path": operation["path"] + "x"}
    if operation["op"] == "remove":
        yield {"op": "test", "path": operation["path"], "value": "never"}
    if isinstance(value := operation.get("value"), str) and operation["path"].rpartition("/")[2] in WRONG:
        yield {**operation, "value": WRONG[operation["path"].rpartition("/")[2]]}
    elif isinstance(value, str) and value.startswith("ServerSideApply"):
        yield {**operation, "value": "ServerSideApply=false"}


WRONG = {
    "apiVersion": "external-secrets.io/v9",
    "decodingStrategy": "Base64URL",
    "kind": "NoStore",
    "controller": "other",
    "requests.memory": "1280Mi",
}
"""By the field that an edit sets: a value that does not end the fault."""

PLAYED: Sequence[tuple[str, int]] = (
    ("annotation-too-long/bad-refused.yaml", 1),
    ("cluster-external-secret-failed/bad-in-the-way.yaml", 1),
    ("external-secret-sync-error/bad-admitted-elsewhere.yaml", 1),
    ("external-secret-sync-error/bad-generator-nowhere.yaml", 1),
    ("external-secret-sync-error/bad-owners.yaml", 4),
    ("external-secret-sync-error/bad-old-operator.yaml", 2),
    ("external-secret-sync-error/bad-provider-causes.yaml", 1),
    ("external-secret-sync-error/bad-target-causes.yaml", 4),
    ("pod-unschedulable/bad-disk-nowhere.yaml", 1),
    ("pod-unschedulable/bad-quota-counted.yaml", 2),
    ("removed-api/bad-older-words.yaml", 2),
    ("removed-api/bad-versions.yaml", 1),
    ("schema-field-unknown/bad-misplaced.yaml", 4),
    ("server-field-in-git/bad-exported-manifest.yaml", 1),
)


@pytest.mark.parametrize(("path", "least"), PLAYED)
def test_a_wrong_edit_is_proven_of_nothing(path: str, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = proofs(path, monkeypatch)
    assert len(found) >= least
    for proof in found:
        assert proof.again(proof.fix).verified is True
        wrong = list(mutants(proof.fix))
        assert wrong
        for mutant in wrong:
            assert proof.again(mutant).verified is not True, (mutant.title, mutant.edit, mutant.plays)


POD = {"containers": [{"name": "web", "image": "web:1"}]}


def deployment(**spec: object) -> dict[str, Any]:
    whole = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {**whole, **spec}}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({}, []),
        ({"replicas": "3"}, ["/spec/replicas is no integer"]),
        ({"replicas": True}, ["/spec/replicas is no integer"]),
        ({"selector": None}, ["/spec/selector is missing"]),
        ({"strategi": {}}, ["/spec/strategi is no field"]),
        ({"strategy": {"type": "Rolling"}}, ["/spec/strategy/type is not one of Recreate, RollingUpdate"]),
        ({"template": {"spec": {"containers": {}}}}, ["/spec/template/spec/containers is no list"]),
        (
            {
                "template": {
                    "spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1 core", "memory": 5}}}]}
                }
            },
            ["/spec/template/spec/containers/0/resources/limits/cpu is no quantity"],
        ),
    ],
)
def test_a_manifest_is_held_against_the_fields_of_its_kind(spec: dict[str, object], told: list[str]) -> None:
    assert [str(fault) for fault in schema.faults(deployment(**spec))] == told


def test_of_a_kind_that_is_not_known_nothing_is_said() -> None:
    custom = {"apiVersion": "example.com/v1", "kind": "Depot", "spec": {"anything": 1}}
    assert not schema.known(custom)
    assert list(schema.faults(custom)) == []


A, B = (ResourceId("external-secrets.io", "ExternalSecret", "pay", name) for name in ("a", "b"))
RENAME = [{"op": "replace", "path": "/spec/target/name", "value": "a"}]


def _fleet_fix(value: str, verified: bool | None, contested: Sequence[str], known: Sequence[ResourceId]) -> Fix:
    """The verdict of a fleet finding's rename, where the finding of the object itself has this verdict for its own."""
    app = AppRef("argocd", "pay", "default", "")
    own = Fix("Rename it", "manifest", "a", Edit("json-patch", RENAME), verified=verified)
    of_object = Finding(message="a fails", at=Location(app, A), fixes=(own,))
    asked = Fix("Rename it", "manifest", "a", Edit("json-patch", [{**RENAME[0], "value": value}]))
    facts = [Fact("key", app, {"name": id_.name}, about=id_.key) for id_ in known]

    def rejoin(rest: Sequence[Fact]) -> list[Finding]:
        return [of_object] if {fact.data["name"] for fact in rest} & set(contested) else []

    return verify_together(asked, of_object, facts, rejoin, played([of_object]))


@pytest.mark.parametrize(
    ("value", "verified", "contested", "known", "verdict"),
    [
        ("a", True, (), (A, B), True),
        ("other", True, (), (A, B), None),
        ("a", None, (), (A, B), None),
        ("a", True, ("b",), (A, B), None),
        ("a", True, (), (B,), None),
    ],
)
def test_an_edit_that_ends_what_its_object_shows_is_verified_for_the_fleet_too(
    value: str, verified: bool | None, contested: Sequence[str], known: Sequence[ResourceId], verdict: bool | None
) -> None:
    assert _fleet_fix(value, verified, contested, known).verified is verdict


def _slipped(spread: object, *more: dict[str, Any]) -> bool | None:
    """The verdict of the rename of a slip in a Deployment that the API server has refused, with this value and other objects."""
    pod = {**POD, "topologySpreadConstraint": spread}
    relay = deployment(template={"metadata": {"labels": {"a": "b"}}, "spec": pod})
    relay["metadata"] = {"name": "relay", "namespace": "quay"}
    text = "failed to create typed patch object (quay/relay; apps/v1, Kind=Deployment): .spec.template.spec.topologySpreadConstraint: field not declared in schema"
    rows = [_row("apps", "Deployment", "relay", text), *(m["row"] for m in more if "row" in m)]
    operation = {"phase": "Failed", "message": text, "syncResult": {"resources": rows}}
    resources = [{"desired": relay, "live": None}, *({"desired": m["desired"], "live": m.get("live")} for m in more)]
    app = {"name": "relay", "resources": resources, "status": {"operationState": operation}}
    report = testing.check(testing.Fixture(Path("x"), {"about": "x", "apps": [app]}), list(RULES.values()))
    return next(f.fixes[0].verified for f in report.findings if f.rule == "schema-field-unknown")


def _row(group: str, kind: str, name: str, message: str) -> dict[str, str]:
    place = {"group": group, "version": "v1", "kind": kind, "namespace": "quay", "name": name}
    return {**place, "status": "SyncFailed", "hookPhase": "Failed", "syncPhase": "Sync", "message": message}


def _config(**more: Any) -> dict[str, Any]:
    metadata = {"name": "tide", "namespace": "quay"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **more}


SPREAD = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "tide", "namespace": "quay", "annotations": {"argocd.argoproj.io/sync-wave": "-1"}},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


@pytest.mark.parametrize(
    ("spread", "more", "verdict"),
    [
        (SPREAD, (), True),
        (SPREAD, ({"desired": _config(data={"a": "1"})},), True),
        ([{"maxSkew": "1", "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}], (), None),
        ([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "Never"}], (), None),
        ([{"maxSkew": 1, "topologyKey": "zone"}], (), None),
        (SPREAD[0], (), None),
        (SPREAD, ({"desired": _config(data={"a": 1})},), None),
        (SPREAD, ({"desired": _config(), "row": _row("", "ConfigMap", "tide", "denied")},), None),
        (SPREAD, ({"desired": {**_config(), "apiVersion": "example.com/v1", "kind": "Depot"}},), None),
        (SPREAD, ({"desired": CLAIM},), None),
    ],
    ids=["whole", "beside", "type", "value", "lacks", "shape", "unread", "refused", "custom", "waits"],
)
def test_a_rename_counts_when_the_whole_sync_can_go_through(
    spread: object, more: tuple[dict[str, Any], ...], verdict: bool | None
) -> None:
    assert _slipped(spread, *more) is verdict
