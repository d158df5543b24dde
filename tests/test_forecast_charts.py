"""Forecasts of charts: what their next releases change in objects that Kubernetes does not let change."""

from __future__ import annotations

from typing import Any

import pytest

from argolint.engine.load import read_fleet
from argolint.engine.plan import Plan
from argolint.errors import UsageError
from argolint.forecast.wanted import upgrades
from argolint.model import Finding
from argolint.plugins import chart_changes
from argolint.reports.document import ForecastVersion
from argolint.testing import FixtureTransport

Data = dict[str, Any]
OLD = {"app": "redis", "release": "cart", "role": "master"}
NEW = {
    "app.kubernetes.io/name": "redis",
    "app.kubernetes.io/instance": "cart",
    "app.kubernetes.io/component": "master",
}


def workload(
    name: str, chart: str, selector: Data, *, label: str = "helm.sh/chart", kind: str = "StatefulSet", **spec: Any
) -> Data:
    return {
        "apiVersion": "v1" if kind == "PersistentVolumeClaim" else "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "shop", "labels": {label: chart}},
        "spec": {"selector": {"matchLabels": selector}, **spec},
    }


def company(*objects: Data, live: bool = True, **source: Any) -> Data:
    resources = [{"desired": o, **({"live": o} if live else {})} for o in objects]
    app = {
        "name": "cart",
        "resources": resources,
        "spec": {"source": {"repoURL": "https://git.example.com/shop.git", **source}},
        "status": {"sourceType": "Helm"},
    }
    return {
        "about": "inline",
        "server": {"version": "v3.6.1", "settings": {"trackingMethod": "annotation"}},
        "apps": [app],
    }


def forecast(data: Data, *charts: str) -> tuple[tuple[Finding, ...], tuple[ForecastVersion, ...]]:
    t = FixtureTransport(data)
    made, found = upgrades(t, read_fleet(t)[0], (), {}, Plan((), workers=1), "", charts)
    return found.findings, made.versions


@pytest.mark.parametrize("label", ["helm.sh/chart", "chart"])
@pytest.mark.parametrize("asked", ["redis=14", "redis", "all", "redis=20.1.3"])
def test_a_selector_that_changes_breaks_every_sync(asked: str, label: str) -> None:
    (found,) = forecast(company(workload("cart-master", "redis-13.0.2", OLD, label=label)), asked)[0]
    assert found.message == (
        "Chart redis 14.0.0 gives StatefulSet shop/cart-master of argocd/cart another selector, which Kubernetes refuses: "
        "no sync succeeds until that object is deleted."
    )
    assert (found.severity, found.at.pointer) == ("error", "/spec/selector/matchLabels")
    assert found.fixes[0].edit.content == "kubectl delete statefulset.apps cart-master -n shop\n"
    assert found.evidence[0] == "rendered by redis-13.0.2"


@pytest.mark.parametrize(
    ("asked", "made"),
    [
        ("redis=13", workload("cart-master", "redis-12.0.2", OLD)),  # not on the way
        ("redis=20", workload("cart-master", "redis-14.0.2", NEW)),  # past it
        ("redis=20", workload("cart-master", "redis-13.0.2", NEW)),  # deleted and made anew already, or by values
        ("redis=20", workload("cart-master", "redis-cluster-9.0.2", OLD)),  # another chart
        ("redis=20", workload("cart-master", "redis", OLD)),  # whose release is not known
        ("mysql", workload("cart-master", "redis-13.0.2", OLD)),
        ("redis=20", workload("cart-master", "redis-13.0.2", OLD, kind="DaemonSet")),
    ],
)
def test_what_does_not_change_is_passed_over(asked: str, made: Data) -> None:
    assert forecast(company(made), asked)[0] == ()


def test_what_a_sync_makes_again_by_itself_is_not_refused() -> None:
    made = workload("cart-master", "redis-13.0.2", OLD)
    made["metadata"]["annotations"] = {"argocd.argoproj.io/sync-options": "Force=true,Replace=true"}
    assert forecast(company(made), "redis")[0] == ()


def test_a_chart_that_changes_nothing_of_the_kind_is_known() -> None:
    made = workload("tempo", "tempo-1.2.0", {"app": "tempo"})
    assert forecast(company(made), "tempo")[0] == ()


def test_the_release_in_a_selector_may_be_any() -> None:
    labels = {
        "app.kubernetes.io/component": "server",
        "app.kubernetes.io/name": "prometheus",
        "app.kubernetes.io/instance": "mon",
        "app.kubernetes.io/version": "v2.43.0",
    }
    (found,) = forecast(company(workload("mon-server", "prometheus-21.1.2", labels, kind="Deployment")), "prometheus")[
        0
    ]
    assert found.cause == "chart-prometheus-22.0.0"


def test_what_is_not_live_can_be_made_in_any_shape() -> None:
    assert forecast(company(workload("cart-master", "redis-13.0.2", OLD), live=False), "redis")[0] == ()


def test_several_fields_of_one_object_are_one_finding() -> None:
    old = {"app.kubernetes.io/name": "postgresql", "app.kubernetes.io/instance": "cart", "role": "primary"}
    made = workload("cart-postgresql", "postgresql-10.16.2", old, serviceName="cart-postgresql-headless")
    (found,) = forecast(company(made), "postgresql=11")[0]
    assert "another selector and serviceName" in found.message


def test_a_field_that_has_the_new_value_already_is_no_change() -> None:
    other = {"app.kubernetes.io/name": "postgresql"}
    made = workload("cart-postgresql", "postgresql-10.16.2", other, serviceName="cart-postgresql-hl")
    assert forecast(company(made), "postgresql=11")[0] == ()


def test_a_set_that_the_chart_renders_no_more_leaves_its_data_behind() -> None:
    (found,) = forecast(company(workload("cart-slave", "redis-13.0.2", {"any": "label"})), "redis")[0]
    assert found.message == (
        "Chart redis 14.0.0 no longer renders StatefulSet shop/cart-slave of argocd/cart: a sync with prune deletes it, "
        "and what replaces it begins without its data."
    )
    assert (found.severity, found.cause) == ("warning", "chart-redis-14.0.0-gone")


def test_a_claim_that_turns_into_a_hook_is_made_again_at_each_sync() -> None:
    claim = workload("metrics", "influxdb-6.6.1", {}, kind="PersistentVolumeClaim")
    (found,) = forecast(company(claim), "influxdb=7")[0]
    assert found.message == (
        "Chart influxdb 7.0.0 makes a hook of PersistentVolumeClaim shop/metrics of argocd/cart: Argo CD deletes it and makes it "
        "again at each sync."
    )


def test_plain_manifests_are_not_read_for_a_chart() -> None:
    data = company(workload("cart-master", "redis-13.0.2", OLD))
    data["apps"][0]["status"] = {"sourceType": "Directory"}
    assert forecast(data, "redis")[0] == ()


def test_the_release_that_an_application_pins_is_shown() -> None:
    data = company(workload("cart-master", "redis-13.0.2", OLD), chart="redis", targetRevision="13.0.2")
    assert forecast(data, "redis=14")[1] == (ForecastVersion("chart redis", "13.0.2", "14"),)
    assert forecast(data, "all")[1][0].today == "as they are pinned"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("cart", "nothing is known of this chart"),
        ("redis=new", "'new' is no version"),
        ("redis=13.0.2", "13.0.2 is the oldest that runs"),
        ("redis=12", "13.0.2 is the oldest that runs"),
    ],
)
def test_a_chart_or_release_that_cannot_be_meant_is_refused(asked: str, says: str) -> None:
    data = company(workload("cart-master", "redis-13.0.2", OLD), chart="redis", targetRevision="13.0.2")
    with pytest.raises(UsageError, match=says):
        forecast(data, asked)


def test_every_change_of_the_table_is_whole() -> None:
    table = chart_changes()
    for chart in table["charts"]:
        for change in chart["changes"]:
            at = {"in", "after", "kind", "at", "was", "becomes"}
            assert change.keys() in (at, {"in", "after", "kind", "gone"}, {"in", "after", "kind", "gone", "hook"}), (
                chart
            )
            assert change["after"] != change["in"], chart
            if "at" in change:
                volatile = {"helm.sh/chart", "chart"}  # changes with each release
                assert change["was"] != change["becomes"] or volatile & change["was"].keys(), change
