"""A small fleet as a snapshot on disk, written for these tests: two applications of two projects in two namespaces."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Query = Sequence[tuple[str, str]]
Recorded = tuple[str, Query, bool, int, Any]  # path, query, anonymous, status, answer

TAKEN_AT = "2026-03-01T12:00:00Z"
WEB = "/api/v1/applications/web"
OF_WEB: Query = (("appNamespace", "argocd"), ("project", "shop"))


def application(name: str, namespace: str, project: str, repo: str, **labels: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": labels, "annotations": {"note": "kept"}},
        "spec": {
            "project": project,
            "source": {"repoURL": repo, "path": name},
            "destination": {"server": "https://kubernetes.default.svc"},
        },
        "status": {"sync": {"status": "Synced", "revision": "abc"}, "health": {"status": "Healthy"}, "conditions": []},
    }


APPS = [
    application("web", "argocd", "shop", "https://git.example.com/shop.git", team="a", tier="front"),
    application("worker", "team-b", "ops", "https://git.example.com/ops.git", team="b"),
]
MANAGED = {
    "items": [
        {
            "group": "apps",
            "kind": "Deployment",
            "namespace": "web",
            "name": "web",
            "liveState": "{}",
            "targetState": "{}",
        },
        {"kind": "Service", "namespace": "web", "name": "web", "liveState": "{}", "targetState": "null"},
    ]
}
DENIED = {"error": "permission denied", "code": 7, "message": "permission denied"}

ANSWERS: list[Recorded] = [
    ("/api/version", (), False, 200, {"Version": "v3.1.0", "BuildDate": "2026-01-01T00:00:00Z"}),
    ("/api/version", (), True, 200, {"Version": "v3.1.0"}),
    ("/api/v1/settings", (), False, 200, {"url": "https://cd.example.com", "controllerNamespace": "argocd"}),
    ("/api/v1/settings", (), True, 200, {"url": "https://cd.example.com"}),
    ("/api/v1/session/userinfo", (), False, 200, {"loggedIn": True, "username": "ci", "iss": "argocd"}),
    ("/api/v1/session/userinfo", (), True, 200, {}),
    (
        "/api/v1/clusters",
        (),
        False,
        200,
        {"items": [{"server": "https://kubernetes.default.svc", "name": "in-cluster"}]},
    ),
    ("/api/v1/applications", (), False, 200, {"metadata": {"resourceVersion": "7"}, "items": APPS}),
    (WEB, OF_WEB, False, 200, APPS[0]),
    (f"{WEB}/managed-resources", OF_WEB, False, 200, MANAGED),
    (f"{WEB}/manifests", (*OF_WEB, ("noCache", "true"), ("render", "1")), False, 200, {"manifests": ['{"first":1}']}),
    (f"{WEB}/manifests", (*OF_WEB, ("noCache", "true"), ("render", "2")), False, 200, {"manifests": ['{"second":2}']}),
]


def write_snapshot(folder: Path, answers: Sequence[Recorded] = ANSWERS) -> Path:
    """A snapshot directory of those answers; every second body is gzipped, as in real ones."""
    (folder / "bodies").mkdir(parents=True)
    lines = []
    for number, (path, query, anonymous, status, answer) in enumerate(answers):
        body = json.dumps(answer).encode()
        name = f"bodies/{number}.json" + (".gz" if number % 2 else "")
        (folder / name).write_bytes(gzip.compress(body) if number % 2 else body)
        line = {"path": path, "query": list(query), "anonymous": anonymous, "status": status}
        lines.append(json.dumps({**line, "content_type": "application/json", "seconds": 0.01, "body": name}))
    (folder / "requests.jsonl").write_text("\n".join(lines) + "\n")
    header = {"format": 1, "taken_at": TAKEN_AT, "server": "https://cd.example.com", "version": "v3.1.0"}
    (folder / "snapshot.json").write_text(json.dumps(header))
    return folder
