"""The application as a change will leave it: what is to be applied, what is to be pruned, and what a sync will not cure."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import structs

from argolint.application.app import App, app_from_list
from argolint.application.fleet import IN_CLUSTER, Fleet
from argolint.application.resource import ManagedResource
from argolint.gate.delta import (
    Delta,
    Edited,
    delta,
    only_regenerated,
    overlap,
    with_base_names,
    with_base_values,
    with_value,
)
from argolint.gate.head import failed_app, head_app, rendered_app, respecified
from argolint.model import MISSING, ResourceKey, Want
from argolint.sources.rendered import MASKED, rendered, tracked
from argolint.values import dig

TRACKING = "argocd.argoproj.io/tracking-id"
SETTINGS = {
    "trackingMethod": "annotation",
    "resourceOverrides": {"*/*": {"ignoreDifferences": "jsonPointers:\n- /status\n"}},
}
Manifest = dict[str, Any]


def obj(kind: str, name: str, api: str = "v1", namespace: str | None = None, **body: Any) -> Manifest:
    group = api.rpartition("/")[0]
    annotations = {TRACKING: f"web:{group}/{kind}:prod/{name}", **body.pop("annotations", {})}
    metadata = {"name": name, "annotations": annotations, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **body}


def deployment(replicas: int | None = 3, image: str = "web:1", **more: Any) -> Manifest:
    spec: Manifest = {"template": {"spec": {"containers": [{"name": "web", "image": image}]}}, **more}
    return obj(
        "Deployment", "web", "apps/v1", "prod", spec=spec if replicas is None else {**spec, "replicas": replicas}
    )


def live(manifest: Manifest, **spec: Any) -> Manifest:
    """What the cluster holds after a client-side apply, other writers' fields on top."""
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(manifest)}
    metadata = {**manifest["metadata"], "uid": "u", "annotations": {**manifest["metadata"]["annotations"], **applied}}
    made = {**manifest, "metadata": metadata, "status": {"observedGeneration": 1}}
    return {**made, "spec": {**made["spec"], **spec}} if spec else made


def application(*resources: tuple[Manifest | None, Manifest | None], spec: Mapping[str, Any] | None = None) -> App:
    """An application whose objects are (desired, live) pairs, compared as the server would."""
    from argolint.comparison import compare

    raw: Manifest = {
        "metadata": {"name": "web", "namespace": "argocd"},
        "spec": {"destination": {"server": IN_CLUSTER, "namespace": "prod"}, **(spec or {})},
        "status": {"sync": {"status": "Synced"}, "health": {"status": "Healthy"}},
    }
    managed, listed = [], []
    for desired, have in resources:
        one = desired or have
        assert one is not None
        made = compare.compare(have, desired, compare.rules_of(raw, SETTINGS))
        group, _, version = one["apiVersion"].rpartition("/")
        identity = {
            "kind": one["kind"],
            "name": one["metadata"]["name"],
            "namespace": one["metadata"].get("namespace", ""),
        }
        managed.append(
            ManagedResource(
                **identity,
                group=group,
                target_state=json.dumps(desired),
                live_state=json.dumps(have),
                normalized_live_state=json.dumps(made.normalized),
                predicted_live_state=json.dumps(made.predicted),
                modified=made.modified,
            )
        )
        listed.append(
            {**identity, "group": group, "version": version, "status": "OutOfSync" if made.modified else "Synced"}
        )
    raw["status"]["resources"] = listed
    app = app_from_list(
        raw, server="", cluster=IN_CLUSTER, control_plane="argocd", observed_at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    return app.with_states(managed, None)


def fleet(*apps: App, **settings: Any) -> Fleet:
    return Fleet("https://cd.example.com", "v3.5.1", {**SETTINGS, **settings}, apps)


def after(app: App, base: list[Manifest], head: list[Manifest]) -> App:
    one = fleet(app)
    rendered_head = rendered(head, app, one)
    return head_app(app, delta(rendered(base, app, one), rendered_head), rendered_head, one)


def key(kind: str, name: str, group: str = "", namespace: str = "prod") -> ResourceKey:
    return ResourceKey(IN_CLUSTER, group, kind, namespace, name)


def test_a_render_gets_namespaces_loses_duplicates_and_parts_from_its_hooks() -> None:
    manifests = [
        obj("ConfigMap", "a", data={"x": "1"}),
        obj("ConfigMap", "a", data={"x": "2"}),
        obj("ConfigMap", "b", namespace="other"),
        obj("ClusterRole", "r", "rbac.authorization.k8s.io/v1", "prod"),
        obj("Job", "h", "batch/v1", annotations={"argocd.argoproj.io/hook": "PreSync"}),
        obj("Job", "skipped", "batch/v1", annotations={"argocd.argoproj.io/hook": "Skip"}),
        obj("Pod", "test", annotations={"helm.sh/hook": "test"}),
        obj(
            "CustomResourceDefinition",
            "things.example.com",
            "apiextensions.k8s.io/v1",
            annotations={"helm.sh/hook": "crd-install"},
        )
        | {"spec": {"group": "example.com", "scope": "Cluster", "names": {"kind": "Thing"}}},
        obj("Thing", "t", "example.com/v1"),
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "x-"}},
    ]
    found = rendered(manifests, application(), fleet())
    assert {(k.kind, k.namespace, k.name) for k in found.objects} == {
        ("ConfigMap", "prod", "a"),
        ("ConfigMap", "other", "b"),
        ("ClusterRole", "", "r"),
        ("Job", "prod", "skipped"),
        ("CustomResourceDefinition", "", "things.example.com"),
        ("Thing", "", "t"),
    }
    assert found.objects[key("ConfigMap", "a")]["data"] == {"x": "2"}
    assert found.objects[key("ConfigMap", "a")]["metadata"]["namespace"] == "prod"
    assert "namespace" not in found.objects[key("ClusterRole", "r", "rbac.authorization.k8s.io", "")]["metadata"]
    assert {k.name for k in found.hooks} == {"h", "test"}
    assert found.repeated == {key("ConfigMap", "a"): 2}


def test_a_custom_kind_has_a_namespace_unless_the_fleet_knows_it_without() -> None:
    seen = application((obj("Thing", "t", "example.com/v1"), obj("Thing", "t", "example.com/v1")))
    made = rendered(
        [obj("Thing", "u", "example.com/v1"), obj("Other", "o", "example.com/v1")], application(), fleet(seen)
    )
    assert {(k.kind, k.namespace) for k in made.objects} == {("Thing", ""), ("Other", "prod")}


def test_values_of_secrets_are_never_compared() -> None:
    base = [obj("Secret", "s", data={"a": MASKED})]
    head = [obj("Secret", "s", stringData={"a": "in the clear"})]
    made = rendered(head, application(), fleet())
    assert made.objects[key("Secret", "s")]["data"] == {"a": MASKED}
    assert "stringData" not in made.objects[key("Secret", "s")]
    assert not delta(rendered(base, application(), fleet()), made)


def test_a_key_that_leaves_a_secret_is_not_desired_and_the_others_keep_the_masks_of_their_pair() -> None:
    held, wanted = ({"a": MASKED + "+" * extra, "b": MASKED} for extra in (0, 1))
    both = [obj("Secret", "s", namespace="prod", data=data) for data in (held, wanted)]
    head = obj("Secret", "s", namespace="prod", data={"a": MASKED})
    (after_it,) = after(application((both[1], live(both[0]))), [both[1]], [head]).resources
    assert dig(after_it.desired, "data") == {"a": MASKED + "+"}
    assert "/data/b" in {change.pointer for change in (*after_it.changes, *after_it.pending)}


def test_what_waits_for_its_sync_is_no_difference() -> None:
    base, head = deployment(image="web:1"), deployment(image="web:2")
    app = after(application((base, live(base))), [base], [head])
    (web,) = app.resources
    assert web.changes == ()
    assert (web.status, app.sync_status) == ("OutOfSync", "Synced")
    assert [(c.pointer, c.desired, c.live) for c in web.pending] == [
        ("/spec/template/spec/containers/0/image", "web:2", "web:1")
    ]
    assert dig(web.desired, "spec", "template", "spec", "containers")[0]["image"] == "web:2"
    assert dig(web.live, "spec", "template", "spec", "containers")[0]["image"] == "web:1"


def test_drift_that_the_change_does_not_touch_stays() -> None:
    base, head = deployment(image="web:1"), deployment(image="web:2")
    before = application((base, live(base, replicas=7)))
    app = after(before, [base], [head])
    assert [(c.pointer, c.desired, c.live) for c in before.resources[0].changes] == [("/spec/replicas", 3, 7)]
    assert [(c.pointer, c.desired, c.live) for c in app.resources[0].changes] == [("/spec/replicas", 3, 7)]
    assert (app.resources[0].status, app.sync_status) == ("OutOfSync", "OutOfSync")


@pytest.mark.parametrize(("wanted", "held"), [(1, 3), (12, 9)])
def test_items_that_live_has_more_or_fewer_stay_differences(wanted: int, held: int) -> None:
    def thing(items: int, size: int = 1) -> Manifest:
        return obj(
            "Thing", "t", "example.com/v1", "prod", spec={"hosts": [f"h{n}" for n in range(items)], "size": size}
        )

    before = application((thing(wanted), live(thing(wanted), hosts=thing(held)["spec"]["hosts"])))
    app = after(before, [thing(wanted)], [thing(wanted, size=2)])
    assert len(app.resources[0].changes) == abs(wanted - held)
    assert app.resources[0].changes == before.resources[0].changes


def test_drift_that_the_change_writes_down_is_gone() -> None:
    base, head = deployment(3), deployment(7)
    app = after(application((base, live(base, replicas=7))), [base], [head])
    assert app.resources[0].changes == ()


def test_what_no_sync_can_settle_is_a_difference_of_the_change() -> None:
    base = obj("Thing", "t", "example.com/v1", "prod", spec={"ports": [{"port": 1}]})
    annotations = {**base["metadata"]["annotations"], "argocd.argoproj.io/sync-options": "ServerSideApply=true"}
    head = {**base, "metadata": {**base["metadata"], "annotations": annotations}}
    defaulted = live(base, ports=[{"port": 1, "protocol": "TCP"}])
    before = application((base, defaulted))
    app = after(before, [base], [head])
    assert before.resources[0].changes == ()
    assert [(c.pointer, c.desired, c.live) for c in app.resources[0].changes] == [
        ("/spec/ports/0/protocol", MISSING, "TCP")
    ]
    assert app.sync_status == "OutOfSync"


def test_an_object_that_comes_is_desired_and_nothing_is_known_of_its_live_state() -> None:
    one, two = (
        obj("ConfigMap", "a", namespace="prod"),
        obj("ConfigMap", "b", annotations={"argocd.argoproj.io/sync-wave": "-2"}),
    )
    app = after(application((one, live(one))), [one], [one, two])
    new = app.resource(key("ConfigMap", "b"))
    assert new is not None
    assert (new.desired_known, new.live_known, new.missing, new.extra, new.changes) == (True, False, False, False, ())
    assert (new.status, new.id.version, new.sync_wave) == ("OutOfSync", "v1", -2)
    assert app.sync_status == "Synced"


def test_an_object_that_goes_is_to_be_pruned_if_it_is_ours() -> None:
    one, two = obj("ConfigMap", "a", namespace="prod"), obj("ConfigMap", "b", namespace="prod")
    theirs = live(two)
    theirs["metadata"]["annotations"][TRACKING] = "other:/ConfigMap:prod/b"
    pruning = {"syncPolicy": {"automated": {"prune": True}}}
    for spec, status in ((pruning, "Synced"), ({}, "OutOfSync")):
        app = after(application((one, live(one)), (two, live(two)), spec=spec), [one, two], [one])
        gone = app.resource(key("ConfigMap", "b"))
        assert gone is not None
        assert (gone.extra, gone.requires_pruning, gone.status) == (True, True, "OutOfSync")
        assert app.sync_status == status
    for absent_or_theirs in (None, theirs):
        app = after(application((one, live(one)), (two, absent_or_theirs)), [one, two], [one])
        assert app.resource(key("ConfigMap", "b")) is None


def test_an_object_that_was_to_be_pruned_and_comes_again_is_compared_with_what_is_there() -> None:
    one = obj("ConfigMap", "a", namespace="prod")
    app = application((one, live(one)), (None, live(deployment(replicas=3))))
    back = after(app, [one], [one, deployment(replicas=5)]).resource(key("Deployment", "web", "apps"))
    assert back is not None
    assert (back.extra, back.requires_pruning, back.desired) == (False, False, deployment(replicas=5))


def test_tracking_by_label_tells_whose_object_goes() -> None:
    ours = obj("ConfigMap", "a", namespace="prod")
    for owner, kept in (("web", True), ("other", False)):
        ours["metadata"]["labels"] = {"app.kubernetes.io/instance": owner}
        app, one = application((ours, live(ours))), fleet(trackingMethod="label")
        gone = rendered([], app, one)
        after_it = head_app(app, delta(rendered([ours], app, one), gone), gone, one)
        assert (after_it.resource(key("ConfigMap", "a")) is not None) is kept


def test_a_repeated_object_is_a_condition_of_head_alone() -> None:
    one = obj("ConfigMap", "a", namespace="prod")
    other = {**one, "data": {"x": "1"}}
    app = after(application((one, live(one))), [one], [one, other])
    assert [(c.type, c.message) for c in app.conditions] == [
        ("RepeatedResourceWarning", "Resource /ConfigMap/prod/a appeared 2 times among application resources.")
    ]
    assert app.evidence[Want("manifests")] == (one, other)
    assert after(app, [one, one], [one]).conditions == ()


def test_rules_that_want_the_manifests_get_those_of_head() -> None:
    one, hook = (
        obj("ConfigMap", "a", namespace="prod"),
        obj("Job", "h", "batch/v1", annotations={"helm.sh/hook": "pre-install"}),
    )
    app = after(application((one, live(one))), [one], [one, hook])
    assert [m["metadata"]["name"] for m in app.evidence[Want("manifests")]] == ["a", "h"]


def test_values_drawn_anew_are_taken_from_base() -> None:
    app, one = application(), fleet()
    where = "/spec/template/metadata/annotations/checksum~1config"

    def made(checksum: str, image: str) -> Manifest:
        template = {
            "metadata": {"annotations": {"checksum/config": checksum}},
            "spec": {"containers": [{"image": image}]},
        }
        return obj("Deployment", "web", "apps/v1", "prod", spec={"template": template})

    base, head = rendered([made("a1", "x:1")], app, one), rendered([made("b2", "x:2")], app, one)
    place = key("Deployment", "web", "apps")
    assert delta(base, head).changed[place].pointers == (
        "/spec/template/metadata/annotations/checksum~1config",
        "/spec/template/spec/containers/0/image",
    )
    masked = with_base_values(head, base, {place: frozenset([where, "/spec/not/there"])})
    assert delta(base, masked).changed[place].pointers == ("/spec/template/spec/containers/0/image",)


def test_an_object_whose_name_alone_is_drawn_anew_is_the_same_object() -> None:
    app, one = application(), fleet()

    def job(name: str, image: str = "x:1") -> Manifest:
        return obj("Job", name, "batch/v1", "prod", spec={"template": {"spec": {"containers": [{"image": image}]}}})

    def names(before: str, after: Manifest) -> list[str]:
        base, head = rendered([job(before)], app, one), rendered([after], app, one)
        return [k.name for k in with_base_names(head, base).objects]

    assert names("migrate-x7k2p", job("migrate-q9d4z")) == ["migrate-x7k2p"]
    assert names("migrate-x7k2p", job("migrate-q9d4z", "x:2")) == ["migrate-q9d4z"]
    assert names("migrate-x7k2p", job("migrate-q9d4")) == ["migrate-q9d4"]
    assert names("migrate-v1", job("migrate-v2")) == ["migrate-v2"]
    assert names("migrate-x7k2p", job("other-q9d4z")) == ["other-q9d4z"]

    def hooks(before: str, after: str) -> list[str]:
        marked = [
            {**made, "metadata": {**made["metadata"], "annotations": {"argocd.argoproj.io/hook": "Sync"}}}
            for made in (job(before), job(after, "x:2"))
        ]
        base, head = (rendered([one_side], app, one) for one_side in marked)
        return [k.name for k in with_base_names(head, base).hooks]

    assert hooks("migrate-x7k2p", "migrate-q9d4z") == ["migrate-x7k2p"]
    assert hooks("migrate-x7k2p", "seed") == ["seed"]


def test_a_change_that_does_not_render_is_a_comparison_error() -> None:
    one = obj("ConfigMap", "a", namespace="prod")
    app = failed_app(application((one, live(one))), "app path does not exist")
    assert [(c.type, c.message) for c in app.conditions] == [
        (
            "ComparisonError",
            "Failed to load target state: failed to generate manifest for source 1 of 1: "
            "rpc error: code = Unknown desc = app path does not exist",
        )
    ]
    assert (app.desired_known, app.resources[0].desired, app.resources[0].extra, app.sync_status) == (
        False,
        None,
        False,
        "Unknown",
    )


def test_a_change_that_makes_an_application_render_again_ends_its_condition() -> None:
    one = obj("ConfigMap", "a", namespace="prod")
    before = failed_app(application((one, live(one))), "broken")
    app = rendered_app(before, rendered([one, obj("ConfigMap", "b")], before, fleet(before)), fleet(before))
    assert app.conditions == ()
    assert app.desired_known
    assert [(r.name, r.changes, r.extra, r.missing) for r in app.resources] == [
        ("a", (), False, False),
        ("b", (), False, False),
    ]


def test_an_edited_application_is_compared_by_its_new_rules() -> None:
    ignoring = {"ignoreDifferences": [{"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}]}
    base = deployment()
    blind = application((base, live(base, replicas=7)), spec=ignoring)
    assert blind.resources[0].changes == ()
    seeing = respecified(blind, {"destination": blind.spec["destination"]}, {}, fleet(blind))
    assert [(c.pointer, c.desired, c.live) for c in seeing.resources[0].changes] == [("/spec/replicas", 3, 7)]
    again = respecified(seeing, blind.spec, {"annotations": {"a": "b"}}, fleet(blind))
    assert again.resources[0].changes == ()
    assert dig(again.raw, "metadata", "annotations") == {"a": "b"}


@pytest.mark.parametrize(
    ("method", "annotations", "labels"),
    [
        ("annotation", {TRACKING: "web:/ConfigMap:prod/a"}, None),
        ("annotation+label", {TRACKING: "web:/ConfigMap:prod/a"}, {"app.kubernetes.io/instance": "web"}),
        ("label", None, {"app.kubernetes.io/instance": "web"}),
    ],
)
def test_manifests_rendered_elsewhere_get_the_servers_tracking_data(
    method: str, annotations: Mapping[str, str] | None, labels: Mapping[str, str] | None
) -> None:
    bare = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    metadata = tracked(bare, application(), fleet(trackingMethod=method))["metadata"]
    assert (metadata.get("annotations"), metadata.get("labels")) == (annotations, labels)
    crd = {**bare, "kind": "CustomResourceDefinition"}
    assert tracked(crd, application(), fleet(trackingMethod=method)) is crd


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("/spec", "/spec/replicas", True),
        ("/spec/replicas", "/spec", True),
        ("/spec/containers/0/image", "/spec/containers/3/image", True),
        ("/spec/containers/0/image", "/spec/containers/0/env", False),
        ("/spec/replicas", "/spec/replicasMax", False),
        ("", "/spec", True),
    ],
)
def test_pointers_overlap_whatever_the_index(one: str, other: str, same: bool) -> None:
    assert overlap(one, other) is same


def test_values_are_put_in_place_without_changing_what_was_given() -> None:
    given = {"a": [{"b": 1}, {"b": 2}]}
    assert with_value(given, ("a", "1", "b"), 3) == {"a": [{"b": 1}, {"b": 3}]}
    assert with_value(given, ("a", "0"), MISSING) == {"a": [{"b": 2}]}
    assert with_value(given, ("a", "2"), 5) == {"a": [{"b": 1}, {"b": 2}, 5]}
    assert with_value(given, ("a", "9"), 5) == given
    assert with_value(given, ("x", "y"), 5) == given
    assert with_value(given, ("x",), MISSING) == given
    assert with_value(given, ("x",), 5) == {**given, "x": 5}
    assert given == {"a": [{"b": 1}, {"b": 2}]}


def test_nothing_changed_is_false() -> None:
    assert not Delta()
    assert Delta(added={key("ConfigMap", "a"): {}})


@pytest.mark.parametrize(
    ("base", "head", "drawn"),
    [
        ("k2x9", "p7q4", True),
        ("aTzQk", "9xPaa", True),
        ("1767225600", "1767229200", True),
        ("web", "webshop", False),
        ("10m", "50m", False),
        ("443", "853", False),
        ("Never", "First", False),
        ("v12", "v13", False),
    ],
)
def test_an_annotation_is_drawn_only_where_its_length_stays_and_no_one_would_write_it(
    base: str, head: str, drawn: bool
) -> None:
    one, other = (
        obj("ConfigMap", "a", annotations={"made/by": base}),
        obj("ConfigMap", "a", annotations={"made/by": head}),
    )
    edited = Edited(one, other, ("/metadata/annotations/made~1by",))
    assert only_regenerated(Delta(changed={key("ConfigMap", "a"): edited})) is drawn


LONG = "a-name-of-an-application-that-is-cut-right-after-a-hyphen-here--and-goes-on"


@pytest.mark.parametrize(
    ("method", "label"),
    [("annotation+label", "a-name-of-an-application-that-is-cut-right-after-a-hyphen-here"), ("label", LONG)],
)
def test_a_long_name_is_cut_where_the_annotation_holds_it_whole(method: str, label: str) -> None:
    bare = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    app = dataclasses.replace(application(), ref=structs.replace(application().ref, name=LONG))
    metadata = tracked(bare, app, fleet(trackingMethod=method))["metadata"]
    assert metadata["labels"] == {"app.kubernetes.io/instance": label}


def test_the_installation_stands_beside_the_tracking_id() -> None:
    bare = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    metadata = tracked(bare, application(), fleet(trackingMethod="annotation", installationID="prod"))["metadata"]
    assert metadata["annotations"]["argocd.argoproj.io/installation-id"] == "prod"
