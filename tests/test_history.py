"""The state file: ages over any sequence of checks, and every way in which the file itself can fail."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from argolint.cli.demo import RECORDING
from argolint.reports import document as r
from argolint.reports import history
from tests.here import run_here
from tests.test_prometheus import _finding, _report


def _at(day: int, hour: int = 0) -> str:
    return f"2026-01-{day:02}T{hour:02}:00:00Z"


def _remember(file: Path, report: r.Report, apps: set[r.ReportedApp] | None = None) -> r.Report:
    with history.opened(file) as known:
        return known.remember(report, apps)


def _ages(report: r.Report) -> dict[str, tuple[str | None, int]]:
    return {f.app.name: (f.since, f.flaps) for f in report.findings}


def test_ages_are_those_of_any_sequence_of_checks(tmp_path: Path) -> None:
    """Against a plain account of the same days: what failed or was not asked for is neither gone nor new."""
    draw = random.Random(7)
    names = ["a", "b", "c", "d"]
    there: dict[str, tuple[str, int]] = {}
    away: dict[str, int] = {}
    for day in range(1, 29):
        present = {name for name in names if draw.random() < 0.6}
        failed = {name for name in names if draw.random() < 0.15}
        asked = None if draw.random() < 0.7 else {name for name in names if draw.random() < 0.6}
        visible = {n for n in present if n not in failed and (asked is None or n in asked)}
        failures = tuple(r.ReportedFailure("x", "no", app=_finding(name).app) for name in sorted(failed))
        report = _report(*(_finding(name) for name in sorted(visible)), started_at=_at(day))
        report = msgspec.structs.replace(report, failures=failures, complete=not failures)
        for name in names:
            if name in visible and name not in there:
                there[name] = (_at(day), away.pop(name, -1) + 1)
            elif name not in visible and name in there and name not in failed and (asked is None or name in asked):
                away[name] = there.pop(name)[1]
        apps = None if asked is None else {_finding(name).app for name in asked}
        assert _ages(_remember(tmp_path / "state", report, apps)) == {n: there[n] for n in visible}, day


def test_a_trend_has_the_last_check_of_each_day_and_all_that_came_and_went(tmp_path: Path) -> None:
    file = tmp_path / "state"
    _remember(file, _report(_finding("a"), started_at=_at(1)))
    _remember(file, _report(_finding("b"), started_at=_at(2, 1)))
    made = _remember(file, _report(_finding("b"), _finding("c"), started_at=_at(2, 2)))
    assert [(p.at, p.findings.error, p.new, p.gone) for p in made.trend] == [(_at(1), 1, 1, 0), (_at(2, 2), 2, 2, 1)]


def test_a_look_at_a_few_applications_counts_with_the_run_before_it(tmp_path: Path) -> None:
    """A service that follows changes may take one every ten seconds."""
    with history.opened(tmp_path / "state") as known:
        known.remember(_report(_finding("a"), started_at=_at(1)))
        for hour in range(1, 20):
            made = known.remember(_report(_finding(f"b{hour}"), started_at=_at(1, hour)), whole=False)
    assert [(p.at, p.findings.error, p.new, p.gone) for p in made.trend] == [(_at(1), 1, 20, 19)]
    assert _ages(made) == {"b19": (_at(1, 19), 0)}


def test_a_server_whose_settings_were_not_read_makes_nothing_look_new(tmp_path: Path) -> None:
    """Its own URL is one of them: the report names it by the address that was asked."""
    file = tmp_path / "state"
    _remember(file, _report(_finding("a"), started_at=_at(1)))
    unnamed = _report(_finding("a"), started_at=_at(2))
    server = msgspec.structs.replace(unnamed.servers[0], url="http://argocd-server.argocd.svc")
    failures = (r.ReportedFailure("settings", "context deadline exceeded"),)
    unnamed = msgspec.structs.replace(unnamed, servers=(server,), failures=failures, complete=False)
    assert _remember(file, unnamed).trend == ()
    made = _remember(file, _report(_finding("a"), started_at=_at(3)))
    assert [(p.new, p.gone) for p in made.trend] == [(1, 0), (0, 0)]


def test_the_same_and_an_older_report_change_nothing(tmp_path: Path) -> None:
    file = tmp_path / "state"
    _remember(file, _report(_finding("a"), started_at=_at(3)))
    again = _remember(file, _report(_finding("a"), started_at=_at(3)))
    older = _remember(file, _report(_finding("b"), started_at=_at(2)))
    later = _remember(file, _report(_finding("a"), started_at=_at(4)))
    assert [_ages(again), _ages(older), _ages(later)] == [{"a": (_at(3), 0)}, {"b": (None, 0)}, {"a": (_at(3), 0)}]


def test_a_rule_that_did_not_run_keeps_its_findings(tmp_path: Path) -> None:
    file = tmp_path / "state"
    _remember(file, _report(_finding("a"), started_at=_at(1)))
    others = (r.RanRule("self-heal-loop", "sync", "error"),)
    _remember(file, msgspec.structs.replace(_report(started_at=_at(2)), rules=others))
    assert _ages(_remember(file, _report(_finding("a"), started_at=_at(3)))) == {"a": (_at(1), 0)}


def test_what_is_long_over_is_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "state"
    _remember(file, _report(_finding("a"), started_at=_at(1)))
    _remember(file, _report(started_at=_at(2)))
    _remember(file, _report(started_at="2026-06-01T00:00:00Z"))
    with sqlite3.connect(file) as db:
        assert db.execute("SELECT count(*) FROM findings").fetchone() == (0,)
        assert db.execute("SELECT at FROM runs").fetchall() == [("2026-06-01T00:00:00Z",)]


@pytest.mark.parametrize("damage", ["garbage", "pages"])
def test_a_damaged_file_is_put_aside_and_told(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "state"
    _remember(file, _report(*(_finding(f"a{n}") for n in range(400)), started_at=_at(1)))
    content = b"no database" * 900 if damage == "garbage" else file.read_bytes()[:4096] + b"\xab" * 40_000
    file.write_bytes(content)
    (tmp_path / "state-journal").write_bytes(b"")
    made = _remember(file, _report(_finding("a"), started_at=_at(2)))
    assert _ages(made) == {"a": (_at(2), 0)}
    (remark,) = made.remarks
    assert f"the state file {file} was damaged" in remark
    assert "it is kept as state.damaged-1, and history begins again" in remark
    assert (tmp_path / "state.damaged-1").read_bytes() == content
    assert _ages(_remember(file, _report(_finding("a"), started_at=_at(3)))) == {"a": (_at(2), 0)}


def test_what_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    foreign, newer = tmp_path / "foreign", tmp_path / "newer"
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE mine (a)")
    _remember(newer, _report())
    with sqlite3.connect(newer) as db:
        db.execute("PRAGMA user_version = 9")
    (tmp_path / "folder").mkdir()
    for name, said in (
        ("foreign", "foreign is a database of another program"),
        ("newer", "newer comes from a newer argolint"),
        ("folder", "the state file folder cannot be used"),
        ("no/such/state", "the state file no/such/state cannot be used"),
    ):
        before = foreign.read_bytes(), newer.read_bytes()
        ran = run_here("check", "--snapshot", RECORDING, "--state", name, cwd=tmp_path)
        assert (ran.code, ran.out, said in ran.err) == (2, "", True), ran.err
        assert (foreign.read_bytes(), newer.read_bytes()) == before


def test_a_check_tells_ages_and_metrics_name_the_oldest(tmp_path: Path, pair: Path) -> None:
    args = ("check", "--snapshot", pair, "--state", "state", "-o", "json=r.json", "-o", "prometheus")
    ran = run_here(*args, cwd=tmp_path)
    made = json.loads((tmp_path / "r.json").read_bytes())
    assert {f["since"] for f in made["findings"]} == {made["started_at"]}
    oldest = [line for line in ran.out.splitlines() if line.startswith("argolint_oldest_finding_timestamp_seconds{")]
    assert len(oldest) == len({(f["rule"], f["severity"]) for f in made["findings"]})
    part = run_here("check", "web", *args[1:], cwd=tmp_path)
    assert part.code in (0, 1)
    with sqlite3.connect(tmp_path / "state") as db:
        assert db.execute("SELECT count(*) FROM findings WHERE gone_at IS NOT NULL").fetchone() == (0,)


WRITER = """
import sys
from pathlib import Path
from tests.test_history import _at, _finding, _remember, _report
for n in range(int(sys.argv[2]), 10_000):
    day = f"2026-01-01T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}Z"
    _remember(Path(sys.argv[1]), _report(*(_finding(f"a{i}") for i in range(40)), _finding(f"b{n}"), started_at=day))
    print(n, flush=True)
"""


def test_a_kill_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    file = tmp_path / "state"
    draw = random.Random(3)
    first = finished = 0
    for _ in range(2):
        command = [sys.executable, "-c", WRITER, str(file), str(first)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[1], text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline()
            time.sleep(draw.random() / 5)
            os.kill(process.pid, signal.SIGKILL)
            told = process.stdout.read().split()
        with history.opened(file) as known:
            assert known.remark == ""
        with sqlite3.connect(file) as db:
            runs, last = db.execute("SELECT count(*), max(at) FROM runs").fetchone()
            (present,) = db.execute("SELECT count(*) FROM findings WHERE gone_at IS NULL").fetchone()
            (all_,) = db.execute("SELECT count(*) FROM findings").fetchone()
        assert (present, all_) == (41, 40 + runs), "a run is there whole or not at all"
        assert runs >= finished + len(told) + 1
        finished = runs
        hours, minutes, seconds = map(int, last[11:19].split(":"))
        first = hours * 3600 + minutes * 60 + seconds + 1


def test_two_services_on_one_file_wait_for_each_other(tmp_path: Path) -> None:
    file = tmp_path / "state"
    with history.opened(file) as one, history.opened(file) as other:
        one.remember(_report(_finding("a"), started_at=_at(1)))
        assert _ages(other.remember(_report(_finding("a"), started_at=_at(2)))) == {"a": (_at(1), 0)}
        assert _ages(one.remember(_report(_finding("a"), started_at=_at(3)))) == {"a": (_at(1), 0)}
