"""What people ask in one command: who owns this, why is it so and where in Git, what version, completion, colours, standard input."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from argolint.cli.group import COMMANDS
from argolint.snapshots.http_server import ReplayServer
from argolint.testing import FixtureTransport
from tests.checkouts import DEPLOYMENT, REPO, finding, fragment, patch, report, repository, resource
from tests.conftest import Ran, recording, run_argolint
from tests.gitops import git

PHASE = "harbourline/3-after-commits"
LATER = recording(PHASE)


def owners(*words: str) -> Ran:
    return run_argolint("owners", *words, "--snapshot", LATER)


@pytest.mark.parametrize("kind", ["cm", "configmaps", "ConfigMap", "configmap"])
def test_kinds_are_understood_as_kubectl_does(kind: str) -> None:
    assert owners(f"{kind}/tracking-common").out.startswith("ConfigMap tracking/tracking-common  (")


def test_the_owner_of_what_a_controller_made_is_found_in_the_trees() -> None:
    ran = owners("po/identity/session-store-6d6ff6c77d-jns6c")
    assert ran.out.splitlines()[:3] == [
        "Pod identity/session-store-6d6ff6c77d-jns6c  (https://kubernetes.default.svc)",
        "  made by   ReplicaSet identity/session-store-6d6ff6c77d of Deployment identity/session-store, which belongs to:",
        "  owner     argocd/session-store (project identity): `argocd app delete` deletes the object; "
        "deleting the Application in another way leaves it",
    ]
    (held,) = json.loads(owners("pod/session-store-6d6ff6c77d-jns6c", "-o", "json").out)["objects"]
    assert [key["kind"] for key in held["made_by"]] == ["ReplicaSet", "Deployment"]
    assert held["owner"] == "argocd/session-store"


def test_an_object_that_no_tree_has_is_an_error() -> None:
    ran = owners("po/identity/nothing")
    assert (ran.code, ran.out) == (2, "")
    assert "lists po/identity/nothing" in ran.err


def test_check_and_owners_say_the_same_of_a_deletion(report_of: Callable[[str], Path]) -> None:
    shared = [f for f in json.loads(report_of(PHASE).read_text())["findings"] if f["rule"] == "shared-resource"]
    loses = next(f for f in shared if f["resource"]["name"] == "tracking-common")
    owner = (
        next(r["app"]["name"] for r in loses["related"] if r["role"] == "owner")
        if any(r["role"] == "owner" for r in loses["related"])
        else loses["app"]["name"]
    )
    line = next(line for line in owners("cm/tracking-common").out.splitlines() if f"argocd/{owner} " in line)
    assert "deletes the object" in line


def drifting() -> Mapping[str, Any]:
    desired = yaml.safe_load(DEPLOYMENT)
    desired["metadata"]["namespace"] = "shop"
    live = json.loads(json.dumps(desired))
    live["spec"]["replicas"] = 5
    spec = {
        "source": {"repoURL": REPO, "path": "web", "targetRevision": "main"},
        "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"},
    }
    return {
        "apps": [
            {
                "name": "web",
                "spec": spec,
                "status": {"sync": {"status": "OutOfSync"}},
                "resources": [{"desired": desired, "live": live}],
            }
        ]
    }


def asked(words: Sequence[str | Path], cwd: Path) -> Ran:
    with ReplayServer(FixtureTransport(drifting())) as server:
        env = {"ARGOCD_SERVER": server.address, "ARGOCD_AUTH_TOKEN": server.token(), "ARGOCD_OPTS": "--plaintext"}
        return run_argolint(*words, cwd=cwd, env={**env, "COLUMNS": "120"})


def test_why_shows_file_and_line_of_a_named_checkout_and_of_the_clone_one_stands_in(tmp_path: Path) -> None:
    clone = repository(tmp_path / "clone", {"web/a.yaml": DEPLOYMENT})
    words = ("why", "web", "deploy/web", "/spec/replicas")
    for ran in (asked([*words, "--checkout", clone], tmp_path), asked(words, clone)):
        assert ran.code == 0, ran.err
        lines = ran.out.splitlines()
        at = next(n for n, line in enumerate(lines) if "at web/a.yaml:6" in line)
        assert lines[at].split()[:2] == ["Git", "3"]
        assert "6 |   replicas: 3" in "\n".join(lines)
        caret = next(line for line in lines if line.rstrip().endswith("^"))
        shown = next(line for line in lines if "6 |   replicas: 3" in line)
        assert caret.index("^") == shown.rindex("3")
    assert "a.yaml" not in asked(words, tmp_path).out, "no checkout, no file"


def test_check_shows_the_line_with_a_caret(tmp_path: Path) -> None:
    clone = repository(tmp_path / "clone", {"web/a.yaml": DEPLOYMENT})
    ran = asked(["check", "--checkout", clone], tmp_path)
    assert "at web/a.yaml:1\n" in ran.out
    assert "           1 | apiVersion: apps/v1\n             |             ^^^^^^^\n" in ran.out


def test_a_line_of_a_file_with_a_secret_is_not_shown(tmp_path: Path) -> None:
    secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: kR9vT2mLx8QpW4nZ}\n"
    clone = repository(tmp_path / "clone", {"web/a.yaml": DEPLOYMENT + secret})
    ran = asked(["check", "--checkout", clone], tmp_path)
    assert "at web/a.yaml:1\n" in ran.out
    assert " | " not in ran.out


def test_version_says_what_runs() -> None:
    facts = json.loads(run_argolint("version", "--json").out)
    assert {"argolint", "python", "rules"} <= set(facts)
    assert int(facts["rules"].split()[0]) > 100
    assert run_argolint("version").out.startswith("argolint   ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_the_shell(shell: str) -> None:
    ran = run_argolint("completion", shell)
    assert ran.code == 0
    assert f"_ARGOLINT_COMPLETE={shell}_complete" in ran.out


def test_the_script_for_bash_completes_rules(tmp_path: Path) -> None:
    script = tmp_path / "complete.sh"
    script.write_text(run_argolint("completion", "bash").out)
    subprocess.run(["bash", "-n", script], check=True)


def test_no_color_counts_more_than_what_the_environment_wants(pair: Path) -> None:
    check = ("check", "--snapshot", pair)
    env = {"FORCE_COLOR": "1", "TERM": "dumb"}
    assert "\x1b[" in run_argolint(*check, env=env).out
    for words in ((*check, "--no-color"), (*check, "--color", "always", "--no-color"), ("rules", "--no-color")):
        assert "\x1b[" not in run_argolint(*words, env=env).out, words


def test_a_report_comes_through_standard_input(tmp_path: Path) -> None:
    saved = report(tmp_path / "r.json", finding(severity="error"))
    done = subprocess.run(
        [sys.executable, "-m", "argolint", "report", "-", "-o", "lines"],
        input=saved.read_bytes(),
        capture_output=True,
        check=False,
    )
    assert done.stdout.decode().startswith("error live-edit argocd/web "), done.stderr
    twice = run_argolint("report", "-", "-")
    assert twice.code == 2
    assert "standard input" in twice.err


def test_help_lists_the_commands_in_an_order_of_use() -> None:
    assert list(COMMANDS)[:3] == ["check", "why", "fix"]
    shown = run_argolint("--help").out
    assert shown.index("\n  check ") < shown.index("\n  why ") < shown.index("\n  schema ")


def test_a_write_mends_errors_and_warnings_and_changes_an_intent_when_it_is_named(tmp_path: Path) -> None:
    root = repository(tmp_path / "clone", {"web/a.yaml": DEPLOYMENT})
    pause = patch({"op": "add", "path": "/spec/paused", "value": False}, safe=True)
    for rule, severity, why in (
        ("suspended", "info", "it is stated on purpose"),
        ("skip-reconcile", "warning", "it is stated on purpose"),
        ("live-edit", "info", "it only informs"),
    ):
        saved = report(tmp_path / "r.json", finding(pause, rule=rule, severity=severity))
        ran = run_argolint("fix", "--report", saved, "--write", root)
        assert ran.code == 0
        assert f"      {why} → --select {rule}\n" in ran.out
        assert git(root, "diff", "--stat") == ""
        ran = run_argolint("fix", "--report", saved, "--write", root, "--select", rule)
        assert "Placed: 1" in ran.out, rule
        git(root, "checkout", "-q", ".")
    saved = report(tmp_path / "r.json", finding(pause, rule="live-edit", severity="info"))
    assert "Placed: 1" in run_argolint("fix", "--report", saved, "--write", root, "--min-severity", "info").out


def test_a_finding_of_forty_fixes_is_short_on_a_screen_and_whole_with_v(tmp_path: Path) -> None:
    fixes = [fragment("a: 1\n", title=f"Way {n}") for n in range(40)]
    saved = report(tmp_path / "r.json", finding(*fixes, severity="error", resource=resource()))
    assert run_argolint("report", saved).out.count("Way ") == 1
    assert run_argolint("report", saved, "-v").out.count("Way ") == 40
