"""Small Git repositories and hand-made reports for the tests that write fixes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.gitops import commit, git

REPO = "https://git.example.com/shop.git"

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web  # the shop's front
spec:
  replicas: 3

  template:
    spec:
      containers:
        - name: web
          image: "web:1"
"""

APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: web
  namespace: argocd
spec:
  source:
    repoURL: https://git.example.com/shop.git
    path: web
  destination:
    namespace: shop
"""


def repository(folder: Path, files: Mapping[str, str], url: str = REPO) -> Path:
    """A clone of `url` with these files committed."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    commit(folder, files)
    if url:
        git(folder, "remote", "add", "origin", url)
    return folder


def app(name: str = "web") -> dict[str, str]:
    return {"server": "https://argocd.example.com", "namespace": "argocd", "name": name, "project": "default"}


def resource(kind: str = "Deployment", name: str = "web", namespace: str = "shop", **more: str) -> dict[str, str]:
    group = "apps" if kind == "Deployment" else ""
    return {"group": group, "version": "v1", "kind": kind, "namespace": namespace, "name": name, "cluster": "c", **more}


def patch(*operations: Any, target: str = "manifest", **more: Any) -> dict[str, Any]:
    """A fix in the form of a report."""
    edit = {"kind": "json-patch", "content": list(operations)}
    return {"title": "Try this", "target": target, "where": "web", "edit": edit, **more}


def fragment(text: str, target: str = "manifest", **more: Any) -> dict[str, Any]:
    return {"title": "Add this", "target": target, "where": "web", "edit": {"kind": "yaml", "content": text}, **more}


def finding(*fixes: Any, **more: Any) -> dict[str, Any]:
    """A finding about Deployment shop/web of Application argocd/web."""
    return {
        "rule": "live-edit",
        "family": "drift",
        "severity": "warning",
        "confidence": "proven",
        "app": app(),
        "message": "it drifts",
        "docs": "",
        "fingerprint": "f",
        "resource": resource(),
        "pointer": "/spec/replicas",
        "fixes": list(fixes),
        "source": {"repo": REPO, "revision": "", "path": "web"},
        **more,
    }


def report(file: Path, *findings: Any, complete: bool = True) -> Path:
    """A saved report with these findings."""
    file.write_text(json.dumps(document(*findings, complete=complete)))
    return file


def document(*findings: Any, complete: bool = True) -> dict[str, Any]:
    """A report in the form of JSON."""
    return {
        "schema_version": "1.0",
        "tool": {"name": "argolint", "version": "0"},
        "started_at": "2026-11-21T10:00:00Z",
        "complete": complete,
        "servers": [],
        "summary": {"apps": 1, "resources": 1, "findings": {}, "suppressed": 0, "failures": 0},
        "findings": list(findings),
    }
