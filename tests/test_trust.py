"""Who may decide what: nothing of a checkout says where a token goes, or what is done with the user's files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from argolint.snapshots.http_server import ReplayServer
from argolint.snapshots.reader import SnapshotTransport
from tests.conftest import Ran, run_argolint
from tests.fleets import app, serving
from tests.gitops import commit, git
from tests.here import run_here
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
        ("gate", "web.yaml", "--config-file", ".argolint.yaml"),
        ("gate", "--repo", "u", "--head", "x", "--config-file", ".argolint.yaml"),
        ("fix",),
        ("why", "web"),
        ("snapshot", "-o", "out"),
        ("baseline", "-o", "out.json"),
    ],
    ids=" ".join,
)
def test_a_checkout_cannot_say_where_the_token_goes(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "web.yaml").write_text(APPLICATION)
    with ReplayServer(SnapshotTransport([write_snapshot(tmp_path / "snap")])) as server:
        (tmp_path / ".argolint.yaml").write_text(f"fail-on: error\nserver: http://{server.address}\n")
        ran = run_argolint(*command, cwd=tmp_path, env={"ARGOCD_AUTH_TOKEN": server.token()})
        assert server.seen == []
    assert (ran.code, ran.out) == (2, "")
    assert ".argolint.yaml:2: a configuration cannot hold 'server'" in ran.err
    assert "~/.config/argolint/config.yaml" in ran.err


def login(server: str) -> str:
    names = f"{{name: a, server: '{server}', user: a}}"
    return f"current-context: a\ncontexts: [{names}]\nservers: [{{server: '{server}', plain-text: true}}]\nusers: [{{name: a}}]\n"


@pytest.mark.parametrize("how", ["file", "link to the file", "link to the folder"])
@pytest.mark.parametrize("name", [".config/argolint/config.yaml", ".config/argocd/config"])
def test_a_home_inside_the_checkout_does_not_let_a_change_choose_the_server(
    tmp_path: Path, name: str, how: str
) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    git(clone, "init", "--quiet")
    with ReplayServer(SnapshotTransport([write_snapshot(tmp_path / "snap")])) as server:
        text = login(server.address) if name.endswith("argocd/config") else f"server: http://{server.address}\n"
        file = clone / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
        file.chmod(0o600)
        env = {"ARGOCD_AUTH_TOKEN": server.token(), "HOME": str(clone)}
        if how == "file":
            made_by_the_job = run_argolint("check", cwd=clone, env=env)
            assert made_by_the_job.code == 3, made_by_the_job.err  # the small snapshot lacks answers
            assert server.seen
            server.seen.clear()
        if how == "link to the file":
            file.rename(clone / "elsewhere")
            file.symlink_to(clone / "elsewhere")
        elif how == "link to the folder":
            (clone / ".config").rename(tmp_path / "elsewhere")
            (clone / ".config").symlink_to(tmp_path / "elsewhere")
        commit(clone, {})
        ran = run_argolint("check", cwd=clone, env=env)
        assert server.seen == []
    assert ran.code == 2
    assert "a change may have" in ran.err


def test_settings_in_a_repository_of_the_users_own_are_the_users_own(tmp_path: Path) -> None:
    """A repository of dotfiles is not the checkout that one stands in."""
    home, clone = tmp_path / "home", tmp_path / "clone"
    for folder in (home, clone):
        folder.mkdir()
        git(folder, "init", "--quiet")
    with ReplayServer(SnapshotTransport([write_snapshot(tmp_path / "snap")])) as server:
        commit(home, {"dot/config.yaml": f"server: http://{server.address}\n"})
        (home / ".config").mkdir()
        (home / ".config/argolint").symlink_to("../dot")
        ran = run_argolint("check", cwd=clone, env={"ARGOCD_AUTH_TOKEN": server.token(), "HOME": str(home)})
        assert ran.code == 3, ran.err
        assert server.seen


def test_a_servers_file_of_a_checkout_does_not_let_a_change_choose_the_servers(tmp_path: Path) -> None:
    clone, outside = tmp_path / "clone", tmp_path / "outside"
    for folder in (clone, outside):
        folder.mkdir()
    git(clone, "init", "--quiet")
    with serving(clone, {"eu": [app("web")]}) as fleets:
        environ, seen = fleets.environ, fleets.servers["eu"].seen

        def ran(*words: str | Path, cwd: Path = clone, **more: str) -> Ran:
            seen.clear()
            return run_here(*words, "-q", "--fail-on", "never", cwd=cwd, env={**environ, **more})

        made_by_the_job = ran("check", "--servers", "servers.yaml")
        assert (made_by_the_job.code, bool(seen)) == (0, True), made_by_the_job.err
        (clone / "link.yaml").symlink_to(outside / "servers.yaml")
        (clone / "folder").symlink_to(outside)
        (tmp_path / "alias").symlink_to(clone)
        commit(clone, {"snapshots.yaml": f"servers: [{{name: eu, snapshot: {write_snapshot(outside / 'snap')}}}]\n"})
        (outside / "servers.yaml").write_bytes(fleets.file.read_bytes())
        (outside / "argolint").mkdir()
        (outside / "argolint/config.yaml").write_text(f"servers: {fleets.file}\n")
        (outside / "helm").write_text("#!/bin/sh\necho v3.19.2\n")
        (outside / "helm").chmod(0o755)
        helm = {"PATH": f"{outside}:{os.environ['PATH']}"}
        change = ("gate", "--repo", "https://git.example.com/shop.git", "--head", "HEAD", "--checkout", clone)
        for refused in (
            ran("check", "--servers", "servers.yaml"),
            ran("check", "--servers", "link.yaml"),
            ran("check", "--servers", "folder/servers.yaml"),
            ran("check", "--servers", tmp_path / "alias/link.yaml"),
            ran("check", ARGOLINT_SERVERS="servers.yaml"),
            ran("check", XDG_CONFIG_HOME=str(outside)),
            ran(*change, "--servers", fleets.file, cwd=outside),
            ran("check", "--helm-render", "--checkout", f"u={clone}", "--servers", fleets.file, cwd=outside, **helm),
        ):
            assert (refused.code, refused.out, seen) == (2, "", [])
            assert "a change may have" in refused.err
        of_the_users_own = ran("check", "--servers", outside / "servers.yaml")
        assert (of_the_users_own.code, bool(seen)) == (0, True), of_the_users_own.err
        snapshots_alone = ran("check", "--servers", "snapshots.yaml")
        assert (snapshots_alone.code, seen) == (3, []), snapshots_alone.err  # the small snapshot lacks answers


@pytest.mark.parametrize("file", [".argolint.yaml", "baseline.json"])
def test_an_endless_file_of_a_checkout_ends_the_run(tmp_path: Path, file: str) -> None:
    (tmp_path / file).symlink_to("/dev/zero")
    if file != ".argolint.yaml":
        (tmp_path / ".argolint.yaml").write_text(f"baseline: {file}\n")
    ran = run_argolint("config", cwd=tmp_path)
    assert ran.code == 2
    assert "is larger than" in ran.err


@pytest.mark.parametrize("name", ["--server={address}/x.yaml", "-o=json=x.yaml"])
def test_a_file_called_like_an_option_is_none(tmp_path: Path, name: str) -> None:
    """pre-commit and xargs pass the names of a change's files on as they are."""
    with ReplayServer(SnapshotTransport([write_snapshot(tmp_path / "snap")])) as server:
        file = name.format(address=server.address)
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(APPLICATION)
        env = {"ARGOCD_AUTH_TOKEN": server.token(), "ARGOCD_SERVER": "127.0.0.1:9"}
        ran = run_argolint("gate", "--quiet", "--plaintext", file, cwd=tmp_path, env=env)
        assert server.seen == []
        after = run_argolint("gate", "--quiet", "--plaintext", "--", file, cwd=tmp_path, env=env)
        assert server.seen == []
    assert ran.code == 2
    assert f"there is a file called {file!r}, which would be taken for an option" in ran.err
    assert "nothing listens at http://127.0.0.1:9" in after.err


def test_modules_of_the_working_directory_are_not_imported(tmp_path: Path) -> None:
    for name in ("click", "yaml", "msgspec", "requests", "argolint_rules", "jsonpatch"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    brought = tmp_path / "evil-1.0.dist-info"
    brought.mkdir()
    (brought / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    (brought / "entry_points.txt").write_text("[argolint.rules]\nevil = click\n")
    write_snapshot(tmp_path / "snap")
    ran = run_argolint("check", "--snapshot", "snap", cwd=tmp_path, fresh=True)
    assert ran.code == 3, ran.err
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps the working directory of a process")
@pytest.mark.parametrize("options", [(), ("-P",)])
def test_a_working_directory_that_is_gone_ends_in_words(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "gone").mkdir()
    write_snapshot(tmp_path / "snap")
    there = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    argolint = (sys.executable, *options, "-m", "argolint", "check", "--snapshot", str(tmp_path / "snap"))
    ran = subprocess.run(
        ["sh", "-c", there, "sh", str(tmp_path / "gone"), *argolint], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (3, "")
    assert ran.stdout.startswith("not looked at  projects: ")
