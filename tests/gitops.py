"""A real Git repository and an Argo CD that renders its directories at any revision."""

from __future__ import annotations

import copy
import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from argolint.server.transport import Answer, Query
from argolint.testing import FixtureTransport

REPO = "https://git.example.com/shop/apps.git"
REVISION = "1f0e3dad99908345f7439f8ffabdffc4c1a0b0d5"
Manifest = dict[str, Any]
_CLUSTER_SCOPED = (
    "CustomResourceDefinition",
    "GatewayClass",
    "IngressClass",
    "Namespace",
    "PriorityClass",
    "StorageClass",
)

_SETTINGS = {
    "user.name": "a",
    "user.email": "a@example.com",
    "init.defaultBranch": "main",
    # A clone of a test lives for seconds: without sample hooks, waits for the disk, and maintenance.
    "init.templateDir": "",
    "core.fsync": "none",
    "gc.auto": "0",
    "maintenance.auto": "false",
}


def git(folder: Path, *arguments: str) -> str:
    settings = [word for key, value in _SETTINGS.items() for word in ("-c", f"{key}={value}")]
    done = subprocess.run(["git", *settings, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def commit(folder: Path, files: Mapping[str, str | None], message: str = "a change") -> None:
    """Write these files (None removes one) and commit."""
    for name, text in files.items():
        if text is None:
            (folder / name).unlink()
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--message", message)


def documents(clone: Path, revision: str, path: str) -> list[Manifest]:
    """The YAML documents of one directory at a revision; CalledProcessError if it is missing, ValueError for bad YAML."""
    tree = git(clone, "rev-parse", "--verify", f"{revision}:{path}")
    if tree not in _TREES:
        names = git(clone, "ls-tree", "--name-only", revision, f"{path}/").split()
        try:
            _TREES[tree] = [d for n in names for d in yaml.safe_load_all(git(clone, "show", f"{revision}:{n}")) if d]
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from error
    return copy.deepcopy(_TREES[tree])


_TREES: dict[str, list[Manifest]] = {}
"""The documents by Git's name of what is in the directory: both sides of a change and most tests have the same."""


class GitServer(FixtureTransport):
    """Each application `web` is the directory `web`; its live objects are those of `main` when the server was made.

    `live` changes live objects by `Kind/name`, `more` adds to the Application objects by name. The word RANDOM in a manifest is another value
    for each revision, and for each render without the cache.
    """

    offline = False

    def __init__(
        self,
        clone: Path,
        live: Mapping[str, Manifest] | None = None,
        more: Mapping[str, Manifest] | None = None,
        cluster: Mapping[str, Any] | None = None,
        url: str = "",
        sets: Sequence[Mapping[str, Any]] = (),
        settings: Mapping[str, Any] | None = None,
        projects: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self._clone = clone
        names = sorted(p for p in git(clone, "ls-tree", "-d", "--name-only", "main").split() if not p.startswith("."))
        apps = []
        for name in names:
            namespaced = [self._placed(m) for m in self._rendered(name, "main")]
            resources = [{"desired": m, "live": self._living(m, live or {})} for m in namespaced]
            spec = {
                "source": {"repoURL": REPO, "path": name, "targetRevision": "main"},
                "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"},
                "syncPolicy": {"automated": {"prune": True}},
            }
            extra = (more or {}).get(name, {})
            synced = {"phase": "Succeeded", "message": "successfully synced", "syncResult": {"revision": REVISION}}
            status = {"operationState": synced, "sync": {"revision": REVISION}, "sourceType": "Directory"}
            apps.append(
                {
                    "name": name,
                    "resources": resources,
                    "status": status,
                    **extra,
                    "spec": {**spec, **extra.get("spec", {})},
                }
            )
        clusters = [
            {"server": "https://kubernetes.default.svc", "name": "in-cluster", "info": cluster or {}},
            {"server": "https://10.0.0.2:6443", "name": "second"},
        ]
        server = {
            "clusters": clusters,
            "applicationsets": list(sets),
            "settings": {**(settings or {}), **({"url": url} if url else {})},
        }
        if projects:
            server["projects"] = list(projects)
        super().__init__({"apps": apps, "server": server})

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        parts = path.split("/")
        if parts[-1] != "manifests":
            return super().get(path, query, anonymous=anonymous)
        try:
            asked = dict(query)
            found = self._rendered(parts[-2], asked.get("revision") or "main", asked.get("render", ""))
        except (subprocess.CalledProcessError, ValueError, LookupError, TypeError, RecursionError) as error:
            # also for invalid manifests: without an answer the client would retry for many seconds
            reason = (
                f"{parts[-2]}: app path does not exist" if isinstance(error, OSError) else f"failed to render: {error}"
            )
            return Answer(500, "application/json", json.dumps({"error": reason, "code": 2, "message": reason}).encode())
        return Answer(200, "application/json", json.dumps({"manifests": [json.dumps(m) for m in found]}).encode())

    def _rendered(self, app: str, revision: str, render: str = "") -> list[Manifest]:
        """As the repo-server answers: tracked, without a default namespace."""
        drawn = hashlib.sha256(f"{revision} {render}".encode()).hexdigest()
        found = [self._tracked(app, m) for m in documents(self._clone, revision, app)]
        return [json.loads(json.dumps(m).replace("RANDOM", drawn)) for m in found]

    @staticmethod
    def _tracked(app: str, manifest: Manifest) -> Manifest:
        group, _, _ = manifest["apiVersion"].rpartition("/")
        metadata = manifest["metadata"]
        identity = f"{app}:{group}/{manifest['kind']}:{metadata.get('namespace', 'shop')}/{metadata['name']}"
        annotations = {**metadata.get("annotations", {}), "argocd.argoproj.io/tracking-id": identity}
        return {**manifest, "metadata": {**metadata, "annotations": annotations}}

    @staticmethod
    def _placed(manifest: Manifest) -> Manifest:
        if manifest["kind"].startswith("Cluster") or manifest["kind"] in _CLUSTER_SCOPED:
            return manifest
        return {**manifest, "metadata": {"namespace": "shop", **manifest["metadata"]}}

    @staticmethod
    def _living(manifest: Manifest, live: Mapping[str, Manifest]) -> Manifest:
        name = f"{manifest['kind']}/{manifest['metadata']['name']}"
        metadata = {"uid": f"uid-{name}", "creationTimestamp": "2026-01-01T00:00:00Z", **manifest["metadata"]}
        made: Manifest = {**manifest, "metadata": metadata}
        for field, value in live.get(name, {}).items():
            made[field] = {**made.get(field, {}), **value}
        return made
