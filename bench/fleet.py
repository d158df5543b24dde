"""A generated fleet as a snapshot directory: apps of 50 resources, four states each, in the form of real answers.

Twenty distinct answers, each with the application's own name in its tracking data, serve all applications (on clusters of their own, so that no
object is shared). Of a thousand applications, about 200 objects drift.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KINDS = (
    ("", "v1", "ConfigMap"),
    ("", "v1", "Service"),
    ("apps", "v1", "Deployment"),
    ("", "v1", "ServiceAccount"),
    ("rbac.authorization.k8s.io", "v1", "Role"),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding"),
    ("networking.k8s.io", "v1", "NetworkPolicy"),
    ("autoscaling", "v2", "HorizontalPodAutoscaler"),
    ("policy", "v1", "PodDisruptionBudget"),
    ("batch", "v1", "CronJob"),
)
DELICATE = ("HorizontalPodAutoscaler", "PodDisruptionBudget", "CronJob")
"""Kinds for which an application is read even if it is Synced and Healthy; a quarter of the templates have them."""
CHECKED = ("Deployment", "Service", *DELICATE)
"""Kinds with a health check in Argo CD."""
WORDS = 54
"""Values in each object: about 880 KB an application, as measured on real answers."""
TEMPLATES = 20
RESOURCES = 50
NOW = "2026-01-01T12:00:00Z"
_NAME = "@APP@"


def write(folder: Path, apps: int, *, lists_only: bool = False, site: str = "example.com") -> int:
    """Write the snapshot, or only its lists; returns the bytes of all answers, inflated, as a check with --deep reads them."""
    bodies = folder / "bodies"
    bodies.mkdir(parents=True)
    requests: list[dict[str, Any]] = []
    total = 0

    def answer(name: str, value: object, *paths: tuple[str, list[list[str]]]) -> None:
        nonlocal total
        data = (value if isinstance(value, str) else _text(value)).encode()
        (bodies / name).write_bytes(gzip.compress(data, 1, mtime=0) if name.endswith(".gz") else data)
        for path, query in paths:
            total += len(data)
            requests.append(
                {
                    "path": path,
                    "query": query,
                    "anonymous": False,
                    "status": 200,
                    "content_type": "application/json",
                    "seconds": 0.01,
                    "body": f"bodies/{name}",
                }
            )

    one: list[list[str]] = []
    answer("version.json", {"Version": "v3.5.1"}, ("/api/version", one))
    answer(
        "settings.json",
        {"url": f"https://argocd.{site}", "trackingMethod": "annotation", "controllerNamespace": "argocd"},
        ("/api/v1/settings", one),
    )
    answer("projects.json", {"items": [{"metadata": {"name": "default"}, "spec": {}}]}, ("/api/v1/projects", one))
    clusters = [
        {"server": f"https://c{n}.{site}", "name": f"c{n}", "info": {}} for n in range((apps - 1) // TEMPLATES + 1)
    ]
    answer("clusters.json", {"items": clusters}, ("/api/v1/clusters", one))
    answer("none.json", {"items": None}, ("/api/v1/repositories", one), ("/api/v1/applicationsets", one))
    numbers = range(apps)
    answer(
        "applications.json.gz",
        {"metadata": {}, "items": [application(n, site=site) for n in numbers]},
        ("/api/v1/applications", one),
    )
    for template in range(0 if lists_only else TEMPLATES):
        mine = [n for n in numbers if n % TEMPLATES == template]
        query = [["appNamespace", "argocd"], ["project", "default"]]
        managed, tree = _states(template)
        for n in mine:
            own = managed.replace(_NAME, f"app-{n}")
            answer(f"m{n}.json.gz", own, (f"/api/v1/applications/app-{n}/managed-resources", query))
        answer(f"t{template}.json.gz", tree, *((f"/api/v1/applications/app-{n}/resource-tree", query) for n in mine))
    (folder / "requests.jsonl").write_text("".join(json.dumps(r) + "\n" for r in requests))
    head = {"format": 1, "taken_at": NOW, "server": f"https://argocd.{site}", "version": "v3.5.1"}
    (folder / "snapshot.json").write_text(json.dumps(head))
    return total


def _drifts(template: int, index: int) -> bool:
    """About 184 of a thousand applications' objects: four of the twenty templates have one drifted object or two."""
    return index == 2 and template < 4


def application(n: int, *, quiet: bool = False, site: str = "example.com") -> dict[str, Any]:
    """An entry of the list; a `quiet` one has neither drift nor an object for which it is read."""
    template, cluster = n % TEMPLATES, n // TEMPLATES
    resources = [
        {
            "group": group,
            "version": version,
            "kind": kind,
            "namespace": f"team-{template}",
            "name": name,
            "status": "OutOfSync" if _drifts(template, index) and not quiet else "Synced",
        }
        for index, (group, version, kind, name) in enumerate(_objects(template))
        if not (quiet and kind in DELICATE)
    ]
    out = any(r["status"] == "OutOfSync" for r in resources)
    return {
        "metadata": {
            "name": f"app-{n}",
            "namespace": "argocd",
            "uid": f"uid-{n}",
            "labels": {"team": f"team-{template}"},
        },
        "spec": {
            "project": "default",
            "destination": {"server": f"https://c{cluster}.{site}", "namespace": f"team-{template}"},
            "source": {
                "repoURL": "https://git.example.com/apps.git",
                "path": f"apps/{template}",
                "targetRevision": "main",
            },
        },
        "status": {
            "sync": {"status": "OutOfSync" if out else "Synced", "revision": "0" * 40},
            "health": {"status": "Healthy"},
            "resources": resources,
            "operationState": {
                "phase": "Succeeded",
                "message": "successfully synced (all tasks run)",
                "syncResult": {"revision": "0" * 40},
            },
        },
    }


def _objects(template: int) -> Iterator[tuple[str, str, str, str]]:
    for index in range(RESOURCES):
        group, version, kind = KINDS[index % len(KINDS)]
        if kind in DELICATE and template % 4 != 1:
            group, version, kind = KINDS[0]
        yield group, version, kind, f"part-{template}-{index}"


def _states(template: int) -> tuple[str, dict[str, Any]]:
    draw = random.Random(template)
    items, nodes = [], []
    for index, (group, version, kind, name) in enumerate(_objects(template)):
        desired = _manifest(group, version, kind, name, f"team-{template}", draw)
        live = json.loads(json.dumps(desired))
        live["metadata"] |= {
            "uid": f"u-{template}-{index}",
            "resourceVersion": str(1000 + index),
            "creationTimestamp": "2025-12-01T00:00:00Z",
            "managedFields": [_managed(desired), _managed(desired)],
        }
        normalized = json.loads(json.dumps(desired))
        if _drifts(template, index):
            for state in (live, normalized):
                state["spec"]["replicas"] = 5
        row = {
            "group": group,
            "kind": kind,
            "namespace": f"team-{template}",
            "name": name,
            "targetState": _text(desired),
            "liveState": _text(live),
            "normalizedLiveState": _text(normalized),
            "predictedLiveState": _text(desired),
            "resourceVersion": str(1000 + index),
        }
        items.append({k: v for k, v in row.items() if v} | ({"modified": True} if _drifts(template, index) else {}))
        nodes.append(
            {
                "group": group,
                "version": version,
                "kind": kind,
                "namespace": f"team-{template}",
                "name": name,
                "uid": f"u-{template}-{index}",
                "createdAt": "2025-12-01T00:00:00Z",
                **({"health": {"status": "Healthy"}} if kind in CHECKED else {}),
            }
        )
    return _text({"items": items}), {"nodes": nodes}


def _manifest(group: str, version: str, kind: str, name: str, namespace: str, draw: random.Random) -> dict[str, Any]:
    words = {f"KEY_{i}": f"{draw.getrandbits(128):x}" for i in range(WORDS)}
    meta = {
        "name": name,
        "namespace": namespace,
        "labels": {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": namespace},
        "annotations": {"argocd.argoproj.io/tracking-id": f"{_NAME}:{group}/{kind}:{namespace}/{name}"},
    }
    head = {"apiVersion": f"{group}/{version}" if group else version, "kind": kind, "metadata": meta}
    if kind == "ConfigMap":
        return head | {"data": words}
    container = {
        "name": "main",
        "image": f"registry.example.com/{name}:1.0",
        "env": [{"name": k, "value": v} for k, v in words.items()],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
    }
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    if kind == "Deployment":
        return head | {"spec": {"replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": template}}
    before, _, number = name.rpartition("-")
    selected = f"{before}-{int(number) + 1}" if kind == "Service" else name  # the Deployment that comes next
    return head | {"spec": {"selector": {"app": selected}, "settings": words}}


def _managed(desired: dict[str, Any]) -> dict[str, Any]:
    def fields(node: Any) -> Any:
        return {f"f:{k}": fields(v) for k, v in node.items()} if isinstance(node, dict) else {}

    return {
        "manager": "argocd-controller",
        "operation": "Apply",
        "time": "2025-12-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields(desired),
    }


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
