"""Results of applications brought together: who signs a finding, in what order a report has it, and what facts may not give away."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from argolint import App, AppRef, Fact, Finding, Fix, Location, ResourceId, Rule
from argolint.application.app import app_from_list
from argolint.engine.join import join
from argolint.engine.plan import ChosenRule
from argolint.engine.stamp import source_of, stamp
from argolint.model import Edit, Failure, Note, Severity, Source
from argolint.model.results import AppResult, Looked, finding_order

CLUSTER = "https://kubernetes.default.svc"
WEB, API = AppRef("argocd", "web", "shop"), AppRef("argocd", "api", "shop")
REPO = "https://git.example.com/shop.git"


def app(*sources: dict[str, Any], **status: Any) -> App:
    spec = {"destination": {"server": CLUSTER}, "sources": list(sources)}
    raw = {"metadata": {"name": "web", "namespace": "argocd"}, "spec": spec, "status": status}
    now = datetime(2026, 3, 1, tzinfo=UTC)
    return app_from_list(raw, server="", cluster=CLUSTER, control_plane="argocd", observed_at=now)


def rule(**functions: Any) -> Rule:
    return Rule(id="twins", family="ownership", severity="warning", doc="A test rule", **functions)


def object_(kind: str, name: str) -> ResourceId:
    return ResourceId("", kind, "shop", name, "v1", CLUSTER)


@pytest.mark.parametrize(
    ("sources", "synced", "expected"),
    [
        ([{"repoURL": REPO, "path": "web", "targetRevision": "main"}], ["c0ffee"], Source(REPO, "c0ffee", "web")),
        ([{"repoURL": REPO, "path": "web", "targetRevision": "main"}], [], Source(REPO, "main", "web")),
        ([{"repoURL": REPO, "path": "web"}], [], Source(REPO, "", "web")),
        (
            [{"repoURL": REPO, "ref": "values"}, {"repoURL": "https://charts.example.com", "chart": "db"}],
            ["c0ffee", "1.2.3"],
            Source("https://charts.example.com", "1.2.3", chart="db"),
        ),
        ([{"repoURL": REPO, "ref": "values", "path": "web"}], ["c0ffee"], Source(REPO, "c0ffee", "web")),
        ([{"repoURL": REPO, "ref": "values", "chart": "db"}], ["1.2.3"], Source(REPO, "1.2.3", chart="db")),
        ([{"repoURL": REPO, "ref": "values"}], ["c0ffee"], None),
        ([], [], None),
    ],
)
def test_the_source_is_the_first_one_that_renders_something(
    sources: list[dict[str, Any]], synced: list[str], expected: Source | None
) -> None:
    assert source_of(app(*sources, sync={"revisions": synced})) == expected


@pytest.mark.parametrize(
    ("wanted", "stated", "expected"),
    [("info", "error", "info"), (None, "error", "error"), (None, None, "warning")],
)
def test_the_users_severity_wins_then_the_findings_own_then_the_rules(
    wanted: Severity | None, stated: Severity | None, expected: str
) -> None:
    signed = stamp(Finding("seen", Location(WEB), severity=stated), ChosenRule(rule(), None, wanted), None, "k")
    assert (signed.rule, signed.family, signed.severity, signed.key) == ("twins", "ownership", expected, "k")


def test_a_finding_stands_at_its_own_source_and_else_at_the_applications() -> None:
    web = app({"repoURL": REPO, "path": "web"})
    own = Source("https://git.example.com/other.git", "main", "x")
    chosen = ChosenRule(rule(), None)
    assert stamp(Finding("seen", Location(web.ref), source=own), chosen, web).source == own
    assert stamp(Finding("seen", Location(web.ref)), chosen, web).source == Source(REPO, "", "web")
    assert stamp(Finding("seen", Location(API)), chosen, web).source is None, "another application's"
    assert stamp(Finding("seen", Location(WEB)), chosen, None).source is None


def test_findings_go_by_application_then_object_then_pointer_then_rule_and_cause() -> None:
    ordered = [
        Finding("", Location(API, object_("Secret", "z"), "/data"), rule="z"),
        Finding("", Location(WEB), rule="z"),
        Finding("", Location(WEB, object_("ConfigMap", "b"), "/data"), rule="z"),
        Finding("", Location(WEB, object_("Secret", "a"), "/data"), rule="z"),
        Finding("", Location(WEB, object_("Secret", "a"), "/type"), rule="a"),
        Finding("", Location(WEB, object_("Secret", "a"), "/type"), rule="b"),
        Finding("", Location(WEB, object_("Secret", "a"), "/type"), rule="b", cause="x"),
        Finding("", Location(WEB, object_("Secret", "a"), "/type"), rule="b", cause="y"),
        Finding("", Location(WEB, object_("Secret", "a"), "/type"), rule="b", cause="y", key="k"),
        Finding("m", Location(WEB, object_("Secret", "a"), "/type"), rule="b", cause="y", key="k"),
    ]
    shuffled = random.Random(7).sample(ordered, len(ordered))
    assert sorted(shuffled, key=finding_order) == ordered


def result(ref: AppRef, *facts: Fact, **other: Any) -> AppResult:
    return AppResult(ref, facts=tuple(("twins", fact) for fact in facts), **other)


def test_the_outcome_is_in_one_order_whatever_the_order_of_the_results() -> None:
    of_run, early, late = Failure("list", "x"), Failure("states", "x", app=API), Failure("states", "x", app=WEB)
    by_rule, plain = Failure("check", "b", app=API, rule="a"), Failure("check", "c", app=API)
    notes = [Note(API, None, "b", ""), Note(API, object_("Secret", "a"), "a", ""), Note(WEB, None, "a", "")]
    web = result(WEB, resources=3, sync="OutOfSync", health="Healthy", failures=(late, of_run), notes=(notes[2],))
    api = result(API, resources=2, failures=(early, by_rule, plain), notes=(notes[1], notes[0]))
    alongside = result(AppRef("argocd", "zoo"), resources=9, alongside=True)
    for results in ([web, api, alongside], [alongside, api, web]):
        outcome = join(results, ())
        assert outcome.failures == (of_run, plain, by_rule, early, late)
        assert outcome.notes == tuple(sorted(notes, key=lambda n: (n.app, str(n.resource))))
        assert outcome.looked == (Looked(API, 2), Looked(WEB, 3, "OutOfSync", "Healthy"))
        assert (outcome.apps, outcome.resources) == ((API, WEB), 5)


SECRET = "correct-horse-4417"  # made up


def test_a_fleet_wide_rule_gets_its_key_facts_and_options_and_gives_no_secret_of_theirs_away() -> None:
    def say(key: str, facts: Sequence[Fact], options: Any) -> Iterator[Finding]:
        yield Finding(f"{key} of {len(facts)}, {options}: {SECRET}", Location(facts[0].app), fixes=(fix,))

    fix = Fix("Set it", "manifest", "", Edit("text", f"the password is {SECRET}"))
    manifest = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "db"}, "stringData": {"password": SECRET}}
    facts = [Fact("db", ref, {"manifest": manifest}) for ref in (WEB, API)]
    chosen = ChosenRule(rule(collect=lambda *_: (), join=say), "options")
    outcome = join([result(WEB, facts[0]), result(API, facts[1])], [chosen])
    (found,) = outcome.findings
    assert (found.at.app, found.rule, found.key) == (API, "twins", "db")
    assert found.message.startswith("db of 2, options: ")
    assert SECRET not in repr(outcome)
    nobody = [replace(result(fact.app, fact), alongside=True) for fact in facts]
    assert join(nobody, [chosen]).findings == (), "of applications that were not asked for"


def test_a_fleet_wide_rule_that_crashes_is_a_failure_without_their_secrets() -> None:
    def crash(key: str, facts: Sequence[Fact], options: Any) -> Iterator[Finding]:
        raise ValueError(SECRET)

    manifest = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "db"}, "stringData": {"password": SECRET}}
    chosen = ChosenRule(rule(collect=lambda *_: (), join=crash), None)
    (failure,) = join([result(WEB, Fact("db", WEB, {"manifest": manifest}))], [chosen]).failures
    assert (failure.stage, failure.rule, failure.app) == ("join", "twins", None)
    assert "ValueError" in failure.error
    assert SECRET not in failure.error
