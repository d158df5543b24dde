"""One fix has one text, one verdict and one place, whoever tells it: check in each format, fix in each of its ways, tools for agents, the gate."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from argolint.reports import document as report
from argolint.reports.formats import Style
from argolint.reports.formats.edits import as_text
from argolint.serve import agent_answers
from argolint.serve.documents import APPLICATIONS, Documents
from argolint.snapshots.http_server import ReplayServer
from tests import shop
from tests.conftest import Ran
from tests.gitops import REPO, GitServer, commit, git
from tests.here import run_here
from tests.shop import of

DRIFT = "autoscaler-replicas"
ENTRY = "        - {name: MODE, value: a}\n"
SOUND = shop.DEPLOYMENT.replace(
    '- {name: main, image: "NAME:1", envFrom: [{configMapRef: {name: NAME-config}}]}\n',
    f'- name: main\n        image: "NAME:1"\n        env:\n{ENTRY}',
)
DEPLOYMENT = SOUND + ENTRY
APPLICATION = of(shop.APPLICATION, "web") + "  syncPolicy:\n    automated: {prune: true}\n"


@dataclass(frozen=True)
class Entry:
    """Reports of one check, and the options that ask its server again."""

    folder: Path
    clone: Path
    options: tuple[str, ...]
    env: dict[str, str]
    made: report.Report

    def run(self, *arguments: str | Path) -> Ran:
        ran = run_here(*arguments, cwd=self.folder, env=self.env)
        assert ran.code in (0, 1), ran.err
        return ran

    def fix(self, *arguments: str | Path) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("fix", "-o", "json", *arguments).out)
        return found


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Entry]:
    """`web` has its manifests in the clone, `cart` is made by an ApplicationSet; both have the same faults."""
    folder = tmp_path_factory.mktemp("alike")
    clone = folder / "clone"
    clone.mkdir()
    git(clone, "init", "--quiet")
    files = {f"{n}/{n}.yaml": of(DEPLOYMENT + "---\n" + shop.CONFIG, n) for n in ("web", "cart")}
    commit(clone, {**files, "applications.yaml": APPLICATION})
    git(clone, "remote", "add", "origin", REPO)
    git(clone, "config", "user.name", "a")
    git(clone, "config", "user.email", "a@example.com")
    owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "shops", "uid": "u"}
    made = {"metadata": {"name": "cart", "ownerReferences": [owner]}}
    live = {
        f"Deployment/{n}": {"spec": {"replicas": 5}, "metadata": {"managedFields": scaled()}} for n in ("web", "cart")
    }
    with ReplayServer(GitServer(clone, live, {"cart": made})) as server:
        options = ("--server", server.address, "--plaintext")
        env = {"ARGOCD_AUTH_TOKEN": server.token()}
        formats = [f"--output={name}={folder / f'report.{name}'}" for name in ("json", "text", "markdown", "html")]
        ran = run_here("check", "-v", "--full", *options, *formats, cwd=folder, env=env)
        assert (ran.code, ran.err) == (1, "")
        yield Entry(folder, clone, options, env, report.read(folder / "report.json"))


def scaled() -> list[dict[str, Any]]:
    fields: dict[str, Any] = {"f:spec": {"f:replicas": {}}}
    return [{"manager": "kube-downscaler", "operation": "Update", "time": "2026-01-01T11:50:00Z", "fieldsV1": fields}]


def entries(found: dict[str, Any]) -> dict[tuple[str, int], tuple[Any, ...]]:
    """Each fix by its finding and number: what became of it, and its whole text."""
    return {
        (entry["fingerprint"], entry["number"]): (
            group,
            [file["file"] for file in entry["files"]],
            entry["why"],
            entry["refused"],
            json.dumps(entry["fix"]),
        )
        for group in ("placed", "by_hand", "commands", "unverified")
        for entry in found[group]
    }


def plain(fix: report.ReportedFix) -> Any:
    """The fix as the JSON report has it."""
    return json.loads(json.dumps(report.plain_data(fix)))


@pytest.mark.parametrize("number", ["1", "2"])
def test_a_fix_is_placed_or_refused_alike_in_each_way_to_write(told: Entry, tmp_path: Path, number: str) -> None:
    clones = [tmp_path / name for name in ("dry", "saved", "written", "branch")]
    for clone in clones:
        shutil.copytree(told.clone, clone)
    dry, saved, written, branch = clones
    ways = [
        told.fix(*told.options, "--alternative", number, "--write", dry, "--dry-run"),
        told.fix("--report", told.folder / "report.json", "--alternative", number, "--write", saved),
        told.fix(*told.options, "--alternative", number, "--write", written),
        told.fix(*told.options, "--alternative", number, "--write", branch, "--branch", "fixes"),
    ]
    first, *others = map(entries, ways)
    assert {group for group, *_ in first.values()} >= {"placed", *(("by_hand",) if number == "2" else ())}
    assert all(other == first for other in others)
    assert (git(dry, "status", "--porcelain"), git(branch, "status", "--porcelain")) == ("", "")
    diff = git(written, "diff")
    assert diff
    assert diff == git(saved, "diff") == git(branch, "diff", "main", "fixes")
    printed = told.run("fix", *told.options, "--alternative", number).out
    of_report = {(f.fingerprint, n): x for f in told.made.findings for n, x in enumerate(f.fixes, 1)}
    for place, (*_, text) in first.items():
        assert json.loads(text) == plain(of_report[place])
        assert as_text(of_report[place].edit).replace("\n", "\n      ").rstrip() in printed


def test_every_format_and_tool_tells_the_same_fix(told: Entry) -> None:
    """The edit's text, its verdict and its effects; a comment shows a finding's first fix."""
    texts = {name: (told.folder / f"report.{name}").read_text() for name in ("text", "markdown", "html")}
    texts["html"] = html.unescape(texts["html"])
    flat = {name: re.sub(r"\s+", " ", text) for name, text in texts.items()}
    assert len({f.rule for f in told.made.findings}) >= 2
    apps = {f.app for f in told.made.findings}
    served = Documents(told.made, apps, Style())
    for finding in told.made.findings:
        fixes = [plain(fix) for fix in finding.fixes]
        assert json.loads(agent_answers.whole(finding))["fixes"] == fixes
        page = served.at(f"{APPLICATIONS}/{finding.app.namespace}/{finding.app.name}")
        assert page is not None
        (same,) = [f for f in json.loads(page.body)["findings"] if f["fingerprint"] == finding.fingerprint]
        assert same["fixes"] == fixes
        for number, fix in enumerate(finding.fixes):
            shown = ("text", "html", "markdown") if number == 0 else ("text", "html")
            for name in shown:
                assert fix.title in flat[name].replace("`", ""), (name, finding.rule)
                for line in as_text(fix.edit).splitlines():
                    assert " ".join(line.split()) in flat[name], (name, finding.rule)


def test_the_gate_tells_the_fix_that_a_check_tells_after_the_merge(tmp_path: Path) -> None:
    """In a comment on a change, and of the files alone."""
    clone = tmp_path / "clone"
    clone.mkdir()
    git(clone, "init", "--quiet")
    commit(clone, {"desk/desk.yaml": of(SOUND, "desk")})
    git(clone, "switch", "--create", "feature", "--quiet")
    commit(clone, {"desk/desk.yaml": of(DEPLOYMENT, "desk")})
    found = []
    for merged in (False, True):
        if merged:
            git(clone, "branch", "--force", "main", "feature")
        with ReplayServer(GitServer(clone)) as server:
            out = tmp_path / f"{merged}.json"
            command = ("check",) if merged else ("gate", "--repo", REPO, "--head", "feature")
            options = ("--server", server.address, "--plaintext", "-o", f"json={out}")
            ran = run_here(*command, *options, cwd=clone, env={"ARGOCD_AUTH_TOKEN": server.token()})
            assert ran.code in (0, 1), ran.err
        findings = [f for f in report.read(out).findings if f.rule == "duplicate-env"]
        found.append([(x.title, x.target, x.where, x.edit) for f in findings for x in f.fixes])
    assert found[0]
    assert found[0] == found[1]


IGNORING = "  ignoreDifferences: [{group: apps, kind: Deployment, jsonPointers: [/spec/replicas]}]\n"


def test_files_of_applications_are_told_the_fix_that_a_check_tells_once_they_are_applied(
    told: Entry, tmp_path: Path
) -> None:
    """Its text and verdict, and where `fix` places it or why it refuses to: the file no longer ignores what an autoscaler writes."""
    clone = tmp_path / "clone"
    shutil.copytree(told.clone, clone)
    live = {"Deployment/web": {"spec": {"replicas": 5}, "metadata": {"managedFields": scaled()}}}
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    for out, what, ignoring in ((before, ("gate", "applications.yaml"), IGNORING), (after, ("check", "web"), "")):
        spec = yaml.safe_load(APPLICATION + ignoring)["spec"]
        with ReplayServer(GitServer(clone, live, {"web": {"spec": spec}})) as server:
            options = ("--server", server.address, "--plaintext", "-o", f"json={out}")
            ran = run_here(*what, *options, cwd=clone, env={"ARGOCD_AUTH_TOKEN": server.token()})
            assert ran.code in (0, 1), ran.err
    found, applied = (
        [(f.fingerprint, f.message, f.fixes) for f in report.read(out).findings if f.rule == DRIFT]
        for out in (before, after)
    )
    assert len(found[0][-1]) == 2
    assert found == applied
    for number, gone in (("1", ""), ("2", ""), ("1", "web/web.yaml"), ("2", "applications.yaml")):
        made = []
        for out in (before, after):
            copy = tmp_path / f"{number}-{gone.partition('/')[0]}-{out.stem}"
            shutil.copytree(clone, copy)
            if gone:
                commit(copy, {gone: None})
            which = ("--select", DRIFT, "--alternative", number)
            ran = run_here("fix", "--report", out, *which, "--write", copy, "-o", "json", cwd=tmp_path)
            assert ran.code in (0, 1), ran.err
            made.append((entries(json.loads(ran.out)), git(copy, "diff")))
        assert made[0] == made[1]
        (((group, *_),), diff) = made[0][0].values(), made[0][1]
        assert (group, bool(diff)) == (("by_hand", False) if gone else ("placed", True))
