"""The ways into CI: each step's shell is run as the runner would, against a real repository, server and comment API."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from argolint import ACTION as OWN_ACTION
from argolint import __version__
from argolint.application.fleet import IN_CLUSTER
from argolint.reports.formats.markdown import MARKER
from argolint.snapshots.http_server import ReplayServer

from .conftest import ROOT, Ran, clean_environment, run_argolint
from .gitops import REPO, GitServer, commit, git

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
WORKFLOW = yaml.safe_load((ROOT / "templates" / "github-workflow.yml").read_text())
ACTION_NAME = OWN_ACTION
GITLAB = yaml.safe_load((ROOT / "templates" / "gitlab-ci.yml").read_text())
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {MODE: fast}\n"
USER = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: b, envFrom: [{configMapRef: {name: settings}}]}]}\n"


class Comments(ThreadingHTTPServer):
    """The comment API of both forges over a list; `token` is the only one that may write."""

    def __init__(self, token: str = "good") -> None:
        super().__init__(("127.0.0.1", 0), _CommentHandler)
        self.token = token
        self.comments: list[dict[str, Any]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _CommentHandler(BaseHTTPRequestHandler):
    server: Comments

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the parameter's name is inherited
        pass

    def _answer(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        path, query = urlsplit(self.path).path, urlsplit(self.path).query
        if path == "/user":
            return self._answer(200, {"id": 7})
        assert path in ("/repos/shop/apps/issues/12/comments", "/projects/5/merge_requests/12/notes")
        page = int(re.findall(r"page=(\d+)$", query)[0])
        return self._answer(200, self.server.comments[(page - 1) * 100 : page * 100])

    def _write(self, status: int, comment: dict[str, Any]) -> None:
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ") or self.headers.get("PRIVATE-TOKEN")
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        if token != self.server.token:
            return self._answer(403, {"message": "Resource not accessible by integration"})
        comment["body"] = body
        return self._answer(status, comment)

    def do_POST(self) -> None:
        made = {"id": 1000 + len(self.server.comments), "user": {"type": "Bot"}, "author": {"id": 7}, "body": ""}
        self.server.comments.append(made)
        self._write(201, made)

    def _rewrite(self) -> None:
        wanted = int(self.path.rpartition("/")[2])
        self._write(200, next(c for c in self.server.comments if c["id"] == wanted))

    do_PATCH = do_PUT = _rewrite  # noqa: N815  # the names that http.server looks for


@pytest.fixture
def forge() -> Iterator[Comments]:
    with Comments() as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


def on_github(forge: Comments, token: str = "good") -> dict[str, str]:
    return {
        "GITHUB_TOKEN": token,
        "GITHUB_API_URL": forge.url,
        "GITHUB_REPOSITORY": "shop/apps",
        "GITHUB_REF": "refs/pull/12/merge",
    }


def on_gitlab(forge: Comments) -> dict[str, str]:
    ids = {"CI_PROJECT_ID": "5", "CI_MERGE_REQUEST_IID": "12"}
    return {"GITLAB_CI": "true", "GITLAB_TOKEN": "good", "CI_API_V4_URL": forge.url, **ids}


@pytest.mark.parametrize("env", [on_github, on_gitlab])
def test_the_comment_is_made_once_and_then_rewritten(forge: Comments, tmp_path: Path, env: Any) -> None:
    forge.comments += [
        {"id": n, "user": {"type": "User"}, "author": {"id": 1}, "body": f"{MARKER}\nnot ours"} for n in range(150)
    ]
    file = tmp_path / "gate.md"
    for text in ("first", "second"):
        file.write_text(f"{MARKER}\n{text}\n")
        ran = run_argolint("comment", file, env=env(forge))
        assert ran.code == 0, ran.err
        assert [c["body"] for c in forge.comments[150:]] == [f"{MARKER}\n{text}\n"]
    assert {c["body"] for c in forge.comments[:150]} == {f"{MARKER}\nnot ours"}


def test_the_number_comes_from_the_event_where_the_ref_is_a_branch(forge: Comments, tmp_path: Path) -> None:
    (tmp_path / "gate.md").write_text(f"{MARKER}\n")
    (tmp_path / "event.json").write_text('{"pull_request": {"number": 12}}')
    event = {"GITHUB_REF": "refs/heads/main", "GITHUB_EVENT_PATH": str(tmp_path / "event.json")}
    assert run_argolint("comment", tmp_path / "gate.md", env={**on_github(forge), **event}).code == 0
    assert len(forge.comments) == 1


def test_a_comment_that_may_not_be_written_is_told(forge: Comments, tmp_path: Path) -> None:
    (tmp_path / "gate.md").write_text(f"{MARKER}\n")
    ran = run_argolint("comment", tmp_path / "gate.md", env=on_github(forge, "read-only"))
    assert ran.code == 2
    assert "403" in ran.err
    assert "read-only" not in ran.err.partition("→")[0]
    assert run_argolint("comment", tmp_path / "gate.md", env={"GITHUB_TOKEN": "good"}).code == 2
    (tmp_path / "other.md").write_text("hello\n")
    assert run_argolint("comment", tmp_path / "other.md", env=on_github(forge)).code == 2


class Runner:
    """Runs shell as a CI runner does; argolint is this source tree's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temp = folder / "temp"
        program = self.temp / "argolint" / "bin" / "argolint"
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m argolint "$@"\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.clone = folder / "clone"
        self.clone.mkdir()
        git(self.clone, "init", "--quiet")
        commit(self.clone, {"web/config.yaml": CONFIG, "web/pod.yaml": USER})

    def __call__(self, script: str, env: Mapping[str, str]) -> Ran:
        clean = {k: v for k, v in clean_environment().items() if not k.startswith(("GITHUB_", "CI", "GITLAB"))}
        files = {name: str(self.folder / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        paths = {"RUNNER_TEMP": str(self.temp), "PATH": f"{self.temp / 'argolint' / 'bin'}:{clean['PATH']}"}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.clone,
            env={**clean, "HOME": str(self.folder), **files, **paths, **env},
            capture_output=True,
            text=True,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in (self.folder / "GITHUB_OUTPUT").read_text().splitlines())


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    made = Runner(tmp_path)
    git(made.clone, "switch", "--create", "feature", "--quiet")
    return made


def _inputs(server: ReplayServer, **given: str) -> dict[str, str]:
    """The environment of the step: its `env` with the inputs' defaults, as far as they are plain, and the given ones."""
    defaults = {n: i["default"] for n, i in ACTION["inputs"].items() if "${{" not in i["default"]}
    values = {**defaults, "server": server.address, "auth-token": server.token(), "repo": REPO, **given}
    env = {}
    for name, text in STEPS["Judge the change"]["env"].items():
        (wanted,) = re.findall(r"^\$\{\{ inputs\.([\w-]+) \}\}$", text)
        env[name] = values.get(wanted, "")
    return env


def test_the_action_reports_what_a_change_brings_and_decides_last(runner: Runner) -> None:
    apps = GitServer(runner.clone)
    commit(runner.clone, {"web/config.yaml": None})
    with ReplayServer(apps) as server:
        env = _inputs(server, head="feature", base="main", args="--plaintext\n--checkout\n.\n")
        ran = runner(STEPS["Judge the change"]["run"], env)
    assert ran.code == 0, ran.err
    assert (
        "::error file=web/pod.yaml,line=4,title=pruned-while-referenced in argocd/web::ConfigMap shop/settings"
        in ran.out
    )
    outputs = runner.outputs()
    assert outputs["exit-code"] == "1"
    assert json.loads(Path(outputs["sarif"]).read_text())["version"] == "2.1.0"
    assert json.loads(Path(outputs["json"]).read_text())["gate"]["new"] == 1
    assert (runner.folder / "GITHUB_STEP_SUMMARY").read_text().startswith(MARKER)
    assert runner(STEPS["Decide"]["run"], {"CODE": outputs["exit-code"]}).code == 1


def test_the_action_reads_no_configuration_of_the_change(runner: Runner) -> None:
    """Whatever the branches and tags of the clone are called: the base is the event's commit."""
    apps = GitServer(runner.clone)
    base = git(runner.clone, "rev-parse", "main").strip()
    evil = "ignore:\n- {rule: '*', reason: trust me}\n"
    commit(runner.clone, {"web/config.yaml": None, ".argolint.yaml": evil})
    git(runner.clone, "update-ref", "refs/remotes/origin/main", "feature")
    assert ACTION["inputs"]["trusted-config"]["default"] == "${{ github.event.pull_request.base.sha }}"
    with ReplayServer(apps) as server:
        given = {"head": "feature", "base": "main", "args": "--plaintext", "trusted-config": base}
        runner(STEPS["Judge the change"]["run"], _inputs(server, **given))
    assert runner.outputs()["exit-code"] == "1"


def test_the_action_runs_no_module_of_the_checkout(runner: Runner) -> None:
    (runner.clone / "venv.py").write_text(f"open({str(runner.folder / 'ran')!r}, 'w')\n")
    first = STEPS["Install"]["run"].replace('"$RUNNER_TEMP/argolint/bin/pip" install', "true install")
    first = first.replace("-m venv", "-m venv --without-pip")  # most of the time otherwise
    ran = runner(first.replace("$RUNNER_TEMP/argolint", "$RUNNER_TEMP/other"), {"GITHUB_ACTION_PATH": str(ROOT)})
    assert ran.code == 0, ran.err
    assert not (runner.folder / "ran").exists()
    assert (runner.temp / "other/bin/python").exists()


def test_a_hostile_branch_name_is_an_argument_and_nothing_else(runner: Runner) -> None:
    with ReplayServer(GitServer(runner.clone)) as server:
        env = _inputs(server, head="$(touch owned)`touch owned`; touch owned", base="--help", args="--plaintext")
        runner(STEPS["Judge the change"]["run"], env)
    assert runner.outputs()["exit-code"] != "0"
    assert not (runner.clone / "owned").exists()


def test_the_action_comments_and_takes_a_read_only_token_lightly(runner: Runner, forge: Comments) -> None:
    report = runner.temp / "argolint-reports" / "gate.md"
    report.parent.mkdir()
    report.write_text(f"{MARKER}\nhello\n")
    assert runner(STEPS["Comment"]["run"], on_github(forge)).code == 0
    assert [c["body"] for c in forge.comments] == [f"{MARKER}\nhello\n"]
    ran = runner(STEPS["Comment"]["run"], on_github(forge, "read-only"))
    assert ran.code == 0
    assert "::notice::" in ran.out


def test_no_shell_of_the_action_or_the_workflow_holds_an_expression() -> None:
    jobs = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
    scripts = [step["run"] for step in (*STEPS.values(), *jobs) if "run" in step]
    assert len(scripts) == 5
    assert not [script for script in scripts if "${{" in script]


def test_the_workflow_runs_with_least_rights_on_the_pull_request_event() -> None:
    assert WORKFLOW["permissions"] == {}
    assert list(WORKFLOW[True]) == ["pull_request"]  # YAML 1.1 reads `on` as true
    assert WORKFLOW["jobs"]["gate"]["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert set(WORKFLOW["jobs"]["gate"]["steps"][-1]["with"]) <= set(ACTION["inputs"])


def test_the_hook_judges_edited_applications_against_the_live_ones(runner: Runner, tmp_path: Path) -> None:
    hook = HOOKS["argolint-applications"]
    live: dict[str, dict[str, Any]] = {
        "Pod/web": {"metadata": {"labels": {"edited": "by-hand"}}},
        "ConfigMap/settings": {"data": {"MODE": "slow"}},
    }
    rule = {"kind": "ConfigMap", "jsonPointers": ["/data"]}
    source = {"repoURL": REPO, "path": "web", "targetRevision": "main"}
    spec = {"source": source, "destination": {"server": IN_CLUSTER, "namespace": "shop"}, "ignoreDifferences": [rule]}
    whole = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "web"}, "spec": spec}
    apps = GitServer(runner.clone, live, {"web": {"spec": {"ignoreDifferences": [rule]}}})
    file, other = tmp_path / "web.yaml", tmp_path / "values.yaml"
    other.write_text("replicas: 2\n")
    command = [*hook["entry"].split(), "--plaintext", "-o", f"json={tmp_path / 'out.json'}"]
    with ReplayServer(apps) as server:
        env = {"ARGOCD_SERVER": server.address, "ARGOCD_AUTH_TOKEN": server.token()}
        for rules, found in (([rule], []), ([], ["/data/MODE"])):
            file.write_text(json.dumps({**whole, "spec": {**spec, "ignoreDifferences": rules}}))
            ran = run_argolint(*command[1:], "--fail-on", "info", file, other, cwd=tmp_path, env=env)
            assert ran.code == bool(found), ran.err
            told = json.loads((tmp_path / "out.json").read_text())
            assert [f["pointer"] for f in told["findings"]] == found
        assert not [path for path in server.seen if "/manifests" in path]
        assert run_argolint("gate", "--plaintext", other, cwd=tmp_path, env=env).code == 0
    assert run_argolint("gate", "--repo", REPO, "--head", "x", file, cwd=tmp_path).code == 2
    assert run_argolint("gate", cwd=tmp_path).code == 2


def test_the_hook_of_the_configuration_needs_no_server(tmp_path: Path) -> None:
    hook = HOOKS["argolint-config"]
    command = hook["entry"].split()[1:]
    (tmp_path / ".argolint.yaml").write_text("fail-on: warning\nbaseline: accepted.json\n")
    accepted = {"fingerprint": "a", "rule": "live-edit", "app": "argocd/web"}
    baseline = {"baseline_version": "1.0", "server": "", "written_at": "", "findings": [accepted]}
    (tmp_path / "accepted.json").write_text(json.dumps(baseline))
    ran = run_argolint(*command, cwd=tmp_path)
    assert (ran.code, ran.out) == (0, ".argolint.yaml: all of it is read\n"), ran.err
    baseline["findings"] = [accepted, {**accepted, "rule": "live-edits"}, {**accepted, "rule": "of-old"}]
    (tmp_path / "accepted.json").write_text(json.dumps(baseline))
    ran = run_argolint(*command, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "the baseline accepts 1 finding of 'live-edits', a rule that this argolint does not have" in ran.err
    assert "accepts 1 finding of 'of-old'" in ran.err
    (tmp_path / ".argolint.yaml").write_text("fail_on: warning\n")
    ran = run_argolint(*command, cwd=tmp_path)
    assert (ran.code, "fail_on" in ran.err, "fail-on" in ran.err) == (2, True, True)
    assert re.search(hook["files"], "teams/.argolint.yaml")


def test_the_gitlab_job_writes_its_reports_comments_and_fails(runner: Runner, forge: Comments, tmp_path: Path) -> None:
    apps = GitServer(runner.clone)
    mine = tmp_path / "mine"
    mine.mkdir()
    (runner.clone / "argolint-reports").symlink_to(mine)
    commit(runner.clone, {"web/config.yaml": None})
    git(runner.clone, "update-ref", "refs/merge-requests/12/head", "feature")
    origin = tmp_path / "origin.git"
    git(tmp_path, "clone", "--quiet", "--mirror", str(runner.clone), str(origin))
    git(runner.clone, "remote", "add", "origin", str(origin))
    git(runner.clone, "update-ref", "-d", "refs/merge-requests/12/head")
    script = "\n".join(line for line in GITLAB["argolint"]["script"] if not line.startswith(("apt-get", "pip ")))
    with ReplayServer(apps) as server:
        env = {
            **on_gitlab(forge),
            "ARGOCD_SERVER": server.address,
            "ARGOCD_AUTH_TOKEN": server.token(),
            "ARGOCD_OPTS": "--plaintext",
            "CI_MERGE_REQUEST_REF_PATH": "refs/merge-requests/12/head",
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
            "CI_MERGE_REQUEST_PROJECT_URL": REPO.removesuffix(".git"),
            **GITLAB["argolint"]["variables"],
        }
        ran = runner(script, env)
    assert ran.code == 1, ran.err
    assert list(mine.iterdir()) == []  # a link that the change brought led there
    reports = GITLAB["argolint"]["artifacts"]["reports"]
    (issue,) = json.loads((runner.clone / reports["codequality"]).read_text())
    assert issue["check_name"] == "pruned-while-referenced"
    assert 'failures="1"' in (runner.clone / reports["junit"]).read_text()
    assert [c["body"].splitlines()[0] for c in forge.comments] == [MARKER]


def test_the_component_is_the_job_with_inputs() -> None:
    """An input is a variable of the job, and never a part of its script."""
    head, job = yaml.safe_load_all((ROOT / "templates" / "gate.yml").read_text())
    inputs = head["spec"]["inputs"]
    assert job["argolint"]["script"] == GITLAB["argolint"]["script"]
    assert job["argolint"]["rules"] == GITLAB["argolint"]["rules"]
    assert job["argolint"]["artifacts"] == GITLAB["argolint"]["artifacts"]
    used = re.findall(r"\$\[\[ inputs\.([\w-]+) \]\]", json.dumps(job))
    assert sorted(used) == sorted(inputs)
    assert "$[[" not in json.dumps(job["argolint"]["script"])


def test_no_template_installs_a_package_by_a_name_that_nobody_has_published(runner: Runner) -> None:
    (install,) = [line for line in GITLAB["argolint"]["script"] if line.startswith("pip ")]
    ran = runner(install, {})
    assert ran.code != 0
    assert "ARGOLINT_PACKAGE: set it to git+https://HOST/PATH@COMMIT or to a wheel" in ran.err
    assert STEPS["Install"]["run"].rstrip().endswith('"$GITHUB_ACTION_PATH"')
    (used,) = [s["uses"] for s in WORKFLOW["jobs"]["gate"]["steps"] if s.get("uses", "").startswith(ACTION_NAME)]
    assert used == f"{ACTION_NAME}@v{__version__}"


def test_the_action_installs_by_hashes_and_keeps_what_it_downloads() -> None:
    """What a cache gives back is held against the lock's hashes: whoever may write the cache decides nothing."""
    install = STEPS["Install"]["run"]
    assert "--require-hashes -r" in install
    assert install.count('--cache-dir "$RUNNER_TEMP/argolint-pip"') == install.count("bin/pip") == 2
    cache = STEPS["Cache"]
    assert re.fullmatch(r"actions/cache@[0-9a-f]{40}", cache["uses"])
    assert cache["with"]["path"] == "${{ runner.temp }}/argolint-pip"
    assert cache["if"] == "inputs.cache == 'true'"


def test_the_page_of_the_action_lists_its_inputs_and_outputs() -> None:
    page = (ROOT / "docs" / "ci" / "github.md").read_text()
    for name, told in (*ACTION["inputs"].items(), *ACTION["outputs"].items()):
        (row,) = re.findall(rf"^\| `{name}` \| .*", page, re.MULTILINE)
        assert told["description"] in row


def test_a_gate_that_cannot_read_its_options_replaces_the_comment_all_the_same(runner: Runner, forge: Comments) -> None:
    with ReplayServer(GitServer(runner.clone)) as server:
        runner(STEPS["Judge the change"]["run"], _inputs(server, head="feature", base="main", args="--no-such-option"))
    assert runner.outputs()["exit-code"] == "2"
    assert runner(STEPS["Comment"]["run"], on_github(forge)).code == 0
    (comment,) = forge.comments
    assert comment["body"].startswith(f"{MARKER}\n## argolint: no verdict")
    assert "exit code 2" in comment["body"]
