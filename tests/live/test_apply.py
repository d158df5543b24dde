"""Each family's fault is made, reported, mended by the first fix as printed, and gone."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from . import steps
from .conftest import Argolint, Cluster


def findings(argolint: Argolint, rule: str) -> list[dict[str, Any]]:
    report = argolint.check("-q", "-l", f"{steps.LABEL}=true")
    return [f for f in report["findings"] if f["rule"] == rule]


def drawn(argolint: Argolint, application: str) -> list[dict[str, Any]]:
    """What two fresh renders prove."""
    found = argolint.check("-q", "--render-twice", application)["findings"]
    return [f for f in found if f["rule"].startswith("nondeterministic-")]


def test_two_owners_become_one_by_the_first_fix(argolint: Argolint, cluster: Cluster) -> None:
    apps = steps.applications(cluster.namespace)["ownership"]
    cluster.apply(apps)
    names = [app["metadata"]["name"] for app in apps]
    cluster.wait("both applications to claim the role", lambda: bool(findings(argolint, "shared-resource")))
    (finding,) = findings(argolint, "shared-resource")
    changed = steps.carry_out(finding["fixes"][0], finding["resource"], cluster.folder)
    cluster.push(f"Take the role out of {changed}")
    for name in names:
        cluster.refresh(name)
    cluster.wait("one owner", lambda: all(cluster.state(name) == ("Synced", "Healthy") for name in names))
    cluster.wait("the finding to go", lambda: not findings(argolint, "shared-resource"))


def test_a_drawn_value_is_pinned(argolint: Argolint, cluster: Cluster) -> None:
    (app,) = steps.applications(cluster.namespace)["nondeterminism"]
    cluster.apply([app])
    name = app["metadata"]["name"]
    cluster.wait("the first sync", lambda: cluster.state(name)[1] == "Healthy")
    found = drawn(argolint, f"{cluster.namespace}/{name}")
    assert found, "two renders differ, and nothing says so"
    assert "nondeterminism/values.yaml" in {f["fixes"][0]["where"] for f in found if f["fixes"]}, (
        "the first fix pins the value"
    )
    values = cluster.folder / "nondeterminism" / "values.yaml"
    values.write_text(values.read_text().replace('password: ""', "password: of-a-vault"))
    cluster.push("Pin the password")
    cluster.refresh(name)
    cluster.wait("a quiet application", lambda: cluster.state(name) == ("Synced", "Healthy"))
    cluster.wait("the findings to go", lambda: not drawn(argolint, f"{cluster.namespace}/{name}"))


def test_a_stuck_secret_is_freed_by_the_first_fix(argolint: Argolint, cluster: Cluster) -> None:
    if "externalsecrets" not in cluster("api-resources", "--api-group=external-secrets.io", "-o", "name"):
        pytest.skip("External Secrets is not installed")
    (app,) = steps.applications(cluster.namespace)["secrets"]
    cluster.apply([app])
    name = app["metadata"]["name"]
    rule = "external-secret-sync-error"
    cluster.wait("the error", lambda: bool(findings(argolint, rule)))
    (finding,) = findings(argolint, rule)
    assert steps.carry_out(finding["fixes"][0], finding["resource"], cluster.folder) == "secrets/objects.yaml"
    cluster.push("Name the store that is there")
    cluster.refresh(name)
    cluster.wait("a healthy secret", lambda: cluster.state(name) == ("Synced", "Healthy"))
    assert findings(argolint, rule) == []


def test_the_gate_judges_a_branch_that_was_just_pushed(argolint: Argolint, cluster: Cluster) -> None:
    held = sorted(cluster.folder.glob("ownership/*/clusterrole.yaml"))
    claimed = next(
        p for p in (cluster.folder / "ownership" / n / "clusterrole.yaml" for n in ("one", "two")) if p not in held
    )
    claimed.write_text(held[0].read_text())
    cluster.push("Claim the role again", branch="claim")
    ran = argolint(
        "gate", "--repo", steps.repo_url(), "--head", "claim", "--base", "main", "--fail-on", "info", "-o", "json"
    )
    claimed.unlink()
    assert ran.code == 1, ran.err
    assert "shared-resource" in {f["rule"] for f in ran.report["findings"]}
    assert "does not exist" not in ran.out, "a branch that Argo CD has not fetched yet is no fault of the change"


def test_a_server_that_restarts_in_the_middle_is_read_to_the_end(
    argolint: Argolint, cluster: Cluster, request: pytest.FixtureRequest
) -> None:
    if not request.config.getoption("--restart-server"):
        pytest.skip("restarts argocd-server, which is not the suite's own, with --restart-server alone")
    restart = ["kubectl", "-n", cluster.namespace, "rollout", "restart", "deployment/argocd-server"]
    process = subprocess.Popen(restart, stdout=subprocess.DEVNULL)
    ran = argolint("check", "-q", "-o", "json")
    process.wait()
    cluster("-n", cluster.namespace, "rollout", "status", "deployment/argocd-server", "--timeout=180s")
    assert ran.code in (0, 1, 2, 3)
    assert "Traceback" not in ran.err
    assert argolint.check("-q")["summary"]["apps"] > 0
