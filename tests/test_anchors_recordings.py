"""File and line of what the recorded branches bring: each line is one that `git blame` gives to the branch."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import RECORDINGS, recording, run_argolint
from tests.gitops import commit, git
from tests.test_gate_recordings import BRANCHES, expected

PLACES = {
    "charts/release-1.4.3": {("checksum-follows-label", "harbourline-service/Chart.yaml", "version: 1.4.3")},
    "data-platform/finance-pre-checker": {
        ("shared-resource", "airflow/values-finance-reporting.yaml", "enabled: true")
    },
    "data-platform/pin-webserver-key": {
        (
            "pruned-while-referenced",
            "airflow/values-pdp-dev.yaml",
            "webserverSecretKeySecretName: airflow-webserver-secret-key",
        ),
        (
            "pruned-while-referenced",
            "airflow/values-smartdq-dev.yaml",
            "webserverSecretKeySecretName: airflow-webserver-secret-key",
        ),
    },
    "edge-fleet/drop-kes": {("kes-prune-kills-secret", "device-registry/manifests.yaml", "targetPort: 8080")},
    "identity/oauth2-proxy-redis-session": {
        ("external-secret-sync-error", "oauth2-proxy/manifests.yaml", "secretStoreRef:")
    },
    "payments/ledger-volume-size": {("immutable-field", "apps/ledger/statefulset.yaml", "storage: 40Gi")},
    "payments/statements-autoscaling": {("autoscaler-replicas", "apps/statements/base/deployment.yaml", "spec:")},
    "platform-gitops/otlp-cert-one-year": {
        ("duration-normalised", "certificates/otlp-gateway.yaml", "duration: 8760h")
    },
}
"""Rule, file and text of the line. A branch that takes lines out has none of its own: the line before them is named."""
DELETES = "edge-fleet/drop-kes"


@pytest.fixture(scope="module")
def clones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every repository of the company with its branches; the remote is spelt as people do, not as the Applications do."""
    folder = tmp_path_factory.mktemp("clones")
    recording("harbourline/3-after-commits")
    for source in sorted((RECORDINGS / "harbourline" / "sources").iterdir()):
        root = folder / source.name
        shutil.copytree(source, root)
        git(root, "init", "--quiet")
        commit(root, {"OWNERS": "us\n"})
        git(root, "remote", "add", "origin", f"git@git.example.com:{source.name}")
    for name in BRANCHES:
        repo, _, branch = name.partition("/")
        root, files = folder / repo, RECORDINGS / "harbourline" / "branches" / name
        git(root, "switch", "--quiet", "--create", branch, "main")
        texts = {str(f.relative_to(files)): f.read_text() for f in files.rglob("*") if f.is_file()}
        commit(root, texts, branch)
    return folder


@pytest.mark.parametrize("name", PLACES)
def test_each_fault_of_a_branch_stands_at_a_line_that_blame_gives_to_the_branch(
    clones: Path, tmp_path: Path, name: str
) -> None:
    repo, _, branch = name.partition("/")
    layers = [recording(f"harbourline/{phase}") for phase in ("3-after-commits", "3-after-commits-branches")]
    wanted = ("--repo", f"http://git.example.com/{repo}.git", "--head", branch, "--checkout", clones / repo)
    snapshots = [word for layer in layers for word in ("--snapshot", layer)]
    ran = run_argolint("gate", *snapshots, *wanted, "-o", f"json={tmp_path / 'r.json'}", cwd=tmp_path)
    assert ran.err == ""
    faults = {rule for rule, *_ in expected(name)}
    findings = [f for f in json.loads((tmp_path / "r.json").read_text())["findings"] if f["rule"] in faults]
    told = set()
    for finding in findings:
        source = finding["source"]
        assert source["in_change"] is True
        assert source["revision"] == git(clones / repo, "rev-parse", branch).strip()
        place = ("-L", f"{source['line']},{source['line']}", branch, "--", source["file"])
        blamed, _, rest = git(clones / repo, "blame", "-s", "-b", "--abbrev=40", *place).partition(" ")
        assert blamed.startswith(source["revision"]) or name == DELETES
        told.add((finding["rule"], source["file"], rest.partition(")")[2].strip()))
    assert told == PLACES[name]
