"""Which differences of two renders a finding speaks of: the places that Helm values have to end."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from argolint.application.app import App, app_from_list
from argolint.model import AppRef, Edit, Finding, Fix, Location, Related, ResourceId, ResourceKey, Symptom, Want
from argolint.proof.renders import is_named, places_named, regenerated_places, render_again

CLUSTER = "https://kubernetes.default.svc"


def app(*rows: dict[str, Any]) -> App:
    raw = {
        "metadata": {"name": "web", "namespace": "argocd"},
        "spec": {"destination": {"server": CLUSTER, "namespace": "shop"}},
        "status": {"resources": list(rows)},
    }
    now = datetime(2026, 3, 1, tzinfo=UTC)
    return app_from_list(raw, server="", cluster=CLUSTER, control_plane="argocd", observed_at=now)


def manifest(kind: str, name: str, namespace: str = "", **data: str) -> dict[str, Any]:
    where = {"namespace": namespace} if namespace else {}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **where}, "data": data}


def key(kind: str, name: str, namespace: str = "") -> ResourceKey:
    return ResourceKey(CLUSTER, "", kind, namespace, name)


def test_two_renders_differ_in_fields_and_in_the_names_of_objects_that_only_one_holds() -> None:
    one = [manifest("Secret", "db", password="a", user="u"), manifest("Job", "seed-x1")]
    two = [manifest("Secret", "db", password="b", user="u"), manifest("Job", "seed-x2")]
    assert regenerated_places((one, two), app()) == {
        (key("Secret", "db"), "/data/password"),
        (key("Job", "seed-x1"), "/metadata/name"),
        (key("Job", "seed-x2"), "/metadata/name"),
    }
    assert regenerated_places((one, one), app()) == set()


def test_an_object_without_a_namespace_stands_where_the_application_lists_it() -> None:
    listed = app({"kind": "Secret", "name": "db", "namespace": "shop", "version": "v1", "status": "Synced"})
    one, two = [manifest("Secret", "db", a="1")], [manifest("Secret", "db", a="2")]
    assert regenerated_places((one, two), listed) == {(key("Secret", "db", "shop"), "/data/a")}
    assert regenerated_places((one, two), app()) == {(key("Secret", "db"), "/data/a")}, "it is not listed there"
    own = [manifest("Secret", "db", "other", a="1")], [manifest("Secret", "db", "other", a="2")]
    assert regenerated_places(own, listed) == {(key("Secret", "db", "other"), "/data/a")}


DB, CACHE = key("Secret", "db", "shop"), key("Secret", "cache", "shop")


@pytest.mark.parametrize(
    ("place", "claim", "expected"),
    [
        ((DB, "/data/password"), (DB, "/data/password"), True),
        ((DB, "/data/password"), (DB, "/data"), True),
        ((DB, "/data"), (DB, "/data/password"), False),
        ((DB, "/data/password"), (CACHE, "/data/password"), False),
        ((DB, "/metadata/name"), (CACHE, "/metadata/name"), True),
        ((DB, "/metadata/name"), (key("Job", "db", "shop"), "/metadata/name"), False),
        ((DB, "/data/password"), (CACHE, "/metadata/name"), False),
        ((DB, "/data"), (CACHE, "/data"), False),
    ],
)
def test_a_place_is_named_by_a_claim_on_it_or_by_a_drawn_name_of_its_kind(
    place: Any, claim: Any, expected: bool
) -> None:
    assert is_named(place, [claim]) is expected


@pytest.mark.parametrize(("values", "effects"), [("rotate: false", set()), ("job: false", {"deletes"})])
def test_values_that_end_what_is_drawn_say_what_they_delete(values: str, effects: set[str]) -> None:
    """Both values keep the password as it is; one of them renders the Job no longer."""

    def rendered(turn: str, *more: dict[str, Any]) -> list[dict[str, Any]]:
        return [manifest("Secret", "db", password=turn), *more]

    job = manifest("Job", "seed")
    web = app()
    web = replace(web, evidence={Want("render"): (rendered("a", job), rendered("b", job))})
    secret = ResourceId("", "Secret", "", "db", "v1", CLUSTER)
    finding = Finding(message="", at=Location(web.ref, secret, "/data/password"))
    more = () if "job" in values else (job,)
    fix = Fix("Keep it", "helm-values", "", Edit("yaml", values))
    proven = render_again(fix, finding, web, lambda *_: (rendered("c", *more), rendered("c", *more)))
    assert proven.effects == effects


def test_a_finding_names_its_place_its_changes_and_related_objects_of_its_own_application() -> None:
    web, other = app(), AppRef("other", "argocd")
    secret, job = (ResourceId("", kind, "shop", "db", "v1", CLUSTER) for kind in ("Secret", "Job"))
    finding = Finding(
        message="",
        at=Location(web.ref, secret, "/data/a"),
        explains=(Symptom("change", job.key, "/spec/x"), Symptom("health", job.key, "/spec/y")),
        related=(Related(web.ref, job, "/spec/z"), Related(other, job, "/spec/not-ours"), Related(web.ref, None)),
    )
    assert places_named(finding, web) == {(secret.key, "/data/a"), (job.key, "/spec/x"), (job.key, "/spec/z")}
    assert places_named(Finding(message="", at=Location(web.ref)), web) == set()
