"""When the result of an earlier check still stands: its own entry, the answers of the fleet, its age."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from argolint import App, Finding, Fleet, Location
from argolint.application.rule import Check, Rule
from argolint.engine.plan import ChosenRule, Plan
from argolint.engine.questions import entry_mark
from argolint.engine.result_cache import ResultCache
from argolint.model import ResourceKey
from argolint.testing import FixtureTransport
from tests.test_fleet_join import HOME, app, fleet, role

KEY = ResourceKey(HOME, "rbac.authorization.k8s.io", "ClusterRole", "", "x")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Looks:
    """One rule looks at one application, `a`, again and again; `times` counts how often it really did."""

    def __init__(self, asks: Callable[[App, Fleet], object]) -> None:
        def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
            self.times += app.ref.name == "a"
            yield Finding(message=f"{asks(app, fleet)!r}", at=Location(app.ref))

        self.times = 0
        self.clock = Clock()
        self._kept = ResultCache(max_age_s=900, least_age_s=60, clock=self.clock)
        self._plan = Plan((ChosenRule(_rule(check), None),))
        self._t = FixtureTransport({"about": "x", "apps": [{"name": "a"}]})

    def at(self, found: Fleet, ahead_s: float = 0.0) -> int:
        """How often the rule has looked once this fleet was looked at."""
        self._kept.begin(found, ahead_s)
        a = next(each for each in found.apps if each.ref.name == "a")
        told = self._kept.look(self._t, a, found, self._plan)
        assert told.findings[0].message == _plain(self, a, found), "what stands is what a look would tell"
        return self.times


def _rule(check: Check) -> Rule:
    return Rule("probe", "drift", "info", "Probe.", check=check)


def _plain(looks: Looks, a: App, found: Fleet) -> str:
    before = looks.times
    check: Any = looks._plan.rules[0].rule.check
    (finding,) = check(a, found, None)
    looks.times = before
    return str(finding.message)


def _seen(found: Fleet) -> tuple[str, ...]:
    return tuple(each.ref.name for each in found.apps if each.deleting)


DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
QUESTIONS: dict[str, Callable[[App, Fleet], object]] = {
    "owners": lambda app, fleet: [ref.name for ref in fleet.owners(KEY)],
    "contested": lambda app, fleet: [ref.name for ref in fleet.claimants(KEY)],
    "another": lambda app, fleet: (b := fleet.app("b", "argocd")) is not None and b.deleting,
    "by ref": lambda app, fleet: [r.name for r in fleet.by_ref if r.name == "b" and fleet.by_ref[r].deleting],
    "peers": lambda app, fleet: sorted(p.ref.name for p in fleet.peers(app) if p.deleting),
    "all": lambda app, fleet: [a.ref.name for a in fleet.apps if a.deleting],
    "derived": lambda app, fleet: fleet.derive(_seen),
    "settings": lambda app, fleet: fleet.tracking_method,
    "a new CRD": lambda app, fleet: fleet.served_versions(app.cluster, "keda.sh", "ScaledObject"),
    "cluster": lambda app, fleet: (fleet.clusters.get(app.cluster) or {}).get("name"),
}


@pytest.mark.parametrize("asked", QUESTIONS)
def test_a_result_stands_until_an_answer_of_the_fleet_is_another(asked: str) -> None:
    looks = Looks(QUESTIONS[asked])
    quiet = fleet(app("a", role("x")), app("b", role("y")))
    assert [looks.at(quiet), looks.at(replace(quiet))] == [1, 1]
    noisy = fleet(app("a", role("x")), app("b", role("y"), resourceVersion="7", generation=3))
    assert looks.at(noisy) == 1, "what every write changes is no change"
    other = replace(
        fleet(app("a", role("x")), app("b", role("y"), role("x"), **DELETED)),
        settings={"trackingMethod": "label"},
        clusters={HOME: {"name": "home", "info": {"apiVersions": ["keda.sh/v1alpha1/ScaledObject"]}}},
    )
    looks.at(other)
    if asked == "contested":  # an application that is being deleted contests nothing
        looks.at(fleet(app("a", role("x")), app("b", role("y"), role("x"))))
    assert looks.times == 2
    assert looks.at(quiet) == 3


def test_a_change_of_what_was_not_asked_for_is_none() -> None:
    looks = Looks(QUESTIONS["owners"])
    looks.at(fleet(app("a", role("x")), app("b", role("y"))))
    assert looks.at(fleet(app("a", role("x")), app("b", role("z"), **DELETED), app("c"))) == 1


def test_states_grow_old_and_who_waits_is_looked_at_again_soon() -> None:
    looks = Looks(lambda app, fleet: 0)
    quiet, waiting = fleet(app("a", role("x"))), fleet(app("a", role("x"), **DELETED))
    looks.at(quiet)
    looks.clock.now = 899
    assert looks.at(quiet) == 1
    looks.clock.now = 900
    assert looks.at(quiet) == 2
    assert looks.at(waiting) == 3
    looks.clock.now = 959
    assert looks.at(waiting) == 3
    looks.clock.now = 960
    assert looks.at(waiting) == 4


def test_nothing_grows_too_old_before_the_next_list() -> None:
    looks, quiet = Looks(lambda app, fleet: 0), fleet(app("a", role("x")))
    looks.at(quiet)
    looks.clock.now = 299
    assert looks.at(quiet, ahead_s=600) == 1
    looks.clock.now = 300
    assert looks.at(quiet) == 1
    assert looks.at(quiet, ahead_s=600) == 2


def test_a_failure_never_stands() -> None:
    looks = Looks(lambda app, fleet: 0)
    looks._plan = Plan((ChosenRule(_rule(_crashes), None),))
    for _ in range(2):
        looks._kept.begin(found := fleet(app("a", role("x"))))
        result = looks._kept.look(looks._t, found.apps[0], found, looks._plan)
        assert "rule probe failed: ValueError: broken" in result.failures[0].error
    assert looks._kept.reused == 0


def _crashes(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    raise ValueError("broken")


def test_an_entry_is_the_same_but_for_what_each_reconcile_writes() -> None:
    base = app("a", role("x"), annotations={"note": "1"})
    refreshed = {"note": "1", "argocd.argoproj.io/refresh": "hard"}
    same = app("a", role("x"), annotations=refreshed, managedFields=[{"manager": "m"}], status={"reconciledAt": "now"})
    assert entry_mark(base) == entry_mark(same)
    for other in (
        app("a", role("x"), annotations={"note": "2"}),
        app("a", role("x", status="OutOfSync"), annotations={"note": "1"}),
        app("a", role("x"), annotations={"note": "1"}, status={"health": {"status": "Degraded"}}),
        app("a", role("x"), annotations={"note": "1"}, cluster="https://other"),
    ):
        assert entry_mark(base) != entry_mark(other)
