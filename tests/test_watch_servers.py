"""`serve --watch` over several Argo CDs: what is served is what a fresh check of all of them finds, and only what changed is asked for."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from argolint.cli import serve
from argolint.cli import session as common
from argolint.cli.given import ServersFile
from argolint.cli.prepare import prepare
from argolint.cli.reading import examine_sources
from argolint.errors import ArgolintError, AuthError
from argolint.reports.document import Report, ReportedFailure
from argolint.reports.formats import Style
from argolint.serve import followers
from argolint.serve.check_result import CheckResult
from argolint.serve.checker import Checker
from argolint.server.connection import Flags
from argolint.snapshots.http_server import Faults, ReplayServer
from argolint.snapshots.http_stream import Stream
from argolint.testing import FixtureTransport
from tests.changing import Changing
from tests.fleets import app, config_map, drifted
from tests.test_watch import _GIVEN, QUICK, _bytes
from tests.waiting import until

TIMES = dataclasses.replace(QUICK, list_s=3600, relist_s=3600)
APPS = [app("web", drifted(), config_map("common")), app("api", config_map("a"))]
PUBLIC = "https://prod.example.com"


class World:
    """Two servers whose applications change, and a service that follows them. Their first applications share an object of one cluster."""

    def __init__(self, folder: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fleets: dict[str, Changing] = {}
        self.servers: dict[str, ReplayServer] = {}
        self.lines: list[str] = []
        entries = []
        for name in ("eu", "us"):
            apps = [app("web", drifted(), config_map("common"), cluster=PUBLIC), app("api", config_map("a"))]
            settings = {"url": f"https://{name}.example.com"}
            fleet = self.fleets[name] = Changing(FixtureTransport({"apps": apps, "server": {"settings": settings}}))
            stream = Stream(None, keepalive_s=0.2)
            fleet.listen(stream.publish)
            server = self.servers[name] = stack.enter_context(ReplayServer(fleet, stream=stream))
            monkeypatch.setenv(f"TOKEN_{name}", server.token())
            entries.append(
                {"name": name, "server": server.address, "plaintext": True, "auth-token-env": f"TOKEN_{name}"}
            )
        (folder / "servers.yaml").write_text(json.dumps({"servers": entries}))
        file = ServersFile(folder / "servers.yaml", by_option=True)
        self.given = replace(_GIVEN, connection=Flags(), servers=file, workers=4)
        self.run = prepare(self.given)
        monkeypatch.setattr(serve, "_say", self.lines.append)
        follower = serve._followers(self.run, self.given, None, TIMES)
        self.checker = Checker(_never, serve._empty_report(self.given), 3600, Style(), self.lines.append, follower)

    def fresh(self) -> Report:
        return common.report_of(examine_sources(self.run, self.given)[0], self.run)

    def change(self, name: str, status: dict[str, Any]) -> None:
        """Another status of the application web."""
        place = next(place for place in self.fleets[name].apps if place[1] == "web")
        known = self.fleets[name].apps[place]
        self.fleets[name].put({**known, "status": {**known["status"], **status}})

    def until(self, what: Callable[[], bool]) -> None:
        until(what, lambda: self.lines)


def _never() -> Any:
    raise AssertionError("a check of the interval, and changes are followed")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with ExitStack() as stack:
        found = World(tmp_path, stack, monkeypatch)
        found.checker.start()
        yield found
        found.checker.stop()


def _served(world: World) -> str:
    return _bytes(world.checker.documents.report)


def test_a_change_on_one_server_is_served_and_the_other_is_not_asked(world: World) -> None:
    world.until(lambda: world.checker.documents.report.complete)
    metrics = world.checker.at("/metrics")
    assert metrics is not None
    assert metrics.body.count(b"argolint_watch_connected{") == 2
    assert _served(world) == _bytes(world.fresh())
    assert {f.rule for f in world.checker.documents.report.findings} >= {"not-synced", "shared-between-servers"}
    world.until(lambda: all(server.stream.open for server in world.servers.values()))
    asked = {name: len(server.seen) for name, server in world.servers.items()}
    before = _served(world)
    world.change("eu", {"health": {"status": "Degraded"}})
    world.until(lambda: _served(world) != before)
    assert len(world.servers["us"].seen) == asked["us"]
    assert not any(p.startswith("/api/v1/applications?") for p in world.servers["eu"].seen[asked["eu"] :])
    fresh = _bytes(world.fresh())
    world.until(lambda: _served(world) == fresh)


@pytest.mark.parametrize(("stage", "kind"), [("login", AuthError), ("applications", ArgolintError)])
def test_a_server_is_down_if_no_application_of_it_was_read(world: World, stage: str, kind: type[ArgolintError]) -> None:
    report = world.fresh()
    apps = [found.app for found in report.applications]
    failures = tuple(ReportedFailure(stage, "no", "ask", app) for app in apps if app.server == "https://us.example.com")
    assert len(failures) == 2
    down = followers._unread(CheckResult(structs.replace(report, failures=failures), apps))
    assert {name: (type(error), str(error), error.hint) for name, error in down.items()} == {"us": (kind, "no", "ask")}
    assert followers._unread(CheckResult(structs.replace(report, failures=failures[1:]), apps)) == {}


def test_a_server_that_goes_down_is_its_failure_and_the_other_is_followed_on(world: World) -> None:
    world.until(lambda: world.checker.documents.report.complete)
    world.until(lambda: all(server.stream.open for server in world.servers.values()))
    world.servers["us"].faults = Faults(token_dies_after=0)
    world.change("us", {"health": {"status": "Degraded"}})
    world.until(lambda: bool(world.checker.documents.report.failures))
    report = world.checker.documents.report
    assert {f.server or (f.app and f.app.server) for f in report.failures} <= {"us", "https://us.example.com"}
    assert "https://eu.example.com" in {f.app.server for f in report.findings}
    assert world.checker.trouble == ""
    world.change("eu", {"health": {"status": "Degraded"}})
    world.until(
        lambda: (
            "https://eu.example.com"
            in {a.app.server for a in world.checker.documents.report.applications if a.health == "Degraded"}
        )
    )
    assert world.checker.documents.report.failures
    world.servers["us"].faults = Faults()
