"""Facts about Kubernetes objects, each asked in one place."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from argolint.application.resource import Resource
from argolint.comparison.diff import differences
from argolint.model import MISSING, ResourceId
from argolint.values import parse_version
from argolint.values.kubernetes import containers, is_of_current_spec, is_secret_data, reads, wave
from argolint.values.quantities import amount, countable, quantity


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, 0),
        ({"argocd.argoproj.io/sync-wave": "3"}, 3),
        ({"argocd.argoproj.io/sync-wave": "+3"}, 3),
        ({"argocd.argoproj.io/sync-wave": "-3"}, -3),
        ({"argocd.argoproj.io/sync-wave": "--3"}, 0),
        ({"argocd.argoproj.io/sync-wave": "three"}, 0),
        ({"argocd.argoproj.io/sync-wave": " 3"}, 0),
        ({"argocd.argoproj.io/sync-wave": "9" * 5000}, 0),
        ({"helm.sh/hook-weight": "-5"}, -5),
        ({"argocd.argoproj.io/sync-wave": "2", "helm.sh/hook-weight": "-5"}, 2),
        ({"argocd.argoproj.io/sync-wave": "two", "helm.sh/hook-weight": "-5"}, -5),
    ],
)
def test_a_wave_is_read_as_argo_cd_reads_it(annotations: dict[str, str], expected: int) -> None:
    assert wave({"metadata": {"annotations": annotations}}) == expected


def test_the_manifest_knows_the_wave_better_than_the_list() -> None:
    id_ = ResourceId("", "ConfigMap", "web", "settings")
    moved = {"metadata": {"annotations": {"argocd.argoproj.io/sync-wave": "-2"}}}
    assert Resource(id_, sync_wave=4).wave == 4
    assert Resource(id_, sync_wave=4, desired_state=moved, desired_known=True).wave == -2
    assert Resource(id_, sync_wave=4, desired_state={"metadata": {"name": "settings"}}, desired_known=True).wave == 0


def test_only_the_core_groups_secret_holds_secret_data() -> None:
    core, custom = ResourceId("", "Secret", "a", "b"), ResourceId("vault.example.com", "Secret", "a", "b")
    assert is_secret_data(core, "/data/password")
    assert is_secret_data(core, "/stringData")
    assert is_secret_data({"apiVersion": "v1", "kind": "Secret"}, "/data")
    assert not is_secret_data(core, "/metadata/labels/app")
    assert not is_secret_data(core, "/database")
    assert not is_secret_data(custom, "/data/password")
    assert not is_secret_data({"apiVersion": "vault.example.com/v1", "kind": "Secret"}, "/data/password")
    assert not is_secret_data(None, "/data")


POD: dict[str, Any] = {
    "initContainers": [{"name": "i", "envFrom": [{"secretRef": {"name": "init"}}]}],
    "containers": [
        {
            "name": "c",
            "env": [
                {"name": "A", "valueFrom": {"secretKeyRef": {"name": "variable", "key": "a"}}},
                {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "perhaps", "key": "b", "optional": True}}},
            ],
        }
    ],
    "ephemeralContainers": [{"name": "debug", "envFrom": [{"configMapRef": {"name": "tools"}}]}],
    "volumes": [
        {"name": "files", "secret": {"secretName": "files"}},
        {"name": "all", "projected": {"sources": [{"configMap": {"name": "part"}}]}},
        {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}},
        {"name": "share", "azureFile": {"secretName": "share-login", "shareName": "s"}},
        {"name": "bucket", "csi": {"driver": "s3.example.com", "nodePublishSecretRef": {"name": "bucket-login"}}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}},
        "no map",
    ],
    "imagePullSecrets": [{"name": "registry"}, None],
    "serviceAccountName": "runner",
    "priorityClassName": "urgent",
}


@pytest.mark.parametrize(
    ("obj", "base"),
    [
        ({"kind": "Deployment", "spec": {"template": {"spec": POD}}}, "/spec/template/spec"),
        (
            {"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec": POD}}}}},
            "/spec/jobTemplate/spec/template/spec",
        ),
        ({"kind": "Pod", "spec": POD}, "/spec"),
    ],
)
def test_everything_that_a_pod_names_is_found_with_its_place(obj: dict[str, Any], base: str) -> None:
    assert [(r.kind, r.name, r.pointer.removeprefix(base), r.needed, r.by) for r in reads(obj)] == [
        ("Secret", "init", "/initContainers/0/envFrom/0/secretRef/name", True, "environment"),
        ("Secret", "variable", "/containers/0/env/0/valueFrom/secretKeyRef/name", True, "environment"),
        ("ConfigMap", "perhaps", "/containers/0/env/1/valueFrom/configMapKeyRef/name", False, "environment"),
        ("ConfigMap", "tools", "/ephemeralContainers/0/envFrom/0/configMapRef/name", False, "environment"),
        ("Secret", "files", "/volumes/0/secret/secretName", True, "volume"),
        ("ConfigMap", "part", "/volumes/1/projected/sources/0/configMap/name", True, "volume"),
        ("PersistentVolumeClaim", "disk", "/volumes/2/persistentVolumeClaim/claimName", True, "volume"),
        ("Secret", "share-login", "/volumes/3/azureFile/secretName", True, "volume"),
        ("Secret", "bucket-login", "/volumes/4/csi/nodePublishSecretRef/name", True, "volume"),
        ("StorageClass", "fast", "/volumes/5/ephemeral/volumeClaimTemplate/spec/storageClassName", True, "volume"),
        ("Secret", "registry", "/imagePullSecrets/0/name", True, "pull"),
        ("ServiceAccount", "runner", "/serviceAccountName", True, "pod"),
        ("PriorityClass", "urgent", "/priorityClassName", True, "pod"),
    ]
    assert [pointer for pointer, _ in containers(obj)] == [f"{base}/initContainers/0", f"{base}/containers/0"]


def test_what_is_no_workload_reads_nothing() -> None:
    assert list(reads({"kind": "ConfigMap", "data": {"containers": "[]"}})) == []
    assert list(reads({"spec": {"template": {"spec": {"containers": "many"}}}})) == []
    assert list(reads(None)) == []


def test_items_of_lists_of_unequal_length_are_paired_by_what_names_them() -> None:
    zones = {"topologyKey": "topology.kubernetes.io/zone", "maxSkew": 1}
    hosts = {"topologyKey": "kubernetes.io/hostname", "maxSkew": 2}
    assert list(differences([zones, hosts], [{**hosts, "maxSkew": 1}])) == [
        ("/0", zones, MISSING),
        ("/0/maxSkew", 2, 1),
    ]


@pytest.mark.parametrize(
    ("desired", "live", "told"),
    [
        (["--a", "--b"], ["--a", "--new", "--b"], [("/1", MISSING, "--new")]),
        (["--a", "--new", "--b"], ["--a", "--b"], [("/1", "--new", MISSING)]),
        ([2, 1, "c", 1], ["c", "b", 1], [("/0", 2, MISSING), ("/1", 1, "b")]),  # one index, one difference
        (["a", "b"], ["x"], [("/0", "a", "x"), ("/1", "b", MISSING)]),  # nothing in common: place by place
        ([{"verbs": ["get"]}], [{"verbs": ["get", "list"]}, {"verbs": []}], [("/0/verbs/1", MISSING, "list"), ("/1", MISSING, {"verbs": []})]),
    ],
)  # fmt: skip
def test_items_that_nothing_names_are_paired_so_that_little_differs(
    desired: list[Any], live: list[Any], told: list[tuple[str, Any, Any]]
) -> None:
    assert list(differences(desired, live)) == told


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("1000m", "1"),
        ("1.5Gi", "1536Mi"),
        ("0.1Mi", "104857600m"),
        ("1000E", "1"),  # Go has no suffix for it, and writes none
        ("1e30000000", "1e30000000"),
        ("0.0000000001", "1m"),
        ("many", "many"),
    ],
)
def test_a_quantity_is_printed_as_kubernetes_prints_it(written: str, canonical: str) -> None:
    assert quantity(written) == canonical


def test_amounts_are_compared_exactly_and_never_computed() -> None:
    assert amount("1Gi") == amount("1024Mi") == amount(1073741824)
    assert amount("100m") == amount("0.1")
    assert (amount("1e30000000") or 0) > (amount("1e29999999") or 0)
    assert amount("99999999999999999999999999999001m") != amount("99999999999999999999999999999002m")
    assert amount("two") is None
    assert countable("9E") == amount("9E")
    assert (countable("1n"), countable("0")) == (amount("1n"), Decimal(0))
    assert countable("10E") is countable("-10E") is countable("1e30000000") is countable("1e-10") is None
    assert amount(True) is None


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v3.5.1", (3, 5, 1)),
        ("v2.14.0-rc1+abc", (2, 14, 0)),
        ("1.29+", (1, 29)),
        ("1.4.0", (1, 4, 0)),
        ("2024-04-29", None),
        ("main", None),
        ("v1." + "9" * 5000, None),
        (None, None),
    ],
)
def test_a_version_is_the_dotted_number_that_it_begins_with(text: str | None, version: tuple[int, ...] | None) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize(
    ("generation", "observed", "of_condition", "expected"),
    [
        (3, 3, None, True),
        (3, "3", None, True),
        (3, 2, None, False),
        (3, 3, 2, False),
        (3, 2, 3, True),
        (3, None, None, None),
        (None, 3, None, None),
    ],
)
def test_a_status_is_of_the_spec_whose_generation_it_has_seen_as_a_number_or_as_text(
    generation: int | None, observed: int | str | None, of_condition: int | None, expected: bool | None
) -> None:
    live = {"metadata": {"generation": generation}, "status": {"observedGeneration": observed}}
    assert is_of_current_spec(live, {"observedGeneration": of_condition}) is expected
