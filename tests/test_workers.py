"""Applications looked at by processes of their own: the same bytes, and what ends a worker ends no run."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from argolint import App, Finding, Fleet, Location
from argolint.application.rule import Rule
from argolint.cli.demo import RECORDING
from argolint.engine import pipeline
from argolint.engine.load import read_fleet
from argolint.engine.plan import ChosenRule, Plan
from argolint.engine.workers import processes
from argolint.engine.workers.context import Context, decode
from argolint.engine.workers.spec import Spec, plan_of, rule_specs
from argolint.engine.workers.spec import decode as decode_spec
from argolint.engine.workers.spread import cut
from argolint.errors import ArgolintError
from argolint.plugins import load_rules
from argolint.server.limits import Pacing
from argolint.server.transport import Answer, Query, Transport
from argolint.snapshots.http_server import Faults, ReplayServer
from argolint.snapshots.reader import SnapshotTransport
from argolint.testing import FixtureTransport
from tests.conftest import Ran
from tests.here import run_here
from tests.small import write_snapshot

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="such processes are forked")
APPS = tuple(f"app-{n:02}" for n in range(20))
TWO = ("--processes", "2")
SOME = "payments-*"


def report(ran: Ran) -> dict[str, Any]:
    """A JSON report without what its reading cost."""
    found: dict[str, Any] = json.loads(ran.out)
    del found["stats"]
    return found


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Some applications of the demo, checked by one process."""
    ran = run_here("check", SOME, "--snapshot", RECORDING, "-o", "json", cwd=tmp_path_factory.mktemp("plain"))
    assert len(report(ran)["findings"]) > 10
    return ran


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_processes_share_an_archive_and_write_the_report_of_one(kind: str, plain: Ran, tmp_path: Path) -> None:
    path = RECORDING if kind == "tar" else zipped(RECORDING, tmp_path / "demo.zip")
    spread = run_here("check", SOME, "--snapshot", path, *TWO, "-o", "json", cwd=tmp_path)
    assert (spread.code, spread.err) == (1, "")
    assert report(spread) == report(plain)


def zipped(archive: Path, target: Path) -> Path:
    import tarfile

    with tarfile.open(archive) as source, zipfile.ZipFile(target, "w") as made:
        for member in source.getmembers():
            if (file := source.extractfile(member)) is not None:
                made.writestr(member.name, file.read())
    return target


def test_processes_on_a_server_list_once_and_read_each_application_once(plain: Ran, tmp_path: Path) -> None:
    with ReplayServer(SnapshotTransport([RECORDING])) as server:
        access = ("--server", server.address, "--plaintext", "--auth-token", server.token())
        spread = run_here("check", SOME, *access, *TWO, "-o", "json", cwd=tmp_path)
    assert server.seen.count("/api/v1/applications") == 1
    assert len(server.seen) == json.loads(spread.out)["stats"]["requests"]
    assert report(spread) == report(plain)


def test_a_token_that_dies_in_the_middle_is_told_as_without_processes(tmp_path: Path) -> None:
    with ReplayServer(SnapshotTransport([RECORDING]), faults=Faults(token_dies_after=9)) as server:
        access = ("--server", server.address, "--plaintext", "--auth-token", server.token())
        ran = run_here("check", *access, *TWO, "--deep", "-o", "json", cwd=tmp_path)
    assert ran.code == 3
    assert {f["stage"] for f in report(ran)["failures"]} == {"login"}


class Flaky(SnapshotTransport):
    """Has no answer to the first two questions for states, which workers ask."""

    left = 2

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        if path.endswith("/managed-resources") and self.left:
            self.left -= 1
            return Answer(503, "application/json", b"{}")
        return super().get(path, query, anonymous=anonymous)


@pytest.mark.parametrize("more", [(), TWO])
def test_how_often_a_server_slowed_the_reading_down_is_said(more: tuple[str, ...], tmp_path: Path) -> None:
    with ReplayServer(Flaky([RECORDING])) as server:
        access = ("--server", server.address, "--plaintext", "--auth-token", server.token())
        ran = run_here("check", SOME, *access, *more, "-o", "json", cwd=tmp_path)
    assert json.loads(ran.out)["stats"]["slowed"] in (1, 2)
    assert json.loads(ran.out)["stats"]["requests"] == len(server.seen)


def test_a_variable_for_runs_on_dask_does_not_end_others(tmp_path: Path) -> None:
    small = write_snapshot(tmp_path / "small")
    ran = run_here("check", "--snapshot", small, "-q", cwd=tmp_path, env={"ARGOLINT_WORKER_TOKEN": "env:T"})
    assert (ran.code, ran.err) == (3, "")
    variable = {"ARGOLINT_DASK": "tcp://127.0.0.1:1"}
    assert run_here("check", "--snapshot", small, "-q", *TWO, cwd=tmp_path, env=variable).code == 3
    both = run_here("check", "--snapshot", small, cwd=tmp_path, env={**variable, "ARGOLINT_PROCESSES": "2"})
    assert (both.code, "--dask and --processes both say who looks" in both.err) == (2, True)


class Clusters(SnapshotTransport):
    """Notes the most questions for objects of one cluster that are in flight at once; its answers take a while."""

    def __init__(self, paths: list[Path]) -> None:
        super().__init__(paths)
        listed = json.loads(super().get("/api/v1/applications").body)["items"]
        self.cluster_of = {app["metadata"]["name"]: str(app["spec"]["destination"]) for app in listed}
        self.reading: Counter[str] = Counter()
        self.most_reading = 0
        self.guard = threading.Lock()

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        if "resourceName" in dict(query):
            cluster = self.cluster_of[path.split("/")[4]]
            with self.guard:
                self.reading[cluster] += 1
                self.most_reading = max(self.most_reading, self.reading[cluster])
            time.sleep(0.05)
            with self.guard:
                self.reading[cluster] -= 1
        return super().get(path, query, anonymous=anonymous)


def test_a_limit_for_each_cluster_holds_for_all_processes_together(tmp_path: Path) -> None:
    (tmp_path / "argolint").mkdir()
    (tmp_path / "argolint" / "config.yaml").write_text("limits: {per-cluster: 1}\n")
    with ReplayServer(Clusters([RECORDING])) as server:
        access = ("--server", server.address, "--plaintext", "--auth-token", server.token())
        ran = run_here(
            "check", SOME, *access, "--processes", "3", "-q", cwd=tmp_path, env={"XDG_CONFIG_HOME": str(tmp_path)}
        )
    assert ran.code == 1, ran.err
    assert server.transport.most_reading == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(("of", "many"), [(Pacing(8), 8), (Pacing(3), 3), (Pacing(8, per_cluster=2), 2)])
def test_no_more_workers_share_a_server_than_it_allows_requests(of: Pacing, many: int) -> None:
    assert of.shared_by(8) == many


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--processes", "9"), "9 processes need 9 requests in flight at least, and 8 are allowed"),
        (("--processes", "2", "--render-twice"), "--render-twice renders one application at a time"),
        (("--worker-token", "env:T"), "--worker-token is for a Dask cluster, and none is named"),
        (("--processes", "2", "--dask-insecure"), "--dask-insecure is for a Dask cluster, and none is named"),
        (("--processes", "0"), "0 is not in the range 1<=x<=64"),
    ],
)
def test_what_cannot_be_divided_is_refused(more: tuple[str, ...], told: str, tmp_path: Path) -> None:
    with ReplayServer(SnapshotTransport([RECORDING])) as server:
        access = ("--server", server.address, "--plaintext", "--auth-token", server.token())
        ran = run_here("check", *access, *more, cwd=tmp_path)
        assert not any("managed-resources" in path for path in server.seen)
    assert ran.code == 2
    assert told in ran.err


def test_one_shard_of_one_is_a_shard_and_where_it_goes_is_asked_before_anything_is_read(tmp_path: Path) -> None:
    small = write_snapshot(tmp_path / "small")
    with ReplayServer(SnapshotTransport([small])) as server:
        access = ("--server", server.address, "--plaintext", "--auth-token", server.token())
        aimless = run_here("check", *access, "--shard", "1/1", cwd=tmp_path)
        accepted = run_here("baseline", *access, "--shard", "1/2", "-o", "base.json", cwd=tmp_path)
        assert server.seen == []
    assert (aimless.code, "--shard writes a shard for `argolint merge`" in aimless.err) == (2, True)
    assert (accepted.code, "a baseline is made from a whole check" in accepted.err) == (2, True)
    options = ("check", "--snapshot", small, "-o")
    run_here(*options, "json=1.json", "--shard", "1/1", cwd=tmp_path)
    merged = run_here("merge", "1.json", "-o", "json", cwd=tmp_path)
    assert report(merged) == report(run_here(*options, "json", cwd=tmp_path))


def collected(rule: Rule) -> pipeline.Part:
    """A check of twenty applications in two processes with this one rule."""
    t = FixtureTransport({"apps": [{"name": name} for name in APPS]})
    plan = Plan((ChosenRule(rule, rule.default_options),), workers=1)
    return pipeline.examine_shard(t, plan, look=processes.in_processes(2, lambda threads: never()))


def never() -> Transport:
    raise AssertionError("a fixture is no server")


def rule(check: Any) -> Rule:
    return Rule(id="test", family="drift", severity="warning", doc="A test rule", check=check)


def failures(part: pipeline.Part) -> list[tuple[str, str, str]]:
    return [(r.ref.name, f.stage, f.error) for r in part.results for f in r.failures]


def seen(part: pipeline.Part) -> list[str]:
    return [r.ref.name for r in part.results if [f.message for f in r.findings] == [f"{r.ref.name} was seen"]]


@pytest.mark.parametrize(
    ("names", "workers", "sizes"),
    [
        (3, 2, [2, 1]),
        (4, 8, [1, 1, 1, 1]),
        (27, 2, [4, 4, 4, 4, 4, 4, 3]),
        (100, 2, [12, 11, 9, 8, 7, 6, 5, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1]),
        (1000, 2, [*[50] * 13, *[43, 38, 33, 29, 25, 22, 20, 17, 15, 13, 11, 10, 9, 8, 7, 6, 5], *[4] * 9, 3]),
    ],
)
def test_chunks_grow_smaller_to_the_end_so_that_workers_end_together(
    names: int, workers: int, sizes: list[int]
) -> None:
    chunks = cut([str(number) for number in range(names)], workers)
    assert [name for chunk in chunks for name in chunk.names] == [str(number) for number in range(names)]
    assert [len(chunk.names) for chunk in chunks] == sizes


def test_an_application_that_ends_its_worker_is_a_failure_and_all_others_are_looked_at() -> None:
    def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
        if app.name == "app-07":
            os.kill(os.getpid(), signal.SIGKILL)
        yield Finding(f"{app.name} was seen", Location(app.ref))

    part = collected(rule(check))
    told = "a worker process was ended by SIGKILL, as it is where memory runs out, twice with this application"
    assert failures(part) == [("app-07", "worker", told)]
    assert seen(part) == [name for name in APPS if name != "app-07"]


def test_a_worker_that_somebody_else_ends_costs_nothing(tmp_path: Path) -> None:
    def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
        if app.name == "app-11" and not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield Finding(f"{app.name} was seen", Location(app.ref))

    part = collected(rule(check))
    assert (tmp_path / "killed").exists()
    assert failures(part) == []
    assert seen(part) == list(APPS)


def test_a_worker_that_is_stopped_is_ended_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "BEAT_S", 0.05)
    monkeypatch.setattr(processes, "SILENCE_S", 1.0)

    def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
        if app.name == "app-19":
            os.kill(os.getpid(), signal.SIGSTOP)
        yield Finding(f"{app.name} was seen", Location(app.ref))

    part = collected(rule(check))
    assert failures(part) == [
        ("app-19", "worker", "a worker process said nothing for 1 s, twice with this application")
    ]
    assert seen(part) == list(APPS[:-1])


def test_workers_that_cannot_start_are_not_started_for_ever() -> None:
    def start() -> Context:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    def wait() -> None:
        with processes.processes(start, 2) as crew:
            for _ in range(50):
                list(crew.returned())

    with pytest.raises(ArgolintError, match="worker processes do not start"):
        wait()


def test_a_worker_elsewhere_is_told_all_that_a_plan_says_of_how_to_look() -> None:
    decided_here = {"wanted", "workers", "shard", "local", "shown", "app_labels"}
    assert {field.name for field in fields(Plan)} - decided_here <= set(Spec.__struct_fields__)
    rules = tuple(ChosenRule(r, r.default_options, "info") for r in load_rules().values())
    plan = Plan(rules, workers=3, deep=True, renders=True, manifests=True, timings=True)
    spec = Spec({}, "", rule_specs(plan), threads=3, deep=True, renders=True, manifests=True, timings=True)
    told = plan_of(decode_spec(msgspec.json.encode(spec)))
    assert replace(told, wanted=plan.wanted) == plan


def test_a_result_that_is_no_json_is_the_failure_of_its_application() -> None:
    def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
        yield Finding(f"{app.name} \ud800" if app.name == "app-03" else "fine", Location(app.ref))

    t = FixtureTransport({"apps": [{"name": name} for name in APPS]})
    fleet, _ = read_fleet(t)
    one = rule(check)
    context = Context(lambda: t, fleet, Plan((ChosenRule(one, None),), workers=1))
    answer = decode(context.chunk([str(app.ref) for app in fleet.apps[2:5]]))
    assert [(r.ref.name, len(r.findings), [f.stage for f in r.failures]) for r in answer.results] == [
        ("app-02", 1, []),
        ("app-03", 0, ["worker"]),
        ("app-04", 1, []),
    ]
