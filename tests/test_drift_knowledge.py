"""What the drift rules know: spellings that mean one value, field managers, defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from argolint_rules.drift._defaults import is_kubernetes_default, is_schema_default, replaces_zero
from argolint_rules.drift._grammar import is_hollow, is_same_duration, is_same_quantity
from argolint_rules.drift._writers import known_writer

from argolint import MISSING, Change, Resource, ResourceId, Writer
from argolint.values.knowledge import load
from argolint.values.kubernetes import is_custom


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1024Mi", "1Gi"),
        ("1e3", "1000"),
        ("1k", "1000"),
        ("1Gi", "1073741824"),
        (1, "1"),
        ("0.1", "100m"),
        ("1.5Gi", "1536Mi"),
    ],
)
def test_two_spellings_of_one_quantity(one: Any, other: Any) -> None:
    assert is_same_quantity(one, other)
    assert is_same_quantity(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1.10", "1.1"),
        ("1G", "1Gi"),
        ("90m", "1h30m0s"),
        ("v1", "v1.0"),
        (True, 1),
        ("", "0"),
        ("latest", "latest "),
        ("5", "6"),
    ],
)
def test_other_values_are_no_quantity_in_two_spellings(one: Any, other: Any) -> None:
    """Versions that are equal as numbers are the trap: 1.10 is not 1.1."""
    assert not is_same_quantity(one, other)


@pytest.mark.parametrize(
    ("one", "other"), [("90m", "1h30m0s"), ("8760h", "8760h0m0s"), ("60s", "1m"), ("0", "0s"), ("1.5h", "90m")]
)
def test_two_spellings_of_one_duration(one: str, other: str) -> None:
    assert is_same_duration(one, other)


@pytest.mark.parametrize(("one", "other"), [("1d", "24h"), ("5m", "5m"), ("1h", "2h"), (60, "60s")])
def test_other_values_are_no_duration_in_two_spellings(one: Any, other: Any) -> None:
    assert not is_same_duration(one, other)


@pytest.mark.parametrize("value", [None, "", [], {}, 0, False, {"a": {"b": None}}])
def test_hollow_values_are_what_omitempty_leaves_out(value: Any) -> None:
    assert is_hollow(value)


@pytest.mark.parametrize("value", ["0", 1, True, [0], {"a": 1}, "false"])
def test_values_that_say_something_are_not_hollow(value: Any) -> None:
    assert not is_hollow(value)


@pytest.mark.parametrize(
    ("manager", "subresource", "sort", "tool"),
    [
        ("kubectl-edit", "", "person", "kubectl edit"),
        ("kubectl-client-side-apply", "", "person", "kubectl apply"),
        ("kubectl", "scale", "person", "kubectl"),
        ("argocd-server", "", "person", "Argo CD's own UI or CLI"),
        ("node-fetch", "", "person", "Lens"),
        ("k9s", "", "person", "k9s"),
        ("Terraform", "", "person", "an infrastructure-as-code run"),
        ("kube-controller-manager", "scale", "autoscaler", "kube-controller-manager"),
        ("keda-operator", "", "autoscaler", "keda-operator"),
        ("cert-manager-cainjector", "", "injector", "cert-manager-cainjector"),
        ("sidecar-injector-webhook", "", "mutator", "sidecar-injector-webhook"),
        ("crossplane-provider-aws", "", "crossplane", "crossplane-provider-aws"),
    ],
)
def test_known_field_managers(manager: str, subresource: str, sort: str, tool: str) -> None:
    found = known_writer(Writer(manager, "Update", subresource))
    assert found is not None
    assert (found.sort, found.tool) == (sort, tool)


@pytest.mark.parametrize(
    "manager",
    [
        "kustomize-controller",
        "helm-controller",
        "kube-controller-manager",
        "manager",
        "argocd-controller",
        "cert-manager-certificates-readiness",
        "Go-http-client",
    ],
)
def test_controllers_are_nobodys_hand(manager: str) -> None:
    found = known_writer(Writer(manager, "Update"))
    assert found is None or found.sort != "person"


SCHEMA: Mapping[str, Any] = {
    "properties": {
        "spec": {
            "properties": {
                "stages": {
                    "items": {
                        "properties": {
                            "pause": {"default": "15m"},
                            "wait": {"default": {}, "properties": {"max": {"default": 3}}},
                        }
                    }
                },
                "byName": {"additionalProperties": {"properties": {"mode": {"default": "on"}}}},
            }
        }
    }
}


@pytest.mark.parametrize(
    ("pointer", "live", "expected"),
    [
        ("/spec/stages/1/pause", "15m", True),
        ("/spec/stages/1/pause", "20m", False),
        ("/spec/stages/0/wait", {"max": 3}, True),
        ("/spec/stages/0/wait", {"max": 4}, False),
        ("/spec/byName/eu/mode", "on", True),
        ("/spec/other", "15m", False),
    ],
)
def test_schema_defaults_are_filled_in_as_the_api_server_does(pointer: str, live: Any, expected: bool) -> None:
    assert is_schema_default(SCHEMA, Change(pointer, MISSING, live)) is expected


def test_what_git_holds_is_no_default() -> None:
    assert not is_schema_default(SCHEMA, Change("/spec/stages/1/pause", "10m", "15m"))


@pytest.mark.parametrize(
    ("group", "custom"),
    [
        ("", False),
        ("apps", False),
        ("networking.k8s.io", False),
        ("gateway.networking.k8s.io", True),
        ("example.org", True),
    ],
)
def test_groups_that_crds_bring(group: str, custom: bool) -> None:
    assert is_custom(group) is custom


def test_knowledge_files_have_the_shape_that_the_rules_read() -> None:
    """Each entry names its source, each pattern compiles, each field is a pointer."""
    package = "argolint_rules.drift"
    for entry in load(package, "writers.yaml")["writers"]:
        re.compile(entry["match"])
        assert entry["sort"] in ("person", "mutator", "injector", "autoscaler", "crossplane", "controller")
    for entries in load(package, "defaults.yaml").values():
        for entry in entries:
            assert set(entry) == {"groups", "kinds", "source", "fields"}
            assert all(field.startswith("/") and isinstance(values, list) for field, values in entry["fields"].items())
    for provider in load(package, "cloud.yaml")["providers"]:
        assert {"name", "source", "advice", "marks", "fields", "always"} <= set(provider)
        assert all(re.compile(pattern) for pattern in (*provider["fields"], *provider["always"]))
    for entry in load(package, "respelled.yaml")["durations"]:
        assert set(entry) == {"groups", "kinds", "source", "fields"}


@pytest.mark.parametrize(
    ("group", "kind", "pointer", "live"),
    [
        ("apps", "Deployment", "/spec/template/spec/containers/1/env/0/valueFrom/resourceFieldRef/divisor", "0"),
        ("batch", "CronJob", "/spec/jobTemplate/spec/template/spec/initContainers/0/terminationMessagePolicy", "File"),
        ("", "Pod", "/spec/volumes/2/projected/sources/0/serviceAccountToken/expirationSeconds", 3600),
        ("apps", "DaemonSet", "/spec/updateStrategy/rollingUpdate/maxUnavailable", 1),
        ("storage.k8s.io", "StorageClass", "/volumeBindingMode", "Immediate"),
    ],
)
def test_defaults_that_only_the_go_code_of_the_api_server_tells(
    group: str, kind: str, pointer: str, live: object
) -> None:
    resource = Resource(ResourceId(group, kind, "shop", "one"))
    assert is_kubernetes_default(resource, Change(pointer, MISSING, live))
    assert not is_kubernetes_default(resource, Change(pointer, MISSING, "another"))
    assert not is_kubernetes_default(
        Resource(ResourceId("example.org", kind, "shop", "one")), Change(pointer, MISSING, live)
    )


def test_a_zero_says_nothing_where_the_field_is_no_pointer() -> None:
    deployment = Resource(ResourceId("apps", "Deployment", "shop", "one"))
    probe = "/spec/template/spec/containers/0/livenessProbe/timeoutSeconds"
    assert replaces_zero(deployment, Change(probe, 0, 1))
    assert not replaces_zero(deployment, Change("/spec/replicas", 0, 1))
    assert replaces_zero(deployment, Change("/spec/replicas", None, 1))
