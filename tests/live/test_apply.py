"""Each family's fault is made, reported, mended by the first fix as printed, and gone."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from . import steps
from .conftest import Argolint, Cluster


def findings(argolint: Argolint, rule: str) -> list[dict[str, Any]]:
    report = argolint.check("-q", "-l", f"{steps.LABEL}=true")
    return [f for f in report["findings"] if f["rule"] == rule]


def test_two_owners_become_one(argolint: Argolint, cluster: Cluster) -> None:
    one, two = steps.applications(cluster.namespace)["ownership"]
    cluster.apply([one, two])
    name = two["metadata"]["name"]
    cluster.wait("both applications to claim the role", lambda: bool(findings(argolint, "shared-resource")))
    for place in ("one", "two"):
        (cluster.folder / "ownership" / place).mkdir(exist_ok=True)
    shared = cluster.folder / "ownership" / "shared"
    (shared / "clusterrole.yaml").rename(cluster.folder / "ownership" / "one" / "clusterrole.yaml")
    (cluster.folder / "ownership" / "two" / "configmap.yaml").write_text(
        json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}})
    )
    cluster.push("Keep the role in one application")
    cluster.apply([steps.application(n, f"ownership/{n}", cluster.namespace) for n in ("one", "two")])
    cluster.refresh(name)
    cluster.wait("one owner", lambda: cluster.state(name) == ("Synced", "Healthy"))
    cluster.wait("the finding to go", lambda: not findings(argolint, "shared-resource"))


def test_a_drawn_value_is_pinned(argolint: Argolint, cluster: Cluster) -> None:
    (app,) = steps.applications(cluster.namespace)["nondeterminism"]
    cluster.apply([app])
    name = app["metadata"]["name"]
    cluster.wait("the first sync", lambda: cluster.state(name)[1] == "Healthy")
    found = argolint.check("-q", "--render-twice", f"{cluster.namespace}/{name}")["findings"]
    assert [f for f in found if f["family"] == "nondeterminism"], "two renders differ, and nothing says so"
    values = cluster.folder / "nondeterminism" / "values.yaml"
    values.write_text(values.read_text().replace('password: ""', "password: of-a-vault"))
    cluster.push("Pin the password")
    cluster.refresh(name)
    cluster.wait("a quiet application", lambda: cluster.state(name) == ("Synced", "Healthy"))
    left = argolint.check("-q", "--render-twice", f"{cluster.namespace}/{name}")["findings"]
    assert [f["rule"] for f in left if f["family"] == "nondeterminism"] == []


def test_a_stuck_secret_is_freed_by_the_first_fix(argolint: Argolint, cluster: Cluster) -> None:
    if "externalsecrets" not in cluster("api-resources", "--api-group=external-secrets.io", "-o", "name"):
        pytest.skip("External Secrets is not installed")
    (app,) = steps.applications(cluster.namespace)["secrets"]
    cluster.apply([app])
    name = app["metadata"]["name"]
    rule = "external-secret-sync-error"
    cluster.wait("the error", lambda: bool(findings(argolint, rule)))
    (finding,) = findings(argolint, rule)
    edit = finding["fixes"][0]["edit"]
    assert edit["kind"] == "json-patch", finding["fixes"][0]
    assert edit["content"] == [{"op": "replace", "path": "/spec/secretStoreRef/name", "value": "pantry"}]
    file = cluster.folder / "secrets" / "objects.yaml"
    file.write_text(file.read_text().replace("name: pantri", "name: pantry"))
    cluster.push("Name the store that is there")
    cluster.refresh(name)
    cluster.wait("a healthy secret", lambda: cluster.state(name) == ("Synced", "Healthy"))
    assert findings(argolint, rule) == []


def test_the_gate_judges_a_branch_that_was_just_pushed(argolint: Argolint, cluster: Cluster) -> None:
    role = cluster.folder / "ownership" / "two" / "clusterrole.yaml"
    source = next(cluster.folder.glob("ownership/*/clusterrole.yaml"))
    role.parent.mkdir(exist_ok=True)
    role.write_text(source.read_text())
    cluster.push("Claim the role again", branch="claim")
    ran = argolint("gate", "--repo", steps.repo_url(), "--head", "claim", "--base", "main", "-o", "json")
    assert ran.code in (0, 1, 3), ran.err
    assert "does not exist" not in ran.out, "a branch that Argo CD has not fetched yet is no fault of the change"
    role.unlink()


def test_a_server_that_restarts_in_the_middle_is_read_to_the_end(argolint: Argolint, cluster: Cluster) -> None:
    restart = ["kubectl", "-n", cluster.namespace, "rollout", "restart", "deployment/argocd-server"]
    process = subprocess.Popen(restart, stdout=subprocess.DEVNULL)
    ran = argolint("check", "-q", "-o", "json")
    process.wait()
    cluster("-n", cluster.namespace, "rollout", "status", "deployment/argocd-server", "--timeout=180s")
    assert ran.code in (0, 1, 2, 3)
    assert "Traceback" not in ran.err
    assert argolint.check("-q")["summary"]["apps"] > 0
