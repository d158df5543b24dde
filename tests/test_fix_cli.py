"""`argolint fix` as a user runs it: printed, as a diff, written into clones."""

from __future__ import annotations

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
    assert (ran.code, ran.err) == (0, "1 of 1 findings have such a fix\n")
    assert ran.out == (
        "live-edit  argocd/web Deployment shop/web /spec/replicas\n"
        "  it drifts\n"
        "  fix 1 of 2: Try this [web]\n"
        "      spec:\n"
        "        replicas: 5\n"
        "    not verified: unknown here\n"
        "    caveat: it costs\n\n"
    )
    second = run_argolint("fix", "--report", saved, "--alternative", "2")
    assert "fix 2 of 2" in second.out
    assert "verified: replayed in memory, the finding is gone" in second.out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--safe-only"], "0 of 1 findings have such a fix\n"),
        (["--safe-only", "--alternative", "2"], "1 of 1 findings have such a fix\n"),
        (["--alternative", "3"], "0 of 1 findings have such a fix\n"),
        (["other"], "0 of 0 findings have such a fix\n"),
        (["argocd/w*"], "1 of 1 findings have such a fix\n"),
        (["--select", "unexplained-drift"], "0 of 0 findings have such a fix\n"),
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
    ran = run_argolint("fix", "--report", saved, "--write", root, "--dry-run")
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
    ran = run_argolint("fix", "--report", saved, "--write", root, "--write", apps)
    assert ran.code == 0
    assert ran.out.splitlines() == [
        f"placed  live-edit  argocd/web Deployment shop/web /spec/replicas: Try this → {root}/web/a.yaml",
        "          not verified: unknown here",
        "          caveat: it costs",
        f"placed  live-edit  argocd/web Deployment shop/web /spec/replicas: Try this → {apps}/web.yaml",
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
    ran = run_argolint(
        "fix", "--report", report(tmp_path / "r.json", finding(command), absent, finding(REPLICAS)), "--write", root
    )
    assert ran.code == 1
    assert ran.out.splitlines()[:2] == [
        "left    live-edit  argocd/web Deployment shop/web /spec/replicas: "
        "it is a command → run it as `argolint fix` prints it",
        "left    live-edit  argocd/web Deployment shop/gone /spec/replicas: "
        "no file in web holds Deployment shop/gone → is it the right branch?",
    ]
    assert (root / "web/a.yaml").read_text() == DEPLOYMENT.replace("replicas: 3", "replicas: 5")


def test_a_mirror_is_named_with_its_url(tmp_path: Path) -> None:
    root = repository(tmp_path / "clone", {"web/a.yaml": DEPLOYMENT}, url="/srv/mirror/shop")
    saved = report(tmp_path / "r.json", finding(REPLICAS))
    assert run_argolint("fix", "--report", saved, "--write", root).code == 1
    assert run_argolint("fix", "--report", saved, "--write", f"{REPO}={root}").code == 0


def test_a_diff_never_shows_a_secret(tmp_path: Path) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: web\nstringData:\n  password: hunter2\n"
    root = repository(tmp_path / "clone", {"web/s.yaml": secret})
    fix = patch({"op": "add", "path": "/metadata/annotations/a", "value": "b"})
    saved = report(tmp_path / "r.json", finding(fix, resource=resource("Secret")))
    ran = run_argolint("fix", "--report", saved, "--write", root, "--dry-run")
    assert ran.out == "# web/s.yaml holds a Secret: its diff is not shown\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dry-run"], "--dry-run and --force belong to --write"),
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
