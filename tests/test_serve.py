"""The service over real HTTP: what it answers, to whom, while Argo CD is down, under a crowd of connections, and at its end."""

from __future__ import annotations

import gc
import gzip
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import msgspec
import pytest

from argolint.application.fleet import Fleet
from argolint.cli.demo import RECORDING
from argolint.errors import AuthError, ConnectError
from argolint.reports import document as r
from argolint.reports.formats import Style
from argolint.serve import web as web_module
from argolint.serve.check_result import CheckResult
from argolint.serve.checker import Checker
from argolint.serve.documents import Documents
from argolint.serve.web import CONNECTIONS, Web
from argolint.snapshots.http_server import ReplayServer
from argolint.snapshots.reader import SnapshotTransport
from tests.conftest import clean_environment
from tests.here import run_here
from tests.test_prometheus import _finding, _report, _samples
from tests.waiting import PATIENCE_S, until

TOKEN = "correct-horse-battery"
LAST = "argolint_last_complete_check_timestamp_seconds"


def get(
    address: tuple[str, int], path: str, headers: Mapping[str, str] | None = None, method: str = "GET"
) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection(*address, timeout=PATIENCE_S)
    try:
        connection.request(method, path, headers=dict(headers or {}))
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


class Service:
    """`argolint serve` as a process."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.process = process
        assert process.stderr is not None
        listening = re.search(r"http://(\S+):(\d+)", process.stderr.readline())
        assert listening
        self.address = (listening[1], int(listening[2]))
        self.folder = folder

    def wait_until_ready(self) -> None:
        until(lambda: get(self.address, "/readyz")[0].status == 200)

    def get(self, path: str, **headers: str) -> tuple[HTTPResponse, bytes]:
        return get(self.address, path, {"Authorization": f"Bearer {TOKEN}", **headers})

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, errors


@contextmanager
def serving(folder: Path, *args: str | Path, **environ: str) -> Iterator[Service]:
    command = [sys.executable, "-m", "argolint", "serve", "--listen", "127.0.0.1:0", *map(str, args)]
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**clean_environment(), "HOME": str(folder), **environ},
    ) as process:
        try:
            yield Service(process, folder)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of the demo's server, over HTTP, with a token."""
    folder = tmp_path_factory.mktemp("service")
    (folder / "token").write_text(TOKEN + "\n")
    with ReplayServer(SnapshotTransport([RECORDING])) as argocd:
        access = ("--server", argocd.address, "--plaintext", "--token-file", "token")
        with serving(folder, *access, ARGOCD_AUTH_TOKEN=argocd.token()) as started:
            started.wait_until_ready()
            yield started


def test_it_serves_what_a_check_reports(service: Service, demo_files: Path) -> None:
    answer, body = service.get("/report.json")
    served, checked = json.loads(body), json.loads((demo_files / "report.json").read_bytes())
    assert served.pop("stats")["requests"] > 100
    checked.pop("stats")
    assert served == checked
    assert answer.headers["Content-Type"] == "application/json"
    page = service.get("/report.html")[1].decode()
    assert page == (demo_files / "page.html").read_text(encoding="utf-8")
    findings = _samples(service.get("/metrics")[1].decode(), "argolint_findings")
    assert sum(findings.values()) == len(checked["findings"])


def test_applications_are_served_one_by_one(service: Service) -> None:
    listed = json.loads(service.get("/api/v1/applications")[1])["applications"]
    assert len(listed) == 63
    report = json.loads(service.get("/report.json")[1])
    gateway = json.loads(service.get("/api/v1/applications/argocd/payments-gateway")[1])
    expected = [f for f in report["findings"] if "payments-gateway" in (a["app"]["name"] for a in (f, *f["related"]))]
    assert gateway["findings"] == expected != []
    assert (gateway["complete"], gateway["started_at"]) == (True, report["started_at"])
    for path in (
        "/api/v1/applications/argocd/none",
        "/api/v1/applications/a",
        "/api/v1/applications/a/b/c",
        "/x",
        "/../x",
    ):
        assert (path, service.get(path)[0].status) == (path, 404)


def test_answers_are_packed_for_who_can_unpack_them(service: Service) -> None:
    plain, body = service.get("/metrics")
    packed, smaller = service.get("/metrics", **{"Accept-Encoding": "gzip"})
    assert (plain.headers["Content-Encoding"], packed.headers["Content-Encoding"]) == (None, "gzip")
    assert gzip.decompress(smaller) == body
    assert plain.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    head, nothing = get(service.address, "/metrics", {"Authorization": f"Bearer {TOKEN}"}, "HEAD")
    assert (head.status, int(head.headers["Content-Length"]), nothing) == (200, len(body), b"")


def test_only_who_has_the_token_is_answered_and_nothing_is_changed(service: Service) -> None:
    for headers in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": "\xe9"},
    ):
        for path in ("/metrics", "/report.html", "/", "/none"):
            answer, body = get(service.address, path, headers)
            assert (answer.status, body) == (401, b"a bearer token is needed\n")
    assert get(service.address, "/healthz")[1] == get(service.address, "/readyz")[1] == b"ok\n"
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "NONSENSE"):
        answer, body = get(service.address, "/metrics", {"Authorization": f"Bearer {TOKEN}"}, method)
        assert (answer.status, answer.headers["Allow"], body) == (405, "GET, HEAD", b"GET only\n")


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\xff\r\n\r\n",
        b"GET " + b"/" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET http://[::1/ HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused_without_an_echo(service: Service, sent: bytes) -> None:
    with socket.create_connection(service.address, timeout=PATIENCE_S) as client:
        client.sendall(sent)
        answer = client.makefile("rb").read()
    assert answer.split(b" ")[1][:1] in (b"4", b"5")
    assert answer.endswith(b"no request that is understood\n")


def test_a_crowd_that_sends_nothing_keeps_nobody_out(service: Service) -> None:
    crowd = []
    try:
        for _ in range(500):
            crowd.append(socket.create_connection(service.address, timeout=PATIENCE_S))
        for path in ("/healthz", "/metrics", "/report.json"):
            assert service.get(path)[0].status == 200
        with Path(f"/proc/{service.process.pid}/status").open() as status:
            (threads,) = (int(line.split()[1]) for line in status if line.startswith("Threads:"))
        assert threads < CONNECTIONS + 30
    finally:
        for client in crowd:
            client.close()


def test_it_ends_well_when_asked(tmp_path: Path, pair: Path) -> None:
    with serving(tmp_path, "--snapshot", pair, "--state", "state") as started:
        started.wait_until_ready()
        assert started.end(signal.SIGTERM) == (0, "argolint: ended\n")
    with serving(tmp_path, "--snapshot", RECORDING) as started:
        assert started.end(signal.SIGINT)[0] == 0, "in the middle of the first check as well"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--listen", "9797"), "--listen '9797' is no HOST:PORT"),
        (("--listen", "::1:80"), "is no HOST:PORT"),
        (("--listen", "192.0.2.1:80"), "cannot listen on 192.0.2.1, port 80"),
        (("--interval", "1s"), "--interval 1s is too short"),
        (("--interval", "10"), "--interval '10' is no time"),
        (("--token-file", "none"), "cannot read the token in none"),
        (("--token-file", "empty"), "empty holds no token"),
        (("--snapshot", "none"), "none"),
    ],
)
def test_what_cannot_start_says_why(tmp_path: Path, args: tuple[str, ...], said: str) -> None:
    (tmp_path / "empty").write_text("\n")
    snapshot = () if "--snapshot" in args else ("--snapshot", RECORDING)
    ran = run_here("serve", *args, *snapshot, cwd=tmp_path)
    assert (ran.code, ran.out, said in ran.err) == (2, "", True), ran.err


def _checked(*names: str, at: str = "2026-01-01T12:00:00Z") -> CheckResult:
    report = _report(*(_finding(name) for name in names), started_at=at)
    return CheckResult(report, frozenset(f.app for f in report.findings))


class Argo:
    """Answers of an Argo CD, one for each check; an error stands for one that cannot be read."""

    def __init__(self, *answers: CheckResult | Exception) -> None:
        self.answers = list(answers)
        self.lines: list[str] = []

    def check(self) -> CheckResult:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def checker(self, interval_s: float = 3600) -> Checker:
        empty = r.Report(
            "1.0", r.Tool("argolint", "0"), "", False, (r.Server("https://cd", "", 0),), _report().summary, ()
        )
        return Checker(self.check, empty, interval_s, Style(), self.lines.append)


def test_an_application_without_findings_is_served_as_well() -> None:
    quiet = r.ReportedApp("https://argocd.example.com", "argocd", "quiet app", "shop")
    checked = _checked("web")
    documents = Documents(checked.report, {*checked.apps, quiet}, Style())
    one = json.loads(documents.at("/api/v1/applications/argocd/quiet%20app").body)  # type: ignore[union-attr]
    assert (one["app"]["name"], one["findings"], one["counts"]) == (
        "quiet app",
        [],
        {"error": 0, "warning": 0, "info": 0},
    )
    listed = json.loads(documents.at("/api/v1/applications").body)["applications"]  # type: ignore[union-attr]
    assert [(a["app"]["name"], a["findings"]["error"]) for a in listed] == [("quiet app", 0), ("web", 1)]


def test_an_application_is_served_with_its_own_failures_and_those_of_its_argo_cd() -> None:
    checked = _checked("web")
    (web,) = checked.apps
    other = r.ReportedApp(web.server, "argocd", "other", "shop")
    ours = next(s.name for s in checked.report.servers)
    failures = [
        r.ReportedFailure("states", "of web", app=web),
        r.ReportedFailure("states", "of other", app=other),
        r.ReportedFailure("clusters", "of the only one"),
        r.ReportedFailure("clusters", "of ours", server=ours),
        r.ReportedFailure("clusters", "of theirs", server="theirs"),
    ]
    report = msgspec.structs.replace(checked.report, failures=tuple(failures))
    served = Documents(report, {web, other}, Style()).at("/api/v1/applications/argocd/web")
    assert served is not None
    assert [f["error"] for f in json.loads(served.body)["failures"]] == ["of web", "of the only one", "of ours"]


def test_of_several_argo_cds_each_that_is_down_is_told_once() -> None:
    def checked(*failures: r.ReportedFailure) -> CheckResult:
        whole = _checked("web")
        return CheckResult(msgspec.structs.replace(whole.report, failures=failures), whole.apps)

    us = r.ReportedFailure("server", "nothing listens", "check `server`", server="us")
    lab = r.ReportedFailure("login", "the token expired", server="lab")
    alias = r.ReportedFailure("clusters", "there is an alias for nothing", server="eu")
    argo = Argo(checked(us, alias), checked(us, lab), checked(lab), checked())
    checker = argo.checker()
    for _ in range(4):
        checker.once()
    assert argo.lines == [
        "us: cannot be read: nothing listens (check `server`)",
        "lab: cannot be read: the token expired",
        "us: can be read again",
        "lab: can be read again",
    ]


def test_while_argo_cd_is_down_the_last_good_report_stays_with_its_time() -> None:
    argo = Argo(_checked("web"), ConnectError("no answer", "look at it"), _checked("api", at="2026-01-01T13:00:00Z"))
    checker = argo.checker()
    checker.once()
    good = checker.documents
    checker.once()
    down = checker.documents
    report = json.loads(down.at("/report.json").body)  # type: ignore[union-attr]
    assert [f["app"]["name"] for f in report["findings"]] == ["web"]
    assert (report["complete"], report["started_at"]) == (False, "2026-01-01T12:00:00Z")
    assert report["failures"] == [
        {"stage": "check", "error": "no answer", "hint": "look at it", "app": None, "rule": None}
    ]
    assert _samples(down.metrics, "argolint_check_complete") == {("argocd.example.com",): 0}
    assert _samples(down.metrics, LAST) == _samples(good.metrics, LAST) == {("argocd.example.com",): 1767268801.5}
    assert _samples(down.metrics, "argolint_app_findings") == _samples(good.metrics, "argolint_app_findings")
    checker.once()
    back = checker.documents
    assert _samples(back.metrics, LAST) == {("argocd.example.com",): 1767272401.5}
    assert "web" not in back.metrics, "a finding that is gone leaves no series"
    assert argo.lines == ["check failed: no answer (look at it)", "a check succeeded again"]


def test_it_is_ready_when_its_first_report_can_be_had_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    checker = Argo(_checked("web")).checker()
    ready: list[bool] = []

    class Noted(Documents):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            ready.append(checker.ready)

    monkeypatch.setattr("argolint.serve.checker.Documents", Noted)
    checker.once()
    assert (ready, checker.ready) == ([False], True)
    assert [f.app.name for f in checker.documents.report.findings] == ["web"]


def test_a_check_that_could_read_no_application_is_no_news() -> None:
    apps = _checked("web").apps
    failures = tuple(r.ReportedFailure("login", "token is expired", app=app) for app in apps)
    lost = r.Report("1.0", r.Tool("argolint", "0"), "x", False, (), _report().summary, (), failures)
    checker = Argo(_checked("web"), CheckResult(lost, apps)).checker()
    checker.once()
    checker.once()
    assert len(checker.documents.report.findings) == 1
    assert checker.documents.report.failures[0].error == "token is expired"


HOSTS = {
    "localhost": 200,
    "LOCALHOST:9797": 200,
    "127.0.0.1:80": 200,
    "[::1]:80": 200,
    "argolint.example.com": 200,
    "evil.example.com": 421,
    "127.0.0.1.evil.example.com": 421,
    "localhost.evil.example.com:80": 421,
    "[::1].evil.example.com": 421,
    "[::1]evil.example.com:80": 421,
    "[localhost]:80": 421,
    "localhost:80:evil.example.com": 421,
    "": 421,
}


def test_a_name_that_leads_to_this_machine_is_not_this_machine() -> None:
    """DNS rebinding: a page's own name gets the address 127.0.0.1, and the browser lets the page read what it answers."""
    checker = Argo(_checked("web")).checker()
    checker.once()
    for listen, token, guarded in (("127.0.0.1", "", True), ("127.0.0.1", TOKEN, False), ("0.0.0.0", "", False)):
        with Web(listen, 0, checker, token, names=["Argolint.example.com"]) as web:
            threading.Thread(target=web.serve_forever, args=(0.02,), daemon=True).start()
            address = ("127.0.0.1", web.server_address[1])
            own = {"Authorization": f"Bearer {token}"} if token else {}
            got = {host: get(address, "/report.json", {"Host": host, **own})[0].status for host in HOSTS}
            assert got == (HOSTS if guarded else dict.fromkeys(HOSTS, 200))
            assert get(address, "/readyz", {"Host": "evil.example.com"})[0].status == 200, "as kubelets ask"
            web.shutdown()


def test_a_crowd_that_reads_slowly_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_module, "_SLOW_S", 0.0)
    checked = _checked("web")
    large = msgspec.structs.replace(checked.report, remarks=("x" * 20_000_000,))  # more than sockets take
    checker = Argo(replace(checked, report=large)).checker()
    checker.once()
    with Web("127.0.0.1", 0, checker) as web, ExitStack() as crowd:
        threading.Thread(target=web.serve_forever, args=(0.02,), daemon=True).start()
        address = ("127.0.0.1", web.server_address[1])
        for _ in range(CONNECTIONS):
            client = crowd.enter_context(socket.create_connection(address, timeout=PATIENCE_S))
            client.sendall(b"GET /report.json HTTP/1.1\r\n\r\n")
            client.recv(1)
        assert web.answering == CONNECTIONS
        assert get(address, "/readyz")[0].status == 200
        web.shutdown()


def test_before_the_first_success_it_lives_and_is_not_ready() -> None:
    argo = Argo(AuthError("no token", ""), ValueError("secret words"), _checked("web"))
    checker = argo.checker()
    with Web("127.0.0.1", 0, checker) as web:
        thread = threading.Thread(target=web.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        address = ("127.0.0.1", web.server_address[1])
        for said in (b"Argo CD does not accept the token\n", b"no check has succeeded yet\n"):
            checker.once()
            answer, body = get(address, "/readyz")
            assert (answer.status, body) == (503, said)
            metrics = get(address, "/metrics")[1].decode()
            assert _samples(metrics, "argolint_check_complete") == {("cd",): 0}
            assert _samples(metrics, "argolint_findings") == _samples(metrics, LAST) == {}
        checker.once()
        assert get(address, "/readyz")[0].status == 200
        assert get(address, "/report.html")[0].status == 200
        web.shutdown()
    assert [line for line in argo.lines if "secret words" in line] == []
    assert argo.lines[1].startswith("check failed: crashed: ValueError at ")


def test_nothing_of_an_earlier_check_stays_in_memory(tmp_path: Path, pair: Path) -> None:
    """A fleet of ten thousand applications takes hundreds of MB, and a service checks for months."""

    def fleets() -> set[int]:
        gc.collect()
        return {id(o) for o in gc.get_objects() if isinstance(o, Fleet)}

    before = fleets()
    assert run_here("check", "--snapshot", pair, "-q", cwd=tmp_path).code == 1
    assert fleets() <= before


def test_it_checks_again_and_again() -> None:
    seen = threading.Semaphore(0)

    def check() -> CheckResult:
        seen.release()
        return _checked("web")

    checker = Checker(check, _report(), 0.01, Style(), lambda line: None)
    checker.start()
    for _ in range(3):
        assert seen.acquire(timeout=PATIENCE_S)
    assert checker.alive
    checker.stop()
