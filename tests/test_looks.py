"""The cheap looks of an application: which objects a rule needs, before anything is decoded."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from msgspec import structs

from argolint import App, AppRef, Resource, ResourceId
from argolint.application.entry import Entry

_DEPLOYMENT = '{"kind": "Deployment", "spec": {"template": {"spec": {"containers": []}}}}'
_SCHEMA = '{"kind": "CustomResourceDefinition", "spec": {"containers": {"type": "array"}}}'


def _app(*resources: Resource) -> App:
    return App(AppRef("argocd", "shop"), Entry({}), "in", datetime(2026, 1, 1, tzinfo=UTC), resources, read=True)


def _object(group: str, kind: str, name: str, desired: str | None, live: str | None) -> Resource:
    known = desired is not None
    return Resource(
        ResourceId(group, kind, "shop", name),
        desired_state=desired,
        live_state=live,
        desired_known=known,
        live_known=known,
    )


WEB = _object("apps", "Deployment", "web", _DEPLOYMENT, "null")
CRD = _object("apiextensions.k8s.io", "CustomResourceDefinition", "pods", _SCHEMA, _SCHEMA)
LISTED = _object("", "ConfigMap", "listed", None, None)


def test_an_object_is_found_by_a_text_of_the_side_that_is_asked_for() -> None:
    app = _app(WEB, CRD, LISTED)
    assert app.stated == (WEB, CRD)
    assert app.mentioning('"containers"') == app.mentioning('"containers"', "desired") == (WEB, CRD)
    assert app.mentioning('"containers"', "live") == (CRD,)


def test_a_schema_with_the_words_of_a_pod_has_no_pods() -> None:
    assert _app(WEB, CRD, LISTED).with_pods() == (WEB,)


def test_a_changed_object_is_searched_again() -> None:
    assert WEB.mentions('"paused"') is False
    paused = structs.replace(WEB, desired_state={"spec": {"paused": True}})
    assert paused.mentions('"paused"') is True
    assert replace(_app(WEB), resources=(paused,)).mentioning('"paused"') == (paused,)


def test_objects_of_a_table_come_in_its_order_with_their_entries() -> None:
    table = {("", "ConfigMap"): "first", ("apps", "Deployment"): "second", ("apps", "DaemonSet"): "third"}
    assert [*_app(WEB, CRD, LISTED).of_kinds(table)] == [(LISTED, "first"), (WEB, "second")]
    assert [*_app(CRD).of_kinds(table)] == []


def test_an_object_is_absent_that_is_not_live_or_not_known_to_be() -> None:
    assert [r.absent for r in (WEB, CRD, LISTED)] == [True, False, True]
