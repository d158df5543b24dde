"""`argolint fix` as a user runs it: printed, as a diff, written into clones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.checkouts import APPLICATION, DEPLOYMENT, REPO, finding, patch, report, repository, resource
from tests.conftest import run_argolint
from tests.gitops import git

REPLICAS = patch({"op": "replace", "path": "/spec/replicas", "value": 5}, caveat="it costs", unverified="unknown here")
PAUSE = patch({"op": "add", "path": "/spec/paused", "value": True}, safe=True, verified=True)


def test_without_a_checkout_the_chosen_alternative_is_printed(tmp_path: Path) -> None:
    saved = report(tmp_path / "r.json", finding(REPLICAS, PAUSE))
    ran = run_argolint("fix", "--report", saved)
    assert (ran.code, ran.err) == (0, "fixes for 1 of 1 findings\n")
    assert ran.out == (
        "live-edit  argocd/web Deployment shop/web /spec/replicas\n"
        "  it drifts\n"
        "  fix 1 of 2: Try this [web]\n"
        "    not verified: unknown here\n"
        "    caveat: it costs\n"
        "      spec:\n"
        "        replicas: 5\n\n"
    )
    second = run_argolint("fix", "--report", saved, "--alternative", "2")
    assert "fix 2 of 2" in second.out
    assert "verified: replayed in memory, the finding is gone" in second.out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--safe-only"], "fixes for 0 of 1 findings\n"),
        (["--safe-only", "--alternative", "2"], "fixes for 1 of 1 findings\n"),
        (["--alternative", "3"], "fixes for 0 of 1 findings\n"),
        (["other"], "fixes for 0 of 0 findings\n"),
        (["argocd/w*"], "fixes for 1 of 1 findings\n"),
        (["--select", "unexplained-drift"], "fixes for 0 of 0 findings\n"),
    ],
)
def test_findings_and_fixes_are_chosen(tmp_path: Path, options: list[str], told: str) -> None:
    saved = report(tmp_path / "r.json", finding(REPLICAS, PAUSE))
    ran = run_argolint("fix", *options, "--report", saved)
    assert (ran.code, ran.err) == (0, told)


def test_suppressed_findings_are_left_alone(tmp_path: Path) -> None:
    saved = report(tmp_path / "r.json", finding(REPLICAS, suppressed={"reason": "known"}))
    assert run_argolint("fix", "--report", saved).out == ""


def test_a_dry_run_prints_a_diff_that_git_applies(tmp_path: Path) -> None:
    root = repository(tmp_path / "clone", {"web/a.yaml": DEPLOYMENT})
    saved = report(tmp_path / "r.json", finding(REPLICAS))
    ran = run_argolint("fix", "--report", saved, "--write", root, "--unverified", "--dry-run")
    assert ran.code == 0
    assert git(root, "status", "--porcelain") == ""
    assert "\n-  replicas: 3\n+  replicas: 5\n" in ran.out
    (tmp_path / "p.diff").write_text(ran.out)
    git(root, "apply", str(tmp_path / "p.diff"))
    assert git(root, "diff") == ran.out
    assert "1 of 1 fixes placed, 1 files would change" in ran.err


def test_write_changes_the_clones_that_hold_the_objects(tmp_path: Path) -> None:
    root = repository(tmp_path / "shop", {"web/a.yaml": DEPLOYMENT})
    apps = repository(tmp_path / "apps", {"web.yaml": APPLICATION}, url="git@git.example.com:apps.git")
    entry = {"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}
    ignore = patch({"op": "add", "path": "/spec/ignoreDifferences", "value": [entry]}, target="application")
    saved = report(tmp_path / "r.json", finding(REPLICAS), finding(ignore))
    ran = run_argolint("fix", "--report", saved, "--write", root, "--write", apps, "--unverified=all")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "Placed: 2",
        "  live-edit  argocd/web Deployment shop/web /spec/replicas: Try this",
        f"      → {root}/web/a.yaml",
        "      not verified: unknown here",
        "      caveat: it costs",
        "  live-edit  argocd/web Deployment shop/web /spec/replicas: Try this",
        f"      → {apps}/web.yaml",
    ]
    assert git(root, "diff", "--stat").endswith("1 file changed, 1 insertion(+), 1 deletion(-)\n")
    assert (apps / "web.yaml").read_text().startswith(APPLICATION)


def test_what_has_no_place_is_told_and_the_rest_is_written(tmp_path: Path) -> None:
    root = repository(tmp_path / "clone", {"web/a.yaml": DEPLOYMENT})
    command = {
        "title": "Run it",
        "target": "live",
        "where": "",
        "edit": {"kind": "command", "content": "kubectl get x"},
    }
    absent = finding(REPLICAS, resource=resource(name="gone"))
    saved = report(tmp_path / "r.json", finding(command), absent, finding(REPLICAS))
    ran = run_argolint("fix", "--report", saved, "--write", root, "--unverified")
    assert ran.code == 1  # the folder should hold Deployment shop/gone
    assert ran.out.splitlines() == [
        "Placed: 1",
        "  live-edit  argocd/web Deployment shop/web /spec/replicas: Try this",
        "      → web/a.yaml",
        "      not verified: unknown here",
        "      caveat: it costs",
        "",
        "By hand: 1",
        "  live-edit  argocd/web Deployment shop/gone /spec/replicas: Try this",
        "      no file in web holds Deployment shop/gone → is it the right branch?",
        "",
        "Commands to run: 1",
        "  live-edit  argocd/web Deployment shop/web /spec/replicas: Run it",
        "      kubectl get x",
    ]
    assert (root / "web/a.yaml").read_text() == DEPLOYMENT.replace("replicas: 3", "replicas: 5")


def test_what_is_not_verified_is_written_only_when_it_is_asked_for(tmp_path: Path) -> None:
    """By rule, by finding, or all; a safe fix and a verified one need no word."""
    root = repository(tmp_path / "clone", {"web/a.yaml": DEPLOYMENT})
    mark = "0123456789abcdef"
    safe = patch({"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}, safe=True)
    saved = report(tmp_path / "r.json", finding(REPLICAS, PAUSE, fingerprint=mark), finding(safe))
    ran = run_argolint("fix", "--report", saved, "--write", root)
    assert ran.code == 1
    assert git(root, "diff", "--stat").endswith("1 file changed, 2 insertions(+)\n")
    assert ran.out.endswith(
        "Not verified, or with a step first, so not written (--unverified adds them: all, or by rule or fingerprint): 1\n"
        "  live-edit  argocd/web Deployment shop/web /spec/replicas: Try this\n"
        "      not verified: unknown here\n"
        "      caveat: it costs\n"
        "      --alternative 2 is verified or safe\n"
    )
    for word in ("live-edit", mark[:8], "all"):
        git(root, "checkout", "-q", ".")
        ran = run_argolint("fix", "--report", saved, "--write", root, f"--unverified={word}")
        assert (ran.code, "replicas: 5" in (root / "web/a.yaml").read_text()) == (0, True)
    wrong = run_argolint("fix", "--report", saved, "--write", root, "--unverified", "live-edti")
    assert (wrong.code, "there is no rule and no finding of this name" in wrong.err) == (2, True)


def test_json_tells_the_groups_apart(tmp_path: Path) -> None:
    root = repository(tmp_path / "clone", {"web/a.yaml": DEPLOYMENT})
    saved = report(tmp_path / "r.json", finding(REPLICAS), finding(PAUSE), finding(PAUSE, resource=resource(name="x")))
    made = json.loads(run_argolint("fix", "--report", saved, "--write", root, "-o", "json").out)
    assert {g: len(made[g]) for g in ("placed", "by_hand", "commands", "unverified")} == {
        "placed": 1,
        "by_hand": 1,
        "commands": 0,
        "unverified": 1,
    }
    (placed,) = made["placed"]
    assert placed["files"] == [{"checkout": str(root), "file": "web/a.yaml"}]
    assert (placed["fix"]["verified"], made["written"], made["branch"]) == (True, True, None)


def test_nothing_is_left_behind_by_the_last_entry_that_goes(tmp_path: Path) -> None:
    odd = DEPLOYMENT.replace("  name: web  # the shop's front\n", "  name: web\n  annotations:\n    a: b\n    c: d\n")
    root = repository(tmp_path / "clone", {"web/a.yaml": odd})
    gone = [patch({"op": "remove", "path": f"/metadata/annotations/{key}"}, verified=True) for key in "ac"]
    saved = report(tmp_path / "r.json", *map(finding, gone))
    assert run_argolint("fix", "--report", saved, "--write", root).code == 0
    assert (root / "web/a.yaml").read_text() == odd.replace("  annotations:\n    a: b\n    c: d\n", "")


def test_a_branch_gets_a_commit_for_each_cause_and_nothing_else_moves(tmp_path: Path) -> None:
    root = repository(tmp_path / "clone", {"web/a.yaml": DEPLOYMENT, "web/run.sh": "x\n"})
    git(root, "config", "user.name", "Ann <x>")
    git(root, "config", "user.email", "ann@example.com")
    hook = root / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    (root / "web/a.yaml").write_text(DEPLOYMENT + "# not committed\n")
    labels = patch({"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}, verified=True)
    label = finding(labels, rule="unexplained-drift", cause="x", message="a label\nis missing")
    saved = report(tmp_path / "r.json", finding(PAUSE), label, finding(REPLICAS))
    dry = run_argolint("fix", "--report", saved, "--write", root, "--branch", "fixes", "--dry-run", "--unverified")
    assert dry.code == 0
    assert git(root, "branch", "--format=%(refname:short)").split() == [git(root, "branch", "--show-current").strip()]
    ran = run_argolint("fix", "--report", saved, "--write", root, "--branch", "fixes", "--unverified")
    assert ran.code == 0, ran.err
    assert "review with `git log -p fixes`" in ran.err
    assert git(root, "status", "--porcelain") == " M web/a.yaml\n"
    log = git(root, "log", "--format=%an %ae %s", "HEAD..fixes").splitlines()
    assert log == ["Ann x ann@example.com unexplained-drift/x: Try this", "Ann x ann@example.com live-edit: Try this"]
    assert "labels:" not in git(root, "diff", "HEAD", "fixes~1")
    assert "a label is missing" in git(root, "log", "-1", "--format=%b", "fixes")
    assert {"  replicas: 5", "  paused: true"} <= set(git(root, "show", "fixes:web/a.yaml").splitlines())
    assert "not committed" not in git(root, "show", "fixes:web/a.yaml")
    assert not (tmp_path / "ran").exists()
    again = run_argolint("fix", "--report", saved, "--write", root, "--branch", "fixes")
    assert (again.code, "has a branch 'fixes' already" in again.err) == (2, True)


@pytest.mark.parametrize("name", ["-x", "a b", "a..b", "x.lock", "refs/../x"])
def test_a_branch_needs_a_name_that_git_takes(tmp_path: Path, name: str) -> None:
    root = repository(tmp_path / "clone", {"web/a.yaml": DEPLOYMENT})
    ran = run_argolint(
        "fix", "--report", report(tmp_path / "r.json", finding(PAUSE)), "--write", root, f"--branch={name}"
    )
    assert (ran.code, "is no name for a branch" in ran.err) == (2, True)


def test_commits_need_an_author(tmp_path: Path) -> None:
    root = repository(tmp_path / "clone", {"web/a.yaml": DEPLOYMENT})
    saved = report(tmp_path / "r.json", finding(PAUSE))
    none = {"XDG_CONFIG_HOME": str(tmp_path)}
    ran = run_argolint("fix", "--report", saved, "--write", root, "--branch=x", cwd=tmp_path, env=none)
    assert (ran.code, "git knows no author" in ran.err) == (2, True)
    (tmp_path / ".gitconfig").write_text("[user]\nname = Bo\nemail = bo@example.com\n")
    assert run_argolint("fix", "--report", saved, "--write", root, "--branch=x", cwd=tmp_path, env=none).code == 0
    assert git(root, "log", "-1", "--format=%an", "x") == "Bo\n"


def test_a_mirror_is_named_with_its_url(tmp_path: Path) -> None:
    root = repository(tmp_path / "clone", {"web/a.yaml": DEPLOYMENT}, url="/srv/mirror/shop")
    saved = report(tmp_path / "r.json", finding(REPLICAS))
    unknown = run_argolint("fix", "--report", saved, "--write", root, "--unverified")
    assert (unknown.code, "By hand: 1" in unknown.out) == (0, True)
    known = run_argolint("fix", "--report", saved, "--write", f"{REPO}={root}", "--unverified")
    assert (known.code, "Placed: 1" in known.out) == (0, True)


def test_a_diff_never_shows_a_secret(tmp_path: Path) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: web\nstringData:\n  password: hunter2\n"
    root = repository(tmp_path / "clone", {"web/s.yaml": secret})
    fix = patch({"op": "add", "path": "/metadata/annotations/a", "value": "b"})
    saved = report(tmp_path / "r.json", finding(fix, resource=resource("Secret")))
    ran = run_argolint("fix", "--report", saved, "--write", root, "--dry-run", "--unverified")
    assert ran.out == "# web/s.yaml holds a Secret: its diff is not shown\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dry-run"], "--dry-run, --force, --unverified and --branch belong to --write"),
        (["--write", "nowhere"], "--write nowhere: there is no folder 'nowhere'"),
        (["--write", "."], "is no Git checkout"),
        (["--report", "none.json"], "cannot read none.json"),
        (["--alternative", "0"], "Invalid value for '--alternative'"),
    ],
)
def test_what_cannot_start_says_so(tmp_path: Path, options: list[str], message: str) -> None:
    report(tmp_path / "r.json", finding(REPLICAS))
    ran = run_argolint("fix", "--report", "r.json", *options, cwd=tmp_path)
    assert ran.code == 2
    assert message in ran.err


def test_a_checkout_without_a_remote_must_be_named(tmp_path: Path) -> None:
    root = repository(tmp_path / "clone", {"web/a.yaml": DEPLOYMENT}, url="")
    ran = run_argolint("fix", "--report", report(tmp_path / "r.json", finding(REPLICAS)), "--write", root)
    assert (ran.code, "the checkout has no remote" in ran.err) == (2, True)
