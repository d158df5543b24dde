"""`serve --watch`: what it serves is what a fresh check of the same moment finds, whatever the stream does."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from argolint.cli import session as common
from argolint.cli.demo import RECORDING
from argolint.cli.given import CommandOptions
from argolint.cli.prepare import prepare
from argolint.cli.reading import examine_sources
from argolint.engine.servers import Source
from argolint.model.stats import Stats
from argolint.reports.assemble import app as report_app
from argolint.reports.assemble import summarise
from argolint.reports.document import Report, Tool, to_json
from argolint.reports.formats import Style
from argolint.serve import live
from argolint.serve.check_result import CheckResult
from argolint.serve.checker import Checker
from argolint.serve.fleet_reader import FleetReader
from argolint.serve.follower import Follower
from argolint.serve.followers import FleetReaders, Followers, Ways
from argolint.serve.times import Times
from argolint.serve.watcher import Action, Everything, Some
from argolint.server.connection import Connection
from argolint.server.http import HttpTransport
from argolint.snapshots.http_server import Faults, ReplayServer
from argolint.snapshots.http_stream import Stream, StreamFaults
from argolint.snapshots.reader import SnapshotTransport
from tests.changes import Changes
from tests.changing import Changing
from tests.here import run_here
from tests.test_serve import serving
from tests.waiting import until

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
QUICK = Times(
    debounce_s=0.05,
    per_app_s=0.1,
    list_s=1.0,
    relist_s=0.2,
    patience_s=0.5,
    first_retry_s=0.02,
    last_retry_s=0.2,
    idle_s=60.0,
)
_GIVEN = CommandOptions(quiet=True, color="never", workers=1)


class World:
    """A small changing fleet of the demo, served over HTTP, and checks of it."""

    def __init__(self, server: ReplayServer, fleet: Changing) -> None:
        self.server = server
        self.fleet = fleet
        self.run = prepare(_GIVEN)
        self.token = server.token()
        self.lines: list[str] = []

    def connect(self) -> HttpTransport:
        return HttpTransport(Connection(self.server.url, self.token), workers=4, retry_s=0.01)

    def collect(self, ways: Ways, *, whole: bool) -> CheckResult:
        part, _ = examine_sources(self.run, CommandOptions(quiet=True), ((Source("", self.connect()),), ()), ways)
        apps = frozenset(report_app(r.ref) for r in part.results)
        return CheckResult(common.report_of(part, self.run), apps)

    def fresh(self) -> Report:
        part, _ = examine_sources(self.run, CommandOptions(quiet=True), ((Source("", self.connect()),), ()))
        return common.report_of(part, self.run)


def _bytes(report: Report) -> str:
    """Times and stats aside."""
    return to_json(msgspec.structs.replace(report, stats=Stats(), started_at="")).decode()


@pytest.fixture
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Its applications are some of the demo's, and all that share an object."""
    fleet = Changing(SnapshotTransport([RECORDING]))
    shared = {"payments-gateway", "shared-config", "edge-proxy"}
    for number, place in enumerate(sorted(fleet.apps)):
        if number % (8 if LONG else 32) and place[1] not in shared:
            fleet.drop(place)
    stream = Stream(getattr(request, "param", None), keepalive_s=0.2)
    fleet.listen(stream.publish)
    with ReplayServer(fleet, stream=stream) as server:
        yield World(server, fleet)


@pytest.mark.parametrize("seed", range(30 if LONG else 1))
def test_looks_at_what_changed_equal_a_fresh_check(world: World, seed: int) -> None:
    looks = FleetReaders({"": FleetReader(QUICK, 4)}, world.collect)
    looks.look({"": Everything()})
    changes = Changes(world.fleet, seed)
    done = []
    for step in range(40 if LONG else 3):
        told = [changes.one() for _ in range(3)]
        done += [name for name, _ in told]
        now = world.fleet.apps
        places = {p: now[p]["spec"]["project"] if p in now else "" for _, named in told for p in named}
        made = looks.look({"": Everything() if step % 4 == 2 else Some(places)}).report
        assert _bytes(made) == _bytes(world.fresh()), done


class Counted(FleetReaders):
    """Knows how many lists were looked at since when."""

    def __init__(self, world: World, times: Times) -> None:
        self.one = FleetReader(times, 4)
        super().__init__({"": self.one}, world.collect)
        self.began: list[tuple[float, Action]] = []

    def never(self) -> CheckResult:
        raise AssertionError("a check of the interval, and changes are followed")

    def look(self, actions: Mapping[str, Action]) -> CheckResult:
        self.began.append((time.monotonic(), actions[""]))
        return super().look(actions)


class Watched:
    """A checker that follows the world."""

    def __init__(self, world: World, times: Times = QUICK) -> None:
        self.world = world
        self.looks = Counted(world, times)
        turn = threading.Condition()
        self.follower = Follower(self.looks.one, world.connect, times, world.lines.append, turn)
        empty = Report("1.0", Tool("argolint", "0"), "", False, (), summarise((), 0, apps=0, resources=0), ())
        self.checker = Checker(
            self.looks.never, empty, 3600, Style(), world.lines.append, Followers({"": self.follower}, self.looks, turn)
        )

    def __enter__(self) -> Watched:
        self.checker.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.checker.stop()

    def until(self, what: Callable[[], bool]) -> None:
        until(what, lambda: self.world.lines)

    def next_list(self) -> None:
        """A list that began after now was looked at and published."""
        now = time.monotonic()
        self.until(lambda: any(at > now and isinstance(action, Everything) for at, action in self.looks.began))
        published = self.checker.documents
        self.until(lambda: self.checker.documents is not published)


@pytest.mark.parametrize("world", [StreamFaults(drop=0.3, repeat=0.2, swap=0.3, cut_after=4)], indirect=True)
def test_after_the_next_list_nothing_is_left_of_what_a_bad_stream_did(world: World) -> None:
    changes = Changes(world.fleet, seed=7)
    with Watched(world) as watched:
        watched.until(lambda: watched.checker.ready)
        for step in range(12):
            changes.one()
            if step == 6:  # the server restarts
                world.server.faults = Faults(unavailable=3)
                world.server.stream.cut()
        watched.until(lambda: watched.follower.state().reconnects > 0)
        watched.next_list()
        assert _bytes(watched.checker.documents.report) == _bytes(world.fresh())
    assert any(line.startswith("not following changes: ") for line in world.lines)
    assert world.token not in "".join(world.lines)


def _connected(watched: Watched) -> None:
    watched.until(lambda: watched.checker.ready and watched.follower.state().connected)


def test_one_change_is_served_without_a_list(world: World) -> None:
    times = dataclasses.replace(QUICK, list_s=3600, relist_s=3600)
    with Watched(world, times) as watched:
        _connected(watched)
        place = sorted(world.fleet.apps)[0]
        app = dict(world.fleet.apps[place])
        before = len(world.server.seen)
        world.fleet.put({**app, "status": {**app["status"], "health": {"status": "Degraded"}}})
        watched.until(lambda: len(watched.looks.began) > 1 and watched.follower.state().dirty == 0)
        fresh = _bytes(world.fresh())
        watched.until(lambda: _bytes(watched.checker.documents.report) == fresh)
        assert watched.looks.began[1][1] == Some({place: app["spec"]["project"]})
        asked = [path for path in world.server.seen[before:] if f"/applications/{place[1]}?" in path]
        assert len(asked) == 1
        state = watched.follower.state()
        assert (state.connected, state.unreadable, state.last_event > 0) == (True, 0, True)
        assert state.reused >= len(world.fleet.apps) - 2
        metrics = watched.checker.at("/metrics").body.decode()  # type: ignore[union-attr]
        assert 'argolint_watch_connected{argocd="argocd.example.com"} 1.0' in metrics


def test_what_leaves_no_trace_in_an_application_is_seen_all_the_same(world: World) -> None:
    """A Secret that someone patches in an application that is OutOfSync anyway: no event tells of it."""
    place = ("argocd", "payments-gateway")
    body = msgspec.json.decode(world.fleet.get(f"/api/v1/applications/{place[1]}/managed-resources", _OF_GATEWAY).body)
    with Watched(world, dataclasses.replace(QUICK, max_age_s=3.0)) as watched:
        _connected(watched)
        before = _bytes(watched.checker.documents.report)
        for item in body["items"]:
            for side in ("liveState", "normalizedLiveState"):
                item[side] = (item.get(side) or "").replace('"replicas":3', '"replicas":5')
        world.fleet.swap(place, "/managed-resources", body)
        fresh = _bytes(world.fresh())
        assert fresh != before
        watched.until(lambda: _bytes(watched.checker.documents.report) == fresh)


_OF_GATEWAY = (("appNamespace", "argocd"), ("project", "payments"))


def test_a_refused_token_ends_the_following_and_readiness_says_why(world: World) -> None:
    times = dataclasses.replace(QUICK, list_s=0.5)
    with Watched(world, times) as watched:
        _connected(watched)
        assert watched.checker.trouble == ""
        good, world.token = world.token, "a.b.c"
        world.server.stream.cut()
        watched.until(lambda: watched.checker.trouble == "Argo CD does not accept the token")
        watched.until(lambda: not watched.checker.documents.report.complete)
        assert watched.checker.documents.report.findings, "the last good report stays"
        world.token = good  # whoever logs in anew needs no restart
        watched.until(lambda: watched.checker.trouble == "" and watched.follower.state().connected)
    assert any("does not accept the token" in line for line in world.lines)


def test_where_the_stream_is_forbidden_there_are_lists(world: World) -> None:
    world.server.faults = Faults(no_stream=True)
    projects = {app["spec"]["project"] for app in world.fleet.apps.values()}
    with Watched(world) as watched:
        watched.until(lambda: watched.checker.ready)
        watched.until(lambda: any("projects=" in path for path in world.server.seen if "/stream/" in path))
        narrowed = next(path for path in world.server.seen if "/stream/" in path and "projects=" in path)
        assert narrowed.count("projects=") == len(projects)
        Changes(world.fleet, seed=3).one()
        watched.next_list()
        assert _bytes(watched.checker.documents.report) == _bytes(world.fresh())
    assert any("permission denied" in line for line in world.lines)


def test_a_hostile_stream_costs_neither_memory_nor_the_service(world: World) -> None:
    with Watched(world) as watched:
        _connected(watched)
        stream = world.server.stream
        stream.send_raw(b"data: " + b"x" * (8 << 20))  # one line, and no end
        stream.send_raw(b"\n\n")
        for text in (
            b"{",
            b"[]",
            b"null",
            b'{"result":{}}',
            b'{"result":{"type":"WHAT","application":{}}}',
            b"\xff" * 50,
        ):
            stream.send_raw(b"data: " + text + b"\n\n")
        stream.send_raw(b"event: x\nid: 1\nretry: 5\n:comment\n\n")
        watched.until(lambda: watched.follower.state().unreadable >= 7)
        names = [{"name": f"none-{number}", "namespace": "elsewhere"} for number in range(3000)]
        apps = [{"metadata": each, "spec": {"project": "other"}} for each in names]
        events = [json.dumps({"result": {"type": "MODIFIED", "application": app}}) for app in apps]
        stream.send_raw("".join(f"data: {event}\n\n" for event in events).encode())
        watched.next_list()
        assert watched.follower.state().dirty <= 20
        assert watched.follower.state().connected
        assert _bytes(watched.checker.documents.report) == _bytes(world.fresh())
    asked = [path for path in world.server.seen if "/applications/none-" in path]
    assert len(asked) <= 300, "a flood of names becomes a list, not a flood of requests"


def test_two_services_share_a_state_file_and_the_following_one_ends_well(world: World, tmp_path: Path) -> None:
    access = ("--server", world.server.address, "--plaintext", "--state", "state")
    with (
        serving(tmp_path, *access, "--watch", ARGOCD_AUTH_TOKEN=world.token) as following,
        serving(tmp_path, *access, ARGOCD_AUTH_TOKEN=world.token) as other,
    ):
        for started in (following, other):
            started.wait_until_ready()
            report = json.loads(started.get("/report.json")[1])
            assert report["remarks"] == []
            assert {f["since"] for f in report["findings"]} == {report["started_at"]}
        other.process.kill()  # at any moment: nobody else notices
        assert world.server.stream.open == 1
        assert b"argolint_watch_connected" in following.get("/metrics")[1]
        assert following.end() == (0, "argolint: following changes\nargolint: ended\n")
    assert world.token not in str(world.server.seen)


def test_a_snapshot_is_not_watched(tmp_path: Path) -> None:
    ran = run_here("serve", "--watch", "--snapshot", RECORDING, cwd=tmp_path)
    assert (ran.code, ran.err.splitlines()[0]) == (
        2,
        "argolint: a snapshot never changes, so there is nothing to watch",
    )


def test_the_names_of_the_metrics_are_a_contract() -> None:
    text = live.render({"cd.example.com": live.State(True, 1767268801.5, 2, 61, 3, 4)})
    assert [line for line in text.splitlines() if not line.startswith("#")] == [
        'argolint_watch_connected{argocd="cd.example.com"} 1.0',
        'argolint_watch_last_event_timestamp_seconds{argocd="cd.example.com"} 1.7672688015e+09',
        'argolint_watch_dirty_applications{argocd="cd.example.com"} 2.0',
        'argolint_watch_reused_applications{argocd="cd.example.com"} 61.0',
        'argolint_watch_reconnects_total{argocd="cd.example.com"} 3.0',
        'argolint_watch_unreadable_events_total{argocd="cd.example.com"} 4.0',
    ]
    assert "last_event_timestamp_seconds{" not in live.render({"cd": live.State(False, 0.0, 0, 0, 0, 0)}), "none yet"
