"""Fixes of an application in which many objects have the same fault: their proofs cost what the objects do, not their square."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from argolint import App, Edit, Finding, Fix, Fleet, Location, Rule, Symptom, testing
from argolint.engine.inspect import inspect
from argolint.engine.load import read_application, read_fleet
from argolint.engine.plan import ChosenRule, Plan
from argolint.model.results import AppResult

IGNORE = Edit(
    "json-patch",
    [
        {
            "op": "add",
            "path": "/spec/ignoreDifferences",
            "value": [{"group": "", "kind": "ConfigMap", "jsonPointers": ["/data/key"]}],
        },
        {"op": "add", "path": "/spec/syncPolicy", "value": {"syncOptions": ["RespectIgnoreDifferences=true"]}},
    ],
)


def config(name: str, value: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"key": value}}


def drifted(objects: int) -> dict[str, Any]:
    pairs = [{"desired": config(f"c{n}", "git"), "live": config(f"c{n}", "hand")} for n in range(objects)]
    return {"about": "each object differs", "apps": [{"name": "shop", "resources": pairs}]}


class Asked:
    """A rule that finds every difference, with a fix of each manifest and one of the Application for all; it counts what it looks at."""

    def __init__(self, speaks_of: str = "") -> None:
        self.looked = 0
        self.speaks_of = speaks_of
        """The name of an object that it finds whatever it holds."""

    def check(self, app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
        for resource in app.resources:
            self.looked += 1
            if not resource.changes and not resource.name.startswith(self.speaks_of or "-"):
                continue
            patch = Edit("json-patch", [{"op": "replace", "path": "/data/key", "value": "hand"}])
            yield Finding(
                message="it differs",
                at=Location(app.ref, resource.id, "/data/key"),
                fixes=(
                    Fix("Take it over", "manifest", "the manifest", patch),
                    Fix("Or ignore it", "application", "the Application", IGNORE),
                ),
                explains=(Symptom.change(resource.id, "/data/key"),),
            )


def checked(asked: Asked, objects: int) -> AppResult:
    transport = testing.FixtureTransport(drifted(objects))
    fleet, _ = read_fleet(transport)
    rule = Rule(id="asked", family="drift", severity="warning", doc="A rule.", check=asked.check)
    chosen = (ChosenRule(rule, rule.default_options),)
    app, _ = read_application(transport, fleet.apps[0], fleet, Plan(chosen), states=True)
    return inspect(app, fleet, chosen)


def test_proofs_look_at_so_many_objects_whatever_their_number() -> None:
    few, many = Asked(), Asked()
    assert {f.verified for finding in checked(few, 50).findings for f in finding.fixes} == {True}
    assert {f.verified for finding in checked(many, 200).findings for f in finding.fixes} == {True}
    assert many.looked - 200 < 2 * few.looked, "of 200 objects each fix looked at all others"


@pytest.mark.parametrize("objects", [5, 150], ids=["few", "many"])
def test_a_rule_that_speaks_all_the_same_says_so_of_every_finding(objects: int) -> None:
    told = [f.unverified for finding in checked(Asked(speaks_of="c"), objects).findings for f in finding.fixes]
    assert set(told) == {"the rule also looks at what is not replayed here, and would still report it"}
    assert len(told) == 2 * objects


def test_an_edit_of_the_application_is_judged_by_each_finding_that_offers_it() -> None:
    """The fix that all offer ends all of their differences but one: that one has it no more."""
    data = drifted(3)
    for side, value in data["apps"][0]["resources"][1].items():
        value["data"]["other"] = side
    transport = testing.FixtureTransport(data)
    fleet, _ = read_fleet(transport)
    rule = Rule(id="asked", family="drift", severity="warning", doc="A rule.", check=_every)
    chosen = (ChosenRule(rule, rule.default_options),)
    app, _ = read_application(transport, fleet.apps[0], fleet, Plan(chosen), states=True)
    found = inspect(app, fleet, chosen).findings
    assert [(str(f.at.resource), f.at.pointer, [fix.verified for fix in f.fixes]) for f in found] == [
        ("ConfigMap shop/c0", "/data/key", [True]),
        ("ConfigMap shop/c1", "/data/key", [True]),
        ("ConfigMap shop/c1", "/data/other", []),
        ("ConfigMap shop/c2", "/data/key", [True]),
    ]


def _every(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    for resource in app.changed:
        for change in resource.changes:
            yield Finding(
                message="it differs",
                at=Location(app.ref, resource.id, change.pointer),
                fixes=(Fix("Ignore it", "application", "the Application", IGNORE),),
                explains=(Symptom.change(resource.id, change.pointer),),
            )


def test_an_edit_of_an_application_that_was_not_read_is_not_verified() -> None:
    def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
        if not app.spec.get("ignoreDifferences"):
            fix = Fix("Ignore it", "application", "the Application", IGNORE)
            yield Finding("it ignores nothing", Location(app.ref), fixes=(fix,))

    fleet, _ = read_fleet(testing.FixtureTransport(drifted(1)))
    rule = Rule(id="asked", family="drift", severity="warning", doc="A rule.", check=check)
    (found,) = inspect(fleet.apps[0], fleet, (ChosenRule(rule, rule.default_options),)).findings
    assert found.fixes[0].unverified == "the states of the application's objects are not known"


def test_what_one_fix_of_many_objects_leaves_is_not_held_against_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fix of a cause is judged by its own looks, also once the objects are too many to look for every finding."""
    monkeypatch.setattr("argolint.engine.proving._OwnRule._LOOKS", 1)
    transport = testing.FixtureTransport(drifted(2))
    fleet, _ = read_fleet(transport)

    def of_git(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
        """Hears the live value, so an ignore rule helps and a manifest that takes the value over does not."""
        for resource in app.resources:
            if not app.spec.get("ignoreDifferences"):
                patch = Edit("json-patch", [{"op": "replace", "path": "/data/key", "value": "hand"}])
                yield Finding(
                    message="the value is one of hand",
                    at=Location(app.ref, resource.id, "/data/key"),
                    fixes=(
                        Fix("Take it over", "manifest", "the manifest", patch),
                        Fix("Or ignore it", "application", "the Application", IGNORE),
                    ),
                    explains=(Symptom.change(resource.id, "/data/key"),) if resource.changes else (),
                )

    rule = Rule(id="asked", family="drift", severity="warning", doc="A rule.", check=of_git)
    chosen = (ChosenRule(rule, rule.default_options),)
    app, _ = read_application(transport, fleet.apps[0], fleet, Plan(chosen), states=True)
    for finding in inspect(app, fleet, chosen).findings:
        assert [fix.title for fix in finding.fixes if fix.verified] == ["Or ignore it"]
