"""A destination cluster that is down: it is said once, at the top, with the applications that could not be judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from argolint.server.transport import Answer, Query
from argolint.snapshots.http_server import ReplayServer
from argolint.testing import FixtureTransport
from tests.conftest import run_argolint

FAR = "https://edge-2.example.com:6443"
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}, "data": {"a": "1"}}
SAID = {
    "address": f'Get "{FAR}/api/v1/namespaces/shop/configmaps/a": dial tcp 10.9.9.9:6443: connect: no route to host',
    "number": 'Get "https://10.9.9.9:6443/api": dial tcp 10.9.9.9:6443: i/o timeout',
}


class Down(FixtureTransport):
    """Three applications on a cluster that does not answer, and one on a cluster that does."""

    offline = False

    def __init__(self, said: str, state: str) -> None:
        self._said = said
        objects = [{"desired": CONFIG, "live": {**CONFIG, "data": {"a": "2"}}}]
        apps = [
            {"name": name, "spec": {"destination": {"server": FAR, "namespace": "shop"}}, "resources": objects}
            for name in ("cart", "search", "web")
        ]
        apps.append({"name": "near", "resources": objects})
        clusters = [
            {"server": FAR, "name": "edge-2", "info": {"connectionState": {"status": state, "message": said}}},
            {"server": "https://kubernetes.default.svc", "name": "in-cluster"},
        ]
        super().__init__({"apps": apps, "server": {"clusters": clusters}})

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        if any(f"/applications/{name}/" in path for name in ("cart", "search", "web")):
            body = {"error": self._said, "code": 14, "message": self._said}
            return Answer(500, "application/json", json.dumps(body).encode())
        return super().get(path, query, anonymous=anonymous)


def checked(tmp_path: Path, server: Down) -> tuple[int, str, dict[str, Any]]:
    with ReplayServer(server) as started:
        ran = run_argolint(
            *(
                "check",
                "--server",
                started.address,
                "--plaintext",
                "-o",
                "text",
                "-o",
                "json=r.json",
                "-o",
                "markdown=r.md",
            ),
            cwd=tmp_path,
            env={"ARGOCD_AUTH_TOKEN": started.token()},
        )
    return ran.code, ran.out, json.loads((tmp_path / "r.json").read_text())


@pytest.mark.parametrize(("said", "state"), [("address", "Successful"), ("number", "Failed")])
def test_a_cluster_that_is_down_is_said_once_at_the_top(tmp_path: Path, said: str, state: str) -> None:
    code, out, report = checked(tmp_path, Down(SAID[said], state))
    assert code == 3
    begins = " ".join(out.split())
    assert begins.startswith(
        f"not looked at Cluster {FAR} does not answer Argo CD, so 3 applications could not be judged to the end: "
        f"argocd/cart, argocd/search, argocd/web → `argocd cluster get {FAR}` shows why; run again when it answers"
    )
    assert out.count("does not answer Argo CD, so 3") == out.count("not looked at") == 1
    assert [(f["stage"], f["app"]["name"]) for f in report["failures"]] == [
        ("destination", name) for name in ("cart", "search", "web")
    ]
    assert all(f["hint"] for f in report["failures"])
    assert (tmp_path / "r.md").read_text().count("does not answer Argo CD") == 1


def test_what_another_part_of_argo_cd_does_not_answer_is_no_fault_of_the_cluster(tmp_path: Path) -> None:
    said = (
        'connection error: desc = "transport: Error while dialing: dial tcp 10.0.0.1:8081: connect: connection refused"'
    )
    _, _, report = checked(tmp_path, Down(said, "Failed"))
    assert {f["stage"] for f in report["failures"]} == {"managed-resources"}
    assert all(f["hint"].startswith("argocd-repo-server does not answer") for f in report["failures"])
