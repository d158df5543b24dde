"""What the API server refuses is foreseen in its own words, and nothing that it accepts."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from argolint import MISSING, Change, Object, Resource, ResourceId
from argolint.plugins import load_rules
from scripts.validation_cases import FILE, manifest

from .test_advice import application

load_rules()  # gives the package of the rules its name
from argolint_rules.sync._field_checks import _FORMS, _REFUSALS, _checks, form_problem  # noqa: E402
from argolint_rules.sync._validation import _refused, coming_refusals, quantity_operations, server_message  # noqa: E402

APP = application({})
HELD = yaml.load(FILE.read_text(), yaml.CSafeLoader)
CASES = {f"{number} {case['of']} {json.dumps(case['set'])[:60]}": case for number, case in enumerate(HELD["cases"])}
LEFT_TO_THE_SERVER = (
    "spec.resources[storage]: Invalid",
    "schedule: Required",
    "must not be '.'",
)
"""Refusals that are not foreseen: rare, or of a field that other checks look at."""
QUANTITY = "decode: quantities must match"


def refusal(obj: Object, live: Object | None = None, *pending: str) -> tuple[str, str]:
    group = obj["apiVersion"].rpartition("/")[0]
    metadata = obj["metadata"]
    id_ = ResourceId(group, obj["kind"], metadata.get("namespace", ""), metadata.get("name", ""))
    changes = tuple(Change(pointer, MISSING, MISSING) for pointer in pending)
    one = Resource(
        id_,
        desired_state=json.dumps(obj),
        live_state=live and json.dumps(live),
        pending=changes,
        desired_known=True,
        live_known=True,
    )
    found = coming_refusals(APP, one)
    return (found[0].pointer, server_message(one, found)) if found else ("", "")


def field(text: str) -> str:
    """The field and the sort of an error; the labels of a template have two names (apps, ValidatePodTemplateSpec)."""
    return ": ".join(text.split(": ")[:2]).replace("spec.template.labels", "spec.template.metadata.labels")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_words_are_those_of_the_api_server(case: dict[str, Any]) -> None:
    obj = manifest(HELD["bases"], case)
    found, said = [one.text for one in _refused(obj, None)], case["said"]
    assert refusal(obj)[1].endswith(found[0] if len(found) == 1 else "]" if found else "")
    if not said or any(words in said[0] for words in LEFT_TO_THE_SERVER):
        assert found == []
    elif said[0].startswith(QUANTITY):
        assert found[0].endswith(said[0].removeprefix("decode: ").partition(" '")[0])
    else:
        assert found
        assert set(map(field, found)) <= set(map(field, said))


def test_each_row_names_fields_and_a_check_that_exist() -> None:
    checks = [check for rows in _checks().values() for check in rows]
    for check in checks:
        assert check.name in _REFUSALS
        assert check.kinds or check.scope
        assert check.name != "form" or check.wanted in _FORMS
    assert {check.name for check in checks} == set(_REFUSALS)
    assert {check.wanted for check in checks if check.name == "form"} | {"port number"} <= set(_FORMS)


@pytest.mark.parametrize(
    ("text", "fits"),
    [("1h30m", True), ("0", True), ("1.5h", True), (".5s", True), ("1d", False), ("1", False), ("h", False)],
)
def test_a_duration_is_that_of_go(text: str, fits: bool) -> None:
    assert (form_problem("duration", text) == "") is fits


def claim(size: str, capacity: str = "") -> Object:
    one = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return {**one, "spec": spec, **({"status": {"capacity": {"storage": capacity}}} if capacity else {})}


def test_a_claim_below_its_volume_is_refused_and_a_larger_one_is_not() -> None:
    at = "/spec/resources/requests/storage"
    assert refusal(claim("1Gi"), claim("2Gi", "2Gi"), at)[0] == at
    assert refusal(claim("4Gi"), claim("2Gi", "2Gi"), at) == ("", "")


def labelled(value: str) -> Object:
    return {**claim("1Gi"), "metadata": {"name": "data", "namespace": "shop", "labels": {"v": value}}}


def test_what_the_cluster_accepted_once_is_not_refused_unless_the_change_brings_it() -> None:
    assert refusal(labelled("a b"), labelled("a b"), "/spec/accessModes") == ("", "")
    assert refusal(labelled("a b"), labelled("ab"), "/metadata/labels/v")[0] == "/metadata/labels"


def test_a_field_that_git_lacks_counts_only_if_the_change_removes_it() -> None:
    without = {**claim("1Gi"), "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    assert refusal(without, claim("1Gi"), "/metadata/labels") == ("", "")
    assert refusal(without, claim("1Gi"), "/spec/accessModes")[0] == "/spec/accessModes"


def test_a_custom_kind_of_the_same_name_is_left_alone() -> None:
    bare = {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {}}
    assert refusal(bare) == ("", "")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("1GB", "1G"),
        ("1 gib", "1Gi"),
        ("512mb", "512M"),
        ("64 kib", "64Ki"),
        ("1K", "1k"),
        ("100 m", "100m"),
        ("500mcpu", ""),
        ("2core", ""),
    ],
)
def test_a_unit_is_corrected_where_one_is_meant(written: str, meant: str) -> None:
    operations = quantity_operations(claim(written))
    assert [step["value"] for step in operations] == ([meant] if meant else [])


def test_a_quantity_without_a_plain_unit_leaves_all_of_them_to_a_person() -> None:
    container = {"name": "main", "image": "web:1", "resources": {"limits": {"memory": "1GB", "cpu": "2core"}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [container]}}
    assert quantity_operations(pod) == []


def test_a_headless_service_needs_no_ports() -> None:
    bare: Object = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}}
    assert refusal({**bare, "spec": {"selector": {"app": "web"}}})[0] == "/spec/ports"
    assert refusal({**bare, "spec": {"selector": {"app": "web"}, "clusterIP": "None"}}) == ("", "")


def test_a_change_to_one_of_two_fields_is_held_against_both() -> None:
    def budget(**spec: int) -> Object:
        whole = {**spec, "selector": {"matchLabels": {"app": "web"}}}
        return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}, "spec": whole}

    both, one = budget(minAvailable=1, maxUnavailable=1), budget(minAvailable=1)
    assert refusal(both, one, "/spec/maxUnavailable")[0] == "/spec"
    assert refusal(both, both, "/metadata/labels") == ("", "")
