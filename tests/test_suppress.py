"""Suppression in three places, with reasons; what is left behind is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from argolint.engine import config
from argolint.errors import UsageError
from argolint.model import AppRef, Failure, Finding, Location, Note, Related, ResourceId
from argolint.model.fingerprint import fingerprint
from argolint.model.results import Outcome
from argolint.reports import document as report
from argolint.suppression import suppress
from argolint.suppression.baseline import Accepted, Baseline, read_baseline, require_servers
from argolint.suppression.entries import Entry, Ignore
from tests.conftest import recording, run_argolint, shard_of

WEB = ResourceId("apps", "Deployment", "shop", "web", "v1", "c")
APP = AppRef("argocd", "shop", "default", "https://s")
OTHER = AppRef("argocd", "other", "default", "https://s")
DRIFT = Finding(
    "drifted",
    Location(APP, WEB, "/spec/replicas"),
    cause="a",
    severity="warning",
    rule="unexplained-drift",
    family="drift",
)
KNOWN = frozenset({"unexplained-drift", "shared-resource", suppress.UNUSED.id, suppress.INVALID.id})


def outcome(*notes: Note, findings: tuple[Finding, ...] = (DRIFT,)) -> Outcome:
    return Outcome(findings, (), (APP, OTHER), 1, notes)


def suppressions(*ignore: Ignore, whole: bool = True, baseline: Baseline | None = None) -> suppress.Suppressions:
    entries = tuple(Entry(entry, "x.yaml", line) for line, entry in enumerate(ignore, 10))
    return suppress.Suppressions(entries, baseline, KNOWN, datetime(2026, 6, 1, tzinfo=UTC), whole)


def result(found: Outcome, wanted: suppress.Suppressions) -> list[tuple[str, str | None, Mapping[str, str] | None]]:
    return [(f.rule, f.cause, f.suppressed) for f in suppress.apply(found, wanted).findings]


def test_an_annotation_on_the_object_or_on_the_application_suppresses_with_its_reason() -> None:
    for note, where in (
        (Note(APP, WEB, "unexplained-drift", "known"), "Deployment/web"),
        (Note(APP, None, "unexplained-drift", "known"), "Application/shop"),
    ):
        by = {"by": "annotation", "where": where, "reason": "known"}
        assert result(outcome(note), suppressions()) == [("unexplained-drift", "a", by)]


def test_an_annotation_of_another_application_or_rule_does_not_count() -> None:
    for note in (Note(OTHER, WEB, "unexplained-drift", "known"), Note(APP, WEB, "shared-resource", "known")):
        assert (DRIFT.rule, "a", None) in result(outcome(note), suppressions())
    about = replace(DRIFT, related=(Related(OTHER, WEB, role="cause"),))
    note = Note(OTHER, WEB, "unexplained-drift", "known")
    assert (DRIFT.rule, "a", None) in result(outcome(note, findings=(about,)), suppressions())


def test_an_annotation_on_any_owner_suppresses_a_fleet_finding() -> None:
    shared = Finding(
        "shared", Location(APP, WEB), rule="shared-resource", key="k", related=(Related(OTHER, WEB, role="claimant"),)
    )
    found = result(outcome(Note(OTHER, WEB, "shared-resource", "meant"), findings=(shared,)), suppressions())
    assert found == [("shared-resource", None, {"by": "annotation", "where": "Deployment/web", "reason": "meant"})]


def test_control_characters_of_an_annotation_do_not_reach_the_report() -> None:
    found = result(outcome(Note(APP, WEB, "unexplained-drift", "a\x1b[31mb\nc")), suppressions())
    assert found[0][2] == {"by": "annotation", "where": "Deployment/web", "reason": "a\\x1b[31mb c"}


@pytest.mark.parametrize(
    ("note", "cause"),
    [
        (Note(APP, WEB, "unexplained-drift", "  "), "no-reason"),
        (Note(APP, WEB, "unexplaned-drift", "typo"), "unknown-rule"),
    ],
)
def test_an_annotation_that_cannot_count_is_an_error_of_its_own_and_hides_nothing(note: Note, cause: str) -> None:
    found = suppress.apply(outcome(note), suppressions()).findings
    assert [(f.rule, f.cause, f.severity) for f in found] == [
        ("suppression-invalid", cause, "error"),
        ("unexplained-drift", "a", "warning"),
    ]
    assert all(f.suppressed is None for f in found)


def test_an_annotation_that_matches_nothing_is_told() -> None:
    assert result(outcome(Note(APP, WEB, "shared-resource", "old"), findings=()), suppressions()) == [
        ("suppression-unused", "annotation", None)
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"rule": "unexplained-*"},
        {"app": "shop"},
        {"app": "argocd/sh*"},
        {"resource": "Deployment/web"},
        {"resource": "Deployment/shop/*"},
        {"pointer": "/spec"},
        {"cause": "a"},
        {"expires": date(2026, 6, 2)},
    ],
)
def test_an_entry_of_the_configuration_suppresses_what_all_its_fields_match(fields: dict[str, Any]) -> None:
    entry = Ignore(**{"rule": "unexplained-drift", "reason": "agreed", **fields})
    by = {"by": "configuration", "where": "x.yaml:10", "reason": "agreed"}
    assert result(outcome(), suppressions(entry)) == [("unexplained-drift", "a", by)]


@pytest.mark.parametrize(
    "fields",
    [
        {"app": "sho"},
        {"resource": "Deployment/db"},
        {"pointer": "/spec/rep"},
        {"cause": "b"},
        {"rule": "shared-resource"},
    ],
)
def test_an_entry_that_matches_nothing_hides_nothing_and_is_told_when_everything_was_looked_at(
    fields: dict[str, Any],
) -> None:
    entry = Ignore(**{"rule": "unexplained-drift", "reason": "agreed", **fields})
    assert sorted(result(outcome(), suppressions(entry))) == [
        ("suppression-unused", "configuration", None),
        ("unexplained-drift", "a", None),
    ]
    assert result(outcome(), suppressions(entry, whole=False)) == [("unexplained-drift", "a", None)]


def test_an_expired_entry_no_longer_counts_and_says_so() -> None:
    entry = Ignore(rule="unexplained-drift", reason="agreed", expires=date(2026, 6, 1))
    found = suppress.apply(outcome(), suppressions(entry)).findings
    assert [(f.rule, f.cause) for f in found] == [("unexplained-drift", "a"), ("suppression-unused", "expired")]
    assert (
        found[1].message
        == "ignore entry for unexplained-drift in x.yaml:10 expired on 2026-06-01, so its findings are reported again"
    )


def test_nothing_is_called_unused_where_something_was_not_looked_at() -> None:
    missed = replace(outcome(), failures=(Failure("managed-resources", "500 it broke", "", OTHER),))
    entry = Ignore(rule="shared-resource", reason="agreed")
    gone = Accepted("f" * 32, "shared-resource", "argocd/gone")
    base = Baseline("1.0", "https://s", "2026-05-01T00:00:00Z", (gone,), "b.json")
    wanted = suppressions(entry, baseline=base)
    assert [cause for _, cause, _ in result(missed, wanted)] == ["a"]
    assert {cause for _, cause, _ in result(outcome(), wanted)} == {"a", "configuration", "baseline"}


def test_a_baseline_hides_what_it_holds_and_tells_what_is_gone() -> None:
    rows = (
        Accepted(fingerprint(DRIFT), "unexplained-drift", "argocd/shop"),
        Accepted("e" * 32, "live-edit", "argocd/shop", "Deployment/shop/web", "/spec/paused"),
        Accepted("f" * 32, "shared-resource", "argocd/gone", "ClusterRole//x"),
    )
    base = Baseline("1.0", "https://s", "2026-05-01T00:00:00Z", rows, "b.json")
    found = suppress.apply(outcome(), suppressions(baseline=base)).findings
    assert found[0].suppressed == {"by": "baseline", "where": "b.json", "reason": "accepted on 2026-05-01"}
    assert (found[1].cause, found[1].message) == ("baseline", "2 of 3 entries of b.json match no finding")
    assert found[1].evidence == (
        "live-edit argocd/shop Deployment/shop/web /spec/paused",
        "shared-resource argocd/gone ClusterRole//x",
    )


@pytest.mark.parametrize(
    ("text", "error", "hint"),
    [
        ("[1]", "is no argolint baseline: it has no baseline_version", "write one with `argolint baseline -o FILE`"),
        ("{", "b.json:1: Expecting property name", "write it again with `argolint baseline -o FILE`"),
        (
            '{"baseline_version": "2.0"}',
            "has baseline_version 2.0, this argolint reads 1.x",
            "upgrade argolint, or write it again",
        ),
        (
            '{"baseline_version": "1.0"}',
            "is a damaged baseline: Object missing required field `server`",
            "write it again with `argolint baseline -o FILE`",
        ),
    ],
)
def test_a_baseline_that_does_not_fit_is_refused(tmp_path: Path, text: str, error: str, hint: str) -> None:
    file = tmp_path / "b.json"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_baseline(file)
    assert error in caught.value.message
    assert caught.value.hint == hint


def test_a_baseline_serves_any_server_where_none_is_named(tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    file.write_text('{"baseline_version": "1.3", "server": "https://t", "written_at": "", "findings": [], "more": 1}')
    found = read_baseline(file)
    assert (found.server, found.file) == ("https://t", str(file))
    with pytest.raises(UsageError, match=r"is a baseline of https://t, and this is https://s"):
        require_servers(found, ["https://s"])


FIRST, SECOND = "harbourline/2-after-mutate", "harbourline/3-after-commits"


def test_a_baseline_of_the_first_phase_leaves_exactly_the_new_findings_of_the_second(
    tmp_path: Path, report_of: Callable[[str], Path]
) -> None:
    assert run_argolint("baseline", "--report", report_of(FIRST), "-o", tmp_path / "b.json").code == 0
    run_argolint("merge", shard_of(SECOND), "--baseline", tmp_path / "b.json", "-o", f"json={tmp_path / 'left'}")
    marks = {
        name: {
            f.fingerprint
            for f in report.from_json(file.read_bytes(), name).findings
            if f.suppressed is None and f.family != "suppression"
        }
        for name, file in (("one", report_of(FIRST)), ("two", report_of(SECOND)), ("left", tmp_path / "left"))
    }
    assert marks["left"] == marks["two"] - marks["one"]
    assert marks["left"]
    assert marks["two"] & marks["one"]


def test_prune_drops_what_is_gone_and_accepts_nothing_new(tmp_path: Path, report_of: Callable[[str], Path]) -> None:
    two, file = report_of(SECOND), tmp_path / "b.json"
    run_argolint("baseline", "--report", report_of(FIRST), "-o", file)
    before = {a.fingerprint for a in read_baseline(file).findings}
    present = {f["fingerprint"] for f in json.loads(two.read_text())["findings"]}
    for some in (("-p", "nobody"), ("--select", "ownership")):  # what they leave out is not gone
        refused = run_argolint("baseline", "--snapshot", recording(SECOND), "-o", file, "--prune", *some)
        assert (refused.code, "it takes a check of everything" in refused.err) == (2, True)
    assert run_argolint("baseline", "--report", two, "-o", file, "--prune").code == 0
    assert {a.fingerprint for a in read_baseline(file).findings} == before & present


def test_a_baseline_is_not_written_over_by_an_incomplete_run(tmp_path: Path) -> None:
    made = {
        "schema_version": "1.0",
        "tool": {"name": "argolint", "version": "0"},
        "started_at": "",
        "complete": False,
        "servers": [],
        "findings": [],
        "summary": {"apps": 0, "resources": 0, "findings": {}, "suppressed": 0, "failures": 1},
        "failures": [{"stage": "x", "error": "cannot read app team/web"}],
    }
    (tmp_path / "r.json").write_text(json.dumps(made))
    (tmp_path / "b.json").write_text("mine")
    ran = run_argolint("baseline", "--report", tmp_path / "r.json", "-o", tmp_path / "b.json")
    assert ran.code == 2
    assert "cannot read app team/web" in ran.err
    assert (tmp_path / "b.json").read_text() == "mine"


def test_compare_says_what_is_new_and_what_is_gone(report_of: Callable[[str], Path]) -> None:
    files = [report_of(FIRST), report_of(SECOND)]
    data = json.loads(run_argolint("compare", *files, "-o", "json").out)
    one, two = ({f["fingerprint"] for f in json.loads(file.read_text())["findings"]} for file in files)
    assert {f["fingerprint"] for f in data["new"]} == two - one
    assert {f["fingerprint"] for f in data["gone"]} == one - two
    assert data["unchanged"] == len(one & two)
    text = run_argolint("compare", *files)
    assert text.code == 1
    assert text.out.splitlines()[-1] == f"{len(two - one)} new, {len(one - two)} gone, {len(one & two)} unchanged"
    same = run_argolint("compare", files[0], files[0], "-o", "markdown")
    assert (same.code, same.out) == (0, f"**argolint**: 0 new, 0 gone, {len(one)} unchanged\n")


def test_the_configuration_can_name_the_baseline(tmp_path: Path) -> None:
    assert config.parse("baseline: b.json", tmp_path).config.baseline == "b.json"
