"""What of a sync waits for what comes later: shapes of one fault over kinds, references and places, each with the twin in which nothing waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from argolint import testing
from argolint.plugins import load_rules
from argolint.relations.named import hosts, named_jobs, written_secrets

RULES = tuple(load_rules().values())
Manifest = dict[str, Any]
WAVE, HOOK = "argocd.argoproj.io/sync-wave", "argocd.argoproj.io/hook"
OUT = {"sync": {"status": "OutOfSync"}, "health": {"status": "Missing"}}


def obj(api: str, kind: str, name: str, at: str = "", /, **body: Any) -> Manifest:
    """`at`: a wave, or a phase and a wave such as `PreSync 3`."""
    phase, _, number = at.rpartition(" ")
    annotations = {k: v for k, v in ((HOOK, phase), (WAVE, number)) if v}
    metadata: Manifest = {"name": name} | ({"annotations": annotations} if annotations else {})
    if kind != "PriorityClass":
        metadata["namespace"] = "mill"
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **body}


def pods(**spec: Any) -> Manifest:
    return {"spec": {"containers": [{"name": "main", "image": "mill:1"}], **spec}}


def workload(kind: str, at: str, *, api: str = "apps/v1", **spec: Any) -> Manifest:
    template = {"metadata": {"labels": {"app": "mill"}}, **pods(**spec)}
    return obj(api, kind, "mill", at, spec={"selector": {"matchLabels": {"app": "mill"}}, "template": template})


def job(name: str, at: str, **spec: Any) -> Manifest:
    return obj("batch/v1", "Job", name, at, spec={"template": pods(restartPolicy="Never", **spec)})


@dataclass(frozen=True)
class Shape:
    """What waits and what it waits for, with the place that makes it too late, and one at which it is in time."""

    waiting: Manifest
    later: Manifest
    in_time: str
    cause: str = "order"
    severity: str = "error"
    more: tuple[Manifest, ...] = ()
    version: str = "v3.5.1"
    settings: Mapping[str, Any] = field(default_factory=dict)


def volume(**source: Any) -> list[Manifest]:
    return [{"name": "it", **source}]


SECRET = obj("v1", "Secret", "grist", "4", data={})
SHAPES = {
    "a projected Secret": Shape(
        workload("Deployment", "1", volumes=volume(projected={"sources": [{"secret": {"name": "grist"}}]})), SECRET, "1"
    ),
    "a driver's Secret": Shape(
        workload("DaemonSet", "", volumes=volume(csi={"driver": "x", "nodePublishSecretRef": {"name": "grist"}})),
        SECRET,
        "-1",
    ),
    "a service account of a Rollout": Shape(
        workload("Rollout", "-3", api="argoproj.io/v1alpha1", serviceAccountName="miller"),
        obj("v1", "ServiceAccount", "miller"),
        "-3",
    ),
    "a priority class": Shape(
        workload("StatefulSet", "", priorityClassName="first"),
        obj("scheduling.k8s.io/v1", "PriorityClass", "first", "1", value=1),
        "0",
    ),
    "a Sync hook before its ConfigMap": Shape(
        job("grind", "Sync -1", volumes=volume(configMap={"name": "stones"})), obj("v1", "ConfigMap", "stones"), "-1"
    ),
    "hooks of one phase in the wrong order": Shape(
        job("grind", "PreSync 0", serviceAccountName="miller"), obj("v1", "ServiceAccount", "miller", "PreSync 5"), "PreSync -5"
    ),
    "a trigger's authentication": Shape(
        obj(
            "keda.sh/v1alpha1",
            "ScaledObject",
            "mill",
            spec={"scaleTargetRef": {"name": "other"}, "triggers": [{"type": "x", "authenticationRef": {"name": "pass"}}]},
        ),
        obj("keda.sh/v1alpha1", "TriggerAuthentication", "pass", "2", spec={}),
        "0",
    ),
    "what a store logs in with": Shape(
        obj(
            "external-secrets.io/v1",
            "SecretStore",
            "silo",
            spec={"provider": {"vault": {"auth": {"tokenSecretRef": {"name": "grist", "key": "token"}}}}},
        ),
        SECRET,
        "0",
    ),
    "an init container that waits for a Job by two words": Shape(
        workload("Deployment", "", initContainers=[{"name": "wait", "image": "wait-for:1", "args": ["job", "grind"]}]),
        job("grind", "3"),
        "0",
        "job-waits",
    ),
    "a route before its Gateway": Shape(
        obj("gateway.networking.k8s.io/v1", "HTTPRoute", "mill", spec={"parentRefs": [{"name": "river"}]}),
        obj("gateway.networking.k8s.io/v1", "Gateway", "river", "1", spec={"gatewayClassName": "x", "listeners": []}),
        "0",
    ),
    "a Secret of a sealed one": Shape(
        workload("StatefulSet", "", volumes=volume(secret={"secretName": "grist"})),
        obj("bitnami.com/v1alpha1", "SealedSecret", "grist", "PostSync 0", spec={"encryptedData": {}}),
        "0",
    ),
    "a hook that calls a Service of a later wave": Shape(
        job("grind", "Sync -2", containers=[{"name": "a", "image": "b:1", "env": [{"name": "MILL_HOST", "value": "mill-db:5432"}]}]),
        obj("v1", "Service", "mill-db", spec={"selector": {"app": "db"}, "ports": [{"port": 5432}]}),
        "-2",
        "hook-calls",
        "warning",
    ),
}  # fmt: skip


def moved(one: Manifest, at: str) -> Manifest:
    return obj(
        one["apiVersion"], one["kind"], one["metadata"]["name"], at, **{k: v for k, v in one.items() if k == "spec"}
    )


def told(
    *manifests: Manifest, live: bool = False, version: str = "v3.5.1", status: Mapping[str, Any] = OUT, **more: Any
) -> list[tuple[str | None, str]]:
    """Cause and severity of each finding of the rule about an application of these manifests; hooks are in the render alone."""
    ordinary = [m for m in manifests if HOOK not in m["metadata"].get("annotations", {})]
    resources = [{"desired": m, **({"live": m} if live else {}), **more} for m in ordinary]
    app = {"name": "mill", "spec": {"destination": {"namespace": "mill"}}, "status": status, "resources": resources}
    data = {"about": "a mill", "server": {"version": version}, "apps": [{**app, "manifests": list(manifests)}]}
    report = testing.check(testing.Fixture(Path("mill.yaml"), data), RULES)
    assert report.failures == ()
    return [(f.cause, f.severity) for f in report.findings if f.rule == "sync-deadlock"]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_shape_is_found_and_its_twin_is_not(shape: Shape) -> None:
    assert told(shape.waiting, shape.later, version=shape.version) == [(shape.cause, shape.severity)]
    assert told(shape.waiting, moved(shape.later, shape.in_time), version=shape.version) == []
    elsewhere = {**shape.later, "metadata": {**shape.later["metadata"], "namespace": "other"}}
    if shape.later["kind"] != "PriorityClass":
        assert told(shape.waiting, elsewhere, version=shape.version) == []


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_what_is_there_already_stops_a_first_sync_alone(shape: Shape) -> None:
    found = told(shape.waiting, shape.later, live=True, version=shape.version)
    hooked = HOOK in shape.later["metadata"].get("annotations", {}) and HOOK in shape.waiting["metadata"].get(
        "annotations", {}
    )
    assert [severity for _, severity in found] == ["error" if hooked else "info"]


def test_a_kind_that_an_older_argo_cd_does_not_check_stops_nothing() -> None:
    shape = SHAPES["a route before its Gateway"]
    assert told(shape.waiting, shape.later, version="v3.0.9") == []


def test_a_wait_that_has_begun_is_explained_by_one_rule_alone() -> None:
    """The workload is there and not ready: the rule that reads its health says what it lacks."""
    waiting = workload("Deployment", "", volumes=volume(configMap={"name": "stones"}))
    resources = [
        {"desired": waiting, "live": waiting, "health": {"status": "Progressing"}},
        {"desired": obj("v1", "ConfigMap", "stones", "1")},
    ]
    message = "waiting for healthy state of apps/Deployment/mill"
    operation = {"phase": "Running", "startedAt": "2026-01-01T11:00:00Z", "message": message}
    status = {"health": {"status": "Progressing"}, "operationState": operation}
    data = {"about": "a mill", "apps": [{"name": "mill", "status": status, "resources": resources}]}
    found = testing.check(testing.Fixture(Path("mill.yaml"), data), RULES).findings
    assert [f.rule for f in found if "stones" in f.message and f.severity == "error"] != []
    assert [f for f in found if f.rule == "sync-deadlock"] == []


def test_a_manifest_of_any_shape_is_borne() -> None:
    """Fields of other types than Kubernetes knows name nothing."""
    odd: list[Manifest] = [
        obj(
            "apps/v1",
            "Deployment",
            "mill",
            spec={"replicas": "x", "template": {"spec": {"containers": [7, {"env": 3, "args": {}}]}}},
        ),
        obj(
            "batch/v1",
            "Job",
            "grind",
            "PreSync x",
            spec={"template": {"spec": {"containers": [{"args": [None, 3]}], "initContainers": 4}}},
        ),
        obj("v1", "PersistentVolumeClaim", "p", "-1", spec=[]),
        obj("v1", "Namespace", "n", "1", spec=None),
    ]
    assert told(*odd) == []


def test_words_of_commands_name_objects() -> None:
    made = {
        "kind": "Job",
        "spec": {
            "template": {
                "spec": {
                    "initContainers": [
                        {"command": ["kubectl", "wait", "--for=condition=complete", "job.batch/one", "--timeout=1h"]},
                        {"args": ["job", "two"]},
                        {"args": ["job", "--all"]},
                    ],
                    "containers": [
                        {"args": ["create", "--host=x", "--secret-name=three"]},
                        {
                            "command": [
                                "sh",
                                "-c",
                                "kubectl create secret generic four --from-literal=a=b; kubectl create cm five",
                            ]
                        },
                        {"command": ["sh", "-c", "kubectl get secret six"]},
                        {
                            "env": [
                                {"name": "DB_URL", "value": "postgres://u:p@seven.mill.svc:5432/x?y=z"},
                                {"name": "CACHE_HOST", "value": "eight.other.svc"},
                                {"name": "APP_NAME", "value": "nine"},
                                {"name": "API_URL", "value": "https://ten.example.com"},
                                {"name": "HOST", "valueFrom": {}},
                            ]
                        },
                    ],
                }
            }
        },
    }
    assert [name for _, name in named_jobs(made)] == ["one", "two"]
    assert list(written_secrets(made)) == ["three", "four", "five"]
    assert [name for _, name in hosts(made, "mill")] == ["seven"]
    long = {"kind": "Job", "spec": {"template": pods(initContainers=[{"name": "a", "args": ["job/" * 200_000]}])}}
    assert list(named_jobs(long)) == []
