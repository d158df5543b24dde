"""Opening fixes for review, and seeing that they worked: the pull request's text, each forge's own way, and watch-fix."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from argolint.cli.demo import RECORDING
from argolint.cli.fix_opening import commands, forge_of
from argolint.reports.formats.markdown import MARKER
from argolint.snapshots.http_server import ReplayServer
from argolint.sources.checkout import Checkout
from argolint.testing import FixtureTransport
from tests.checkouts import DEPLOYMENT, finding, report, repository
from tests.conftest import run_argolint
from tests.gitops import git
from tests.test_fix_cli import PAUSE

FORGES = {
    "https://github.com/shop/apps.git": "github",
    "git@github.example.com:shop/apps.git": "github",
    "ssh://git@gitlab.example.com:2222/shop/apps": "gitlab",
    "https://codeberg.org/shop/apps": "gitea",
    "forgejo.example.com:shop/apps": "gitea",
    "https://git@bitbucket.org/shop/apps.git": "bitbucket",
    "https://dev.azure.com/shop/_git/apps": "azure",
    "https://git.example.com/github/apps.git": "other",
    "/srv/gitlab/apps": "other",
}


def clone(folder: Path) -> Path:
    root = repository(folder / "clone", {"web/a.yaml": DEPLOYMENT})
    git(root, "config", "user.name", "Ann")
    git(root, "config", "user.email", "ann@example.com")
    return root


@pytest.mark.parametrize(("url", "forge"), FORGES.items())
def test_a_forge_is_told_by_its_host_alone(url: str, forge: str) -> None:
    assert forge_of([url]) == forge


@pytest.mark.parametrize(
    ("url", "has"),
    [
        ("https://github.com/a/b", "gh pr create --head fixes --base main --title"),
        ("https://gitlab.com/a/b", "-o merge_request.create -o merge_request.target=main"),
        ("https://codeberg.org/a/b", "fixes:refs/for/main -o topic=fixes"),
        ("https://dev.azure.com/a/b", "az repos pr create --source-branch fixes --target-branch main"),
        ("https://git.example.com/a/b", "then open fixes for review into main"),
    ],
)
def test_each_forge_has_its_own_way(url: str, has: str, tmp_path: Path) -> None:
    told = "\n".join(commands(forge_of([url]), "fixes", "main", Path("page.md"), Checkout(tmp_path, frozenset({url}))))
    assert has in told
    assert "push" in told


def test_names_are_words_of_the_shell_and_texts_come_from_the_file(tmp_path: Path) -> None:
    page = tmp_path / "it's a page.md"
    page.write_text("don't; touch owned\n\n$(touch owned) `touch owned`\n")
    where = Checkout(tmp_path, frozenset({"https://github.com/a/b"}))
    *_, line = commands("github", "fix;touch owned", "main", page, where)
    ran = subprocess.run(
        ["bash", "-c", f"gh() {{ printf '%s\\n' \"$@\"; }}; {line}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    words = ran.stdout.splitlines()
    assert words[:8] == ["pr", "create", "--head", "fix;touch owned", "--base", "main", "--title", "don't; touch owned"]
    assert words[8:] == ["--body", "$(touch owned) `touch owned`"]
    assert not (tmp_path / "owned").exists()


def test_a_branch_comes_with_the_text_of_its_pull_request(tmp_path: Path) -> None:
    root = clone(tmp_path)
    saved = report(tmp_path / "r.json", finding(PAUSE))
    fix = ("fix", "--report", saved, "--write", root, "--branch", "fixes", "--unverified")
    ran = run_argolint(*fix, "--pull-request", tmp_path / "page.md", cwd=tmp_path)
    assert ran.code == 0, ran.err
    title, empty, body = (tmp_path / "page.md").read_text().split("\n", 2)
    assert (empty, body.startswith(MARKER)) == ("", True)
    assert len(title) <= 72
    assert "argolint watch-fix" in body
    assert "push --set-upstream origin fixes" in ran.out
    assert shlex.quote(str(tmp_path / "page.md")) in ran.out
    assert git(root, "status", "--porcelain") == ""
    git(root, "branch", "-D", "fixes")
    made = json.loads(run_argolint(*fix, "-o", "json", cwd=tmp_path).out)
    (opened,) = made["pull_requests"]
    assert Path(opened["file"]).is_relative_to(root / ".git")
    assert Path(opened["file"]).read_text() == (tmp_path / "page.md").read_text()
    assert opened["base"] == git(root, "branch", "--show-current").strip()
    assert opened["commands"]


def test_a_file_of_someone_else_is_left_alone(tmp_path: Path) -> None:
    root = clone(tmp_path)
    saved = report(tmp_path / "r.json", finding(PAUSE))
    (tmp_path / "notes.md").write_text("mine\n")
    fix = ("fix", "--report", saved, "--write", root, "--branch", "fixes", "--unverified", "--pull-request")
    ran = run_argolint(*fix, tmp_path / "notes.md", cwd=tmp_path)
    assert (ran.code, "is no text of argolint" in ran.err) == (2, True)
    assert (tmp_path / "notes.md").read_text() == "mine\n"
    assert "fixes" not in git(root, "branch", "--format=%(refname:short)").split()
    assert run_argolint("fix", "--report", saved, "--write", root, "--pull-request", "x").code == 2


@pytest.fixture(scope="module")
def saved(demo_files: Path) -> dict[str, Any]:
    return dict(json.loads((demo_files / "report.json").read_text()))


def _with(saved: dict[str, Any], file: Path, *findings: dict[str, Any]) -> Path:
    file.write_text(json.dumps({**saved, "findings": findings}))
    return file


def test_what_is_gone_is_told_from_what_is_there(saved: dict[str, Any], tmp_path: Path) -> None:
    """Also where the application itself is gone."""
    there = saved["findings"][0]
    fixed = {**there, "fingerprint": "ab" * 16}
    removed = {**fixed, "fingerprint": "cd" * 16, "app": {**there["app"], "name": "not-there-any-more"}, "related": []}
    watch = ("watch-fix", "--snapshot", RECORDING)
    ran = run_argolint(*watch, _with(saved, tmp_path / "gone.json", fixed, removed))
    assert ran.code == 0, ran.err
    assert ran.out.count("gone after") == 2
    ran = run_argolint(*watch, _with(saved, tmp_path / "both.json", fixed, there), there["fingerprint"][:12])
    assert ran.code == 1
    assert ran.out.startswith(f"still there: {there['rule']}")


def test_a_server_that_is_away_is_looked_at_until_the_time_is_over(saved: dict[str, Any], tmp_path: Path) -> None:
    file = _with(saved, tmp_path / "r.json", saved["findings"][0])
    with ReplayServer(FixtureTransport({"apps": []})) as server:
        address, token = server.address, server.token()
    watch = ("watch-fix", file, "--plaintext", "--server", address, "--within", "5s", "--every", "5s")
    ran = run_argolint(*watch, env={"ARGOCD_AUTH_TOKEN": token})
    assert ran.code == 3
    assert ran.out.startswith("could not be looked at")


@pytest.mark.parametrize("options", [("--within", "48h"), ("--every", "1s"), ("--within", "soon"), ("no-such-rule",)])
def test_what_cannot_be_watched_is_said(saved: dict[str, Any], tmp_path: Path, options: tuple[str, ...]) -> None:
    file = _with(saved, tmp_path / "r.json", saved["findings"][0])
    ran = run_argolint("watch-fix", file, "--snapshot", RECORDING, *options)
    assert (ran.code, ran.out) == (2, "")
