"""What a check keeps in the user's cache, and what it says of the checks before."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from argolint.reports import document, whats_new
from tests.checkouts import app, finding
from tests.checkouts import document as written
from tests.conftest import Ran, recording, run_argolint

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)


def report(*marks: str, at: datetime = NOON, complete: bool = True) -> document.Report:
    found = [finding(fingerprint=mark * 16, app=app(f"app-{mark}"), severity="error") for mark in marks]
    made = document.from_json(json.dumps(written(*found, complete=complete)).encode(), "here")
    server = document.Server("https://argocd.example.com", "v3", 1)
    return msgspec.structs.replace(made, started_at=at.strftime("%Y-%m-%dT%H:%M:%SZ"), servers=(server,))


def keep(folder: Path, made: document.Report, asked: str = "all") -> str:
    return whats_new.news_sentence(made, asked, folder, offline=False)


def test_the_first_check_says_nothing_and_the_next_day_says_what_is_new_and_gone(tmp_path: Path) -> None:
    assert keep(tmp_path, report("a", "b", at=NOON - timedelta(days=1))) == ""
    said = keep(tmp_path, report("b", "c", "d"))
    assert said == "Since yesterday: 2 new findings, first live-edit in argocd/app-c; 1 gone."
    assert keep(tmp_path, report("b", "c", "d")) == said, "the same run twice is compared with the same one"


def test_many_checks_of_a_day_do_not_crowd_out_the_day_before(tmp_path: Path) -> None:
    keep(tmp_path, report("a", at=NOON - timedelta(days=1)))
    for minutes in range(0, 600, 10):
        said = keep(tmp_path, report("a", "b", at=NOON + timedelta(minutes=minutes)))
    assert said.startswith("Since yesterday: 1 new finding, first live-edit in argocd/app-b; 0 gone.") or "day" in said
    (file,) = tmp_path.glob("*.json")
    assert len(json.loads(file.read_text())["runs"]) <= whats_new.MOST_RUNS


def test_nothing_new_is_said_as_well(tmp_path: Path) -> None:
    keep(tmp_path, report("a", at=NOON - timedelta(hours=3)))
    assert keep(tmp_path, report("a")) == "Since 3 hours ago: nothing new, nothing gone."


def test_other_questions_and_other_servers_are_not_compared(tmp_path: Path) -> None:
    keep(tmp_path, report("a", at=NOON - timedelta(days=1)))
    assert keep(tmp_path, report("b"), asked="secrets only") == ""
    other = msgspec.structs.replace(report("b"), servers=(document.Server("https://other.example.com", "v3", 1),))
    assert keep(tmp_path, other) == ""
    assert whats_new.news_sentence(report("b"), "all", tmp_path, offline=True) == "", (
        "a snapshot is none of the live checks"
    )


def test_an_incomplete_report_is_neither_compared_nor_kept(tmp_path: Path) -> None:
    keep(tmp_path, report("a", at=NOON - timedelta(days=1)))
    assert keep(tmp_path, report(complete=False)) == ""
    assert "1 new" in keep(tmp_path, report("a", "b", at=NOON + timedelta(minutes=1)))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 9, "runs": []}', '{"runs": [{"at": 3}]}'])
def test_a_damaged_state_is_begun_again(tmp_path: Path, text: str) -> None:
    keep(tmp_path, report("a", at=NOON - timedelta(days=1)))
    (file,) = tmp_path.glob("*.json")
    file.write_text(text)
    assert keep(tmp_path, report("a")) == ""
    assert keep(tmp_path, report("a", at=NOON + timedelta(hours=2))) != ""


def test_no_name_and_no_message_is_kept(tmp_path: Path) -> None:
    keep(tmp_path, report("a"))
    (file,) = tmp_path.glob("*.json")
    assert not re.search("app-a|example|live-edit|drifts", file.read_text())
    assert file.stat().st_mode & 0o077 == 0


def test_a_cache_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert keep(tmp_path / "cache", report("a")) == ""


def check(home: Path, *options: str, **env: str) -> Ran:
    home.mkdir(exist_ok=True)
    snapshot = recording("seeds/1-stuck")
    return run_argolint("check", "--snapshot", snapshot, *options, cwd=home, env={"HOME": str(home), "CI": "", **env})


def test_check_keeps_a_state_unless_it_is_told_not_to(tmp_path: Path) -> None:
    kept = tmp_path / "a" / ".cache" / "argolint"
    assert check(tmp_path / "a").code == 1
    assert len(list(kept.glob("*.json"))) == 1
    for name, options, env in (
        ("b", ("--no-history",), {}),
        ("c", (), {"CI": "true"}),
        ("d", ("-p", "legacy"), {}),
        ("e", (), {"ARGOLINT_NO_HISTORY": "1"}),
    ):
        check(tmp_path / name, *options, **env)
        assert not (tmp_path / name / ".cache").exists(), name
