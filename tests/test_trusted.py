"""What judges a change comes from where it goes to: configuration, baseline and suppressions of the change do not count."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from argolint.reports.formats import FORMATS
from argolint.snapshots.http_server import ReplayServer
from tests import shop
from tests.conftest import Ran, run_argolint
from tests.gitops import REPO, GitServer, commit, git
from tests.shop import cloned, of

CONFIG = of(shop.CONFIG, "web")
APPLICATION = of(shop.APPLICATION, "web")
DEAD_RULE = "  ignoreDifferences: [{group: apps, kind: Deployment, jsonPointers: [/spec/replicas/x]}]\n"
IGNORE = "ignore:\n- {rule: '*', reason: trust me}\n"
Run = Callable[..., Ran]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """`main` runs, `feature` is checked out and drops a ConfigMap that is still named: one finding of the gate."""
    folder = cloned(tmp_path / "clone", "web", more={"application.yaml": APPLICATION})
    commit(folder, {"web/config.yaml": None, "application.yaml": APPLICATION + DEAD_RULE})
    return folder


@pytest.fixture
def gate(clone: Path) -> Iterator[Run]:
    """Runs `argolint gate` in the clone, against the server that renders it."""
    drifted = {"Deployment/web": {"spec": {"replicas": 5}}}
    with ReplayServer(GitServer(clone, live=drifted)) as server:

        def run(*arguments: str | Path, cwd: Path = clone, env: Mapping[str, str] | None = None) -> Ran:
            given = ("gate", "--server", server.address, "--plaintext", *arguments)
            return run_argolint(*given, cwd=cwd, env={"ARGOCD_AUTH_TOKEN": server.token(), **(env or {})})

        yield run


CHANGE = ("--repo", REPO, "--head", "feature", "--base", "main", "-o", "json")
FILE = ("application.yaml", "--fail-on", "info", "-o", "json")


def findings(ran: Ran) -> list[dict[str, Any]]:
    """What was found and is not suppressed."""
    return [f for f in json.loads(ran.out)["findings"] if f["suppressed"] is None]


def test_files_are_judged_by_the_revision_that_they_go_into(clone: Path, gate: Run) -> None:
    """In CI, HEAD is the change: its configuration is refused where no base is known, and passed over where one is."""
    assert gate(*FILE).code == 1
    commit(clone, {".argolint.yaml": IGNORE})
    refused = gate(*FILE)
    assert (refused.code, refused.out) == (2, "")
    assert ".argolint.yaml may be part of the change" in refused.err
    assert "--trusted-config REV" in refused.err
    assert gate(*FILE, "--trusted-config", "main").code == 1
    assert gate(*FILE, "--trusted-config", "HEAD").code == 0
    assert gate(*FILE, env={"PRE_COMMIT_FROM_REF": "main"}).code == 1


@pytest.mark.parametrize("variable", ["GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME"])
def test_the_base_is_what_the_pipeline_says_as_the_remote_has_it(clone: Path, gate: Run, variable: str) -> None:
    git(clone, "update-ref", "refs/remotes/origin/main", "main")
    commit(clone, {".argolint.yaml": IGNORE})
    git(clone, "branch", "--force", "main", "feature")
    assert gate(*FILE, env={variable: "main"}).code == 1
    missing = gate(*FILE, env={variable: "none"})
    assert missing.code == 2
    assert "has no revision 'refs/remotes/origin/none'" in missing.err


def test_the_default_branch_of_the_remote_is_trusted_without_being_named(clone: Path, gate: Run) -> None:
    git(clone, "update-ref", "refs/remotes/origin/main", "main")
    git(clone, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    commit(clone, {".argolint.yaml": IGNORE})
    ran = gate(*FILE)
    assert ran.code == 1
    assert json.loads(ran.out)["remarks"] == [
        "The change edits .argolint.yaml: what it says there counts once it is merged."
    ]


def test_a_configuration_that_is_named_counts_as_the_base_has_it(clone: Path, gate: Run) -> None:
    commit(clone, {"ci/brought.yaml": IGNORE})
    for brought in (
        gate(*CHANGE, "--config-file", "ci/brought.yaml"),
        gate(*CHANGE, env={"ARGOLINT_CONFIG_FILE": "ci/brought.yaml"}),
    ):
        assert (brought.code, brought.out) == (2, "")
        assert "main has no ci/brought.yaml: the change adds it" in brought.err
    git(clone, "switch", "main", "--quiet")
    commit(clone, {"ci/lint.yaml": "fail-on: error\n"})
    git(clone, "switch", "feature", "--quiet")
    commit(clone, {"ci/lint.yaml": IGNORE})
    assert gate(*CHANGE, "--config-file", "ci/lint.yaml").code == 1
    made_by_the_job, outside = clone / "job.yaml", clone.parent / "own.yaml"
    for own in (made_by_the_job, outside):
        own.write_text(IGNORE)
        assert gate(*CHANGE, "--config-file", own).code == 0


def test_a_configuration_behind_a_link_of_the_change_is_refused(clone: Path, gate: Run) -> None:
    (clone.parent / "own").mkdir()
    (clone.parent / "own/lint.yaml").write_text(IGNORE)
    (clone / "ci").symlink_to("../own")
    commit(clone, {})
    ran = gate(*CHANGE, "--config-file", "ci/lint.yaml")
    assert ran.code == 2
    assert f"{clone}/ci is a link inside a Git work tree: a change may have put it there" in ran.err


def test_a_configuration_that_the_change_makes_a_link_counts_as_the_base_has_it(clone: Path, gate: Run) -> None:
    git(clone, "switch", "main", "--quiet")
    commit(clone, {".argolint.yaml": "fail-on: info\n"})
    git(clone, "switch", "feature", "--quiet")
    (clone / ".argolint.yaml").symlink_to("evil.yaml")
    commit(clone, {"evil.yaml": IGNORE})
    ran = gate(*CHANGE)
    assert ran.code == 1
    assert json.loads(ran.out)["remarks"] == [
        "The change edits .argolint.yaml: what it says there counts once it is merged."
    ]


def test_a_baseline_counts_as_the_base_has_it(clone: Path, gate: Run) -> None:
    first = gate(*CHANGE)
    (mark,) = {f["fingerprint"] for f in findings(first)}
    accepted = {"fingerprint": mark, "rule": "x", "app": "y"}
    text = json.dumps(
        {
            "baseline_version": "1.0",
            "server": "https://argocd.example.com",
            "written_at": "2026-11-20",
            "findings": [accepted],
        }
    )
    commit(clone, {"accepted.json": text})
    brought = gate(*CHANGE, "--baseline", "accepted.json")
    assert brought.code == 2
    assert "main has no accepted.json: the change adds it" in brought.err
    commit(clone, {".argolint.yaml": "baseline: accepted.json\n"})
    assert gate(*CHANGE).code == 1
    assert gate(*CHANGE, "--trusted-config", "feature").code == 0


def test_without_a_git_that_can_read_it_a_clone_is_not_taken_for_a_folder(clone: Path, gate: Run) -> None:
    commit(clone, {".argolint.yaml": IGNORE})
    ran = gate(*FILE, "--trusted-config", "main", env={"PATH": "/nowhere"})
    assert ran.code == 2
    assert f"cannot run git in {clone}" in ran.err
    assert gate(*FILE, env={"PATH": "/nowhere"}).code == 2


def test_what_the_change_says_in_its_own_favour_is_told_in_every_format(clone: Path, gate: Run) -> None:
    annotations = "annotations: {argolint.dev/ignore.ignore-rule-dead: I know}"
    annotated = (APPLICATION + DEAD_RULE).replace("namespace: argocd", f"namespace: argocd, {annotations}", 1)
    commit(clone, {"application.yaml": annotated, "web/config.yaml": CONFIG, ".argolint.yaml": "fail-on: never\n"})
    files = {form: clone.parent / form for form in FORMATS}
    outputs = [f"-o{form}={file}" for form, file in files.items()]
    ran = gate(*CHANGE[:-2], *outputs, "--checkout", ".", "--fail-on", "info")
    assert (ran.code, ran.out) == (1, "")
    for form, file in files.items():
        if form in ("prometheus", "table", "lines", "name"):  # numbers, or a line each
            continue
        told = " ".join(file.read_text().replace("\\", "").split())
        assert (
            "The change itself adds a suppression of this (annotation Application/web: I know), which counts once"
            in told
        ), form
        if form not in ("gitlab", "openreports"):  # a list of issues, or of applications, has no place for it
            assert "The change edits .argolint.yaml: what it says there counts once it is merged." in told, form


def test_an_ignore_entry_of_the_change_is_told_with_its_line(clone: Path, gate: Run) -> None:
    commit(clone, {".argolint.yaml": IGNORE})
    (found,) = findings(gate(*CHANGE))
    assert "(configuration .argolint.yaml:2: trust me), which counts once it is merged" in found["message"]


def test_a_configuration_that_the_change_breaks_is_told_and_does_not_stop_the_gate(clone: Path, gate: Run) -> None:
    commit(clone, {".argolint.yaml": "fail_on: x\n"})
    ran = gate(*CHANGE)
    assert ran.code == 1
    assert json.loads(ran.out)["remarks"][1].startswith("It cannot be used as it is: .argolint.yaml:1: unknown key")


def test_the_bases_configuration_may_be_a_link_inside_the_repository(clone: Path, gate: Run) -> None:
    git(clone, "switch", "main", "--quiet")
    (clone / ".argolint.yaml").symlink_to("ci/lint.yaml")
    commit(clone, {"ci/lint.yaml": IGNORE})
    git(clone, "switch", "feature", "--quiet")
    assert gate(*CHANGE).code == 0


def test_a_folder_of_the_repository_has_its_own_configuration_or_the_whole_ones(clone: Path, gate: Run) -> None:
    git(clone, "switch", "main", "--quiet")
    commit(clone, {".argolint.yaml": IGNORE, ".one/x": "", ".two/.argolint.yaml": "fail-on: error\n"})
    git(clone, "switch", "feature", "--quiet")
    git(clone, "merge", "--quiet", "main")
    assert [gate(*CHANGE, cwd=clone / folder).code for folder in (".one", ".two")] == [0, 1]


def test_a_bare_clone_is_read_at_the_base(clone: Path, gate: Run) -> None:
    git(clone, "switch", "main", "--quiet")
    commit(clone, {".argolint.yaml": IGNORE})
    bare = clone.parent / "bare.git"
    git(clone, "clone", "--quiet", "--bare", ".", str(bare))
    assert gate(*CHANGE, "--checkout", bare, cwd=clone.parent).code == 0


def test_a_folder_without_git_may_be_a_change_that_was_unpacked(clone: Path, gate: Run) -> None:
    unpacked = clone.parent / "unpacked"
    unpacked.mkdir()
    (unpacked / "application.yaml").write_text(APPLICATION + DEAD_RULE)
    assert gate(*FILE, cwd=unpacked).code == 1
    (unpacked / ".argolint.yaml").write_text(IGNORE)
    for arguments in (FILE, CHANGE):
        ran = gate(*arguments, cwd=unpacked)
        assert ran.code == 2
        assert ".argolint.yaml of this folder may be part of the change" in ran.err
    assert gate(*FILE, "--config-file", ".argolint.yaml", cwd=unpacked).code == 0


def test_other_commands_read_a_revision_when_they_are_told_to(clone: Path) -> None:
    git(clone, "switch", "main", "--quiet")
    commit(clone, {".argolint.yaml": "fail-on: warning\n"})
    (clone / ".argolint.yaml").write_text("fail-on: never\n")
    assert "fail-on          never  (.argolint.yaml)" in run_argolint("config", cwd=clone).out
    at_main = run_argolint("config", "--trusted-config", "main", cwd=clone)
    assert "fail-on          warning  (.argolint.yaml)" in at_main.out
    outside = run_argolint("config", "--trusted-config", "main", cwd=clone.parent)
    assert outside.code == 2
    assert "--trusted-config reads from a Git clone" in outside.err


def test_duplicates_escapes_and_size_do_not_hide_an_edited_application(clone: Path, gate: Run) -> None:
    edited = (APPLICATION + DEAD_RULE).replace("kind: Application", 'kind: "\\x41pplication"')
    commit(clone, {"web/config.yaml": CONFIG, "application.yaml": edited, "z.yaml": APPLICATION})
    ran = gate("--repo", REPO, "--head", "feature", "--base", "main", "--checkout", ".", "-o", "json")
    assert [f["rule"] for f in findings(ran)] == ["ignore-rule-dead"]
    commit(clone, {"z.yaml": APPLICATION.replace("path: web", "path: other")})
    ran = gate("--repo", REPO, "--head", "feature", "--base", "main", "--checkout", ".", "-o", "json")
    several = (
        "Application argocd/web: the change holds several manifests of it that differ, and only one of them is judged"
    )
    assert (ran.code, [f["error"] for f in json.loads(ran.out)["failures"]]) == (3, [several])
    commit(clone, {"application.yaml": edited + "#" * 32_000_001})
    ran = gate("--repo", REPO, "--head", "feature", "--base", "main", "--checkout", ".", "-o", "json")
    assert ran.code == 3
    assert "application.yaml is too large to be read" in json.loads(ran.out)["failures"][0]["error"]
