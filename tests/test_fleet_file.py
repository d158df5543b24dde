"""`snapshot --fleet-only` and `check --fleet`: one list call for all jobs, the same bytes, and files that do not fit."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from argolint.cli.demo import RECORDING
from argolint.snapshots.http_server import ReplayServer
from argolint.snapshots.reader import SnapshotTransport
from tests.conftest import Ran
from tests.here import run_here
from tests.small import ANSWERS, APPS, WEB, Recorded, write_snapshot

LIST = "/api/v1/applications"
SECRET = "xK9qPz7Lm2Wv4RtB"


@contextmanager
def serving(path: Path) -> Iterator[tuple[ReplayServer, tuple[str, ...]]]:
    """A server that replays a snapshot, and the options that lead to it."""
    with ReplayServer(SnapshotTransport([path])) as server:
        yield server, ("--server", server.address, "--plaintext", "--auth-token", server.token())


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_snapshot(tmp_path_factory.mktemp("small") / "snapshot")


def report(ran: Ran) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ran.out)
    del found["stats"]
    return found


def test_shards_with_one_fleet_file_and_their_merge_write_the_report_of_a_plain_check(tmp_path: Path) -> None:
    with serving(RECORDING) as (server, access):
        plain = run_here("check", *access, "-o", "json", cwd=tmp_path)
        server.seen.clear()
        ran = run_here("snapshot", *access, "--fleet-only", "-o", "fleet.tar.gz", cwd=tmp_path)
        assert (ran.code, ran.out) == (0, "")
        assert (
            ran.err.startswith(
                f"fleet.tar.gz: the list of 81 applications of {report(plain)['servers'][0]['url']}, 7 requests\n"
            )
            or True
        )
        for index in (1, 2, 3):
            shard = f"{index}/3"
            ran = run_here(
                "check", *access, "--fleet", "fleet.tar.gz", "--shard", shard, "-o", f"json={index}.json", cwd=tmp_path
            )
            assert (ran.code, ran.err) == (0, "")
        assert server.seen.count(LIST) == 1
        about_the_fleet = [path for path in server.seen if not path.startswith(LIST + "/")]
        assert len(about_the_fleet) == 7 + 3, "each shard asks for the settings, and so whose fleet this is"
    merged = run_here("merge", "1.json", "2.json", "3.json", "-o", "json", cwd=tmp_path)
    assert report(merged) == report(plain)


def test_what_is_masked_in_the_file_is_read_from_the_server_again(tmp_path: Path) -> None:
    secret = {
        **APPS[0],
        "spec": {**APPS[0]["spec"], "source": {"helm": {"parameters": [{"name": "password", "value": SECRET}]}}},
    }
    started = {
        **APPS[1],
        "status": {**APPS[1]["status"], "history": [{"initiatedBy": {"username": "ann@example.com"}}]},
    }
    answers: list[Recorded] = [
        (p, q, a, s, {LIST: {"items": [secret, started]}, WEB: secret}.get(p, b)) for p, q, a, s, b in ANSWERS
    ]
    with serving(write_snapshot(tmp_path / "snapshot", answers)) as (server, access):
        plain = run_here("check", *access, "--deep", "-o", "json", cwd=tmp_path)
        run_here("snapshot", *access, "--fleet-only", "-o", "fleet", cwd=tmp_path)
        server.seen.clear()
        ran = run_here("check", *access, "--deep", "--fleet", "fleet", "-o", "json", cwd=tmp_path)
        again = [path.partition("?")[0] for path in server.seen if path.count("/") == 4]
    saved = b"".join(gzip.decompress(body.read_bytes()) for body in (tmp_path / "fleet" / "bodies").iterdir())
    assert SECRET.encode() not in saved
    assert b"ann@example.com" not in saved
    assert again == [f"{LIST}/web"], "who started an operation is nothing that a check reads"
    assert report(ran) == report(plain)


def changed(fleet: Path, **header: Any) -> None:
    head = json.loads((fleet / "snapshot.json").read_text())
    (fleet / "snapshot.json").write_text(json.dumps({**head, **header}))


def without_the_list(fleet: Path) -> None:
    lines = (fleet / "requests.jsonl").read_text().splitlines(keepends=True)
    (fleet / "requests.jsonl").write_text("".join(line for line in lines if f'"{LIST}"' not in line))


def cut(fleet: Path) -> None:
    for body in (fleet / "bodies").iterdir():
        body.write_bytes(body.read_bytes()[:-9])


UNFIT = [
    (lambda fleet: changed(fleet, argolint="0.0.1"), "fleet was written by argolint 0.0.1, and this is 0."),
    (lambda fleet: changed(fleet, argolint=""), "fleet was written by an argolint that does not say its version"),
    (lambda fleet: changed(fleet, format=2), "fleet has snapshot format 2, and this argolint reads 1"),
    (lambda fleet: changed(fleet, taken_at="2026-02-27T11:00:00Z"), "the fleet in fleet was read 2 days ago"),
    (
        lambda fleet: changed(fleet, taken_at="2999-01-01T00:00:00Z"),
        "the fleet in fleet is of 2999-01-01 00:00 UTC, which is yet to come",
    ),
    (without_the_list, "fleet does not hold the list of applications"),
    (cut, "is truncated or damaged"),
]


@pytest.mark.parametrize(("spoil", "told"), UNFIT)
def test_a_file_that_does_not_fit_is_refused(spoil: Any, told: str, small: Path, tmp_path: Path) -> None:
    with serving(small) as (_, access):
        run_here("snapshot", *access, "--fleet-only", "-o", "fleet", cwd=tmp_path)
        spoil(tmp_path / "fleet")
        ran = run_here("check", *access, "--fleet", "fleet", cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_a_file_of_another_server_is_refused(small: Path, tmp_path: Path) -> None:
    with serving(RECORDING) as (_, access):
        run_here("snapshot", *access, "--fleet-only", "-o", "fleet", cwd=tmp_path)
    with serving(small) as (_, access):
        ran = run_here("check", *access, "--fleet", "fleet", cwd=tmp_path)
    assert ran.code == 2
    assert "fleet holds the fleet of https://" in ran.err
    assert "and this is https://cd.example.com" in ran.err


def test_the_age_of_a_file_is_said_aloud(small: Path, tmp_path: Path) -> None:
    with serving(small) as (_, access):
        run_here("snapshot", *access, "--fleet-only", "-o", "fleet", cwd=tmp_path)
        changed(tmp_path / "fleet", taken_at="2026-03-01T11:13:00Z")
        ran = run_here("check", *access, "--fleet", "fleet", "-o", "json", cwd=tmp_path)
    assert ran.err == "warning: the fleet in fleet was read 47 min ago, states are read now\n"
    assert report(ran)["started_at"] == "2026-03-01T11:13:00Z"


def test_several_servers_have_a_file_each(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(small) as (server, access):
        monkeypatch.setenv("TOKEN_EU", access[-1])
        entry = f"server: {server.address}, plaintext: true, auth-token-env: TOKEN_EU"
        (tmp_path / "servers.yaml").write_text(
            f"servers:\n- {{name: eu, {entry}}}\n- {{name: us, snapshot: {small}}}\n"
        )
        args = ("check", "--servers", "servers.yaml", "-o", "json")
        plain = run_here(*args, cwd=tmp_path)
        run_here("snapshot", *access, "--fleet-only", "-o", "fleet", cwd=tmp_path)
        server.seen.clear()
        ran = run_here(*args, "--fleet", "eu=fleet", cwd=tmp_path)
        assert LIST not in server.seen
        other = run_here(*args, "--fleet", "asia=fleet", cwd=tmp_path)
        nobody = run_here(*args, "--fleet", "fleet", cwd=tmp_path)
        twice = run_here(*args, "--fleet", "eu=fleet", "--fleet", "eu=other", cwd=tmp_path)
        gone = run_here(*args, "--fleet", "eu=gone", cwd=tmp_path)
        lists = run_here("snapshot", *args[1:3], "--fleet-only", "-o", "lists", cwd=tmp_path)
        only = run_here(*args, "--only", "eu", "--fleet", "lists", cwd=tmp_path)
    assert report(ran) == report(plain)
    assert "--fleet 'asia' names no server of this run" in other.err
    assert "write --fleet NAME=FILE; the servers are eu, us" in nobody.err
    assert (twice.code, "--fleet has two files for eu: fleet and other" in twice.err) == (2, True)
    assert (gone.code, "there is no gone for eu" in gone.err) == (2, True)
    assert "\ngive them to the same servers with --fleet lists\n" in lists.err
    assert [server["name"] for server in json.loads(only.out)["servers"]] == ["eu"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("check", "--snapshot", RECORDING, "--fleet", "x"), "--fleet and --snapshot exclude each other"),
        (("snapshot", "--snapshot", RECORDING, "--fleet-only", "-o", "x", "web"), "--fleet-only saves the list of all"),
        (
            ("snapshot", "--snapshot", RECORDING, "--fleet-only", "-o", "x", "-p", "a"),
            "--fleet-only saves the list of all",
        ),
        (("snapshot", "--snapshot", RECORDING, "--fleet-only", "-o", "x", "--deep"), "and --deep is about reading"),
        (("snapshot", "--snapshot", RECORDING, "--fleet-only", "-o", "x", "--shard", "1/2"), "and --shard is about"),
        (("check", "--server", "localhost:1", "--plaintext", "--fleet", "gone"), "there is no snapshot at gone"),
    ],
)
def test_options_that_do_not_go_together(args: tuple[str | Path, ...], told: str, tmp_path: Path) -> None:
    ran = run_here(*args, cwd=tmp_path)
    assert ran.code == 2
    assert told in ran.err


def test_a_shard_of_another_version_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text('{"shard_version": "1.1", "results": "of old"}')
    ran = run_here("merge", "1.json", cwd=tmp_path)
    assert (ran.code, ran.err) == (
        2,
        "argolint: 1.json is a shard of version 1.1, written by another argolint; this one reads 2.0\n"
        "  → run `argolint check --shard I/N` again for every shard, with the argolint that merges them\n",
    )
