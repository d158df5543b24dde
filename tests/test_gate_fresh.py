"""A branch that was just pushed: Argo CD does not know it yet, or knows an older commit by its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from argolint.server.transport import Answer, Query
from argolint.snapshots.http_server import ReplayServer
from tests.conftest import Ran, run_argolint
from tests.fleets import serving
from tests.gitops import REPO, GitServer, commit, git
from tests.here import run_here

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  MODE: fast\n"


class Remembering(GitServer):
    """Knows the branches as they were when it looked last; looks again after so many questions about a branch it lacks."""

    def __init__(self, clone: Path, questions: int = 10**6) -> None:
        super().__init__(clone)
        self.questions, self.asked = questions, list[str]()
        self.known = {line.split()[1]: line.split()[0] for line in git(clone, "show-ref", "--heads").splitlines()}

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        asked = dict(query)
        revision = asked.get("revision", "")
        if not path.endswith("/manifests") or not revision:
            return super().get(path, query, anonymous=anonymous)
        self.asked.append(revision)
        if len(revision) == 40:
            return super().get(path, query, anonymous=anonymous)
        commit_id = self.known.get(f"refs/heads/{revision}")
        if commit_id is None and len(self.asked) <= self.questions:
            said = f"Unable to resolve '{revision}' to a commit SHA"
            return Answer(500, "application/json", json.dumps({"error": said, "code": 2, "message": said}).encode())
        return super().get(path, [("revision", commit_id or revision)], anonymous=anonymous)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    root = tmp_path / "clone"
    root.mkdir()
    git(root, "init", "--quiet")
    commit(root, {"web/config.yaml": CONFIG})
    git(root, "remote", "add", "origin", REPO)
    return root


def judged(server: GitServer, folder: Path, *more: str) -> tuple[Ran, dict[str, Any]]:
    with ReplayServer(server) as started:
        ran = run_argolint(
            *(
                "gate",
                "--server",
                started.address,
                "--plaintext",
                "--repo",
                REPO,
                "--base",
                "main",
                "--head",
                "feature",
            ),
            *("-o", "json=r.json", "-o", "text", *more),
            cwd=folder,
            env={"ARGOCD_AUTH_TOKEN": started.token()},
        )
    return ran, json.loads((folder / "r.json").read_text())


def change(clone: Path) -> None:
    git(clone, "switch", "--quiet", "--create", "feature")
    commit(clone, {"web/config.yaml": CONFIG.replace("fast", "slow")})


def test_a_clone_tells_the_commit_so_that_no_name_is_needed(clone: Path) -> None:
    server = Remembering(clone)
    change(clone)
    ran, made = judged(server, clone)
    assert (ran.code, ran.err) == (0, "")
    assert server.asked == [git(clone, "rev-parse", "feature").strip()]
    assert made["gate"]["apps"][0]["changes"][0]["fields"][0]["head"] == '"slow"'


def test_a_name_never_stands_for_the_commit_that_it_meant_before(clone: Path) -> None:
    change(clone)
    server = Remembering(clone)
    commit(clone, {"web/config.yaml": CONFIG.replace("fast", "newer")})
    _, made = judged(server, clone)
    assert made["gate"]["apps"][0]["changes"][0]["fields"][0]["head"] == '"newer"'


def test_without_a_clone_the_gate_asks_again_until_the_branch_is_known(clone: Path, tmp_path: Path) -> None:
    server = Remembering(clone, questions=1)
    change(clone)
    ran, made = judged(server, tmp_path)
    assert ran.code == 0
    assert ran.err == "argolint: Argo CD does not know feature yet; waiting for it to look at the repository again\n"
    assert len(made["gate"]["apps"]) == 1


def test_each_of_several_servers_learns_of_the_branch_in_its_own_time(clone: Path, tmp_path: Path) -> None:
    two = {"eu": Remembering(clone, questions=1), "us": Remembering(clone, questions=1)}
    change(clone)
    with serving(tmp_path, two) as fleets:
        wanted = ("--servers", fleets.file, "--repo", REPO, "--base", "main", "--head", "feature", "-o", "json")
        ran = run_here("gate", *wanted, cwd=tmp_path, env=fleets.environ)
    assert ran.code == 0
    assert sorted(ran.err.splitlines()) == [
        f"argolint: {name} does not know feature yet; waiting for it to look at the repository again" for name in two
    ]
    assert len(json.loads(ran.out)["gate"]["apps"]) == 2


def test_a_branch_that_stays_unknown_is_no_fault_of_the_change(clone: Path, tmp_path: Path) -> None:
    server = Remembering(clone)
    ran, made = judged(server, tmp_path, "--wait", "0")
    assert ran.code == 3
    assert made["findings"] == []
    (failure,) = made["failures"]
    assert (failure["stage"], failure["app"]["name"]) == ("revision", "web")
    assert failure["error"].startswith("Argo CD does not find feature in the repository: ")
    assert "not everything could be judged" in made["gate"]["fails"]


def test_a_branch_that_was_waited_for_in_vain_is_asked_for_by_no_other_application(tmp_path: Path) -> None:
    root = tmp_path / "clone"
    root.mkdir()
    git(root, "init", "--quiet")
    commit(root, {f"a{n:02}/config.yaml": CONFIG for n in range(24)})
    server = Remembering(root)
    (tmp_path / "out").mkdir()
    ran, made = judged(server, tmp_path / "out", "--wait", "0")
    assert ran.code == 3
    assert len(made["failures"]) == 24
    assert {f["stage"] for f in made["failures"]} == {"revision"}
    assert len(server.asked) < 12  # those that were on their way


def test_a_render_that_fails_for_another_reason_is_not_waited_for(clone: Path, tmp_path: Path) -> None:
    server = Remembering(clone, questions=0)
    git(clone, "switch", "--quiet", "--create", "feature")
    commit(clone, {"web/config.yaml": "kind: [\n"})
    ran, made = judged(server, tmp_path)
    assert (ran.code, ran.err) == (1, "")
    assert [f["rule"] for f in made["findings"]] == ["comparison-error"]


class Busy(GitServer):
    """Renders head, or base, not at all, for this reason."""

    def __init__(self, clone: Path, reason: str, revisions: tuple[str, ...]) -> None:
        super().__init__(clone)
        self.reason, self.failing = reason, revisions

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        revision = dict(query).get("revision", "main")
        if path.endswith("/manifests") and ("main" if revision == "main" else "feature") in self.failing:
            return Answer(500, "application/json", json.dumps({"error": self.reason, "message": self.reason}).encode())
        return super().get(path, query, anonymous=anonymous)


TIMEOUT = "failed to list refs: dial tcp 10.0.0.1:443: i/o timeout"


@pytest.mark.parametrize(
    ("reason", "revisions", "code"),
    [
        (TIMEOUT, ("feature",), 3),
        ("`kustomize build <path to cached source>/web` failed signal: killed", ("feature",), 3),
        (f"failed to list refs: {REPO}/info/refs: connection refused", ("feature",), 3),
        ("failed to list refs: authentication required: Repository not found.", ("feature",), 3),
        (TIMEOUT, ("main",), 3),
        (TIMEOUT, ("main", "feature"), 0),
        ("https://charts.example.org/index.yaml: no such host", ("feature",), 1),
        ("`kustomize build <path>` failed: failed to fetch https://x.example.org: authentication required", ("feature",), 1),
        ("Error: execution error at (web/a.yaml:1:4): signal: killed", ("feature",), 1),
    ],
    ids=("a timeout", "killed", "the repository's host", "the login", "of base", "of both", "a host of the change", "its login", "a template's words"),
)  # fmt: skip
def test_what_may_pass_is_no_fault_of_the_change(
    clone: Path, tmp_path: Path, reason: str, revisions: tuple[str, ...], code: int
) -> None:
    change(clone)
    ran, made = judged(Busy(clone, reason, revisions), clone)
    assert ran.code == code
    assert [f["rule"] for f in made["findings"]] == ["comparison-error"] * (code == 1)
    assert [f["stage"] for f in made["failures"]] == ["manifests"] * (code == 3)


class Counting(Busy):
    """Says something else each time."""

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        self.reason = f"{len(self.reason)} {'x' * len(self.reason)}: {TIMEOUT}"
        return super().get(path, query, anonymous=anonymous)


def test_the_verdict_stands_below_whatever_could_not_be_looked_at(tmp_path: Path) -> None:
    root = tmp_path / "clone"
    root.mkdir()
    git(root, "init", "--quiet")
    commit(root, {f"a{n:02}/config.yaml": CONFIG for n in range(24)})
    git(root, "remote", "add", "origin", REPO)
    server = Counting(root, "", ("feature",))
    git(root, "switch", "--quiet", "--create", "feature")
    commit(root, {f"a{n:02}/config.yaml": CONFIG.replace("fast", "slow") for n in range(24)})
    ran, made = judged(server, root)
    assert (ran.code, len(made["failures"])) == (3, 24)
    assert "more lines with --full\n" in ran.out
    assert "\nmain → feature touches 0 applications: 0 new, 0 fixed, 0 unchanged\nfails because " in ran.out
