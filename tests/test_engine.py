"""The engine: what it reads, how rules that crash are told, and that the same input gives the same report."""

from __future__ import annotations

import gc
import random
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from argolint import App, AppRef, Fact, Finding, Fleet, Location, Related, ResourceId, Rule, Symptom, Want
from argolint.cli.demo import RECORDING
from argolint.engine import pipeline as lint
from argolint.engine.join import join
from argolint.engine.load import read_application, read_fleet
from argolint.engine.plan import ChosenRule, Plan
from argolint.engine.run import run
from argolint.engine.settle import settle
from argolint.errors import UsageError
from argolint.model.results import AppResult, Causes, ServerRead
from argolint.model.stats import Stats
from argolint.plugins import load_rules
from argolint.redaction import Redactor
from argolint.server.transport import Answer, Query
from argolint.snapshots.reader import SnapshotTransport
from argolint.suppression import suppress
from argolint.testing import Fixture, FixtureTransport, check
from tests.conftest import recording
from tests.recorded import plainly
from tests.recorded import rules as every_rule

WEB: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"replicas": 1},
}


def fixture(*apps: Mapping[str, Any]) -> Fixture:
    return Fixture(Path("inline"), {"about": "made in a test", "apps": list(apps)})


def rule(id_: str, **functions: Any) -> Rule:
    return Rule(id=id_, family="drift", severity="warning", doc="A test rule", **functions)


def speak(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    yield Finding(f"{app.name} was seen", Location(app.ref))


def crash(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    raise KeyError("spec")


def test_a_crashing_rule_is_a_failure_that_names_it_and_the_other_rules_go_on() -> None:
    report = check(fixture({"name": "a"}, {"name": "b"}), [rule("crashes", check=crash), rule("speaks", check=speak)])
    assert [(f.app.name, f.message) for f in report.findings] == [("a", "a was seen"), ("b", "b was seen")]
    assert [(f.app.name if f.app else "", f.rule, f.stage) for f in report.failures] == [
        ("a", "crashes", "check"),
        ("b", "crashes", "check"),
    ]
    assert report.failures[0].error.startswith("rule crashes failed: KeyError: 'spec'")
    assert not report.complete


def test_memory_that_runs_out_is_no_bug_of_a_rule() -> None:
    def hungry(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
        bytearray(1 << 60)
        yield from ()

    (failure,) = check(fixture({"name": "a"}), [rule("hungry", check=hungry)]).failures
    assert (failure.error, failure.rule) == ("there was not enough memory for rule hungry", "hungry")
    assert failure.hint == "pass fewer --workers, or raise the limit (`ulimit -v`, the container's)"


def test_one_failure_in_many_applications_is_told_once() -> None:
    from argolint.reports.formats import Style, render

    report = check(fixture({"name": "a"}, {"name": "b"}, {"name": "c"}), [rule("crashes", check=crash)])
    told = render(report, "text", Style(width=200))
    assert told.count("rule crashes failed") == 1
    assert "not looked at  rule crashes failed: KeyError: 'spec'" in told
    assert "from check: 3 applications (argocd/a, argocd/b, argocd/c)" in told
    assert "incomplete: 3 checks could not be completed" in told


def test_a_crash_in_wants_or_join_is_a_failure_too() -> None:
    def facts(app: App, fleet: Fleet, options: object) -> Iterator[Fact]:
        yield Fact("all", app.ref)

    def join(key: str, facts: Sequence[Fact], options: object) -> Iterator[Finding]:
        raise ValueError("no")

    def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
        raise TypeError("no")

    report = check(fixture({"name": "a"}), [rule("joins", collect=facts, join=join), rule("wants", wants=wants)])
    assert [(f.rule, f.stage) for f in report.failures] == [("joins", "join"), ("wants", "wants")]


class Counting(FixtureTransport):
    """Remembers what was asked for."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(data)
        self.paths: list[str] = []

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        self.paths.append(path)
        return super().get(path, query, anonymous=anonymous)


def test_in_a_large_fleet_a_healthy_application_without_delicate_kinds_costs_no_request_beyond_the_list() -> None:
    data = fixture(*({"name": f"app-{n}", "resources": [{"desired": WEB, "live": WEB}]} for n in range(201))).data
    t = Counting(data)
    rules = tuple(ChosenRule(r, r.default_options) for r in load_rules().values() if not r.join)
    lint.examine_shard(t, Plan(rules))
    assert [p for p in t.paths if p.startswith("/api/v1/applications/")] == []
    assert t.paths.count("/api/v1/applications") == 1


CONFIG = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "default"},
    "data": {"a": "1"},
}
CHANGED = {"desired": CONFIG, "live": {**CONFIG, "data": {"a": "2"}}}
RENDER_FAILED = {
    "conditions": [{"type": "ComparisonError", "message": "app path does not exist"}],
    "sync": {"status": "Unknown"},
}


@pytest.mark.parametrize(
    ("app", "server", "asked"),
    [
        ({"resources": [CHANGED]}, {}, ["managed-resources"]),
        (
            {"resources": [{"desired": WEB, "live": {**WEB, "spec": {"replicas": 2}}}]},
            {},
            ["managed-resources", "resource-tree"],
        ),
        (
            {"resources": [CHANGED], "status": {"health": {"status": "Progressing"}}},
            {},
            ["managed-resources", "resource-tree"],
        ),
        (
            {"resources": [CHANGED], "status": {"operationState": {"phase": "Failed"}}},
            {},
            ["managed-resources", "resource-tree"],
        ),
        ({"resources": [CHANGED]}, {"orphanedResources": {}}, ["managed-resources", "resource-tree"]),
        ({"status": RENDER_FAILED}, {}, []),
        ({"status": RENDER_FAILED}, {"orphanedResources": {}}, ["managed-resources", "resource-tree"]),
        (
            {"status": {**RENDER_FAILED, "operationState": {"phase": "Error"}}},
            {},
            ["managed-resources", "resource-tree"],
        ),
        ({"status": RENDER_FAILED, "resources": [CHANGED]}, {}, ["managed-resources"]),
    ],
    ids=("alone", "pods", "ill", "failed", "orphans", "empty", "empty-orphans", "empty-failed", "blind"),
)
def test_states_and_tree_are_asked_where_they_may_show_more_than_the_list(
    app: Mapping[str, Any], server: Mapping[str, Any], asked: list[str]
) -> None:
    """Also for `why`, which reads what a snapshot of a check has."""
    project = {"metadata": {"name": "default"}, "spec": server}
    data = {"about": "x", "apps": [{"name": "a", **app}], "server": {"projects": [project]}}
    plan = Plan(tuple(ChosenRule(r, r.default_options) for r in load_rules().values()))

    def checked(t: Counting) -> None:
        lint.examine_shard(t, plan)

    def read(t: Counting) -> None:
        fleet, _ = read_fleet(t)
        read_application(t, fleet.apps[0], fleet, plan, states=True)

    for how in (checked, read):
        t = Counting(data)
        how(t)
        states = [path.rpartition("/")[2] for path in t.paths if path.startswith("/api/v1/applications/a/")]
        assert [stage for stage in states if stage in ("managed-resources", "resource-tree")] == asked


@pytest.mark.parametrize(
    ("kind", "below", "asked"),
    [
        ("Deployment", ("ReplicaSet",), {"ReplicaSet"}),
        ("Deployment", (), {"Deployment"}),
        ("StatefulSet", ("Pod",), {"Pod", "StatefulSet"}),
        ("StatefulSet", ("Pod", "Pod"), {"Pod"}),
        ("DaemonSet", ("Pod", "Pod"), {"Pod", "DaemonSet"}),
    ],
)
def test_events_of_a_workload_are_asked_where_its_pods_do_not_say_more(
    kind: str, below: tuple[str, ...], asked: set[str]
) -> None:
    pods = {"spec": {"containers": [{"name": "web", "image": "web"}]}}
    spec = {"replicas": 2, "template": pods}
    live = {**WEB, "kind": kind, "metadata": {**WEB["metadata"], "uid": "w"}, "spec": spec}
    ill = {"status": "Progressing"}
    parent = {"group": "apps", "kind": kind, "namespace": "default", "name": "web", "uid": "w"}
    nodes = [
        {"kind": one, "namespace": "default", "name": f"web-{n}", "uid": f"p{n}", "parentRefs": [parent], "health": ill}
        for n, one in enumerate(below)
    ]
    app = {"name": "a", "status": {"health": ill}, "nodes": nodes}
    app["resources"] = [{"desired": {**live, "metadata": WEB["metadata"]}, "live": live, "health": ill}]
    t = FixtureTransport(fixture(app).data)
    fleet, _ = read_fleet(t)
    plan = Plan(tuple(ChosenRule(load_rules()[id_], None) for id_ in ("pod-security-refused",)))
    read, _ = read_application(t, fleet.apps[0], fleet, plan, states=True)
    assert {want.resource.kind for want in read.evidence if want.kind == "events" and want.resource} == asked


def test_evidence_is_fetched_once_and_what_cannot_be_had_is_none() -> None:
    want = Want("events", ResourceId("apps", "Deployment", "default", "web", "v1"), "u1")
    seen: list[Any] = []

    def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
        yield want
        yield Want("sync-windows")

    def look(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
        seen.append((app.evidence[want][0].message, app.evidence[Want("sync-windows")]))
        yield from ()

    events = {
        "Deployment/web": [
            {
                "type": "Warning",
                "reason": "Failed",
                "message": "told by an Event",
                "lastTimestamp": "2026-01-01T11:00:00Z",
            }
        ]
    }
    report = check(fixture({"name": "a", "events": events}), [rule("looks", wants=wants, check=look)])
    assert seen == [("told by an Event", None)]
    assert report.complete


def test_renders_are_not_asked_of_a_live_server_unless_allowed() -> None:
    def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
        yield Want("render")
        yield Want("manifests")

    t = Counting(fixture({"name": "a", "manifests": [], "renders": [[], []]}).data)
    t.offline = False
    chosen = (ChosenRule(rule("renders", wants=wants), None),)
    lint.examine_shard(t, Plan(chosen))
    assert [p for p in t.paths if p.endswith("/manifests")] == []
    lint.examine_shard(t, Plan(chosen, renders=True, manifests=True))
    assert len([p for p in t.paths if p.endswith("/manifests")]) == 3


REF = AppRef("argocd", "a")
OTHER = AppRef("argocd", "b")
OBJECT = ResourceId("apps", "Deployment", "default", "web")


def finding(
    rule_id: str, *explains: Symptom, app: AppRef = REF, key: str = "", related: tuple[Related, ...] = ()
) -> Finding:
    return Finding(rule_id, Location(app, OBJECT), explains=explains, rule=rule_id, key=key, related=related)


def told(findings: Sequence[Finding], **ranks: int) -> list[str]:
    return [f.rule for f in settle(findings, ranks)]


def test_the_rule_of_higher_rank_explains_a_change_and_the_other_is_dropped() -> None:
    change = Symptom.change(OBJECT, "/spec/replicas")
    assert told([finding("low", change), finding("high", change)], low=0, high=10) == ["high"]


def test_among_equals_a_change_goes_to_the_more_specific_pointer_then_to_the_first_rule() -> None:
    wide, narrow = Symptom.change(OBJECT, "/spec"), Symptom.change(OBJECT, "/spec/replicas")
    assert told([finding("a", narrow), finding("b", narrow)]) == ["a"]
    assert told([finding("wide", wide), finding("narrow", narrow)]) == ["wide", "narrow"]


def test_a_finding_that_loses_some_claims_keeps_the_others() -> None:
    one, two = Symptom.change(OBJECT, "/spec/a"), Symptom.change(OBJECT, "/spec/b")
    kept = settle([finding("low", one, two), finding("high", one)], {"high": 10})
    assert [(f.rule, f.explains) for f in kept] == [("low", (two,)), ("high", (one,))]


def test_a_comment_without_claims_always_stays_and_health_may_have_two_answers() -> None:
    sick = Symptom.health(OBJECT)
    assert told([finding("comment"), finding("a", sick), finding("b", sick), finding("last", sick)], last=-100) == [
        "comment",
        "a",
        "b",
    ]


def test_a_condition_is_claimed_by_its_type_or_by_its_whole_text() -> None:
    whole, by_type = Symptom.condition("SyncError", "Failed last sync"), Symptom.condition("SyncError")
    assert told([finding("root", by_type), finding("rest", whole)], root=10) == ["root"]
    assert told([finding("root", Symptom.condition("SharedResourceWarning")), finding("rest", whole)], root=10) == [
        "root",
        "rest",
    ]


def test_a_fleet_finding_answers_in_every_application_that_it_names() -> None:
    change = Symptom.change(OBJECT, "/metadata/annotations/x")
    shared = finding("shared", change, key="k", related=(Related(OTHER),))
    assert told([shared, finding("rest", change), finding("rest", change, app=OTHER)], shared=20) == ["shared"]
    assert told([replace(shared, related=()), finding("rest", change, app=OTHER)], shared=20) == ["shared", "rest"]


def _some(app: App, fleet: Fleet) -> bool:
    """One application in three of a recording, and those that share objects of several."""
    return zlib.crc32(app.name.encode()) % 3 == 0 or "airflow" in app.name


def _run(path: Path, workers: int = 8, shards: int = 1) -> bytes:
    chosen = tuple(ChosenRule(r, r.default_options) for r in load_rules().values())
    parts = []
    for index in range(1, shards + 1):
        part = lint.examine_shard(
            SnapshotTransport([path]), Plan(chosen, wanted=_some, workers=workers, shard=(index, shards))
        )
        parts.append((str(index), lint.from_json(lint.to_json(part), "memory") if shards > 1 else part))
    part = lint.merge(parts)
    ids = frozenset(r.rule.id for r in chosen)
    outcome = lint.conclude(part, chosen, suppress.Suppressions(known_rules=ids))
    return msgspec.json.encode(replace(outcome, causes=Causes())) + repr(outcome.causes).encode()


def test_one_thread_or_eight_one_shard_or_three_give_the_same_report() -> None:
    path = recording("harbourline/2-after-mutate")
    plain = _run(path)
    assert plain.count(b'"message"') > 20
    assert _run(path, workers=1) == plain
    assert _run(path, shards=3) == plain


def test_one_application_at_a_time_is_looked_at_while_others_are_read() -> None:
    looking: list[str] = []
    most = 0

    def look(app: App, fleet: Fleet, options: object) -> Iterator[Any]:
        nonlocal most
        looking.append(app.name)
        time.sleep(0.002)  # as long as it takes another thread to come in
        most = max(most, len(looking))
        looking.remove(app.name)
        yield from ()

    names = [f"app-{number}" for number in range(12)]
    t = FixtureTransport({"apps": [{"name": name} for name in names]})
    part = lint.examine_shard(t, Plan((ChosenRule(rule("slow", check=look, wants=look), None),), workers=4))
    assert [(r.ref.name, r.failures) for r in part.results] == [(name, ()) for name in sorted(names)]
    assert most == 1


def test_results_in_any_order_give_the_same_outcome() -> None:
    results = plainly("harbourline/2-after-mutate").results
    shuffled = random.Random(7).sample(results, len(results))
    assert join(shuffled, every_rule()) == join(results, every_rule())


def test_shards_of_different_runs_are_refused() -> None:
    part = lint.Part("2.0", (1, 2), (ServerRead("https://one", ""),), "2026-01-01T00:00:00Z", (), (), ())
    other = msgspec.structs.replace(part, shard=(2, 2), servers=(ServerRead("https://two", ""),))
    with pytest.raises(Exception, match="differ in their server"):
        lint.merge([("a", part), ("b", other)])
    with pytest.raises(Exception, match="shard 2 of 2 is missing"):
        lint.merge([("a", part)])
    with pytest.raises(Exception, match="shard 2 of 2 is missing"):
        lint.merge([("a", part), ("b", part)])
    other = msgspec.structs.replace(part, shard=(2, 2))
    with pytest.raises(Exception, match="a and c are both shard 1 of 2"):
        lint.merge([("a", part), ("b", other), ("c", part)])
    with pytest.raises(Exception, match="shards 2, 3 and 4 of 4 are missing"):
        lint.merge([("a", msgspec.structs.replace(part, shard=(1, 4)))])
    with pytest.raises(Exception, match="shards 2, 3, 4 and 999999999999996 more of 1000000000000000 are missing"):
        lint.merge([("a", msgspec.structs.replace(part, shard=(1, 10**15)))])
    looked = (AppResult(AppRef("argocd", "web")),)
    one, two = (msgspec.structs.replace(p, results=looked) for p in (part, other))
    with pytest.raises(Exception, match="b and a both looked at argocd/web"):
        lint.merge([("a", one), ("b", two)])
    alongside = msgspec.structs.replace(other, results=(replace(looked[0], alongside=True),))
    assert len(lint.merge([("a", one), ("b", alongside)]).results) == 2
    assert lint.merge([("a", part), ("b", other)]).remarks == ()
    later = msgspec.structs.replace(other, started_at="2026-01-01T03:00:00Z")
    assert lint.merge([("a", part), ("b", later)]).remarks == (
        "b was read 3 hours after a: are they shards of one run?",
    )


def test_a_shard_that_nobody_wrote_so_is_refused_where_it_is_read() -> None:
    deep: list[object] = []
    for _ in range(500):
        deep = [deep]
    fact = ("some-rule", Fact("key", AppRef("argocd", "web"), {"value": deep}))
    part = lint.Part("2.0", (1, 1), (), "2026-01-01T00:00:00Z", (), (), ())
    wrong: dict[str, dict[str, Any]] = {
        "calls itself shard 0 of 2": {"shard": (0, 2)},
        "calls itself shard 3 of 2": {"shard": (3, 2)},
        "calls itself shard 1 of -5": {"shard": (1, -5)},
        "requests": {"stats": Stats(requests=10**18)},
        "seconds": {"stats": Stats(seconds=1e300)},
        "resources": {"results": (AppResult(AppRef("argocd", "web"), resources=-1),)},
        "nested more than 128 levels deep": {"results": (AppResult(AppRef("argocd", "web"), facts=(fact,)),)},
    }
    for told, changed in wrong.items():
        text = msgspec.json.encode(msgspec.structs.replace(part, **changed))
        with pytest.raises(UsageError, match=told):
            lint.from_json(text, "shard.json")


def test_a_server_that_shows_no_application_is_not_called_clean() -> None:
    report = check(Fixture(Path("inline"), {"about": "an account without rights", "apps": []}), [])
    assert [(f.stage, f.error) for f in report.failures] == [
        ("applications", "the server shows this account no application at all")
    ]
    assert not report.complete


def test_an_application_that_was_looked_at_is_freed_at_once() -> None:
    """Garbage is collected rarely, so what holds an application in a circle holds its states for minutes."""
    transport = SnapshotTransport([RECORDING])
    fleet, _ = read_fleet(transport)
    plan = Plan(every_rule(), workers=1)
    gc.collect()
    gc.disable()
    try:
        before = sum(isinstance(known, App | Redactor) for known in gc.get_objects())
        results = list(run(transport, fleet, plan))
        left = sum(isinstance(known, App | Redactor) for known in gc.get_objects()) - before
    finally:
        gc.enable()
    assert len(results) > 50
    assert left == 0
