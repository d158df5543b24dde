"""What is noise and what is a real change: the verdicts of the family nondeterminism, each on one small application."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from argolint import testing
from argolint.plugins import load_rules

RULES = [rule for rule in load_rules().values() if rule.family == "nondeterminism" and rule.id != "floating-revision"]
HERE = "1f0e3dad99908345f7439f8ffabdffc4c1a0b0d5"
BEFORE = "0000000000000000000000000000000000000000"
ONE, TWO = "1" * 64, "2" * 64
MASK, OTHER_MASK = "+" * 8, "+" * 12


def told(*apps: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """(rule, severity, confidence, resource) of every finding over these applications."""
    found = testing.check(testing.Fixture(Path("inline.yaml"), {"about": "inline", "apps": list(apps)}), RULES)
    assert [f.error for f in found.failures] == []
    return [
        (f.rule, f.severity, f.confidence, f"{f.resource.kind}/{f.resource.name}" if f.resource else "")
        for f in found.findings
    ]


def app(*resources: dict[str, Any], synced_at: str = HERE, **changed: Any) -> dict[str, Any]:
    """A Helm application that was synced at `synced_at` and is compared with HERE; every object was applied then."""
    applied = [
        {
            "group": (r.get("desired") or r["live"])["apiVersion"].rpartition("/")[0],
            "kind": (r.get("desired") or r["live"])["kind"],
            "namespace": "n",
            "name": (r.get("desired") or r["live"])["metadata"]["name"],
            "status": "Synced",
        }
        for r in resources
    ]
    status = {
        "sourceType": "Helm",
        "operationState": {"phase": "Succeeded", "syncResult": {"revision": synced_at, "resources": applied}},
        **changed.pop("status", {}),
    }
    spec = {"destination": {"namespace": "n"}, "source": {"path": "charts/shopfront"}, **changed.pop("spec", {})}
    return {"name": "web", "spec": spec, "status": status, "resources": list(resources), **changed}


def pair(
    desired: dict[str, Any], live: dict[str, Any], manager: str = "argocd-controller", **metadata: Any
) -> dict[str, Any]:
    """A managed object whose live side was written whole by `manager`."""
    fields: dict[str, dict[str, Any]] = {f"f:{k}": {} for k in live if k not in ("apiVersion", "kind", "metadata")}
    entry = {"manager": manager, "operation": "Update", "time": "2026-01-01T11:50:00Z", "fieldsV1": fields}
    return {
        "desired": desired,
        "live": {**live, "metadata": {**live["metadata"], "managedFields": [entry], **metadata}},
    }


def labels(chart: str) -> dict[str, str]:
    return {"helm.sh/chart": chart, "app.kubernetes.io/managed-by": "Helm"}


def secret(mask: str, name: str = "web", chart: str = "shopfront-1.0.0", key: str = "password") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "n", "labels": labels(chart)}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {key: mask}}


def config(value: str, chart: str = "shopfront-1.0.0") -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "n", "labels": labels(chart)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"level": value}}


def workload(
    checksum: str, name: str = "web", chart: str = "shopfront-1.0.0", key: str = "checksum/config"
) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "n", "labels": labels(chart)}
    template = {"metadata": {"annotations": {key: checksum}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": template}}


def webhook(bundle: str) -> dict[str, Any]:
    hooks = [{"name": "a.example.com", "clientConfig": {"caBundle": bundle}}]
    metadata = {"name": "web", "labels": labels("shopfront-1.0.0")}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": metadata,
        "webhooks": hooks,
    }


CHANGED_CHECKSUM = pair(workload(ONE), workload(TWO))
CHANGED_SECRET = pair(secret(MASK), secret(OTHER_MASK))
SAME_SECRET = pair(secret(MASK), secret(MASK))


def test_a_checksum_that_moves_with_its_config_is_a_real_change() -> None:
    assert told(app(pair(config("info"), config("debug")), CHANGED_CHECKSUM, synced_at=BEFORE)) == []


def test_a_checksum_that_moves_alone_is_likely_noise() -> None:
    found = told(app(pair(config("info"), config("info")), CHANGED_CHECKSUM, synced_at=BEFORE))
    assert found == [("nondeterministic-checksum", "warning", "likely", "Deployment/web")]


def test_a_checksum_may_name_its_algorithm() -> None:
    changed = pair(workload(f"sha256:{ONE}"), workload(f"sha256:{TWO}"))
    found = told(app(pair(config("info"), config("info")), changed, synced_at=BEFORE))
    assert found == [("nondeterministic-checksum", "warning", "likely", "Deployment/web")]


def test_a_chart_that_moves_together_with_its_config_is_a_real_change() -> None:
    moved = pair(config("info", "shopfront-1.1.0"), config("debug"))
    assert told(app(moved, pair(workload(ONE, chart="shopfront-1.1.0"), workload(TWO)), synced_at=BEFORE)) == []


def test_a_chart_that_moves_over_equal_config_restarts_for_a_label() -> None:
    moved = pair(config("info", "shopfront-1.1.0"), config("info"))
    found = told(app(moved, pair(workload(ONE, chart="shopfront-1.1.0"), workload(TWO)), synced_at=BEFORE))
    assert found == [("checksum-follows-label", "info", "likely", "Deployment/web")]


def test_a_chart_that_moves_and_changes_the_pods_restarts_them_for_that() -> None:
    old, new = workload(TWO), workload(ONE, chart="shopfront-1.1.0")
    for obj, mode in ((old, "lenient"), (new, "strict")):
        obj["spec"]["template"]["spec"] = {"containers": [{"name": "web", "env": [{"name": "MODE", "value": mode}]}]}
    assert told(app(pair(new, old), synced_at=BEFORE)) == []


def test_two_values_at_one_revision_are_proven() -> None:
    found = told(app(CHANGED_SECRET, CHANGED_CHECKSUM))
    assert ("nondeterministic-secret", "error", "proven", "Secret/web") in found


def test_a_secret_and_the_checksum_named_for_it_are_one_finding() -> None:
    hashed = pair(workload(ONE, key="checksum/secret"), workload(TWO, key="checksum/secret"))
    assert told(app(CHANGED_SECRET, hashed)) == [("nondeterministic-secret", "error", "proven", "Secret/web")]


@pytest.mark.parametrize("manager", ["kubectl-edit", "argocd-server", "external-secrets", "helm"])
def test_what_somebody_else_wrote_is_not_rendered_anew(manager: str) -> None:
    edited = pair(workload(ONE), workload(TWO), manager)
    assert told(app(pair(secret(MASK), secret(OTHER_MASK), manager), edited)) == []


def test_a_secret_with_a_controller_is_the_controllers() -> None:
    owner = [{"apiVersion": "v1", "kind": "ExternalSecret", "name": "web", "uid": "u", "controller": True}]
    assert told(app(pair(secret(MASK), secret(OTHER_MASK), ownerReferences=owner))) == []


def test_an_object_of_two_applications_differs_because_both_write_it() -> None:
    other = {**app(CHANGED_SECRET), "name": "other"}
    assert told(app(CHANGED_SECRET), other) == []


def test_a_sync_that_never_applied_the_object_proves_nothing() -> None:
    failed = {"operationState": {"phase": "Failed", "syncResult": {"revision": HERE, "resources": []}}}
    found = told(app(CHANGED_SECRET, pair(config("info"), config("debug")), status=failed))
    assert found == [("nondeterministic-secret", "info", "possible", "Secret/web")]


def test_what_another_argo_cd_wrote_after_the_sync_is_not_this_ones() -> None:
    done = {
        "phase": "Succeeded",
        "finishedAt": "2026-01-01T11:40:00Z",
        "syncResult": {"revision": HERE, "resources": []},
    }
    assert told(app(CHANGED_CHECKSUM, pair(config("info"), config("debug")), status={"operationState": done})) == []


def test_plain_manifests_are_never_random() -> None:
    assert told(app(CHANGED_SECRET, CHANGED_CHECKSUM, status={"sourceType": "Directory"})) == []


def test_a_plugin_may_read_its_values_elsewhere() -> None:
    found = told(app(CHANGED_SECRET, status={"sourceType": "Plugin"}))
    assert found == [("nondeterministic-secret", "info", "possible", "Secret/web")]


def test_a_secret_and_more_in_one_commit_may_be_the_commits_own() -> None:
    found = told(app(CHANGED_SECRET, pair(config("info"), config("debug")), synced_at=BEFORE))
    assert found == [("nondeterministic-secret", "info", "possible", "Secret/web")]


def test_a_secret_that_outlived_a_commit_is_not_random() -> None:
    history = [
        {"revision": "a" * 40, "deployStartedAt": "2026-01-01T11:50:00Z", "deployedAt": "2026-01-01T11:50:05Z"},
        {"revision": BEFORE, "deployStartedAt": "2026-01-01T11:55:00Z", "deployedAt": "2026-01-01T11:55:05Z"},
    ]
    assert told(app(CHANGED_SECRET, synced_at=BEFORE, status={"history": history})) == []


@pytest.mark.parametrize(("in_git", "live"), [("", "Q0E="), ("Cg==", "Q0E="), ("Q0E=", "")])
def test_a_ca_bundle_filled_at_run_time_is_not_random(in_git: str, live: str) -> None:
    assert told(app(pair(webhook(in_git), webhook(live)))) == []


def test_a_ca_bundle_signed_by_a_random_secret_is_its_symptom() -> None:
    keys = pair(secret(MASK, key="tls.crt"), secret(OTHER_MASK, key="tls.crt"))
    assert told(app(keys, pair(webhook("Q0ExMQ=="), webhook("Q0EyMg==")))) == [
        ("nondeterministic-secret", "error", "proven", "Secret/web")
    ]


def test_components_that_hash_a_config_of_their_own_under_one_key_do_not_disagree() -> None:
    places = [pair(workload(value, name), workload(value, name)) for value, name in ((ONE, "web"), (TWO, "web-worker"))]
    assert told(app(SAME_SECRET, *places)) == []


def test_a_content_hash_in_a_name_is_a_real_change_at_another_revision() -> None:
    old, new = config("debug"), config("info")
    old["metadata"]["name"], new["metadata"]["name"] = "web-5h2tk9c8mf", "web-8g4hbm7t2k"
    assert told(app({"desired": new}, {"live": old}, synced_at=BEFORE, status={"sourceType": "Kustomize"})) == []


def test_jobs_that_are_named_for_their_image_are_new_releases() -> None:
    def job(end: str) -> dict[str, Any]:
        pod = {"containers": [{"name": "migrate", "image": f"shop:{end}"}]}
        metadata = {"name": f"migrate-{end}", "namespace": "n"}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": {"spec": pod}}}

    now, *before = map(job, ("20260101115002", "20251221101010", "20251222093011"))
    assert told(app(pair(now, now), *({"live": live} for live in before))) == []


def test_a_chart_that_renders_alike_at_its_defaults_makes_noise_unlikely() -> None:
    moved = pair(
        workload(ONE, chart="prometheus-node-exporter-4.56.1"), workload(TWO, chart="prometheus-node-exporter-4.56.1")
    )
    found = told(app(moved, synced_at=BEFORE))
    assert found == [("nondeterministic-checksum", "info", "possible", "Deployment/web")]


REDIS = {"repoURL": "https://charts.bitnami.com/bitnami", "path": None, "chart": "redis", "targetRevision": "23.1.1"}


@pytest.mark.parametrize(
    ("helm", "expected"),
    [
        ({}, [("nondeterministic-secret", "warning", "likely", "Secret/web-redis")]),
        ({"valuesObject": {"auth": {"password": "given"}}}, []),
        ({"values": "auth:\n  password: given\n"}, []),
        ({"parameters": [{"name": "auth.password", "value": "given"}]}, []),
        ({"valuesObject": {"global": {"redis": {"password": "given"}}}}, []),
        ({"valueFiles": ["$values/redis.yaml"]}, [("nondeterministic-secret", "info", "possible", "Secret/web-redis")]),
    ],
)
def test_a_known_chart_in_sync_speaks_by_its_values(helm: dict[str, Any], expected: list[tuple[str, ...]]) -> None:
    made = secret(MASK, "web-redis", "redis-23.1.1", "redis-password")
    assert told(app(pair(made, made), spec={"source": {**REDIS, "helm": helm}})) == expected


def test_nothing_is_said_of_states_that_argo_cd_does_not_know() -> None:
    blind = {"conditions": [{"type": "ComparisonError", "message": "no"}]}
    assert told(app({"live": secret(MASK, "web-redis", "redis-23.1.1", "redis-password")}, status=blind)) == []


IGNORED = [{"group": "", "kind": "Secret", "name": "web-redis", "jsonPointers": ["/data/redis-password"]}]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["RespectIgnoreDifferences=true"], []),
        ([], [("nondeterministic-secret", "warning", "likely", "Secret/web-redis")]),
    ],
)
def test_an_ignored_secret_is_told_until_each_sync_keeps_its_live_value(
    options: list[str], expected: list[tuple[str, ...]]
) -> None:
    made = secret(MASK, "web-redis", "redis-23.1.1", "redis-password")
    spec = {"source": REDIS, "ignoreDifferences": IGNORED, "syncPolicy": {"syncOptions": options}}
    assert told(app(pair(made, made), spec=spec)) == expected


def _history() -> list[dict[str, str]]:
    return [
        {"revision": BEFORE, "deployStartedAt": "2026-01-01T10:00:00Z", "deployedAt": "2026-01-01T10:00:05Z"},
        {"revision": HERE, "deployStartedAt": "2026-01-01T11:49:55Z", "deployedAt": "2026-01-01T11:50:05Z"},
    ]


@pytest.mark.parametrize(
    ("service_written", "severity"), [("2026-01-01T10:00:01Z", "warning"), ("2026-01-01T11:50:00Z", "info")]
)
def test_a_known_secret_that_alone_was_rewritten_by_the_last_sync_is_likely_random(
    service_written: str, severity: str
) -> None:
    """When its Service was rewritten too, the chart's version label may be all that changed."""
    made = secret(MASK, "web-redis", "redis-23.1.1", "redis-password")
    metadata = {"name": "web-redis", "namespace": "n", "labels": labels("redis-23.1.1")}
    headless = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"clusterIP": "None"}}
    service = pair(headless, headless)
    service["live"]["metadata"]["managedFields"][0]["time"] = service_written
    source = {"source": {**REDIS, "helm": {"valueFiles": ["$values/redis.yaml"]}}}
    held = pair(made, made, creationTimestamp="2026-01-01T10:00:01Z")
    assert [(s, r) for _, s, _, r in told(app(held, service, spec=source, status={"history": _history()}))] == [
        (severity, "Secret/web-redis")
    ]
