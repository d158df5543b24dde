"""The demo, the snapshot command, and what a user sees when a server misbehaves: all through the command line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from argolint.cli.demo import RECORDING
from argolint.cli.process import exit_code
from argolint.snapshots.http_server import Faults, ReplayServer
from argolint.snapshots.reader import SnapshotTransport
from tests.conftest import clean_environment
from tests.waiting import PATIENCE_S

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs `argolint ARGS` far from any configuration and login; gives exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in os.environ.keys() - clean_environment().keys():
        monkeypatch.delenv(name)

    def invoke(*args: str, **environ: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["argolint", *args])
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        code = exit_code()
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        assert "eyJ" not in out + err, "no token, whatever happens"
        return code, out, err

    return invoke


def report(path: Path) -> dict[str, Any]:
    """A JSON report without what a clock or the way of reading changes."""
    found: dict[str, Any] = json.loads(path.read_bytes())
    found.pop("stats")
    return found


def bodies() -> dict[str, bytes]:
    with tarfile.open(RECORDING) as archive:
        return {m.name: file.read() for m in archive if (file := archive.extractfile(m))}


def test_the_embedded_recording_is_small_and_renders_no_chart_but_the_companys_own() -> None:
    everything = b"".join(bodies().values())
    assert RECORDING.stat().st_size < 1_500_000
    assert set(re.findall(rb'helm\.sh/chart\\+":\\+"([a-z0-9-]+?)-\d', everything)) == {b"harbourline-service"}


def test_the_embedded_recording_holds_a_case_of_each_family() -> None:
    snapshot = SnapshotTransport([RECORDING])
    apps = json.loads(snapshot.get("/api/v1/applications").body)["items"]
    conditions = {c["type"] for app in apps for c in app["status"].get("conditions", ())}
    assert "SharedResourceWarning" in conditions
    text = b"".join(bodies().values())
    assert rb"SecretSyncedError" in text
    query = [("appNamespace", "argocd"), ("project", "data-platform"), ("kind", "Deployment")]
    answer = snapshot.get("/api/v1/applications/spark-history/managed-resources", query)
    (deployment,) = json.loads(answer.body)["items"]
    drawn = [
        json.loads(deployment[s])["spec"]["template"]["metadata"]["annotations"]["rollme"]
        for s in ("targetState", "liveState")
    ]
    assert drawn[0] != drawn[1], "the chart draws this annotation anew at every render"


def test_the_demo_reads_over_http_what_a_check_reads_from_the_file(run: Run, tmp_path: Path, demo_files: Path) -> None:
    assert run("demo", "-o", f"json={tmp_path / 'demo.json'}")[0] == 0
    assert report(tmp_path / "demo.json") == report(demo_files / "report.json")
    assert report(tmp_path / "demo.json")["complete"] is True
    assert report(tmp_path / "demo.json")["summary"]["apps"] == 63


def test_a_served_demo_prints_a_login_that_works_and_ends_on_interrupt(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "argolint", "demo", "--serve"]
    environ = {**os.environ, "HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as process:
        try:
            assert process.stdout is not None
            printed = ""
            while "-d '" not in printed:
                line = process.stdout.readline()
                assert line, "the server ended early"
                printed += line
            check = re.search(r"argolint (check .*)", printed)
            curl = re.search(r"(http://\S+/session) .*?-d '(.*)'", printed, re.DOTALL)
            assert check
            assert curl
            done = subprocess.run(
                [sys.executable, "-m", "argolint", *check[1].split(), "payments-*", "-q"],
                check=False,  # 1 as soon as a rule finds an error
                env=environ,
                capture_output=True,
                text=True,
            )
            assert "14 applications" in done.stdout
            login = Request(curl[1], curl[2].encode(), {"Content-Type": "application/json"})
            with urlopen(login, timeout=PATIENCE_S) as answer:
                assert json.load(answer)["token"].count(".") == 2
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()


def test_a_check_of_a_saved_snapshot_gives_the_report_of_the_server(run: Run, tmp_path: Path, demo_files: Path) -> None:
    with ReplayServer(SnapshotTransport([RECORDING])) as server:
        for name, chosen, number in (("copy", ("payments-*",), 14), ("copy.tar.gz", (), 63)):
            access = ("--server", server.address, "--plaintext")
            code, _, err = run("snapshot", *chosen, "-o", name, *access, ARGOCD_AUTH_TOKEN=server.token())
            assert (code, f"{number} applications" in err) == (0, True), err
    run("check", "--snapshot", "copy.tar.gz", "-o", f"json={tmp_path / 'packed.json'}")
    assert report(tmp_path / "packed.json") == report(demo_files / "report.json")
    run("check", "payments-*", "--snapshot", "copy", "-o", f"json={tmp_path / 'folder.json'}")
    some = report(tmp_path / "folder.json")
    assert (some["complete"], some["summary"]["apps"]) == (True, 14)


MANAGED = "payments-gateway/managed-resources"


@pytest.mark.parametrize(
    ("faults", "stage", "error"),
    [
        (Faults(vanished=("payments-gateway",)), "managed-resources", "404 applications.argoproj.io"),
        (Faults(forbidden=("payments-gateway",)), "managed-resources", "403 permission denied"),
        (Faults(garbled=(MANAGED,)), "states", "cannot be decoded"),
        (Faults(html=(MANAGED,)), "managed-resources", "with an HTML page"),
        (Faults(invalid_json=(MANAGED,)), "managed-resources", "with no readable JSON"),
    ],
)
def test_trouble_with_one_application_is_one_failure_and_the_others_are_kept(
    run: Run, tmp_path: Path, faults: Faults, stage: str, error: str
) -> None:
    target = tmp_path / "report.json"
    with ReplayServer(SnapshotTransport([RECORDING]), faults=faults) as server:
        access = ("--server", server.address, "--plaintext", "-o", f"json={target}")
        code, _, _ = run("check", "payments-*", *access, ARGOCD_AUTH_TOKEN=server.token())
    made = report(target)
    first = next(f for f in made["failures"] if f["stage"] == stage)
    assert (code, made["complete"], made["summary"]["apps"]) == (3, False, 14)
    assert {f["app"]["name"] for f in made["failures"]} == {"payments-gateway"}
    assert error in first["error"]
    assert ("lacks `applications, get`" if faults.forbidden else "") in first["hint"]


def test_a_token_that_expires_in_mid_run_keeps_what_was_read(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    with ReplayServer(SnapshotTransport([RECORDING]), faults=Faults(token_dies_after=40)) as server:
        access = ("--server", server.address, "--plaintext", "-o", f"json={target}")
        code, _, _ = run("check", *access, ARGOCD_AUTH_TOKEN=server.token())
    made = report(target)
    assert code == 3
    assert 0 < len(made["failures"]) < 63
    assert all("token is expired" in f["error"] for f in made["failures"])


@pytest.mark.parametrize(
    ("faults", "said", "advice"),
    [
        (Faults(html=("/applications",)), "answered /api/v1/applications with an HTML page", "--grpc-web-root-path"),
        (Faults(invalid_json=("/applications",)), "with no readable JSON", "--grpc-web-root-path"),
        (Faults(cut=("/applications",)), "gave no whole answer", "try again"),
        (Faults(redirect_to="https://127.0.0.1"), "redirects to https", "--plaintext"),
        (Faults(token_dies_after=0), "token is expired", "argocd login"),
    ],
)
def test_a_server_that_gives_no_list_stops_the_run_with_two_lines(
    run: Run, faults: Faults, said: str, advice: str
) -> None:
    with ReplayServer(SnapshotTransport([RECORDING]), faults=faults) as server:
        code, out, err = run("check", "--server", server.address, "--plaintext", ARGOCD_AUTH_TOKEN=server.token())
    assert (code, out, len(err.splitlines())) == (2, "", 2)
    assert said in err.splitlines()[0]
    assert advice in err.splitlines()[1]


@pytest.mark.parametrize(
    ("args", "token", "said"),
    [
        (("--server", "{server}", "--plaintext"), "", "asks for a token"),
        (("--server", "{server}", "--plaintext"), "a.b.c", "invalid session"),
        (("--server", "{server}", "--plaintext"), "a.b\n.c", "holds a line break"),
        (("--server", "{server}"), "a.b.c", "does not speak TLS"),
        (("--server", "argocd.invalid"), "a.b.c", "is not known"),
        (("--server", "127.0.0.1:1", "--plaintext"), "a.b.c", "connection refused"),
        (("--snapshot", "absent"), "", "there is no snapshot at absent"),
        ((), "", "no Argo CD server is named"),
    ],
)
def test_what_cannot_start_says_so_in_two_lines(run: Run, args: tuple[str, ...], token: str, said: str) -> None:
    with ReplayServer(SnapshotTransport([RECORDING])) as server:
        given = [arg.format(server=server.address) for arg in args]
        code, out, err = run("check", *given, **({"ARGOCD_AUTH_TOKEN": token} if token else {}))
    assert (code, out, len(err.splitlines())) == (2, "", 2)
    assert said in err.splitlines()[0]
