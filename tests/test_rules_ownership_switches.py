"""What charts offer for a shared object: the switch and the rename of the very chart and version that an application renders."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml
from argolint_rules.ownership._switches import chart_switches
from argolint_rules.shared.charts import releases

from argolint.application.app import app_from_list

RBAC = "rbac.authorization.k8s.io"
CRD = ("apiextensions.k8s.io", "CustomResourceDefinition")


def offered(chart: str, repo: str, version: str, release: str, group: str, kind: str, name: str) -> Mapping[str, Any]:
    """The first switch for one object of an application that renders this chart."""
    raw = {
        "metadata": {"name": "second", "namespace": "argocd"},
        "spec": {
            "source": {"repoURL": repo, "chart": chart, "targetRevision": version, "helm": {"releaseName": release}},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": "team"},
        },
        "status": {
            "sync": {"revision": version},
            "sourceType": "Helm",
            "resources": [{"group": group, "version": "v1", "kind": kind, "name": name, "status": "Synced"}],
        },
    }
    now = datetime(2026, 1, 1, tzinfo=UTC)
    app = app_from_list(
        raw, server="", cluster="https://kubernetes.default.svc", control_plane="argocd", observed_at=now
    )
    found = chart_switches(app, app.resources[0], releases(app))
    return found[0] if found else {}


NGINX = ("ingress-nginx", "https://kubernetes.github.io/ingress-nginx", "4.15.1", "nginx")
ESO = ("external-secrets", "https://charts.external-secrets.io", "2.9.0", "eso")
TRAEFIK = ("traefik", "https://traefik.github.io/charts", "38.0.0", "traefik")
CERTS = ("cert-manager", "https://charts.jetstack.io", "v1.21.1", "certs")


def test_a_fixed_name_with_a_value_of_its_own_is_switched_off_and_renamed_by_it() -> None:
    found = offered(*NGINX, "networking.k8s.io", "IngressClass", "nginx")
    assert yaml.safe_load(found["off"][0]) == {"controller": {"ingressClassResource": {"enabled": False}}}
    assert yaml.safe_load(found["rename"]) == {"controller": {"ingressClassResource": {"name": "nginx-team"}}}
    assert found["fixed"]


def test_a_fixed_name_without_such_a_value_has_no_rename() -> None:
    kind = ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration")
    found = offered(*ESO, *kind, "externalsecret-validate")
    assert (found["fixed"], found["rename"]) == (True, "")
    assert yaml.safe_load(found["off"][0]) == {"webhook": {"create": False}}


def test_a_name_that_follows_the_release_is_renamed_by_the_override() -> None:
    found = offered(*ESO, RBAC, "ClusterRole", "eso-external-secrets-controller")
    assert yaml.safe_load(found["rename"]) == {"fullnameOverride": "second"}
    assert yaml.safe_load(found["off"][0]) == {"rbac": {"create": False}}


def test_crds_of_the_crds_folder_are_left_out_by_the_application() -> None:
    found = offered(*TRAEFIK, *CRD, "ingressroutes.traefik.io")
    assert yaml.safe_load(found["off"][0]) == {"spec": {"source": {"helm": {"skipCrds": True}}}}
    assert (found["spec"], found["where"]) == (True, "the Helm source of Application argocd/second")


def test_an_object_that_the_record_only_counts_belongs_to_the_group_of_its_kind() -> None:
    found = offered(*CERTS, RBAC, "ClusterRole", "certs-cert-manager-controller-ingress-shim")
    assert yaml.safe_load(found["off"][0]) == {"global": {"rbac": {"create": False}}}


@pytest.mark.parametrize(("version", "clashes"), [("1.8.0", True), ("1.22.0", False)])
def test_the_version_decides_whether_a_name_clashes(version: str, clashes: bool) -> None:
    chart = ("airflow", "https://airflow.apache.org", version, "airflow")
    assert bool(offered(*chart, RBAC, "ClusterRole", "airflow-pod-launcher-role")) == clashes


def test_an_object_that_no_record_names_has_no_switch() -> None:
    chart = ("airflow", "https://airflow.apache.org", "1.22.0", "airflow")
    assert offered(*chart, RBAC, "ClusterRole", "airflow-pre-checker") == {}
