"""ignoreDifferences as Argo CD reads them: whom an entry speaks of, what it removes, what it cannot parse."""

from __future__ import annotations

from typing import Any

import pytest

from argolint.comparison.compare import Rules, compare
from argolint.comparison.ignore import (
    IgnoreRule,
    application_rules,
    known_types,
    matches,
    normalize,
    removed,
    server_rules,
)
from argolint.model import Object
from argolint.values import glob


def web(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("pattern", "text", "same"),
    [
        ("*", "", True),
        ("*", "apps", True),
        ("", "apps", False),
        ("", "", True),
        ("*.k8s.io", "networking.k8s.io", True),
        ("*.k8s.io", "networkingXk8s.io", False),
        ("{Deployment,StatefulSet}", "StatefulSet", True),
        ("{Deployment,StatefulSet}", "DaemonSet", False),
        ("[DS]*Set", "DaemonSet", True),
        ("[!D]*Set", "DaemonSet", False),
        ("Deploymen?", "Deployment", True),
        ("deployment", "Deployment", False),
    ],
)
def test_group_and_kind_are_globs(pattern: str, text: str, same: bool) -> None:
    assert glob.matches(pattern, text) is same


def test_an_entry_without_a_group_speaks_of_the_core_group_only() -> None:
    rule = IgnoreRule("", "Deployment", json_pointers=("/spec/replicas",))
    assert not matches(rule, "apps", "Deployment", "shop", "web")
    assert matches(IgnoreRule("", "Secret"), "", "Secret", "shop", "web")


def test_name_and_namespace_are_exact() -> None:
    assert matches(IgnoreRule("apps", "*", "web", "shop"), "apps", "Deployment", "shop", "web")
    assert not matches(IgnoreRule("apps", "*", "web*"), "apps", "Deployment", "shop", "web-1")
    assert not matches(IgnoreRule("apps", "*", "", "shop"), "apps", "Deployment", "other", "web")


@pytest.mark.parametrize(
    ("pointer", "gone"),
    [
        ("/spec/replicas", ("/spec/replicas",)),
        ("/metadata/annotations/a.b~1c", ("/metadata/annotations/a.b~1c",)),
        ("/spec/items/1", ("/spec/items/1",)),
        ("/spec/items/1/x", ("/spec/items/1/x",)),
        ("/spec/items/9", ()),
        ("/spec/absent/x", ()),
        ("/spec/items/-", ()),
    ],
)
def test_json_pointers_remove_what_is_there(pointer: str, gone: tuple[str, ...]) -> None:
    obj = web(replicas=2, items=[{"x": 1}, {"x": 2, "y": 3}])
    obj["metadata"]["annotations"] = {"a.b/c": "1"}
    assert removed(obj, IgnoreRule("apps", "Deployment", json_pointers=(pointer,))) == gone


@pytest.mark.parametrize(
    ("path", "gone"),
    [
        (".spec.replicas", ("/spec/replicas",)),
        ('.spec.items[] | select(.name == "b") | .x', ("/spec/items/1/x",)),
        ('.spec.items[] | select(.name == "b")', ("/spec/items/1",)),
        (".spec.items[].x", ("/spec/items/0/x", "/spec/items/1/x")),
        (".spec.items[] | select(.name | test(1))", ()),
    ],
)
def test_jq_paths_delete_and_a_failing_one_is_skipped(path: str, gone: tuple[str, ...]) -> None:
    obj = web(replicas=2, items=[{"name": "a", "x": 1}, {"name": "b", "x": 2}])
    assert removed(obj, IgnoreRule("apps", "Deployment", jq_paths=(path,))) == gone


def test_a_jq_path_that_cannot_be_parsed_is_an_error_value() -> None:
    broken = IgnoreRule("apps", "Deployment", jq_paths=(".spec.replicas", ".spec.containers[name=app]"))
    assert len(broken.errors) == 1
    assert broken.errors[0].startswith(".spec.containers[name=app]: ")
    assert normalize(web(replicas=2), (broken,)) == web()


def test_a_negative_index_counts_from_the_end() -> None:
    rule = IgnoreRule("apps", "Deployment", json_pointers=("/spec/list/-1",))
    assert normalize(web(list=["a", "b", "c"]), (rule,)) == web(list=["a", "b"])
    assert normalize(web(list=[]), (rule,)) == web(list=[])


def test_a_jq_path_that_would_never_end_is_skipped() -> None:
    endless = IgnoreRule("apps", "Deployment", jq_paths=("def f: f; f", "repeat(.spec)"))
    assert normalize(web(replicas=2), (endless,)) == web(replicas=2)


def test_trusted_managers_take_only_what_both_sides_hold_with_different_values() -> None:
    live = web(replicas=5, minReadySeconds=1)
    fields: dict[str, Any] = {"f:spec": {"f:replicas": {}, "f:minReadySeconds": {}}}
    live["metadata"]["managedFields"] = [{"manager": "hpa", "operation": "Update", "fieldsV1": fields}]
    desired = web(replicas=2, paused=True)
    rule = IgnoreRule("apps", "Deployment", managers=("hpa",))
    assert compare(live, desired).pointers == ("/spec/paused", "/spec/replicas")
    assert compare(live, desired, Rules((rule,))).pointers == ("/spec/paused",)


def test_trusted_managers_reach_into_lists_by_key() -> None:
    def pod(*containers: dict[str, str]) -> dict[str, Any]:
        return web(template={"spec": {"containers": list(containers)}})

    live = pod({"name": "proxy", "image": "p:1"}, {"name": "app", "image": "web:2"})
    step: dict[str, Any] = {
        "f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"app"}': {"f:image": {}}}}}}
    }
    live["metadata"]["managedFields"] = [{"manager": "updater", "operation": "Update", "fieldsV1": step}]
    rule = IgnoreRule("apps", "Deployment", managers=("updater",))
    assert not compare(live, pod({"name": "app", "image": "web:1"}), Rules((rule,))).modified


@pytest.mark.parametrize(
    ("path", "owned", "shown"),
    [
        (("containers", 0), {'k:{"name":"app"}': {}}, True),  # the item's existence, not its fields
        (("containers", 0), {'k:{"name":"app"}': {".": {}, "f:image": {}}}, False),
        (("imagePullSecrets", 0), {'k:{"name":"app"}': {}}, False),  # a reference is one leaf
    ],
)
def test_a_trusted_manager_owns_of_an_item_what_it_wrote(path: tuple[Any, ...], owned: Object, shown: bool) -> None:
    def pod(image: str) -> dict[str, Any]:
        return web(template={"spec": {path[0]: [{"name": "app", "image": image}]}})

    live = pod("app:2")
    step = {"f:spec": {"f:template": {"f:spec": {f"f:{path[0]}": owned}}}}
    live["metadata"]["managedFields"] = [{"manager": "updater", "operation": "Update", "fieldsV1": step}]
    rule = IgnoreRule("apps", "Deployment", managers=("updater",))
    assert compare(live, pod("app:1"), Rules((rule,))).modified is shown


@pytest.mark.parametrize(("owned", "shown"), [({}, False), ({"f:number": {}}, True)])
def test_the_port_of_an_ingress_backend_is_one_leaf(owned: Object, shown: bool) -> None:
    def ingress(port: int) -> dict[str, Any]:
        spec = {"defaultBackend": {"service": {"name": "web", "port": {"number": port}}}}
        return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "web"}, "spec": spec}

    live = ingress(81)
    step = {"f:spec": {"f:defaultBackend": {"f:service": {"f:port": owned}}}}
    live["metadata"]["managedFields"] = [{"manager": "tuner", "operation": "Update", "fieldsV1": step}]
    rule = IgnoreRule("networking.k8s.io", "Ingress", managers=("tuner",))
    assert compare(live, ingress(80), Rules((rule,))).modified is shown


def test_an_entry_speaks_of_the_object_as_it_was_before_others_removed_a_field() -> None:
    entries = (
        IgnoreRule("*", "*", json_pointers=("/metadata/namespace",)),
        IgnoreRule("apps", "Deployment", namespace="shop", json_pointers=("/spec/replicas",)),
    )
    assert normalize(web(replicas=2), entries)["spec"] == {}


def test_an_expression_finds_what_a_later_pointer_removes() -> None:
    named = {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]}
    entries = (
        IgnoreRule("*", "*", jq_paths=('.spec.containers[] | select(.name == "a") | .image',)),
        IgnoreRule("*", "*", json_pointers=("/spec/containers/0/name",)),
    )
    assert normalize(web(**named), entries)["spec"]["containers"] == [{}, {"name": "b", "image": "b:1"}]


def test_an_applications_entries_keep_their_place() -> None:
    entries = [
        {"kind": "Secret", "jsonPointers": ["/data"]},
        {"group": "apps", "kind": "*", "managedFieldsManagers": ["m"]},
    ]
    first, second = application_rules({"spec": {"ignoreDifferences": entries}})
    assert first == IgnoreRule("", "Secret", json_pointers=("/data",), origin="/spec/ignoreDifferences/0")
    assert (second.group, second.managers, second.origin) == ("apps", ("m",), "/spec/ignoreDifferences/1")


def test_the_servers_overrides_are_yaml_texts_by_group_and_kind() -> None:
    overrides = {
        "*/*": {"ignoreDifferences": "jsonPointers:\n- /status\n"},
        "Secret": {"ignoreDifferences": "jqPathExpressions:\n- .data.x\n"},
        "apps/Deployment": {"ignoreDifferences": "jsonPointers: null\n"},
        "db.example.com/Cluster": {"knownTypeFields": [{"field": "spec.memory", "type": "core/Quantity"}]},
    }
    assert [(r.group, r.kind, r.json_pointers, r.jq_paths) for r in server_rules({"resourceOverrides": overrides})] == [
        ("*", "*", ("/status",), ()),
        ("", "Secret", (), (".data.x",)),
    ]
    cluster, rollout = known_types({"resourceOverrides": overrides})
    assert (cluster.group, cluster.kind, cluster.fields) == (
        "db.example.com",
        "Cluster",
        (("spec.memory", "core/Quantity"),),
    )
    assert rollout.kind == "Rollout"
