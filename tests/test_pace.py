"""How hard a server is asked: requests in flight, to it and to each cluster, fewer when it refuses or turns slow, and a rate."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from argolint.cli.group import cli
from argolint.errors import ConnectError
from argolint.model import AppRef, ResourceId
from argolint.server import api, pace
from argolint.server.connection import Connection
from argolint.server.http import HttpTransport
from argolint.server.pace import HOLDS_S, PER_CLUSTER, Pace, reading_cluster
from argolint.snapshots.http_server import Faults, ReplayServer
from argolint.snapshots.reader import SnapshotTransport
from tests.small import write_snapshot
from tests.waiting import PATIENCE_S, until


class Busy(ThreadingHTTPServer):
    """Answers each request as `status` says of its number, from 1; `in_flight` is how many there were when it arrived."""

    daemon_threads = True

    def __init__(self, status: Callable[[int], int]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = status
        self.body = b'{"manifest": "{}", "items": []}'
        self.lock = threading.Lock()
        self.together: threading.Barrier | None = None
        """Requests are answered when so many are there."""
        self.now: Counter[str] = Counter()
        self.in_flight: list[int] = []
        self.times: list[float] = []
        """When each request arrived."""
        self.headers: dict[str, str] = {}
        self.silent: Callable[[_Handler], None] | None = None
        """Takes a request in place of an answer."""
        self.most: Counter[str] = Counter()
        """The most in flight at once, in all and of each kind of path."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Busy

    def do_GET(self) -> None:
        server, kinds = self.server, ("all", self.path.partition("?")[0].rpartition("/")[2])
        with server.lock:
            for kind in kinds:
                server.now[kind] += 1
                server.most[kind] = max(server.most[kind], server.now[kind])
            server.in_flight.append(server.now["all"])
            server.times.append(time.monotonic())
            status = server.status(len(server.in_flight))
        if server.together is not None:
            server.together.wait()
        if server.silent is not None:
            server.silent(self)
            self.close_connection = True
            return
        threading.Event().wait(0.005)  # so that others arrive meanwhile
        with server.lock:
            server.now.subtract(kinds)
        self.send_response(status)
        for name, value in server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(server.body)))
        self.end_headers()
        self.wfile.write(server.body)

    def log_message(self, *args: object) -> None:
        """Says nothing."""


@contextmanager
def busy(status: Callable[[int], int] = lambda number: 200) -> Iterator[Busy]:
    with Busy(status) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer counts as slow: on a busy machine any may be."""
    monkeypatch.setattr(pace, "_BLINK_S", 60.0)


def _ask(ask: Callable[[int], object], times: int, threads: int = 16) -> None:
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(ask, range(times)))


@pytest.mark.usefixtures("unhurried")
def test_no_more_requests_are_in_flight_than_workers_are_allowed() -> None:
    with busy() as server:
        t = HttpTransport(Connection(server.url), workers=3)
        server.together = threading.Barrier(3, timeout=PATIENCE_S)
        _ask(lambda n: t.get("/api/v1/clusters"), 39)
    assert len(server.in_flight) == 39
    assert server.most["all"] == 3
    assert t.stats.slowed == 0


@pytest.mark.usefixtures("unhurried")
def test_what_reads_one_cluster_is_bounded_for_each_cluster() -> None:
    app = AppRef("argocd", "web", "default", "https://cd.example.com")
    pod = ResourceId("", "Pod", "web", "web-1", "v1", "https://prod.example.com")
    with busy() as server:
        t = HttpTransport(Connection(server.url), workers=16)
        asks: tuple[Callable[[], object], ...] = (
            lambda: api.resource(t, app, pod),
            lambda: api.events(t, app, pod, "u1"),
        )
        _ask(lambda n: asks[n % 2](), 64)
        server.together = threading.Barrier(PER_CLUSTER + 2, timeout=PATIENCE_S)
        _ask(lambda n: api.managed_resources(t, app), PER_CLUSTER + 2)
    assert server.most["resource"] <= PER_CLUSTER
    assert server.most["events"] <= PER_CLUSTER
    assert server.most["all"] == PER_CLUSTER + 2
    assert len(server.in_flight) == 64 + PER_CLUSTER + 2


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_server_that_refuses_gets_half_as_many_at_once(status: int) -> None:
    with busy(lambda number: status if number <= 8 else 200) as server:
        t = HttpTransport(Connection(server.url), workers=8, retry_s=0.001)
        answers: list[int] = []
        _ask(lambda n: answers.append(t.get("/api/v1/clusters").status), 30)
    assert answers == [200] * 30
    assert max(server.in_flight[8:]) <= 4
    assert t.stats.slowed >= 1


def test_a_list_that_is_too_large_is_no_sign_of_load() -> None:
    with busy(lambda number: 429) as server:
        server.body = b'{"message": "grpc: received message larger than max (250 vs. 200)"}'
        t = HttpTransport(Connection(server.url), workers=8)
        assert t.get("/api/v1/applications").status == 429
    assert (len(server.in_flight), t.stats.slowed) == (1, 0)


def _answered(pace: Pace, times: int, seconds: float, *, refused: bool = False) -> None:
    for _ in range(times):
        with pace.request("managed-resources") as reply:
            reply.seconds, reply.refused = seconds, refused


def _room(pace: Pace) -> int:
    """How many requests are let through at once."""
    return pace._server.limit


def test_one_more_is_let_through_after_fifty_good_answers_up_to_where_it_began() -> None:
    pace = Pace(8)
    _answered(pace, 2, 0.01, refused=True)
    assert _room(pace) == 2
    _answered(pace, 50, 0.01)
    assert _room(pace) == 3
    _answered(pace, 500, 0.01)
    assert _room(pace) == 8


def test_a_server_that_turns_slow_gets_half_as_many_and_one_large_application_is_no_sign() -> None:
    halved: list[int] = []
    pace = Pace(8, slowed=lambda: halved.append(1))
    _answered(pace, 30, 0.1)
    _answered(pace, 2, 3.0)
    _answered(pace, 30, 0.1)
    assert (_room(pace), len(halved)) == (8, 0)
    _answered(pace, 8, 1.0)
    assert (_room(pace), len(halved)) == (4, 1)


def test_no_answer_at_all_counts_as_a_refusal_and_one_request_is_always_let_through() -> None:
    halved: list[int] = []
    pace = Pace(2, slowed=lambda: halved.append(1))
    for _ in range(5):
        with pace.request("version"), reading_cluster("https://prod.example.com"):
            pass
    assert (_room(pace), len(halved)) == (1, 1)


def test_a_rate_spreads_the_requests() -> None:
    now = [100.0]
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(round(seconds, 3))
        now[0] += seconds

    pace = Pace(8, rate=4.0, clock=lambda: now[0], sleep=sleep)
    _answered(pace, 4, 0.0)
    assert slept == [0.25, 0.25, 0.25]
    now[0] += 10.0
    _answered(pace, 2, 0.0)
    assert slept == [0.25, 0.25, 0.25, 0.25]


def test_nothing_is_asked_until_a_server_wants_to_be_asked_again_and_that_has_an_end() -> None:
    now = [100.0]
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(round(seconds, 3))
        now[0] += seconds

    pace = Pace(8, clock=lambda: now[0], sleep=sleep)
    pace.hold(20.0)
    pace.hold(5.0)
    _answered(pace, 2, 0.0)
    assert slept == [20.0]
    for _ in range(50):
        pace.hold(20.0)
        _answered(pace, 1, 0.0)
    assert sum(slept) == HOLDS_S


def test_a_refusal_with_a_time_holds_back_every_request() -> None:
    with busy(lambda number: 429 if number == 1 else 200) as server:
        server.headers["Retry-After"] = "1"
        t = HttpTransport(Connection(server.url), workers=4, retry_s=0.001)
        held: list[float] = []
        t._pace._sleep = lambda seconds: held.append(seconds) or time.sleep(seconds)  # type: ignore[func-returns-value]
        t.get("/api/v1/version")
        server.status = lambda number: 503 if number == 3 else 200
        _ask(lambda n: t.get("/api/v1/clusters"), 9, threads=1)
        _ask(lambda n: t.get("/api/v1/clusters"), 9, threads=3)
    assert len(server.in_flight) == 2 + 10 + 9
    apart = {n: b - a for n, (a, b) in enumerate(pairwise(server.times), start=2)}
    assert min(apart[2], apart[4]) >= 1.0
    assert len(held) <= 2, "no other request waits"


def test_what_a_server_asks_to_wait_has_an_end_over_all_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("argolint.server.http.time.sleep", slept.append)  # before a request is sent again
    with busy(lambda number: 503) as server:
        server.headers["Retry-After"] = "20"
        t = HttpTransport(Connection(server.url), workers=2, retry_s=0.001)
        t._pace._patience_s = 0.1  # in place of two minutes
        assert [t.get("/api/v1/clusters").status for _ in range(3)] == [503] * 3
    assert len(server.in_flight) == 12
    assert max(slept) < 1


def test_a_server_that_is_gone_is_not_asked_for_every_application_that_is_left() -> None:
    with busy(lambda number: 503) as server:
        t = HttpTransport(Connection(server.url), workers=2, retry_s=0.001)
        asked = [_failure(t) for _ in range(80)]
        assert len(server.in_flight) < 80
        assert asked[0] == ""
        assert asked[-1] == (
            f"{server.url} is not asked any more: more than 54 requests in a row had no answer of Argo CD"
        )


@pytest.mark.parametrize("begins", [False, True])
def test_a_server_that_falls_silent_is_not_waited_for_by_every_request(begins: bool) -> None:
    done = threading.Event()

    def silent(handler: _Handler) -> None:
        if begins:  # each byte comes in time, and the answer never ends
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n{")
            handler.wfile.flush()
        done.wait()

    with busy() as server:
        t = HttpTransport(Connection(server.url), workers=4, answer_s=0.2, gone_s=0.6)
        until(lambda: _failure(t) == "")
        before = len(server.in_flight)
        server.silent = silent
        said: list[str] = []
        _ask(lambda n: said.append(_failure(t)), 60)
        done.set()
    assert len(server.in_flight) - before < 20
    assert t.stats.slowed >= 2
    told = [text for text in said if "is not asked any more" in text]
    assert len(told) > 40
    assert set(told) == {f"{server.url} is not asked any more: no request had an answer of Argo CD for more than 0.6 s"}


def _failure(t: HttpTransport) -> str:
    """What is said where nothing is asked."""
    try:
        t.get("/api/v1/clusters")
    except ConnectError as error:
        return error.message
    return ""


def test_a_check_lists_the_applications_once_and_tells_that_it_was_slowed_down(tmp_path: Path) -> None:
    snapshot = SnapshotTransport([write_snapshot(tmp_path / "small")])
    with ReplayServer(snapshot, faults=Faults(unavailable=2)) as server:
        options = ["--server", server.url, "--auth-token", server.token(), "--plaintext", "--rate", "100/s"]
        saved = tmp_path / "report.json"
        done = CliRunner().invoke(
            cli, ["check", *options, "-q", "--fail-on", "never", "-o", "text", "-o", f"json={saved}"]
        )
    assert [path for path in server.seen if path.partition("?")[0] == "/api/v1/applications"] == [
        "/api/v1/applications"
    ]
    assert "slowed down 2 times" in done.stdout
    assert json.loads(saved.read_text())["stats"]["slowed"] == 2


@pytest.mark.parametrize("rate", ["0", "x", "5/h", "-1/s", "nan", "inf", "20000"])
def test_a_rate_that_is_none_is_refused(rate: str) -> None:
    done = CliRunner().invoke(cli, ["check", "--server", "cd.example.com", "--rate", rate])
    assert done.exit_code == 2
    assert f"'{rate}' is no rate such as 5/s or 30/m, from one a minute to 10000/s" in done.stderr
