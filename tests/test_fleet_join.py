"""Joining the objects of a fleet: the same answer as comparing every pair, whatever the order of the applications."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import pytest

from argolint import App, Fleet
from argolint.application.app import app_from_list
from argolint.application.entry import Entry, entry_of
from argolint.application.resource import Listed
from argolint.engine.crossings import JoinedServer, public_address, with_shared_objects
from argolint.engine.inspect import inspect
from argolint.engine.join import join
from argolint.engine.plan import ChosenRule
from argolint.plugins import load_rules
from argolint.server.messages import LONGEST_MESSAGE, may_hold_long_messages

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
HOME = "https://kubernetes.default.svc"


def app(name: str, *resources: Mapping[str, Any], cluster: str = HOME, **metadata: Any) -> App:
    """An application of the list answer."""
    status = {"sync": {"status": "Synced"}, "health": {"status": "Healthy"}, "resources": list(resources)}
    status |= metadata.pop("status", {})
    raw = {"metadata": {"name": name, "namespace": "argocd", **metadata}, "spec": {}, "status": status}
    return app_from_list(raw, server="", cluster=cluster, control_plane="argocd", observed_at=NOW)


def role(name: str, **more: Any) -> Mapping[str, Any]:
    return {"group": "rbac.authorization.k8s.io", "version": "v1", "kind": "ClusterRole", "name": name} | {
        "status": "Synced",
        **more,
    }


def fleet(*apps: App) -> Fleet:
    return Fleet("", "v3.5.1", {"trackingMethod": "annotation"}, tuple(sorted(apps, key=lambda a: a.ref)))


def contested(found: Fleet) -> Mapping[str, Sequence[str]]:
    return {key.name: [ref.name for ref in refs] for key, refs in found.contested.items()}


def test_two_applications_of_one_cluster_contest_an_object_of_one_name() -> None:
    assert contested(fleet(app("a", role("x"), role("y")), app("b", role("x")))) == {"x": ["a", "b"]}


@pytest.mark.parametrize(
    ("settings", "status", "names"),
    [
        ({}, {}, ["argocd", "one", "gitops_two"]),
        ({"controllerNamespace": "gitops"}, {}, ["gitops", "argocd_one", "two"]),
        ({}, {"controllerNamespace": "gitops"}, ["gitops", "argocd_one", "two"]),
    ],
)
def test_tracking_data_names_the_applications_of_the_control_plane_alone(
    settings: Mapping[str, Any], status: Mapping[str, Any], names: Sequence[str]
) -> None:
    home = str(settings.get("controllerNamespace") or "argocd")
    apps = tuple(
        app_from_list(
            {"metadata": {"name": name, "namespace": namespace}, "status": dict(status)},
            server="",
            cluster=HOME,
            control_plane=home,
            observed_at=NOW,
        )
        for name, namespace in (("one", "argocd"), ("two", "gitops"))
    )
    found = Fleet("", "v3.5.1", settings, apps)
    assert [found.control_plane, *(app.instance for app in apps)] == names
    assert [found.app_of_instance(app.instance) for app in apps] == list(apps)


def test_another_version_of_the_kind_is_the_same_object() -> None:
    assert contested(fleet(app("a", role("x", version="v1beta1")), app("b", role("x")))) == {"x": ["a", "b"]}


@pytest.mark.parametrize(
    "other",
    [
        app("b", role("x"), cluster="https://edge.example.com"),
        app("b", role("x", group="authorization.openshift.io")),
        app("b", role("x", namespace="web")),
        app("b", role("x", hook=True)),
        app("b", role("x", status="")),
        app("b", role("x", status="OutOfSync", requiresPruning=True)),
        app("b", role("x"), status={"conditions": [{"type": "InvalidSpecError", "message": "no such project"}]}),
        app("b", role("x"), deletionTimestamp="2026-01-01T11:00:00Z"),
        app("b", status={"resources": None}),
    ],
    ids=["cluster", "group", "namespace", "hook", "skipped", "to be pruned", "stale list", "being deleted", "no list"],
)
def test_what_claims_nothing_contests_nothing(other: App) -> None:
    assert contested(fleet(app("a", role("x")), other)) == {}


def test_one_application_that_lists_an_object_twice_does_not_contest_itself() -> None:
    assert contested(fleet(app("a", role("x"), role("x")))) == {}


def test_the_join_finds_what_comparing_every_pair_finds() -> None:
    draw = random.Random(7)
    apps = [app(f"app-{n:02}", *(role(f"r{draw.randrange(40)}") for _ in range(4))) for n in range(30)]
    found = fleet(*apps)
    pairs = {
        (key, one.ref, two.ref)
        for one, two in combinations(found.apps, 2)
        for key in {r.key for r in one.resources} & {r.key for r in two.resources}
    }
    assert pairs
    assert {(key, one, two) for key, refs in found.contested.items() for one, two in combinations(refs, 2)} == pairs


def test_findings_do_not_depend_on_the_order_of_the_facts() -> None:
    rule = load_rules()["shared-resource"]
    chosen = (ChosenRule(rule, rule.default_options),)
    found = fleet(*(app(f"app-{n}", role("x"), role(f"own-{n}")) for n in range(5)))
    results = [inspect(a, found, chosen) for a in found.apps]
    expected = join(results, chosen).findings
    assert [(f.at.app.name, [r.app.name for r in f.related]) for f in expected] == [
        ("app-0", ["app-1", "app-2", "app-3", "app-4"])
    ]
    random.Random(3).shuffle(results)
    assert join(results, chosen).findings == expected


def test_one_application_alone_still_names_the_others() -> None:
    rule = load_rules()["shared-resource"]
    chosen = (ChosenRule(rule, rule.default_options),)
    found = fleet(*(app(f"app-{n}", role("x")) for n in range(3)))
    alone = join([inspect(found.apps[2], found, chosen)], chosen).findings
    assert [(f.at.app.name, [r.app.name for r in f.related]) for f in alone] == [("app-0", ["app-1", "app-2"])]


def test_listed_objects_are_a_sequence_of_resources() -> None:
    one = app("a", role("x", syncWave=3, health={"status": "Degraded", "message": "no"}), role("y", hook=True))
    assert isinstance(one.resources, Listed)
    first, second = one.resources
    assert (first.name, first.sync_wave, first.health.status, first.claimed) == ("x", 3, "Degraded", True)
    assert (second.hook, second.claimed) == (True, False)
    assert [r.name for r in one.resources[:1]] == ["x"]
    assert one.resource(second.key) == second
    assert one.resource(second.key._replace(cluster="https://edge.example.com")) is None


def test_a_server_that_does_not_tell_its_tracking_method_uses_the_default_of_its_version() -> None:
    told = [Fleet("", version, {}).tracking_method for version in ("v2.14.20", "v3.0.0", "v3.5.1+abc")]
    assert told == ["label", "annotation", "annotation"]
    assert Fleet("", "v3.5.1", {"trackingMethod": "label"}).tracking_method == "label"


def test_who_prunes_what_another_argo_cd_wants_knows_of_it_too() -> None:
    wants = replace(fleet(app("keeps", role("x"), cluster="https://prod.example.com")), server="https://eu.example.com")
    drops = replace(
        fleet(app("drops", role("x", requiresPruning=True), cluster="https://prod.example.com")),
        server="https://us.example.com",
    )
    (eu, us), remarks = with_shared_objects((JoinedServer("eu", wants), JoinedServer("us", drops)))
    assert remarks == ()
    (at_home,), (beyond,) = *eu.crossings.values(), *us.crossings.values()
    assert at_home == beyond
    assert [c.app.name for c in beyond.claimants] == ["keeps"]
    assert [c.app.name for c in beyond.pruners] == ["drops"]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://prod.example.com", "https://prod.example.com"),
        ("https://PROD.example.com.:443/", "https://prod.example.com"),
        ("https://prod.example.com:6443/k8s/", "https://prod.example.com:6443/k8s"),
        ("https://prod.internal", ""),
        ("https://10.0.0.1", ""),
        ("https://kubernetes.default.svc", ""),
        ("https://prod.example.com:port", ""),
    ],
)
def test_a_cluster_of_the_public_dns_has_one_spelling(url: str, expected: str) -> None:
    assert public_address(url) == expected


@pytest.mark.parametrize(
    "rows",
    [
        [],
        None,
        [{"kind": "Role", "name": "x", "status": "Synced", "health": {"status": "Healthy"}, "later": {"a": [1]}}],
        [
            {
                "kind": "Job",
                "name": "x",
                "hook": True,
                "requiresPruning": True,
                "syncWave": -2,
                "health": {"message": "m"},
            }
        ],
        [{"kind": "Role", "name": "x", "health": None}, 7, {"kind": 5, "name": ["x"]}],
        [{"name": "x", "syncWave": 1.5, "hook": "yes"}],
        {"name": "x"},
    ],
)
def test_the_rows_of_an_entry_are_those_of_its_decoded_object(rows: Any) -> None:
    raw = {"metadata": {"name": "a"}, "spec": {}, "status": {"sync": {"status": "Synced"}, "resources": rows}}
    read = entry_of(json.dumps(raw).encode()) or Entry(raw)
    assert read.rows == Entry(raw).rows
    assert read.trimmed() == Entry(raw).trimmed()


@pytest.mark.parametrize("quotes", ["", '"', '\\"', '"\\'])
@pytest.mark.parametrize("size", [10, LONGEST_MESSAGE - 1, LONGEST_MESSAGE + 1, 3 * LONGEST_MESSAGE])
def test_no_long_message_is_overlooked(quotes: str, size: int) -> None:
    rows = [{"name": f"row {number}", "health": {"message": "well"}} for number in range(3000)]
    message = (quotes + 100 * "x") * (size // 100) + size % 100 * "y"
    text = json.dumps({"rows": rows, "message": message, "after": rows}).encode()
    assert may_hold_long_messages(text) or len(message) <= LONGEST_MESSAGE
    assert quotes or not may_hold_long_messages(text) or len(message) >= LONGEST_MESSAGE - 50
