"""What is known of charts: the data's shape, recognition from labels and sources, and pins by chart version."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from argolint_rules.shared import chart_catalogue as catalogue
from argolint_rules.shared import charts
from msgspec import structs

from argolint.application.app import App, app_from_list


def _app(source: dict[str, Any], labels: dict[str, str] | None = None, name: str = "web", **status: Any) -> App:
    raw = {
        "metadata": {"name": name, "namespace": "argocd"},
        "spec": {"source": source, "destination": {"namespace": "web"}},
        "status": {
            "sourceType": "Helm",
            "resources": [{"group": "apps", "kind": "Deployment", "namespace": "web", "name": name}],
            **status,
        },
    }
    app = app_from_list(
        raw, server="", cluster="c", control_plane="argocd", observed_at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    state = {"metadata": {"name": name, "labels": labels or {}}}
    return replace(
        app,
        resources=tuple(structs.replace(r, desired_state=state, desired_known=True) for r in app.resources),
        read=True,
    )


def test_every_entry_tells_how_to_pin_and_names_its_source() -> None:
    for chart in (chart for name in sorted(catalogue.names()) for chart in catalogue.charts_named(name)):
        assert chart.source, chart.name
        for item in chart.random:
            assert item.functions, (chart.name, item.what)
            assert any(p.values or p.note for p in item.pins), (chart.name, item.what)
            assert item.secrets or item.checksums or item.other_fields, (chart.name, item.what)


@pytest.mark.parametrize(
    ("text", "chart", "version"),
    [
        ("airflow-1.18.0", "airflow", "1.18.0"),
        ("cert-manager-v1.12.0", "cert-manager", "v1.12.0"),
        ("k8s-infra-0.16.0-rc.1_build.2", "k8s-infra", "0.16.0-rc.1+build.2"),
        ("airflow", "airflow", ""),
    ],
)
def test_chart_label_parts(text: str, chart: str, version: str) -> None:
    assert charts.split_chart(text) == (chart, version)


def test_chart_of_a_repository_has_no_prefix_and_its_values_stand_in_the_application() -> None:
    source = {
        "repoURL": "https://charts.bitnami.com/bitnami",
        "chart": "redis",
        "targetRevision": "23.1.1",
        "helm": {"valuesObject": {"auth": {"password": "x"}}},
    }
    (release,) = charts.releases(_app(source, {"helm.sh/chart": "redis-23.1.1"}))
    assert (release.prefix, release.assumed, release.complete) == ("", False, True)
    assert release.values_at == "the Application's spec.source.helm.valuesObject"
    assert [charts.is_pinned(item, release) for item in release.random()] == [True]


def test_wrapper_chart_in_git_gets_the_label_as_prefix() -> None:
    source = {
        "repoURL": "https://git.example.com/a.git",
        "path": "charts/data",
        "helm": {"releaseName": "airflow", "valueFiles": ["../../values/prod.yaml"]},
    }
    (release,) = charts.releases(_app(source, {"chart": "airflow-1.18.0"}, "airflow-prod"))
    assert (release.chart, release.version, release.name, release.prefix) == (
        "airflow",
        "1.18.0",
        "airflow",
        "airflow.",
    )
    assert release.assumed
    assert release.values_at == "values/prod.yaml"
    assert release.values_block({"webserverSecretKeySecretName": "x"}) == (
        "airflow:\n  webserverSecretKeySecretName: x\n"
    )


def test_subchart_of_a_known_umbrella_gets_its_prefix() -> None:
    source = {"repoURL": "https://git.example.com/a.git", "path": "charts/keycloak"}
    app = _app(source, {"helm.sh/chart": "postgresql-17.1.0"})
    release = charts.releases(app)[-1]
    assert (release.chart, release.prefix, release.assumed) == ("postgresql", "postgresql.", False)


@pytest.mark.parametrize(
    ("version", "items", "first_pins"),
    [
        ("1.0.0", {"fernet key", "Redis password and broker URL"}, set()),
        ("1.8.0", {"webserver secret key (Flask SECRET_KEY)"}, {"webserverSecretKey"}),
        ("1.17.0", {"JWT secret ([api_auth] jwt_secret)"}, {"jwtSecret", "webserverSecretKey"}),
        ("1.18.0", {"API server secret key ([api] secret_key)"}, {"apiSecretKey", "jwtSecret", "webserverSecretKey"}),
    ],
)
def test_airflow_items_and_pins_follow_the_chart_version(version: str, items: set[str], first_pins: set[str]) -> None:
    source = {"repoURL": "https://airflow.apache.org", "chart": "airflow", "targetRevision": version}
    (release,) = charts.releases(_app(source, {"chart": f"airflow-{version}"}))
    known = {item.what: charts.pins(item, release) for item in release.random()}
    assert items <= set(known)
    keys = {key for found in known.values() for pin in found for key in pin.values}
    random_keys = {"apiSecretKey", "jwtSecret", "webserverSecretKey"}
    assert keys & random_keys == first_pins


def test_another_chart_of_the_same_name_is_not_taken_for_a_known_one() -> None:
    source = {"repoURL": "https://git.example.com/a.git", "path": "charts/airflow"}
    images = {"images": ["apache/airflow:2.8.4"]}
    (release,) = charts.releases(_app(source, {"chart": "airflow-8.9.0"}, "etl", summary=images))
    assert release.known is None


def test_the_image_of_a_known_chart_is_read_with_registry_port_and_digest() -> None:
    source = {"repoURL": "https://git.example.com/a.git", "path": "charts/shop"}
    images = {"images": [f"registry.example.com:5000/bitnami/postgresql@sha256:{'a' * 64}"]}
    found = charts.releases(_app(source, {}, "etl", summary=images))
    assert [release.chart for release in found] == ["shop", "postgresql"]
