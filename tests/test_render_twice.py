"""--render-twice asks a server for two fresh renders, says so aloud, and is refused where they would be the cached one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from argolint.snapshots.http_server import ReplayServer
from argolint.snapshots.reader import SnapshotTransport
from tests.conftest import Ran, run_argolint
from tests.small import ANSWERS, APPS, OF_WEB, WEB, Recorded, write_snapshot


def _manifest(checksum: str) -> str:
    annotations = {"checksum/session": checksum * 16}
    template = {"metadata": {"annotations": annotations}}
    metadata = {"name": "web", "namespace": "web"}
    return json.dumps(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": template}}
    )


def _answers(parameters: list[str]) -> list[Recorded]:
    call = {"get": {"parameters": [{"name": name} for name in parameters]}}
    swagger = {"paths": {"/api/v1/applications/{name}/manifests": call}}
    renders: list[Recorded] = [
        (
            f"{WEB}/manifests",
            (*OF_WEB, ("noCache", "true"), ("render", turn)),
            False,
            200,
            {"manifests": [_manifest(turn)]},
        )
        for turn in ("1", "2")
    ]
    kept = [answer for answer in ANSWERS if "/manifests" not in answer[0] and answer[0] != "/api/v1/applications"]
    web = {**APPS[0], "status": {**APPS[0]["status"], "sourceType": "Helm"}}
    return [
        *kept,
        ("/api/v1/applications", (), False, 200, {"items": [web]}),
        *renders,
        ("/swagger.json", (), False, 200, swagger),
    ]


@pytest.fixture
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ReplayServer]:
    with ReplayServer(SnapshotTransport([write_snapshot(tmp_path / "small", _answers(request.param))])) as running:
        yield running


def _login(server: ReplayServer) -> tuple[str, ...]:
    return ("--server", server.address, "--plaintext", "--auth-token", server.token(timedelta(hours=1)))


def _check(server: ReplayServer, report: Path) -> Ran:
    wanted = ("--render-twice", "--select", "nondeterminism", "-o", f"json={report}")
    return run_argolint("check", "web", *_login(server), *wanted, cwd=report.parent)


def _fix(server: ReplayServer, folder: Path, name: str = "web") -> Ran:
    wanted = ("--render-twice", "--select", "nondeterminism", "-o", "json")
    return run_argolint("fix", name, *_login(server), *wanted, cwd=folder)


@pytest.mark.parametrize("server", [["name", "revision", "noCache"]], indirect=True)
def test_two_fresh_renders_prove_a_random_checksum(server: ReplayServer, tmp_path: Path) -> None:
    ran = _check(server, tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    (found,) = [f for f in report["findings"] if f["rule"] == "nondeterministic-checksum"]
    assert found["confidence"] == "proven"
    assert found["pointer"] == "/spec/template/metadata/annotations/checksum~1session"
    assert "warning: --render-twice renders each chart again on the server, one at a time" in ran.err


@pytest.mark.parametrize("server", [["name", "revision"]], indirect=True)
def test_a_server_that_ignores_no_cache_is_refused(server: ReplayServer, tmp_path: Path) -> None:
    ran = _check(server, tmp_path / "report.json")
    assert ran.code == 2
    assert not (tmp_path / "report.json").exists()
    assert "does not know noCache" in ran.err


@pytest.mark.parametrize("server", [["name", "revision", "noCache"]], indirect=True)
def test_fixes_are_read_like_a_check_with_its_warning(server: ReplayServer, tmp_path: Path) -> None:
    ran = _fix(server, tmp_path)
    assert "nondeterministic-checksum" in [e["rule"] for e in json.loads(ran.out)["by_hand"]]
    assert "warning: --render-twice renders each chart again on the server, one at a time" in ran.err


@pytest.mark.parametrize("server", [["name", "revision"]], indirect=True)
def test_fixes_from_a_server_that_ignores_no_cache_are_refused(server: ReplayServer, tmp_path: Path) -> None:
    ran = _fix(server, tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "does not know noCache" in ran.err


@pytest.mark.parametrize("server", [["name", "revision", "noCache"]], indirect=True)
def test_fixes_of_an_application_that_is_not_there_are_refused_like_a_check(
    server: ReplayServer, tmp_path: Path
) -> None:
    ran = _fix(server, tmp_path, "wib")
    assert ran.code == 2
    assert "there is no application 'wib' on" in ran.err
