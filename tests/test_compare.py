"""The emulated comparison: each behaviour alone, then every recorded pair against what Argo CD itself answered."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from argolint.comparison.compare import (
    LAST_APPLIED,
    Comparison,
    Rules,
    Strategy,
    Tracking,
    apply,
    compare,
    has_sync_option,
    hidden,
    rules_of,
    sent,
    strategy_of,
    syncs_server_side,
)
from argolint.comparison.ignore import IgnoreRule, KnownTypes
from argolint.comparison.managed_fields import writers
from argolint.comparison.scheme import defaulted
from argolint.model import Object
from tests.conftest import PHASES, recording

STATUS = Rules((IgnoreRule("*", "*", json_pointers=("/status",)),))


def manifest(kind: str, body: Object, api: str = "v1", **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "web", "namespace": "shop", **metadata}, **body}


def applied(live: dict[str, Any], last: Object) -> dict[str, Any]:
    """Live with this last-applied configuration."""
    annotations = {**live["metadata"].get("annotations", {}), LAST_APPLIED: json.dumps(last)}
    return {**live, "metadata": {**live["metadata"], "annotations": annotations}}


def deployment(spec: Object, container: Object | None = None, **metadata: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "app", "image": "web:1", **(container or {})}]}}
    return manifest("Deployment", {"spec": {"template": template, **spec}}, "apps/v1", **metadata)


class TestThreeWay:
    def test_a_live_value_that_the_manifest_contradicts_is_a_difference(self) -> None:
        found = compare(deployment({"replicas": 5}), deployment({"replicas": 2}))
        assert (found.modified, found.pointers) == (True, ("/spec/replicas",))

    def test_metadata_that_a_rule_takes_out_is_gone_on_both_sides(self) -> None:
        rules = Rules((IgnoreRule("", "ConfigMap", jq_paths=('.metadata | select(.name == "web")',)),))
        assert not compare(manifest("ConfigMap", {}, labels={"a": "b"}), manifest("ConfigMap", {}), rules).modified

    def test_a_field_that_only_live_holds_is_none(self) -> None:
        assert not compare(deployment({"replicas": 5}), deployment({})).modified

    def test_half_an_autoscalers_behavior_is_completed_on_both_sides(self) -> None:
        def scaler(behavior: Object) -> dict[str, Any]:
            return manifest(
                "HorizontalPodAutoscaler", {"spec": {"maxReplicas": 3, "behavior": behavior}}, "autoscaling/v2"
            )

        down = {"scaleDown": {"stabilizationWindowSeconds": 60}}
        assert not compare(scaler(down), scaler({**down, "scaleUp": {}})).modified
        assert not compare(scaler(down), scaler({**down, "scaleUp": {"stabilizationWindowSeconds": 0}})).modified
        assert compare(scaler(down), scaler({"scaleDown": {"selectPolicy": "Min"}})).modified

    def test_a_namespaces_own_finalizers_are_replaced_and_an_objects_finalizers_merge(self) -> None:
        def namespace(*own: str, **metadata: Any) -> dict[str, Any]:
            return manifest("Namespace", {"spec": {"finalizers": list(own)}}, **metadata)

        assert compare(namespace("kubernetes", "x.io/more"), namespace("kubernetes")).pointers == (
            "/spec/finalizers/1",
        )
        assert not compare(namespace(finalizers=["x.io/a", "x.io/b"]), namespace(finalizers=["x.io/a"])).modified

    def test_a_finalizer_that_was_applied_and_left_the_manifest_is_a_difference(self) -> None:
        desired = deployment({}, finalizers=["x.io/a"])
        live = deployment({}, finalizers=["x.io/a", "x.io/b", "x.io/of-a-controller"])
        found = compare(applied(live, deployment({}, finalizers=["x.io/a", "x.io/b"])), desired)
        assert found.modified
        assert found.predicted is not None
        assert found.predicted["metadata"]["finalizers"] == ["x.io/a", "x.io/of-a-controller"]

    def test_a_field_that_was_applied_and_left_the_manifest_is_a_difference(self) -> None:
        desired = deployment({})
        live = applied(deployment({"minReadySeconds": 5}), deployment({"minReadySeconds": 5}))
        assert compare(live, desired).pointers == ("/spec/minReadySeconds",)

    def test_what_leaves_the_manifest_and_equals_the_default_is_none(self) -> None:
        live = applied(deployment({"replicas": 1}), deployment({"replicas": 1}))
        assert not compare(live, deployment({})).modified

    def test_a_container_that_live_lacks_comes_before_one_that_was_injected(self) -> None:
        live, desired = deployment({}), deployment({})
        known = live["spec"]["template"]["spec"]["containers"]
        known.insert(0, {"name": "mesh-proxy", "image": "proxy:1"})
        desired["spec"]["template"]["spec"]["containers"].insert(0, {"name": "late", "image": "late:1"})
        found = compare(live, desired).predicted
        assert found
        names = [c["name"] for c in found["spec"]["template"]["spec"]["containers"]]
        assert names == ["late", "mesh-proxy", *(c["name"] for c in known[1:])]

    def test_a_container_injected_into_live_is_none(self) -> None:
        live = deployment({})
        live["spec"]["template"]["spec"]["containers"].append({"name": "istio-proxy", "image": "proxy:1"})
        assert not compare(live, deployment({})).modified

    def test_an_environment_variable_in_another_order_is_a_difference(self) -> None:
        one, two = {"name": "A", "value": "1"}, {"name": "B", "value": "2"}
        found = compare(deployment({}, {"env": [two, one]}), deployment({}, {"env": [one, two]}))
        assert found.modified

    def test_ports_that_share_a_number_are_told_apart(self) -> None:
        ports = [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "protocol": "TCP"}]
        assert not compare(deployment({}, {"ports": ports}), deployment({}, {"ports": ports})).modified

    def test_a_volume_that_changes_its_source_loses_the_old_one(self) -> None:
        live, desired = deployment({}), deployment({})
        live["spec"]["template"]["spec"]["volumes"] = [{"name": "v", "emptyDir": {}}]
        desired["spec"]["template"]["spec"]["volumes"] = [{"name": "v", "configMap": {"name": "c"}}]
        predicted = compare(live, desired).predicted
        assert predicted is not None
        volume = predicted["spec"]["template"]["spec"]["volumes"][0]
        assert volume == {"name": "v", "configMap": {"name": "c", "defaultMode": 420}}

    @pytest.mark.parametrize(("git", "cluster"), [("1000m", "1"), ("0.5Gi", "512Mi"), ("1024Mi", "1Gi"), (2, "2")])
    def test_quantities_of_built_in_kinds_compare_by_value(self, git: object, cluster: str) -> None:
        limits = [{"resources": {"limits": {"memory": value}}} for value in (cluster, git)]
        assert not compare(deployment({}, limits[0]), deployment({}, limits[1])).modified

    def test_quantities_of_custom_kinds_compare_as_text(self) -> None:
        live, desired = (manifest("Cluster", {"spec": {"memory": m}}, "db.example.com/v1") for m in ("1Gi", "1024Mi"))
        assert compare(live, desired).modified

    def test_known_type_fields_print_as_their_type(self) -> None:
        live, desired = (
            manifest("Cluster", {"spec": {"memory": m, "every": e}}, "db.example.com/v1")
            for m, e in (("1Gi", "8760h0m0s"), ("1024Mi", "8760h"))
        )
        fields = (("spec.memory", "core/Quantity"), ("spec.every", "meta/v1/Duration"))
        for group, modified in (("db.example.com", False), ("mesh.example.com", True)):
            known = Rules(known_types=(KnownTypes(group, "Cluster", fields),))
            assert compare(live, desired, known).modified is modified, group

    def test_empty_fields_that_go_does_not_print_are_none(self) -> None:
        container = {"env": [{"name": "A", "value": ""}], "stdin": False, "command": []}
        live = deployment({}, {"env": [{"name": "A"}]})
        assert not compare(live, deployment({}, container)).modified

    def test_a_false_behind_a_pointer_is_a_difference(self) -> None:
        desired = deployment({})
        desired["spec"]["template"]["spec"]["automountServiceAccountToken"] = False
        assert compare(deployment({}), desired).pointers == ("/spec/template/spec/automountServiceAccountToken",)

    def test_defaults_inside_a_replaced_list_are_none(self) -> None:
        live, desired = (
            manifest(
                "NetworkPolicy", {"spec": {"podSelector": {}, "ingress": [{"ports": [port]}]}}, "networking.k8s.io/v1"
            )
            for port in ({"port": 80, "protocol": "TCP"}, {"port": 80})
        )
        assert not compare(live, desired).modified

    def test_defaults_of_a_custom_resource_are_forgiven_while_its_list_is_as_applied(self) -> None:
        desired = manifest("ExternalSecret", {"spec": {"data": [{"secretKey": "a"}]}}, "external-secrets.io/v1")
        live = manifest(
            "ExternalSecret", {"spec": {"data": [{"secretKey": "a", "policy": "Fetch"}]}}, desired["apiVersion"]
        )
        assert not compare(applied(live, desired), desired).modified
        changed = manifest("ExternalSecret", {"spec": {"data": [{"secretKey": "b"}]}}, desired["apiVersion"])
        assert compare(applied(live, desired), changed).pointers == ("/spec/data/0/policy", "/spec/data/0/secretKey")

    def test_no_rules_and_an_empty_list_of_rules_are_one(self) -> None:
        api = "rbac.authorization.k8s.io/v1"
        assert not compare(
            manifest("ClusterRole", {"rules": None}, api), manifest("ClusterRole", {"rules": []}, api)
        ).modified

    def test_string_data_counts_as_data(self) -> None:
        live = manifest("Secret", {"type": "Opaque", "data": {"k": "dg=="}})
        assert not compare(live, manifest("Secret", {"stringData": {"k": "v"}})).modified
        assert not compare(live, manifest("Secret", {"data": {"k": "b2xk"}, "stringData": {"k": "v"}})).modified

    def test_a_null_of_a_secret_is_an_empty_value_and_no_data_is_none(self) -> None:
        live = manifest("Secret", {"data": {"k": ""}})
        assert not compare(live, manifest("Secret", {"data": {"k": None}})).modified
        assert compare(manifest("Secret", {"data": {}}), manifest("Secret", {"data": {"k": None}})).modified

    def test_a_namespace_that_the_manifest_leaves_out_is_none(self) -> None:
        desired = deployment({})
        del desired["metadata"]["namespace"]
        assert not compare(deployment({}), desired).modified

    def test_a_resource_version_in_the_manifest_is_a_difference(self) -> None:
        live, desired = deployment({}, resourceVersion="7"), deployment({}, resourceVersion="3")
        assert compare(live, desired).pointers == ("/metadata/resourceVersion",)

    def test_volume_claim_templates_forgive_defaults(self) -> None:
        claim: dict[str, Any] = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
        filled = {**claim, "spec": {**claim["spec"], "volumeMode": "Filesystem"}, "status": {"phase": "Pending"}}
        live = manifest("StatefulSet", {"spec": {"volumeClaimTemplates": [filled]}}, "apps/v1")
        desired = manifest("StatefulSet", {"spec": {"volumeClaimTemplates": [claim]}}, "apps/v1")
        assert not compare(live, desired).modified


@pytest.mark.parametrize("strategy", list(Strategy))
@pytest.mark.parametrize(
    "broken",
    [
        {"metadata": None},
        {"metadata": {"name": "web", "labels": ["a"], "annotations": {LAST_APPLIED: 1, "a": None}}},
        {"spec": {"template": {"spec": {"containers": [{"name": ["x"]}, None, "y"], "volumes": {"a": 1}}}}},
        {"spec": {"strategy": "Recreate", "template": []}},
        {"spec": None},
    ],
)
def test_a_malformed_manifest_is_compared_and_synced_without_a_crash(broken: Object, strategy: Strategy) -> None:
    desired = {**deployment({"replicas": 2}), **broken}
    live = applied(deployment({"replicas": 2}), desired)
    compare(live, desired, STATUS, strategy)
    synced = apply(live, desired, STATUS, server_side=strategy is not Strategy.THREE_WAY, respect_ignored=True)
    assert synced is not None
    assert not compare(live, deployment({"replicas": 2}), STATUS, Strategy.STRUCTURED).modified


class TestOneSide:
    def test_an_object_that_is_not_live_is_created(self) -> None:
        found = compare(None, deployment({}))
        assert (found.normalized, found.modified, found.pointers) == (None, True, ())

    def test_an_object_that_is_not_desired_is_extra_and_not_modified(self) -> None:
        found = compare(deployment({}), None)
        assert (found.predicted, found.modified) == (None, False)

    def test_nothing_on_both_sides_is_refused(self) -> None:
        with pytest.raises(ValueError, match="nothing to compare"):
            compare(None, None)


class TestTracking:
    LABEL = "app.kubernetes.io/instance"
    ID = "argocd.argoproj.io/tracking-id"

    def test_an_object_synced_under_label_tracking_does_not_drift_under_annotations(self) -> None:
        live = deployment({}, labels={self.LABEL: "web"})
        desired = deployment({}, annotations={self.ID: "web:apps/Deployment:shop/web"})
        assert not compare(live, desired).modified

    def test_the_tracking_id_of_another_application_is_a_difference(self) -> None:
        live = deployment({}, labels={self.LABEL: "web"}, annotations={self.ID: "other:apps/Deployment:shop/web"})
        desired = deployment({}, annotations={self.ID: "web:apps/Deployment:shop/web"})
        assert compare(live, desired).pointers == ("/metadata/annotations/argocd.argoproj.io~1tracking-id",)

    def test_a_crd_is_never_taken_for_tracked_by_its_label(self) -> None:
        api = "apiextensions.k8s.io/v1"
        live = manifest("CustomResourceDefinition", {}, api, labels={self.LABEL: "web"})
        desired = manifest("CustomResourceDefinition", {}, api, annotations={self.ID: "web:a/CRD:/web"})
        assert compare(live, desired).pointers == ("/metadata/annotations",)

    @pytest.mark.parametrize(
        ("version", "seen"),
        [
            ("v2.14.11+1f37a0a", False),
            ("v3.3.14", False),
            ("v3.4.5", False),
            ("v3.4.6", True),
            ("v3.5.0", True),
            ("", True),
        ],
    )
    def test_servers_before_3_4_6_take_another_applications_tracking_id_for_their_own(
        self, version: str, seen: bool
    ) -> None:
        desired = manifest(
            "ConfigMap", {}, annotations={self.ID: "a:/ConfigMap:shop/web"}, labels={self.LABEL: "chart"}
        )
        live = manifest("ConfigMap", {}, annotations={self.ID: "b:/ConfigMap:shop/web"}, labels={self.LABEL: "chart"})
        rules = rules_of({}, {"trackingMethod": "annotation"}, version)
        assert compare(live, desired, rules).modified is seen

    def test_label_tracking_leaves_the_label_alone(self) -> None:
        live, desired = deployment({}, labels={self.LABEL: "other"}), deployment({}, labels={self.LABEL: "web"})
        found = compare(live, desired, Rules(tracking=Tracking("label")))
        assert found.pointers == ("/metadata/labels/app.kubernetes.io~1instance",)


def owned(fields: Object, manager: str = "argocd-controller", operation: str = "Apply") -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }


class TestServerSideApply:
    def test_a_field_that_the_manager_gave_up_goes(self) -> None:
        live = deployment({"paused": True}, managedFields=[owned({"f:spec": {"f:paused": {}}})])
        assert compare(live, deployment({}), strategy=Strategy.STRUCTURED).pointers == ("/spec/paused",)

    def test_a_field_that_somebody_else_owns_too_stays(self) -> None:
        fields: dict[str, Any] = {"f:spec": {"f:paused": {}}}
        live = deployment({"paused": True}, managedFields=[owned(fields), owned(fields, "kubectl", "Update")])
        assert not compare(live, deployment({}), strategy=Strategy.STRUCTURED).modified

    def test_an_atomic_list_of_a_custom_resource_drifts_by_its_defaults_until_the_server_fills_them(self) -> None:
        desired = manifest("HTTPRoute", {"spec": {"parentRefs": [{"name": "gw"}]}}, "gateway.networking.k8s.io/v1")
        live = manifest(
            "HTTPRoute",
            {"spec": {"parentRefs": [{"name": "gw", "kind": "Gateway"}]}},
            desired["apiVersion"],
            managedFields=[owned({"f:spec": {"f:parentRefs": {}}})],
        )
        assert compare(live, desired, strategy=Strategy.STRUCTURED).pointers == ("/spec/parentRefs/0/kind",)
        assert not compare(live, desired, strategy=Strategy.SERVER_SIDE).modified

    def test_a_list_that_managed_fields_show_keyed_is_merged_by_those_keys(self) -> None:
        fields: dict[str, Any] = {
            "f:spec": {"f:listeners": {'k:{"name":"http"}': {".": {}, "f:name": {}, "f:port": {}}}}
        }
        live = manifest(
            "Gateway",
            {"spec": {"listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}, {"name": "extra"}]}},
            "gateway.networking.k8s.io/v1",
            managedFields=[owned(fields)],
        )
        desired = manifest("Gateway", {"spec": {"listeners": [{"name": "http", "port": 81}]}}, live["apiVersion"])
        assert compare(live, desired, strategy=Strategy.STRUCTURED).pointers == ("/spec/listeners/0/port",)

    def test_a_port_without_a_protocol_is_the_one_of_tcp(self) -> None:
        ports: dict[str, Any] = {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}}
        fields = {"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"app"}': {"f:ports": ports}}}}}}
        both = [{"containerPort": 80, "protocol": "UDP"}, {"containerPort": 80, "protocol": "TCP"}]
        live = deployment({}, {"ports": both}, managedFields=[owned(fields)])
        desired = deployment({}, {"ports": [{"containerPort": 80}]})
        assert not compare(live, desired, strategy=Strategy.STRUCTURED).modified

    def test_who_wrote_before_the_tracking_of_managers_comes_last(self) -> None:
        fields: dict[str, Any] = {"f:spec": {"f:paused": {}}}
        entries = [
            {**owned(fields, manager, "Update"), "time": f"2026-01-0{day}T10:00:00Z"}
            for manager, day in (("before-first-apply", 3), ("kubectl-edit", 1), ("operator", 2))
        ]
        live = deployment({"paused": True}, managedFields=entries)
        assert [w.manager for w in writers(live, "/spec/paused")] == ["operator", "kubectl-edit", "before-first-apply"]


class TestStrategy:
    def test_the_application_and_the_object_decide(self) -> None:
        plain = deployment({})
        own = deployment({}, annotations={"argocd.argoproj.io/sync-options": "Prune=false, ServerSideApply=true"})
        app = {"spec": {"syncPolicy": {"syncOptions": ["ServerSideApply=true"]}}}
        diffed = {"metadata": {"annotations": {"argocd.argoproj.io/compare-options": "ServerSideDiff=true"}}}
        refused = {"metadata": {"annotations": {"argocd.argoproj.io/compare-options": "ServerSideDiff=false"}}}
        both = {**app, **refused}
        three, merge, dry = Strategy.THREE_WAY, Strategy.STRUCTURED, Strategy.SERVER_SIDE
        for version, of_own, of_app, opted_out in (
            ("v2.8.21", merge, merge, merge),
            ("v3.5.7+1c6a2f0", merge, merge, merge),
            ("v3.0.11", merge, merge, merge),
            ("v3.6.0-rc2", three, dry, three),
            ("v3.6.1+abc", three, dry, three),
            ("v3.6.1+e0f5a1b.dirty", three, dry, three),
            ("v3.6.1-acme.4", three, dry, three),
            ("v4.0.0", three, dry, three),
            ("latest", three, dry, three),  # unknown: as the newest
            ("", three, dry, three),
        ):
            assert strategy_of({}, plain, version) is three
            assert strategy_of({}, own, version) is of_own, version
            assert strategy_of(app, plain, version) is of_app, version
            assert strategy_of(both, plain, version) is opted_out, version
            assert strategy_of(diffed, plain, version) is dry
            assert strategy_of(refused, plain, version, server_side=True) is three
            assert strategy_of({}, plain, version, server_side=True) is dry


class TestApply:
    REPLICAS = Rules((IgnoreRule("apps", "Deployment", json_pointers=("/spec/replicas",)),))

    def test_a_sync_overwrites_and_remembers(self) -> None:
        live, desired = deployment({"replicas": 5}), deployment({"replicas": 2})
        synced = apply(live, desired)
        assert synced is not None
        assert synced["spec"]["replicas"] == 2
        assert json.loads(synced["metadata"]["annotations"][LAST_APPLIED]) == desired
        assert not compare(synced, desired).modified

    def test_ignored_fields_are_overwritten_unless_respected(self) -> None:
        live, desired = deployment({"replicas": 5}), deployment({"replicas": 2})
        for respect, replicas in ((False, 2), (True, 5)):
            synced = apply(live, desired, self.REPLICAS, respect_ignored=respect)
            assert synced is not None
            assert synced["spec"]["replicas"] == replicas

    def test_status_never_travels(self) -> None:
        live = {**deployment({"replicas": 5}), "status": {"replicas": 5}}
        rules = Rules((*self.REPLICAS.ignore, *STATUS.ignore))
        assert "status" not in sent(live, deployment({"replicas": 2}), rules, respect_ignored=True)

    def test_a_server_side_sync_takes_over_ownership(self) -> None:
        live, desired = deployment({"replicas": 5}), deployment({"replicas": 2})
        synced = apply(live, desired, server_side=True)
        assert synced is not None
        assert compare(synced, deployment({}), strategy=Strategy.STRUCTURED).pointers == ("/spec/replicas",)

    def test_lists_of_a_custom_kind_join_by_the_keys_that_another_manager_wrote(self) -> None:
        def pool(*names: str) -> dict[str, Any]:
            spec = {"members": [{"name": name} for name in names]}
            return {"apiVersion": "sea.example/v1", "kind": "Pool", "metadata": {"name": "p"}, "spec": spec}

        live = pool("a")
        fields: dict[str, Any] = {"f:spec": {"f:members": {'k:{"name":"a"}': {".": {}, "f:name": {}}}}}
        live["metadata"]["managedFields"] = [{"manager": "pilot", "operation": "Apply", "fieldsV1": fields}]
        synced = apply(live, pool("b"), server_side=True)
        assert synced is not None
        assert sorted(one["name"] for one in synced["spec"]["members"]) == ["a", "b"]

    def test_who_gives_up_one_of_two_items_of_a_name_loses_both_in_the_first_sync(self) -> None:
        low, log, high = ({"name": n, "value": v} for n, v in (("LIMIT", "5"), ("LOG", "info"), ("LIMIT", "20")))
        both, one = deployment({}, {"env": [low, log, high]}), deployment({}, {"env": [log, high]})
        first = apply(applied(both, both), one)
        assert first is not None
        assert first["spec"]["template"]["spec"]["containers"][0]["env"] == [log]
        second = apply(first, one)
        assert second is not None
        assert second["spec"]["template"]["spec"]["containers"][0]["env"] == [log, high]

    def test_a_replaced_object_keeps_nothing_of_others_but_what_the_server_writes(self) -> None:
        live = deployment({"replicas": 6, "paused": True}, uid="u1", labels={"of": "another"})
        synced = apply({**live, "status": {"replicas": 6}}, deployment({}), replaced=True)
        assert synced is not None
        assert (synced["spec"]["replicas"], "paused" in synced["spec"]) == (1, False)
        assert synced["metadata"] == {"name": "web", "namespace": "shop", "uid": "u1"}
        assert synced["status"] == {"replicas": 6}

    def test_a_sync_of_what_was_applied_last_leaves_the_note_of_it_as_it_stands(self) -> None:
        """kubectl writes the same text again, and argolint would spell it otherwise: the object would seem to change."""
        desired = deployment({"replicas": 2})
        live = defaulted(applied(desired, desired))
        assert ", " in live["metadata"]["annotations"][LAST_APPLIED]  # as no kubectl spells it
        assert apply(live, desired) == live

    def test_respect_keeps_no_list_item_that_only_live_has(self) -> None:
        """Argo CD puts back what no rule takes out of the manifest (controller/sync.go, restoreNonIgnoredFields)."""
        desired = manifest("ClusterRole", {"rules": [{"verbs": ["get"]}]}, "rbac.authorization.k8s.io/v1")
        live = {**desired, "rules": [{"verbs": ["get", "list"]}]}
        rules = Rules((IgnoreRule("rbac.authorization.k8s.io", "ClusterRole", json_pointers=("/rules/0/verbs/1",)),))
        synced = apply(live, desired, rules, respect_ignored=True)
        assert synced is not None
        assert synced["rules"] == desired["rules"]
        whole = Rules((IgnoreRule("rbac.authorization.k8s.io", "ClusterRole", json_pointers=("/rules",)),))
        kept = apply(live, desired, whole, respect_ignored=True)
        assert kept is not None
        assert kept["rules"] == live["rules"]

    @pytest.mark.parametrize(
        ("version", "arrives"),
        [
            ("v2.14.9", False),
            ("v3.3.12", False),
            ("v3.3.13", True),
            ("v3.4.4", False),
            ("v3.4.5+1a2b", True),
            ("v3.5.0", True),
            ("", True),
        ],
    )
    def test_respect_keeps_a_list_of_which_the_manifest_has_no_ignored_field_by_release(
        self, version: str, arrives: bool
    ) -> None:
        entry = {"group": "example.org", "kind": "Route", "jqPathExpressions": [".spec.parents[].kind"]}
        rules = rules_of({"spec": {"ignoreDifferences": [entry]}}, {}, version)
        desired = manifest("Route", {"spec": {"parents": [{"name": "a", "section": "b"}]}}, "example.org/v1")
        live = manifest("Route", {"spec": {"parents": [{"name": "a", "kind": "Gate"}]}}, "example.org/v1")
        synced = apply(live, desired, rules, respect_ignored=True)
        assert synced is not None
        assert ("section" in synced["spec"]["parents"][0]) is arrives

    def test_neither_side_is_changed(self) -> None:
        live, desired = deployment({"replicas": 5}), deployment({"replicas": 2})
        before = json.dumps([live, desired])
        apply(live, desired, self.REPLICAS, respect_ignored=True)
        compare(live, desired, self.REPLICAS)
        assert json.dumps([live, desired]) == before

    def test_what_is_not_desired_is_pruned_and_what_is_not_live_created(self) -> None:
        assert apply(deployment({}), None) is None
        created = apply(None, deployment({}))
        assert created is not None
        assert created["spec"]["replicas"] == 1


def test_hidden_names_what_one_rule_alone_keeps_from_view() -> None:
    live, desired = deployment({"replicas": 5, "paused": True}), deployment({"replicas": 2, "paused": False})
    one = IgnoreRule("apps", "Deployment", json_pointers=("/spec/replicas",))
    two = IgnoreRule("apps", "*", jq_paths=(".spec.replicas, .spec.template",))
    assert hidden(one, live, desired, Rules((one,))) == ("/spec/replicas",)
    assert hidden(one, live, desired, Rules((one, two))) == ()


@dataclass(frozen=True)
class Pair:
    """One managed object with both sides, and Argo CD's verdict on it."""

    place: str
    application: Object
    settings: Object
    version: str
    live: Object
    desired: Object
    normalized: Object
    predicted: Object
    modified: bool


def pairs(phase: Path) -> Iterator[Pair]:
    answers: dict[str, Any] = {}
    for line in (phase / "requests.jsonl").read_text().splitlines():
        request = json.loads(line)
        if request["status"] == 200 and not request["anonymous"] and request["path"] not in answers:
            raw = (phase / request["body"]).read_bytes()
            answers[request["path"]] = gzip.decompress(raw) if request["body"].endswith(".gz") else raw
    settings = json.loads(answers["/api/v1/settings"])
    version = json.loads(answers["/api/version"])["Version"]
    for application in json.loads(answers["/api/v1/applications"])["items"]:
        name = application["metadata"]["name"]
        for item in json.loads(answers.get(f"/api/v1/applications/{name}/managed-resources", b"{}")).get("items") or ():
            fields = ("liveState", "targetState", "normalizedLiveState", "predictedLiveState")
            live, desired, normalized, predicted = (json.loads(item[field]) for field in fields)
            if live and desired:
                place = f"{phase.parent.name}/{phase.name} {name} {item['kind']} {item['name']}"
                modified = bool(item.get("modified"))
                yield Pair(place, application, settings, version, live, desired, normalized, predicted, modified)


def test_every_recorded_pair_gets_argo_cds_own_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    """Unmodified pairs are nineteen of twenty, so they are counted apart: one number for all would flatter."""
    total: Counter[tuple[str, bool]] = Counter()
    agreed: Counter[tuple[str, bool]] = Counter()
    silent: list[str] = []
    wrong: list[str] = []
    for phase in PHASES:
        for pair in pairs(recording(phase)):
            if not pair.normalized:
                silent.append(pair.place)  # `{}`: the server failed to compare and gave no verdict
                continue
            strategy = strategy_of(pair.application, pair.desired, pair.version)
            rules = rules_of(pair.application, pair.settings, pair.version)
            made = compare(pair.live, pair.desired, rules, strategy)
            ours, theirs = made.pointers, Comparison(pair.normalized, pair.predicted, pair.modified).pointers
            total[strategy, pair.modified] += 1
            if made.modified == pair.modified and ours == theirs:
                agreed[strategy, pair.modified] += 1
            else:
                wrong.append(f"{pair.place}: {sorted(set(ours) ^ set(theirs))[:4]}")
    lines = [f"{'strategy':18}{'Argo CD says':14}{'pairs':>7}{'agree':>7}{'share':>9}"]
    for key in sorted(total):
        (name, modified), pairs_, same = key, total[key], agreed[key]
        lines.append(f"{name:18}{'modified' if modified else 'unmodified':14}{pairs_:7}{same:7}{same / pairs_:9.2%}")
    lines += [f"disagrees: {text}" for text in wrong] + [f"no verdict of the server: {place}" for place in silent]
    with capsys.disabled():
        print("", *lines, sep="\n")  # noqa: T201  the table is what this test is read for

    def share(modified: bool) -> float:
        return sum(agreed[key] for key in agreed if key[1] is modified) / sum(
            total[k] for k in total if k[1] is modified
        )

    assert share(False) >= 0.995
    assert share(True) >= 0.99


def test_a_sync_of_every_recorded_pair_leaves_nothing_to_show_but_what_drifts_for_ever() -> None:
    """After `apply`, comparing again finds nothing, except where Argo CD itself can never come to rest.

    That is a structured merge over a custom resource's defaults, and a manifest that carries a resourceVersion or uid.
    """
    restless = set()
    for pair in pairs(recording("harbourline/2-after-mutate")):
        rules = rules_of(pair.application, pair.settings)
        strategy = strategy_of(pair.application, pair.desired, pair.version)
        synced = apply(pair.live, pair.desired, rules, server_side=strategy is Strategy.STRUCTURED)
        for pointer in compare(synced, pair.desired, rules, strategy).pointers:
            restless.add((strategy, pair.place, pointer))
    three_way = {(place, pointer) for strategy, place, pointer in restless if strategy is Strategy.THREE_WAY}
    assert {pointer for _, pointer in three_way} <= {"/metadata/resourceVersion", "/metadata/uid"}


POD = {"containers": [{"name": "a", "image": "a:1"}]}


def _metric(value: Any) -> dict[str, Any]:
    target = {"type": "Value", "value": value}
    return {"metrics": [{"type": "External", "external": {"metric": {"name": "queue"}, "target": target}}]}


def _device(memory: str) -> Object:
    return {"name": "gpu", "exactly": {"deviceClassName": "a", "capacity": {"requests": {"memory": memory}}}}


@pytest.mark.parametrize(
    ("api", "kind", "git", "cluster"),
    [
        ("autoscaling/v2", "HorizontalPodAutoscaler", {"spec": _metric(30)}, {"spec": _metric("30")}),
        ("autoscaling/v2", "HorizontalPodAutoscaler", {"spec": _metric("1000m")}, {"spec": _metric("1")}),
        ("v1", "PersistentVolume", {"spec": {"storageClassName": ""}}, {"spec": {}}),
        ("v1", "Service", {"spec": {"selector": {}}}, {"spec": {}}),
        ("v1", "Service", {"spec": {"ports": [{"name": "", "port": 80}]}}, {"spec": {"ports": [{"port": 80}]}}),
        (
            "v1",
            "Service",
            {"spec": {"sessionAffinity": "ClientIP"}},
            {"spec": {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}}},
        ),
        (
            "v1",
            "LimitRange",
            {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}}]}},
            {
                "spec": {
                    "limits": [
                        {
                            "type": "Container",
                            "max": {"cpu": "2"},
                            "default": {"cpu": "2"},
                            "defaultRequest": {"cpu": "2"},
                        }
                    ]
                }
            },
        ),
        (
            "v1",
            "Pod",
            {"spec": {**POD, "volumes": [{"name": "v", "emptyDir": None}]}},
            {"spec": {**POD, "volumes": [{"name": "v", "emptyDir": {}}]}},
        ),
        (
            "v1",
            "Pod",
            {"spec": {**POD, "tolerations": [{"key": "", "operator": "Exists"}]}},
            {"spec": {**POD, "tolerations": [{"operator": "Exists"}]}},
        ),
        ("v1", "Secret", {"data": {"a": "QUJD\nREVG\n"}}, {"data": {"a": "QUJDREVG"}}),
        ("v1", "ConfigMap", {"binaryData": {"a": "QUJD\nREVG\n"}}, {"binaryData": {"a": "QUJDREVG"}}),
        ("networking.k8s.io/v1", "Ingress", {"spec": {"rules": []}}, {"spec": {}}),
        (
            "admissionregistration.k8s.io/v1",
            "ValidatingAdmissionPolicy",
            {"spec": {"matchConstraints": {"resourceRules": [{"resources": ["pods"]}]}}},
            {"spec": {"matchConstraints": {"resourceRules": [{"resources": ["pods"], "scope": "*"}]}}},
        ),
        (
            "v1",
            "Endpoints",
            {"subsets": [{"addresses": [{"ip": "10.0.0.9"}, {"ip": "10.0.0.2"}], "ports": [{"port": 5432}]}]},
            {
                "subsets": [
                    {
                        "addresses": [{"ip": "10.0.0.2"}, {"ip": "10.0.0.9"}],
                        "ports": [{"port": 5432, "protocol": "TCP"}],
                    }
                ]
            },
        ),
        ("v1", "Service", {"spec": {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}}}}, {"spec": {}}),
        (
            "v1",
            "PersistentVolume",
            {"spec": {"csi": {"driver": "d", "readOnly": False}}},
            {"spec": {"csi": {"driver": "d"}}},
        ),
        (
            "resource.k8s.io/v1",
            "ResourceClaimTemplate",
            {"spec": {"spec": {"devices": {"requests": [_device("1024Mi")]}}}},
            {"spec": {"spec": {"devices": {"requests": [_device("1Gi")]}}}},
        ),
        (
            "resource.k8s.io/v1",
            "ResourceSlice",
            {"spec": {"devices": [{"name": "gpu", "capacity": {"memory": {"value": "1024Mi"}}}]}},
            {"spec": {"devices": [{"name": "gpu", "capacity": {"memory": {"value": "1Gi"}}}]}},
        ),
    ],
)
def test_one_value_in_two_spellings_of_a_go_type_is_no_difference(
    api: str, kind: str, git: Object, cluster: Object
) -> None:
    assert compare(manifest(kind, cluster, api), manifest(kind, git, api)).pointers == ()


def test_the_pull_secrets_of_a_service_account_are_replaced_whole() -> None:
    git = manifest("ServiceAccount", {"imagePullSecrets": [{"name": "mine"}]})
    live = manifest("ServiceAccount", {"imagePullSecrets": [{"name": "mine"}, {"name": "dockercfg"}]})
    assert compare(applied(live, git), git).modified


@pytest.mark.parametrize(
    ("api", "kind", "git", "cluster"),
    [
        ("v1", "Endpoints", {"subsets": [{"addresses": [{"ip": "a"}]}]}, {"subsets": [{"addresses": [{"ip": "b"}]}]}),
        (
            "v1",
            "Pod",
            {"spec": {**POD, "volumes": [{"name": "v", "csi": {"driver": "d", "readOnly": False}}]}},
            {"spec": {**POD, "volumes": [{"name": "v", "csi": {"driver": "d"}}]}},
        ),
        (
            "resource.k8s.io/v1",
            "ResourceSlice",
            {"spec": {"devices": [{"name": "gpu", "taints": [{"key": "k", "value": "1000m"}]}]}},
            {"spec": {"devices": [{"name": "gpu", "taints": [{"key": "k", "value": "1"}]}]}},
        ),
        (
            "policy/v1",
            "PodDisruptionBudget",
            {"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}},
            {
                "spec": {
                    "selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}], "matchLabels": {"b": "c"}}
                }
            },
        ),
        (
            "admissionregistration.k8s.io/v1beta1",
            "MutatingAdmissionPolicy",
            {"spec": {"variables": [{"name": "a", "expression": "1"}]}},
            {"spec": {"variables": [{"name": "a", "expression": "1"}, {"name": "b", "expression": "2"}]}},
        ),
    ],
)
def test_what_looks_like_another_spelling_is_a_difference(api: str, kind: str, git: Object, cluster: Object) -> None:
    assert compare(applied(manifest(kind, cluster, api), manifest(kind, git, api)), manifest(kind, git, api)).modified


def test_respected_items_of_a_list_travel_in_the_order_of_live() -> None:
    def env(*names: str) -> dict[str, Any]:
        return deployment({}, {"env": [{"name": name, "value": "1"} for name in names]})

    rules = Rules(
        (IgnoreRule("apps", "*", jq_paths=('.spec.template.spec.containers[].env[] | select(.name == "TOKEN")',)),)
    )
    sent = apply(env("TOKEN", "LOG"), env("LOG", "PORT"), rules, respect_ignored=True)
    assert sent is not None
    assert [item["name"] for item in sent["spec"]["template"]["spec"]["containers"][0]["env"]] == [
        "TOKEN",
        "LOG",
        "PORT",
    ]


def test_the_switch_that_says_no_wins_and_a_resource_cannot_leave_the_structured_comparison() -> None:
    both = {
        "metadata": {"annotations": {"argocd.argoproj.io/compare-options": "ServerSideDiff=true,ServerSideDiff=false"}}
    }
    assert strategy_of(both, None, "v3.5.1") is Strategy.THREE_WAY
    application = {"spec": {"syncPolicy": {"syncOptions": ["ServerSideApply=true"]}}}
    refused = manifest("ConfigMap", {}, annotations={"argocd.argoproj.io/sync-options": "ServerSideApply=false"})
    assert strategy_of(application, refused, "v3.5.1") is Strategy.STRUCTURED
    assert not syncs_server_side(application, refused)


def test_a_resource_cannot_respect_what_its_application_does_not() -> None:
    options = {"argocd.argoproj.io/sync-options": "RespectIgnoreDifferences=true,Prune=false"}
    own = manifest("ConfigMap", {}, annotations=options)
    assert not has_sync_option({}, own, "RespectIgnoreDifferences=true")
    assert has_sync_option({}, own, "Prune=false")


def test_field_managers_of_the_servers_settings_count_under_an_exact_key_alone() -> None:
    entry = "managedFieldsManagers:\n- operator\n"
    overrides = {key: {"ignoreDifferences": entry} for key in ("apps/Deployment", "apps/*", "ConfigMap", "*/*")}
    rules = rules_of({}, {"resourceOverrides": overrides}).ignore
    assert sorted(rule.origin for rule in rules if rule.managers) == ["*/*", "apps/Deployment"]
