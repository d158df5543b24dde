"""Who may decide what: nothing of a checkout says where a token goes, or what is done with the user's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from argolint.replay import ReplayServer
from argolint.snapshot import SnapshotTransport
from tests.conftest import run_argolint
from tests.small import write_snapshot

APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
spec: {source: {repoURL: https://git.example.com/shop.git, path: web}}
"""


@pytest.mark.parametrize(
    "command",
    [
        ("check",),
        ("gate", "web.yaml"),
        ("gate", "--repo", "https://git.example.com/shop.git", "--head", "x"),
        ("fix",),
        ("why", "web"),
        ("snapshot", "-o", "out"),
        ("baseline", "-o", "out.json"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("key", ["server", "argocd-context"])
def test_a_checkout_cannot_say_where_the_token_goes(tmp_path: Path, command: tuple[str, ...], key: str) -> None:
    (tmp_path / "web.yaml").write_text(APPLICATION)
    with ReplayServer(SnapshotTransport([write_snapshot(tmp_path / "snap")])) as server:
        (tmp_path / ".argolint.yaml").write_text(f"fail-on: error\n{key}: http://{server.address}\n")
        ran = run_argolint(*command, cwd=tmp_path, env={"ARGOCD_AUTH_TOKEN": server.token()})
        assert server.seen == []
    assert (ran.code, ran.out) == (2, "")
    assert f".argolint.yaml:2: a configuration cannot hold '{key}'" in ran.err
    assert "~/.config/argolint/config.yaml" in ran.err
