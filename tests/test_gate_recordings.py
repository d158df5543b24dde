"""The recorded pull requests: each known fault is told at its line, nothing else is, and repairs count as fixed."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from argolint.reports import document as report
from argolint.values.knowledge import parse
from tests.conftest import PROFILE, RECORDINGS, once, recording, run_argolint
from tests.gitops import commit, git

BRANCHES = (
    "charts/release-1.4.3",
    "data-platform/finance-pre-checker",
    "data-platform/pin-webserver-key",
    "edge-fleet/drop-kes",
    "edge-fleet/explicit-route-defaults",
    "identity/oauth2-proxy-redis-session",
    "payments/ledger-volume-size",
    "payments/statements-autoscaling",
    "platform-gitops/otlp-cert-one-year",
    "platform-gitops/readme",
    "tracking/common-config-owner",
    "tracking/ui-resources",
)
WITH_CLONES, ALONE = "3-after-commits", "5-after-renders"
"""The phases: in one of them argolint is given the clones of the repositories."""
LONG_ALONE = (
    "data-platform/finance-pre-checker",
    "data-platform/pin-webserver-key",
    "identity/oauth2-proxy-redis-session",
    "tracking/common-config-owner",
)
"""Branches with many peers that only the profile `long` judges without clones as well; payments/statements-autoscaling is like them."""
JUDGED = [
    (branch, phase)
    for branch in BRANCHES
    for phase in (WITH_CLONES, ALONE)
    if phase == WITH_CLONES or branch not in LONG_ALONE or PROFILE == "long"
]
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


@cache
def truth() -> dict[str, Any]:
    found: dict[str, Any] = parse((RECORDINGS / "harbourline" / "truth.yaml").read_text())
    return found


def _clone(folder: Path) -> None:
    """Every repository of the company with its branches; the remote is spelt as people do, not as the Applications do."""
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


@cache
def clones() -> Path:
    return once("pull-requests", _clone)


@cache
def judged(branch: str, phase: str) -> report.Report:
    """What `argolint gate` says of a branch: asked once for all tests."""
    layers = [recording(f"harbourline/{name}") for name in (phase, "3-after-commits-branches")]
    repo, _, head = branch.partition("/")
    words = [word for layer in layers for word in ("--snapshot", str(layer))]
    words += ["--repo", f"http://git.example.com/{repo}.git", "--head", head]
    if phase == WITH_CLONES:
        words += ["--checkout", str(clones() / repo)]

    def make(file: Path) -> None:
        ran = run_argolint("gate", *words, "-o", f"json={file}", cwd=file.parent)
        assert ran.err == ""

    return report.read(once(f"gate-{repo}-{head}-{phase}.json", make))


def expected(branch: str) -> list[tuple[str, str, str, str | None]]:
    """(rule, application, object's name, cause) of each fault that the branch brings."""
    return [
        (t["fault"], app, (t.get("resource") or {}).get("name", ""), t.get("cause"))
        for t in truth()["faults"]
        if f"pr:{branch}" in t["seen_in"]
        for app in t.get("apps") or [t["app"]]
    ]


def answers(finding: report.ReportedFinding, want: tuple[str, str, str, str | None]) -> bool:
    rule, app, name, cause = want
    places = [(finding.app, finding.resource), *((r.app, r.resource) for r in finding.related)]
    return (
        finding.rule == rule
        and any(f"{ref.namespace}/{ref.name}" == app for ref, _ in places)
        and (not name or any(resource is not None and resource.name == name for _, resource in places))
        and cause in (None, finding.cause)
    )


@pytest.mark.parametrize(("branch", "phase"), JUDGED)
def test_each_fault_of_a_branch_is_told_nothing_else_is_and_repairs_count(branch: str, phase: str) -> None:
    found, wanted = judged(branch, phase), expected(branch)
    assert [w for w in wanted if not any(answers(f, w) for f in found.findings)] == []
    spare = [f for f in found.findings if f.severity != "info" and not any(answers(f, w) for w in wanted)]
    assert [(f.rule, f.message) for f in spare] == []
    assert found.failures == ()
    harmless = next((x for x in truth()["healthy_prs"] if x["pr"] == branch), None)
    assert (harmless is None) == bool(wanted)
    fixes = set((harmless or {}).get("fixes") or ())
    assert isinstance(found.gate, report.Gate)
    assert fixes <= {f.rule for f in found.gate.gone}
    if harmless is not None and not fixes:
        assert found.gate.gone == ()


@pytest.mark.parametrize("name", PLACES)
def test_each_fault_of_a_branch_stands_at_a_line_that_blame_gives_to_the_branch(name: str) -> None:
    repo, _, branch = name.partition("/")
    faults = {rule for rule, *_ in expected(name)}
    told = set()
    for finding in (f for f in judged(name, WITH_CLONES).findings if f.rule in faults):
        source = finding.source
        assert source is not None
        assert source.file is not None
        assert source.in_change is True
        assert source.revision == git(clones() / repo, "rev-parse", branch).strip()
        place = ("-L", f"{source.line},{source.line}", branch, "--", source.file)
        blamed, _, rest = git(clones() / repo, "blame", "-s", "-b", "--abbrev=40", *place).partition(" ")
        assert blamed.startswith(source.revision) or name == DELETES
        told.add((finding.rule, source.file, rest.partition(")")[2].strip()))
    assert told == PLACES[name]
