"""The manifests of a small shop, each with NAME for its application, and a clone with them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.gitops import REPO, commit, git

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  replicas: 2
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      containers:
      - {name: main, image: "NAME:1", envFrom: [{configMapRef: {name: NAME-config}}]}
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME-config}\ndata: {MODE: fast}\n"
ROLE = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: shop-reader}\nrules: []\n"
APPLICATION = f"""\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: NAME, namespace: argocd}}
spec:
  project: default
  source: {{repoURL: "{REPO}", path: NAME, targetRevision: main}}
  destination: {{server: https://kubernetes.default.svc, namespace: shop}}
"""


def of(text: str, name: str) -> str:
    """A manifest for the application of this name."""
    return text.replace("NAME", name)


def files(name: str) -> dict[str, str | None]:
    """An application's folder."""
    return {f"{name}/deployment.yaml": of(DEPLOYMENT, name), f"{name}/config.yaml": of(CONFIG, name)}


def cloned(folder: Path, *names: str, more: Mapping[str, str | None] | None = None) -> Path:
    """A new clone in `folder` whose `main` has these applications; `feature` is checked out. `more`: other files by their paths."""
    folder.mkdir()
    git(folder, "init", "--quiet")
    commit(folder, {path: text for name in names for path, text in files(name).items()} | dict(more or {}))
    git(folder, "switch", "--create", "feature", "--quiet")
    return folder
