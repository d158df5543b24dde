"""The cost of placing fixes in a monorepo of 5,000 files, in seconds: `python bench/place.py [APPS]`.

    fixes    all fixes of all applications: a third each in manifests, Applications and values files
    diff     the same texts as commits of a new branch: read from HEAD through Git
    anchors  file and line of as many findings, of the changed lines of a branch that edits every application

Every application has five files: its Application, a Deployment, a Service, values and a kustomization. The goals are next to the figures; the
script does not fail above them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import yaml

from argolint.fixes.anchors import Diff, anchored
from argolint.fixes.placement import arrange
from argolint.fixes.site import Choice, Site
from argolint.reports import document
from argolint.sources.checkout import Checkout, Committed, open_checkouts

URL = "https://git.example.com/shop/all.git"


def main() -> None:
    apps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as work:
        root = Path(work)
        files = dict(tree(apps))
        fill(root, files)
        print(f"{apps} applications, {len(files)} files")
        choices = [Choice(f, f.fixes[0], 1) for f in map(finding, range(apps))]
        (tree_,) = open_checkouts([f"{URL}={root}"])
        timed("fixes", choices, tree_)
        head = Committed(tree_.root, tree_.urls, revision="feature")
        timed("diff", choices, Committed(tree_.root, tree_.urls, revision="main"))
        start = time.perf_counter(), spent()
        changed = {c.path: c for c in head.git.changes("main", "feature")}
        made = anchored(whole([c.finding for c in choices]), Site((head,)), Diff(head, changed, base="main"))
        told = sum(f.source is not None and f.source.in_change is True for f in made.findings)
        print(f"anchors  {since(*start)}, {told} on changed lines  (goal 10 s)")


def timed(name: str, choices: list[Choice], checkout: Checkout) -> None:
    start = time.perf_counter(), spent()
    found = arrange(choices, Site((checkout,)))
    placed = sum(not o.why for o in found.outcomes)
    print(f"{name:8} {since(*start)}, {placed} of {len(choices)} placed  (goal 10 s)")


def spent() -> float:
    """Seconds of processor time, with those of git."""
    return sum(os.times()[:4])


def since(wall: float, used: float) -> str:
    return f"{time.perf_counter() - wall:.1f} s ({spent() - used:.1f} s of processor time)"


def tree(apps: int) -> Iterator[tuple[str, str]]:
    for n in range(apps):
        name, folder = f"app-{n:04}", f"teams/t{n % 40:02}/app-{n:04}"
        chart = {
            "repoURL": "https://charts.example.com",
            "chart": "web",
            "helm": {"valueFiles": [f"$values/{folder}/values.yaml"]},
        }
        spec = {
            "sources": [{"repoURL": URL, "path": f"{folder}/base"}, chart, {"repoURL": URL, "ref": "values"}],
            "destination": {"namespace": "shop"},
        }
        yield f"{folder}/app.yaml", manifest("argoproj.io/v1alpha1", "Application", name, spec, namespace="argocd")
        pod = {"containers": [{"name": "main", "image": "web:1"}]}
        yield (
            f"{folder}/base/deployment.yaml",
            manifest("apps/v1", "Deployment", name, {"replicas": 2, "template": {"spec": pod}}),
        )
        yield f"{folder}/base/service.yaml", manifest("v1", "Service", name, {"ports": [{"port": 80}]})
        yield f"{folder}/base/kustomization.yaml", "resources:\n- deployment.yaml\n- service.yaml\n"
        yield f"{folder}/values.yaml", "replicaCount: 2\nimage:\n  tag: one\n"


def manifest(api: str, kind: str, name: str, spec: object, **metadata: str) -> str:
    made = {"apiVersion": api, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}
    return yaml.safe_dump(made, sort_keys=False)


def fill(root: Path, files: dict[str, str]) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=b", "-c", "user.email=b@example.com", "-c", "init.defaultBranch=main")
        subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)

    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "all")
    git("switch", "-qc", "feature")
    for name, text in files.items():
        (root / name).write_text(text.replace("replicas: 2", "replicas: 3").replace("tag: one", "tag: two"))
    git("commit", "-qam", "change")
    git("switch", "-q", "main")


def finding(n: int) -> document.ReportedFinding:
    name = f"app-{n:04}"
    app = document.ReportedApp("https://argocd.example.com", "argocd", name, "default")
    resource = document.ReportedResource("apps", "v1", "Deployment", "shop", name, "c")
    target, path, value = (
        ("manifest", "/spec/replicas", 4),
        ("application", "/spec/syncPolicy", {"automated": {}}),
        ("helm-values", "/image/tag", "three"),
    )[n % 3]
    edit = document.ReportedEdit(
        "json-patch", [{"op": "add" if target == "application" else "replace", "path": path, "value": value}]
    )
    fix = document.ReportedFix("Set it", target, name, edit, verified=True)  # type: ignore[arg-type]
    return document.ReportedFinding(
        *("live-edit", "drift", "warning", "proven", app, "it drifts", "", f"{n}"),
        resource=resource,
        pointer="/spec/replicas",
        fixes=(fix,),
    )


def whole(findings: list[document.ReportedFinding]) -> document.Report:
    counts = document.Summary(0, 0, document.Counts(), 0, 0)
    return document.Report("1.0", document.Tool("argolint", "0"), "", True, (), counts, tuple(findings))


if __name__ == "__main__":
    main()
