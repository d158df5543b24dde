"""Applications looked at by a Dask cluster: a real scheduler and real workers, over TLS, and what becomes of them."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from argolint.cli.demo import RECORDING
from argolint.engine.workers import cluster
from argolint.engine.workers.spec import versions
from argolint.plugins import load_rules
from argolint.snapshots.http_server import ReplayServer
from argolint.snapshots.reader import SnapshotTransport
from tests.conftest import ROOT, Ran
from tests.here import run_here
from tests.small import ANSWERS, MANAGED, Recorded, application, write_snapshot
from tests.waiting import PATIENCE_S, until

pytest.importorskip("distributed")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")

ENDING = '''
"""Ends its worker at an application that a file names."""
import os, pathlib, signal
from argolint import Rule

def check(app, fleet, options):
    for kind in ("always", "once"):
        file = pathlib.Path(os.environ.get("TEST_ENDING", "/nowhere"), kind)
        try:  # another worker may take the file away at any moment
            if app.name in file.read_text().split():
                if kind == "once":
                    file.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
        except FileNotFoundError:
            continue
    return ()

RULE = Rule(id="test-ending", family="drift", severity="info", doc="A test rule.", check=check)
'''
NAMES = tuple(f"app-{n:02}" for n in range(12))


@dataclass
class Running:
    """A scheduler with its workers, the servers that they know, and how to reach all of them."""

    address: str
    ending: Path
    scheduler: subprocess.Popen[bytes]
    server: ReplayServer
    small: ReplayServer
    config: dict[str, str]
    token: str

    def check(self, *more: str | Path, cwd: Path, server: ReplayServer | None = None) -> Ran:
        """A check on the workers, whose token is in a variable of theirs."""
        there = server or self.small
        args = (
            "check",
            "--server",
            there.address,
            "--plaintext",
            "--auth-token",
            there.token(),
            "--deep",
            "-o",
            "json",
        )
        where = "TOKEN" if there is self.server else "TOKEN_SMALL"
        import dask

        with dask.config.set(self.config):
            return run_here(*args, "--dask", self.address, "--worker-token", f"env:{where}", *more, cwd=cwd)


@pytest.fixture(scope="module")
def started_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("dask")
    rules = plugin(folder / "rules", "1.0")
    ending = folder / "ending"
    ending.mkdir()
    pem, key = certificate(folder)
    tls = [f"--tls-{name}={value}" for name, value in (("ca-file", pem), ("cert", pem), ("key", key))]
    config = {f"distributed.comm.tls.{name}": str(pem) for name in ("ca-file", "client.cert")}
    known = folder / "scheduler.json"
    with (
        ReplayServer(SnapshotTransport([RECORDING])) as server,
        ReplayServer(SnapshotTransport([small_fleet(folder / "small")])) as small,
        pytest.MonkeyPatch.context() as patch,
    ):
        token = server.token()
        patch.syspath_prepend(rules)
        load_rules.cache_clear()
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{rules}", "TMPDIR": str(folder), "PYTHONWARNINGS": "ignore"}
        own = {"TEST_ENDING": str(ending), "TOKEN": token, "TOKEN_SMALL": small.token()}
        common = ["--host=127.0.0.1", "--no-dashboard", "--protocol=tls", f"--scheduler-file={known}", *tls]
        with (
            started("dask_scheduler", *common, "--port=0", cwd=folder, env=environment) as scheduler,
            waited_for(known),
            started(
                "dask_worker", *WORKERS, *common, cwd=folder, env=environment | own | {"TOKEN_OF_ONE": small.token()}
            ),
            started("dask_worker", *WORKERS, *common, cwd=folder, env=environment | own),
        ):
            address = json.loads(known.read_text())["address"]
            yield Running(address, ending, scheduler, server, small, config | {CLIENT_KEY: str(key)}, token)
    load_rules.cache_clear()


@pytest.fixture
def running(started_once: Running) -> Running:
    """With both workers: one that an earlier test has ended comes back."""
    import dask

    with dask.config.set(started_once.config), cluster.connected(started_once.address) as client:
        client.wait_for_workers(2, timeout=PATIENCE_S)
    return started_once


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is there is asked more often than every two seconds: these fleets are small."""
    monkeypatch.setattr(cluster, "LOOK_S", 0.2)


WORKERS = ("--nthreads=1", "--memory-limit=1GB", "--death-timeout=120")
CLIENT_KEY = "distributed.comm.tls.client.key"


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate that is its own authority, for all of them."""
    pem, key = folder / "cert.pem", folder / "key.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=dask"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*made, *names, "-keyout", key, "-out", pem], check=True, capture_output=True)
    return pem, key


def plugin(folder: Path, version: str) -> Path:
    """An installed package with one rule."""
    info = folder / f"test_ending-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: test-ending\nVersion: {version}\n")
    (info / "entry_points.txt").write_text("[argolint.rules]\nending = test_ending_rule\n")
    (folder / "test_ending_rule.py").write_text(ENDING)
    return folder


def small_fleet(folder: Path) -> Path:
    answers: list[Recorded] = [a for a in ANSWERS if not a[0].startswith("/api/v1/applications")]
    answers.append(("/api/v1/projects", (), False, 200, {"items": [{"metadata": {"name": "shop"}}]}))
    answers.append(("/api/v1/repositories", (), False, 200, {"items": []}))
    answers.append(("/api/v1/applicationsets", (), False, 200, {"items": []}))
    apps = [application(name, "argocd", "shop", "https://git.example.com/shop.git") for name in NAMES]
    answers.append(("/api/v1/applications", (), False, 200, {"items": apps}))
    for name in NAMES:
        query = (("appNamespace", "argocd"), ("project", "shop"))
        answers.append((f"/api/v1/applications/{name}/managed-resources", query, False, 200, MANAGED))
        answers.append((f"/api/v1/applications/{name}/resource-tree", query, False, 200, {"nodes": []}))
    return write_snapshot(folder, answers)


@contextmanager
def started(module: str, *args: str, cwd: Path, env: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with (cwd / f"{module}.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{module}", *args], cwd=cwd, env=env, stdout=log, stderr=log
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def waited_for(file: Path) -> Iterator[None]:
    until(lambda: file.exists() and file.read_text().endswith("}"))
    yield


def report(ran: Ran) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ran.out)
    del found["stats"]
    return found


@pytest.fixture(scope="module")
def plain(started_once: Running, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The small fleet, looked at by this process."""
    small = started_once.small
    access = ("--server", small.address, "--plaintext", "--auth-token", small.token())
    return report(run_here("check", *access, "--deep", "-o", "json", cwd=tmp_path_factory.mktemp("plain")))


def test_a_cluster_writes_the_report_of_one_process_and_its_scheduler_never_sees_the_token(
    running: Running, tmp_path: Path
) -> None:
    running.server.seen.clear()
    ran = running.check("payments-*", cwd=tmp_path, server=running.server)
    assert (ran.code, ran.err) == (1, "")
    assert running.server.seen.count("/api/v1/applications") == 1
    assert len(running.server.seen) == json.loads(ran.out)["stats"]["requests"]
    here = run_here("check", "payments-*", "--snapshot", RECORDING, "--deep", "-o", "json", cwd=tmp_path)
    assert report(ran) == report(here)
    memory = memory_of(running.scheduler.pid)
    assert b"lint_chunk" in memory
    assert running.token.encode() not in memory
    assert running.token.rpartition(".")[2].encode() not in memory


def memory_of(pid: int) -> bytes:
    """All that a process has written to its memory."""
    found = []
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            place, rights, *_ = line.split()
            start, end = (int(text, 16) for text in place.split("-"))
            if rights.startswith("rw"):
                memory.seek(start)
                found.append(memory.read(end - start))
    return b"".join(found)


def test_a_worker_that_ends_costs_nothing_and_an_application_that_ends_every_worker_is_one_failure(
    running: Running, plain: dict[str, Any], tmp_path: Path
) -> None:
    (running.ending / "once").write_text(NAMES[2])
    ran = running.check(cwd=tmp_path)
    assert not (running.ending / "once").exists()
    assert report(ran) == plain
    (running.ending / "always").write_text(NAMES[7])
    ran = running.check(cwd=tmp_path)
    (running.ending / "always").unlink()
    assert ran.code == 3
    found = report(ran)
    assert [(f["app"]["name"], f["stage"]) for f in found["failures"]] == [(NAMES[7], "worker")]
    assert found["failures"][0]["error"].endswith(", twice with this application")
    assert told_alone(found) == [f for f in told_alone(plain) if f["app"]["name"] != NAMES[7]]


def told_alone(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The findings that are about one application."""
    return [f for f in found["findings"] if not f.get("related")]


def test_a_worker_without_the_token_is_left_out_aloud(running: Running, plain: dict[str, Any], tmp_path: Path) -> None:
    ran = running.check("--worker-token", "env:TOKEN_OF_ONE", cwd=tmp_path)
    assert report(ran) == plain
    assert ran.err.startswith("warning: the Dask worker tls://127.0.0.1:")
    assert " is left out: the variable TOKEN_OF_ONE is not set (" in ran.err


def test_where_no_worker_has_the_token_nothing_is_begun(running: Running, tmp_path: Path) -> None:
    ran = running.check("--worker-token", "file:/nowhere/token", cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert re.search(
        r"argolint: no Dask worker can look at anything; tls://127.0.0.1:[0-9]+: "
        r"cannot read the token file /nowhere/token: No such file or directory \(",
        ran.err,
    )
    assert "→ give every worker the token there, or say where it is: --worker-token env:NAME or file:PATH" in ran.err


def test_a_cluster_looks_at_several_servers_with_a_token_each(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN_SMALL", running.small.token())
    entry = f"server: {running.small.address}, plaintext: true, auth-token-env: TOKEN_SMALL"
    saved = f"snapshot: {write_snapshot(tmp_path / 'other')}"
    (tmp_path / "servers.yaml").write_text(f"servers:\n- {{name: eu, {entry}}}\n- {{name: us, {saved}}}\n")
    args = ("check", "--servers", "servers.yaml", "--deep", "-o", "json")
    import dask

    with dask.config.set(running.config):
        ran = run_here(*args, "--dask", running.address, cwd=tmp_path)
        refused = run_here(*args, "--dask", running.address, "--worker-token", "env:TOKEN", cwd=tmp_path)
    assert report(ran) == report(run_here(*args, cwd=tmp_path))
    assert len(report(ran)["servers"]) == 2
    assert (refused.code, "--worker-token is for a single server" in refused.err) == (2, True)


def test_a_server_whose_token_no_worker_has_costs_no_finding_of_another(
    running: Running, plain: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN_HERE", running.token)
    monkeypatch.setenv("TOKEN_SMALL", running.small.token())
    entries = [
        f"{{name: {name}, server: {there.address}, plaintext: true, auth-token-env: {variable}}}"
        for name, there, variable in (
            ("demo", running.server, "TOKEN_HERE"),
            ("small", running.small, "TOKEN_SMALL"),
        )
    ]
    (tmp_path / "servers.yaml").write_text("servers:\n- " + "\n- ".join(entries))
    import dask

    args = ("check", "--servers", "servers.yaml", "--deep", "-o", "json", "--dask", running.address)
    with dask.config.set(running.config):
        ran = run_here(*args, cwd=tmp_path)
    found = report(ran)
    assert ran.code == 3
    (why,) = {f["error"] for f in found["failures"]}
    assert "the variable TOKEN_HERE is not set" in why
    url = found["servers"][-1]["url"]
    assert {f["app"]["server"] for f in found["failures"]} == {found["servers"][0]["url"]}
    marks = [f["fingerprint"] for f in found["findings"] if f["app"]["server"] == url]
    assert marks == [f["fingerprint"] for f in plain["findings"]]


def test_workers_with_other_versions_are_refused_with_a_table(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(plugin(tmp_path / "newer", "2.0"))
    ran = running.check(cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "2 of 2 Dask workers run other versions than this process:" in ran.err
    rows = [line.split() for line in ran.err.splitlines()]
    assert ["python", "knowledge", "argolint", "msgspec", "distributed", "test-ending"] in rows
    assert [row[-1] for row in rows if row[:1] == ["here"]] == ["2.0"]
    assert [row[-1] for row in rows if row[0].startswith("tls://")] == ["1.0", "1.0"]


def test_a_stopped_worker_is_given_up_after_its_time(
    running: Running, plain: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "SILENCE_S", 4.0)
    stopped: list[int] = []

    def stop() -> None:
        import dask

        with dask.config.set(running.config), cluster.connected(running.address) as client:
            stopped.append(min(client.run(os.getpid).values()))
        os.kill(stopped[0], signal.SIGSTOP)

    try:
        with when(running.small, stop):
            ran = running.check(cwd=tmp_path)
    finally:
        os.kill(stopped[0], signal.SIGCONT)
    assert report(ran) == plain


def test_a_worker_that_hangs_from_the_beginning_is_left_out_aloud(
    running: Running, plain: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dask

    with dask.config.set(running.config), cluster.connected(running.address) as client:
        address, pid = min(client.run(os.getpid).items())
        client.run(versions)  # the other one has imported argolint, and answers soon
    monkeypatch.setattr(cluster, "ASK_S", 3.0)
    os.kill(pid, signal.SIGSTOP)
    try:
        ran = running.check(cwd=tmp_path)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert report(ran) == plain
    assert ran.err == f"warning: the Dask worker {address} is left out: it did not answer in time\n"


def test_workers_that_are_all_paused_end_the_check_with_the_reason(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "SILENCE_S", 3.0)

    def turn(status: str) -> None:
        import dask
        from distributed.core import Status

        def change(dask_worker: Any) -> None:
            dask_worker.memory_manager.memory_pause_fraction = False if status == "paused" else 0.8
            dask_worker.status = Status[status]

        with dask.config.set(running.config), cluster.connected(running.address) as client:
            client.run(change)

    turn("paused")
    try:
        ran = running.check(cwd=tmp_path)
    finally:
        turn("running")
    assert ran.code == 3
    (error,) = {f["error"] for f in report(ran)["failures"]}
    assert re.fullmatch(
        r"none of \d Dask workers took work for 3 s; \d of them are paused, as where memory runs out", error
    )


def test_a_scheduler_that_is_gone_ends_the_check_with_what_was_read(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "GONE_S", 1.0)
    with when(running.small, running.scheduler.kill):
        ran = running.check(cwd=tmp_path)
    assert ran.code == 3
    found = report(ran)
    assert {f["error"] for f in found["failures"]} == {"the Dask scheduler did not answer for 1 s"}
    assert found["summary"]["apps"] == len(NAMES)


@contextmanager
def when(server: ReplayServer, event: Callable[[], object]) -> Iterator[None]:
    """The event happens at the first request for states, which is answered after it."""
    server.seen.clear()
    inner, lock = server.transport.get, threading.Lock()
    once: list[object] = []

    def get(path: str, query: Any = (), *, anonymous: bool = False) -> Any:
        if path.endswith("/managed-resources"):
            with lock:
                if not once:
                    once.append(event())
        return inner(path, query, anonymous=anonymous)

    with mock.patch.object(server.transport, "get", get):
        yield


def test_without_distributed_nothing_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with ReplayServer(SnapshotTransport([write_snapshot(tmp_path / "s")])) as server:
        access = ("--server", server.address, "--plaintext", "--auth-token", server.token())
        ran = run_here("check", *access, "--dask", "127.0.0.1:1", cwd=tmp_path)
        assert server.seen == []
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "argolint: --dask needs the package distributed\n  → pip install 'distributed>=2025.1'\n"


def test_what_accepts_connections_and_says_nothing_is_no_scheduler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"tcp://127.0.0.1:{mute.getsockname()[1]}"
        ran = run_here("check", "--snapshot", RECORDING, "--dask", address, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"argolint: what listens at {address} does not speak as a Dask scheduler does\n")


@pytest.mark.parametrize(
    ("address", "more", "told"),
    [
        ("tcp://10.1.2.3:8786", (), "the Dask scheduler at tcp://10.1.2.3:8786 speaks without TLS"),
        ("dask.example.com:8786", (), "the Dask scheduler at dask.example.com:8786 speaks without TLS"),
        ("https://dask.example.com", (), "'https://dask.example.com' is no address of a Dask scheduler"),
        ("tls://[dask", (), "'tls://[dask' is no address of a Dask scheduler"),
        ("127.0.0.1:1", (), "no Dask scheduler answers at 127.0.0.1:1"),
        ("127.0.0.1:1", ("--processes", "2"), "--dask and --processes both say who looks at applications"),
        ("127.0.0.1:1", ("--worker-token", "s3cret"), "does not say where the workers find the token"),
        ("127.0.0.1:1", ("-H", "X-Key: 1"), "the headers of this connection would have to travel to the Dask workers"),
    ],
)
def test_what_cannot_be_a_cluster_is_refused(
    address: str, more: tuple[str, ...], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_S", 0.5)
    with ReplayServer(SnapshotTransport([write_snapshot(tmp_path / "s")])) as server:
        access = ("--server", server.address, "--plaintext", "--auth-token", server.token())
        ran = run_here("check", *access, "--dask", address, *more, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_where_dask_wants_tls_a_plain_address_is_said_to_lack_it(tmp_path: Path) -> None:
    import dask

    with dask.config.set({"distributed.comm.require-encryption": True}):
        ran = run_here("check", "--snapshot", RECORDING, "--dask", "127.0.0.1:1", cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "→ write tls://127.0.0.1:1, since Dask's own configuration wants TLS" in ran.err
