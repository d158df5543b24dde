"""Edits join what is there: no entry twice, no option beside its contradiction, nothing that stands there already."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonpatch
import pytest

from argolint import testing
from argolint.application.app import App, app_from_list
from argolint.edits import (
    annotate,
    annotation_option,
    application_place,
    ignore_entries,
    ignore_less,
    removals,
    set_field,
    sync_option,
)
from argolint.fixes.compose import fitted_operations
from argolint.plugins import load_rules
from argolint.sources.yaml_text import EditError, Operation
from tests.conftest import PROFILE

FIXTURES = Path(__file__).parent / "rules"
RULES = list(load_rules().values())
COMPARE = "argocd.argoproj.io/compare-options"
RESPECT = "RespectIgnoreDifferences=true"


def application(spec: dict[str, Any], **metadata: Any) -> App:
    raw = {"metadata": {"name": "web", "namespace": "argocd", **metadata}, "spec": spec}
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return app_from_list(raw, server="", cluster="c", control_plane="argocd", observed_at=now)


def patched(app: App, operations: list[dict[str, Any]]) -> Any:
    return jsonpatch.JsonPatch(operations).apply(copy.deepcopy(dict(app.raw)))


@pytest.mark.parametrize(
    ("policy", "operations"),
    [
        (None, [{"op": "add", "path": "/spec/syncPolicy", "value": {"syncOptions": [RESPECT]}}]),
        ({}, [{"op": "add", "path": "/spec/syncPolicy/syncOptions", "value": [RESPECT]}]),
        ({"syncOptions": []}, [{"op": "replace", "path": "/spec/syncPolicy/syncOptions", "value": [RESPECT]}]),
        ({"syncOptions": ["A=b"]}, [{"op": "add", "path": "/spec/syncPolicy/syncOptions/-", "value": RESPECT}]),
        (
            {"syncOptions": ["A=b", "RespectIgnoreDifferences=false"]},
            [{"op": "replace", "path": "/spec/syncPolicy/syncOptions/1", "value": RESPECT}],
        ),
        (
            {"syncOptions": ["RespectIgnoreDifferences=false", 7, "RespectIgnoreDifferences=yes"]},
            [
                {"op": "remove", "path": "/spec/syncPolicy/syncOptions/2"},
                {"op": "replace", "path": "/spec/syncPolicy/syncOptions/0", "value": RESPECT},
            ],
        ),
        ({"syncOptions": [RESPECT]}, []),
    ],
)
def test_a_sync_option_joins_the_list_or_takes_the_place_of_its_contradiction(policy: Any, operations: Any) -> None:
    app = application({} if policy is None else {"syncPolicy": policy})
    assert sync_option(app, RESPECT) == operations
    if operations:
        assert RESPECT in patched(app, operations)["spec"]["syncPolicy"]["syncOptions"]


@pytest.mark.parametrize(
    ("annotations", "value"),
    [
        (None, "ServerSideDiff=true"),
        ({"other": "x"}, "ServerSideDiff=true"),
        ({COMPARE: ""}, "ServerSideDiff=true"),
        ({COMPARE: "IgnoreExtraneous"}, "IgnoreExtraneous,ServerSideDiff=true"),
        ({COMPARE: "ServerSideDiff=false, IgnoreExtraneous"}, "ServerSideDiff=true,IgnoreExtraneous"),
        ({COMPARE: "IgnoreExtraneous, ServerSideDiff=true"}, None),
    ],
)
def test_an_option_of_an_annotation_joins_the_others(annotations: Any, value: str | None) -> None:
    app = application({}, **({} if annotations is None else {"annotations": annotations}))
    operations = annotation_option(app.raw, COMPARE, "ServerSideDiff=true")
    if value is None:
        assert operations == []
        return
    assert patched(app, operations)["metadata"]["annotations"] == {**(annotations or {}), COMPARE: value}


def test_annotations_that_are_right_are_left_alone() -> None:
    held = {"metadata": {"annotations": {"a": "1", "b": "2"}}}
    assert annotate(held, {"a": "1", "b": "3"}) == [{"op": "replace", "path": "/metadata/annotations/b", "value": "3"}]
    assert annotate(None, {"a/b": "1"}) == [{"op": "add", "path": "/metadata/annotations/a~1b", "value": "1"}]


def test_a_field_brings_the_maps_above_it() -> None:
    assert set_field({"spec": {}}, "/spec/target/name", "db") == [
        {"op": "add", "path": "/spec/target", "value": {"name": "db"}}
    ]
    assert set_field({"spec": {"target": {"name": "x"}}}, "/spec/target/name", "db") == [
        {"op": "replace", "path": "/spec/target/name", "value": "db"}
    ]
    assert set_field({"spec": {"target": {"name": "db"}}}, "/spec/target/name", "db") == []


def test_an_expression_takes_along_the_list_and_the_entry_that_it_leaves_empty() -> None:
    pointers, paths = {"kind": "Secret", "jsonPointers": ["/a", "/b"]}, {"kind": "Job", "jqPathExpressions": [".c"]}
    both = {"kind": "Pod", "jsonPointers": ["/d"], "managedFieldsManagers": ["e"]}
    for gone, left in (
        (["0/jsonPointers/0"], [{"kind": "Secret", "jsonPointers": ["/b"]}, paths, both]),
        (["0/jsonPointers/1", "0/jsonPointers/0"], [paths, both]),
        (["1/jqPathExpressions/0"], [pointers, both]),
        (["2/jsonPointers/0"], [pointers, paths, {"kind": "Pod", "managedFieldsManagers": ["e"]}]),
        (["2/managedFieldsManagers", "2/jsonPointers/0", "1/jqPathExpressions/0"], [pointers]),
        (["0/jsonPointers", "1/jqPathExpressions", "2/jsonPointers", "2/managedFieldsManagers"], None),
        ([], [pointers, paths, both]),
    ):
        app = application({"ignoreDifferences": [pointers, paths, both]})
        operations = ignore_less(app, [f"/spec/ignoreDifferences/{place}" for place in gone])
        assert patched(app, operations)["spec"].get("ignoreDifferences") == left, gone


TARGET = {"group": "apps", "kind": "Deployment", "name": "web", "namespace": "prod"}


@pytest.mark.parametrize(
    ("held", "operations"),
    [
        (None, [{"op": "add", "path": "", "value": [{**TARGET, "jsonPointers": ["/spec/replicas"]}]}]),
        (
            [{**TARGET, "jsonPointers": ["/spec/paused"]}],
            [{"op": "add", "path": "/0/jsonPointers/-", "value": "/spec/replicas"}],
        ),
        (
            [{**TARGET, "jqPathExpressions": [".spec"]}],
            [{"op": "add", "path": "/0/jsonPointers", "value": ["/spec/replicas"]}],
        ),
        ([{**TARGET, "jsonPointers": ["/spec/replicas"]}], []),
        ([{"group": "*", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}], []),
        (
            [{**TARGET, "name": "db", "jsonPointers": ["/spec/replicas"]}],
            [{"op": "add", "path": "/-", "value": {**TARGET, "jsonPointers": ["/spec/replicas"]}}],
        ),
    ],
)
def test_an_ignore_entry_joins_the_one_of_the_same_objects(held: Any, operations: Any) -> None:
    app = application({} if held is None else {"ignoreDifferences": held})
    made = ignore_entries(app, {**TARGET, "jsonPointers": ["/spec/replicas"]})
    assert [{**o, "path": o["path"].removeprefix("/spec/ignoreDifferences")} for o in made] == operations


@pytest.mark.parametrize(
    ("obj", "pointers", "gone"),
    [
        ({"imagePullSecrets": [{"name": ""}]}, ["/imagePullSecrets/0/name"], ["/imagePullSecrets"]),
        ({"refs": [{"a": 1}, {"a": 2, "b": 3}]}, ["/refs/0/a", "/refs/1/a"], ["/refs/1/a", "/refs/0"]),
        (
            {"metadata": {"name": "x", "annotations": {"a": "b"}}},
            ["/metadata/annotations/a"],
            ["/metadata/annotations"],
        ),
        ({"volumes": [{"name": "v", "emptyDir": {"medium": ""}}]}, ["/volumes/0/emptyDir/medium"], None),
        ({"args": ["a", "b", "c"]}, ["/args/0", "/args/2"], ["/args/2", "/args/0"]),
        ({"spec": {"replicas": 2}}, ["/spec/replicas"], None),
    ],
)
def test_a_removal_leaves_no_empty_item_behind(obj: Any, pointers: list[str], gone: list[str] | None) -> None:
    assert [operation["path"] for operation in removals(obj, pointers)] == (gone or pointers)


def test_an_application_that_a_set_generates_is_edited_in_its_template() -> None:
    owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "webs"}
    assert application_place(application({})) == "Application argocd/web"
    assert application_place(application({}, ownerReferences=[owner])) == "template of ApplicationSet argocd/webs"


def _application_edits(path: Path, data: dict[str, Any]) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """(rule, application, operations) of every patch of an Application that the rule of a fixture offers for it."""
    report = testing.check(testing.Fixture(FIXTURES, data), [rule for rule in RULES if rule.id == path.parent.name])
    for finding in report.findings:
        for fix in finding.fixes:
            corrects = finding.rule.startswith("ignore-rule-")  # an entry that is wrong, in its place
            if fix.target == "application" and fix.edit.kind == "json-patch" and not corrects:
                yield finding.rule, finding.app.name, fix.edit.content


def _raw(data: dict[str, Any], name: str) -> Any:
    """The Application as the fixture's server answers it."""
    answer = testing.FixtureTransport(data).get("/api/v1/applications").body
    return next(a for a in json.loads(answer)["items"] if a["metadata"]["name"] == name)


def _target(entry: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(entry.get(field) or "") for field in ("group", "kind", "name", "namespace"))


def test_every_rules_edit_of_an_application_joins_what_is_there() -> None:
    """Some bad fixtures of each rule once more, their Applications holding options and entries of the sort that it proposes."""
    checked = set()
    most = None if PROFILE == "long" else 4
    for path in (path for rule in RULES for path in sorted((FIXTURES / rule.id).glob("bad-*.yaml"))[:most]):
        data: Any = testing.load_fixture(path).data
        first = list(_application_edits(path, data))
        if not first:
            continue
        changed = copy.deepcopy(data)
        for app in changed["apps"]:
            spec = app["spec"] = copy.deepcopy(app.get("spec") or {})  # an anchor of YAML shares it
            for _, _, operations in (e for e in first if e[1] == app["name"]):
                held = spec.setdefault("ignoreDifferences", [])
                after = jsonpatch.JsonPatch(operations).apply(_raw(data, app["name"]))
                wanted = {_target(e): e for e in after["spec"].get("ignoreDifferences") or ()}
                for target in wanted.keys() - {_target(e) for e in held}:
                    names = dict(zip(("group", "kind", "name", "namespace"), target, strict=True))
                    held.append({**{k: v for k, v in names.items() if v}, "jsonPointers": ["/metadata/labels/other"]})
            policy = spec.setdefault("syncPolicy", {})
            others = [o for o in policy.get("syncOptions") or () if not o.startswith("RespectIgnoreDifferences=")]
            policy["syncOptions"] = [*others, "RespectIgnoreDifferences=false"]
            annotations = app.setdefault("metadata", {}).setdefault("annotations", {})
            if "ServerSideDiff" not in annotations.get(COMPARE, ""):
                annotations[COMPARE] = "ServerSideDiff=false"
        for rule, name, operations in _application_edits(path, changed):
            after = jsonpatch.JsonPatch(operations).apply(_raw(changed, name))
            where = f"{path.parent.name}/{path.stem}: {rule}"
            entries = Counter(_target(e) for e in after["spec"].get("ignoreDifferences") or ())
            assert max(entries.values(), default=0) <= 1, where
            options = [o.partition("=")[0] for o in after["spec"]["syncPolicy"].get("syncOptions") or ()]
            assert len(options) == len(set(options)), where
            compared = [o.partition("=")[0] for o in after["metadata"]["annotations"][COMPARE].split(",")]
            assert len(compared) == len(set(compared)), where
            assert after != _raw(changed, name), where
            checked.add(rule)
    assert checked >= {
        "self-heal-loop",
        "ignore-not-respected",
        "eso-default",
        "nondeterministic-secret",
        "crd-default",
    }


@pytest.mark.parametrize(
    ("operation", "data", "why"),
    [
        ({"op": "add", "path": "/a/b", "value": 2}, {"a": {}}, ""),
        ({"op": "add", "path": "/a/b", "value": 2}, {"a": {"b": 1}}, ""),
        ({"op": "add", "path": "/a/b", "value": 2}, {"a": {"b": 3}}, "already has a value at /a/b"),
        ({"op": "add", "path": "/c/b", "value": 2}, {"a": {}}, "has nothing at /c"),
        ({"op": "replace", "path": "/a/b", "value": 2}, {"a": {"b": 3}}, "has another value at /a/b"),
        ({"op": "remove", "path": "/a/b"}, {"a": {}}, "has no /a/b"),
        ({"op": "remove", "path": "/l/0/v"}, {"l": [{"name": "y", "v": 1}]}, "the item at /l/0 is another one"),
    ],
)
def test_a_fix_fits_a_file_that_has_what_argo_cd_rendered(operation: Operation, data: Any, why: str) -> None:
    rendered = {"a": {"b": 1}, "l": [{"name": "x", "v": 1}]}
    if not why:
        assert list(fitted_operations([operation], data, rendered)) == [operation]
        return
    with pytest.raises(EditError, match=why):
        list(fitted_operations([operation], data, rendered))


def test_a_later_operation_is_compared_with_what_the_earlier_ones_leave() -> None:
    items = {"l": [{"name": "x"}, {"name": "y"}, {"name": "z"}]}
    twice: list[Operation] = [{"op": "remove", "path": "/l/0"}, {"op": "remove", "path": "/l/0"}]
    assert list(fitted_operations(twice, items, items)) == twice
    done: Operation = {"op": "replace", "path": "/a/b", "value": 2}
    assert list(fitted_operations([done], {"a": {"b": 2}}, {"a": {"b": 1}})) == [], "the file has it already"
