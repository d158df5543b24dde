"""Drift rules on input that no one sends in good faith: they make no claim without one answer, and print no more than a screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from argolint import testing
from argolint.plugins import load_rules
from argolint.reports.document import ReportedFinding

RULES = list(load_rules().values())
REVISION = "1f0e3dad99908345f7439f8ffabdffc4c1a0b0d5"


def told(
    desired: dict[str, Any] | None, live: dict[str, Any] | None, spec: Any = None, *more: dict[str, Any]
) -> list[ReportedFinding]:
    """All findings about one pair of states, without advice on the repository."""
    resources = [{k: v for k, v in (("desired", desired), ("live", live)) if v is not None}, *more]
    operation = {
        "phase": "Succeeded",
        "startedAt": "2026-01-01T11:40:00Z",
        "finishedAt": "2026-01-01T11:40:05Z",
        "syncResult": {"revision": REVISION, "resources": []},
    }
    app = {"name": "quay", "spec": spec or {}, "resources": resources, "status": {"operationState": operation}}
    report = testing.check(testing.Fixture(Path("inline.yaml"), {"apps": [app]}), RULES)
    assert not [failure for failure in report.failures if "the fixture" not in failure.error]
    return [f for f in report.findings if f.rule != "floating-revision"]


def route(stops: list[Any], kind: str = "Route", name: str = "north") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "yard"}
    return {"apiVersion": "fleet.example.org/v1", "kind": kind, "metadata": metadata, "spec": {"stops": stops}}


@pytest.mark.parametrize(
    "path",
    [
        ".spec.stops[].hold | error",
        "def again: again; .spec.stops[] | again",
        '.spec.stops[] | select(.eta | test("(a+)+$")) | .eta',
        ".spec.stops | keys | .[9]",
    ],
)
def test_an_expression_that_fails_or_never_ends_is_blamed_for_no_difference(path: str) -> None:
    spec = {
        "ignoreDifferences": [{"group": "fleet.example.org", "kind": "Route", "jqPathExpressions": [path]}],
        "syncPolicy": {"syncOptions": ["RespectIgnoreDifferences=true"]},
    }
    found = told(route([{"hold": 5, "eta": "a" * 40 + "!"}]), route([{"hold": 2, "eta": "a" * 40 + "!"}]), spec)
    rules = {f.rule for f in found}
    assert not rules & {"ignore-rule-one-sided", "ignored-list-kept"}
    assert any(f.pointer == "/spec/stops/0/hold" for f in found), rules  # the difference itself is still explained


def test_thousands_of_items_in_another_order_are_one_short_finding() -> None:
    stops = [{"name": f"stop-{n}", "hold": n} for n in range(4_000)]
    (found,) = told(route(stops), route(stops[::-1]))
    assert (found.rule, found.pointer) == ("list-order", "/spec/stops")
    assert len(found.message) < 200
    assert sum(map(len, found.evidence)) < 2_000


def test_a_thousand_items_of_which_one_differs_are_no_permutation() -> None:
    stops = [{"name": f"stop-{n}", "hold": n} for n in range(1_000)]
    other = [*stops[:-1], {"name": "stop-999", "hold": 1}][::-1]
    assert "list-order" not in {f.rule for f in told(route(stops), route(other))}


def test_names_that_differ_in_one_of_253_characters_are_two_objects() -> None:
    one, other = "a" * 252 + "b", "a" * 252 + "c"
    found = told(route([], name=one), None, None, {"live": route([], name=other)})
    assert not [f for f in found if f.rule.startswith("nondeterministic")]


def test_a_value_that_is_masked_on_one_side_alone_is_printed_on_neither() -> None:
    secret: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": "yard"}}
    plain = "aHVudGVyMmh1bnRlcjI="
    for desired, live in (("++++++++", plain), (plain, "++++++++")):
        found = told({**secret, "data": {"password": desired}}, {**secret, "data": {"password": live}})
        assert found
        text = json.dumps([[f.message, *f.evidence, *(str(x.edit.content) for x in f.fixes)] for f in found])
        assert plain not in text
        assert "hunter2" not in text


def test_an_ignored_list_of_many_items_is_one_short_finding() -> None:
    spec = {
        "ignoreDifferences": [
            {"group": "fleet.example.org", "kind": "Route", "jqPathExpressions": [".spec.stops[].eta"]}
        ],
        "syncPolicy": {"syncOptions": ["RespectIgnoreDifferences=true"]},
    }
    git = [{"name": f"stop-{n}", "eta": "08:00", "hold": 5} for n in range(500)]
    live = [{"name": f"stop-{n}", "eta": "09:00", "hold": 2} for n in range(500)]
    kept = [f for f in told(route(git), route(live), spec) if f.rule == "ignored-list-kept"]
    assert len(kept) == 1
    assert len(kept[0].message) < 300
    assert len(kept[0].evidence) < 60
    assert all(len(str(fix.edit.content)) < 2_000 for fix in kept[0].fixes)
