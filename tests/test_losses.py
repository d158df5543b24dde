"""What a sync takes away once a field has left Git, and the step that keeps it: the question put to plain objects."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from argolint.application.app import App, app_from_list
from argolint.model import Edit, Fix, ResourceId
from argolint.proof import losses

CLUSTER = "https://kubernetes.default.svc"
ARGOCD, SCALER = "argocd-controller", "autoscaler"


def app(**policy: Any) -> App:
    spec = {"destination": {"server": CLUSTER, "namespace": "shop"}, "syncPolicy": policy}
    raw = {"metadata": {"name": "web", "namespace": "argocd"}, "spec": spec}
    now = datetime(2026, 3, 1, tzinfo=UTC)
    return app_from_list(raw, server="", cluster=CLUSTER, control_plane="argocd", observed_at=now)


def removal(*paths: str) -> Fix:
    operations = [{"op": "remove", "path": path} for path in paths]
    return Fix("Leave it to the other writer", "manifest", "", Edit("json-patch", operations))


def wrote(manager: str, **fields: Any) -> dict[str, Any]:
    return {"manager": manager, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": fields}}


def workload(writer: str = SCALER, **spec: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {f"f:{name}": {} for name in spec}
    return {"kind": "Deployment", "metadata": {"name": "web", "managedFields": [wrote(writer, **fields)]}, "spec": spec}


def lost(before: Any, live: Any, synced: Any, *paths: str) -> list[str]:
    after = {**before, "spec": {k: v for k, v in before["spec"].items() if f"/spec/{k}" not in paths}}
    return list(losses.lost_fields(removal(*paths), before, after, live, synced))


PAUSED, REPLICAS = "/spec/paused", "/spec/replicas"


@pytest.mark.parametrize(
    ("git", "live", "synced", "writer", "expected"),
    [
        pytest.param(False, True, None, SCALER, [PAUSED], id="another writer's value goes"),
        pytest.param(False, True, True, SCALER, [], id="the value stays"),
        pytest.param(False, None, None, SCALER, [], id="it was never live"),
        pytest.param(True, True, None, ARGOCD, [], id="Argo CD wrote it as Git says"),
        pytest.param(True, True, None, SCALER, [PAUSED], id="another writer wrote what Git says too"),
        pytest.param(False, True, None, ARGOCD, [PAUSED], id="Argo CD wrote it, and Git says something else now"),
    ],
)
def test_a_value_is_lost_when_it_is_another_writers_and_the_sync_takes_it_away(
    git: object, live: object, synced: object, writer: str, expected: list[str]
) -> None:
    def spec(value: object) -> dict[str, Any]:
        return {} if value is None else {"paused": value}

    before = {"spec": spec(git)}
    assert lost(before, workload(writer, **spec(live)), workload(writer, **spec(synced)), PAUSED) == expected


def test_replicas_are_lost_whoever_wrote_them() -> None:
    before = {"spec": {"replicas": 6}}
    assert lost(before, workload(ARGOCD, replicas=6), workload(ARGOCD, replicas=1), REPLICAS) == [REPLICAS]


def test_each_removed_field_is_judged_on_its_own() -> None:
    before = {"spec": {"strategy": {"type": "Recreate"}, "paused": False, "replicas": 2}}
    live = workload(strategy={"type": "RollingUpdate"}, paused=True, replicas=4)
    synced = workload(strategy={"type": "OnDelete"}, replicas=1)
    assert lost(before, live, synced, "/spec/strategy", PAUSED, REPLICAS) == [PAUSED, REPLICAS], (
        "a map that stays a map"
    )


def test_an_item_of_a_list_is_followed_by_its_name() -> None:
    def containers(*pairs: tuple[str, object]) -> dict[str, Any]:
        return {"spec": {"containers": [{"name": n, **({"image": i} if i else {})} for n, i in pairs]}}

    path = "/spec/containers/0/image"
    before, after = containers(("web", "web:1")), containers(("web", None))
    live = containers(("sidecar", "mesh:1"), ("web", "web:2"))
    assert list(losses.lost_fields(removal(path), before, after, live, live)) == []
    gone = containers(("web", None), ("sidecar", "mesh:1"))
    assert list(losses.lost_fields(removal(path), before, after, live, gone)) == [path]
    assert list(losses.lost_fields(removal(path), before, after, containers(("sidecar", "mesh:1")), gone)) == []
    twice = containers(("web", "a"), ("web", "b"))
    assert list(losses.lost_fields(removal(path), before, after, twice, gone)) == [], (
        "two of one name: nobody knows which"
    )


def test_an_item_without_a_name_is_followed_by_its_index() -> None:
    path = "/spec/rules/1/host"
    before, after = ({"spec": {"rules": [{"host": "a"}, {"host": h} if h else {}]}} for h in ("b", None))
    live = {"spec": {"rules": [{"host": "a"}, {"host": "c"}]}}
    assert list(losses.lost_fields(removal(path), before, after, live, {"spec": {"rules": [{"host": "a"}, {}]}})) == [
        path
    ]
    shorter = {"spec": {"rules": [{"host": "a"}]}}
    assert list(losses.lost_fields(removal(path), before, after, shorter, shorter)) == []


def test_what_the_server_owns_and_whole_items_are_meant_to_go() -> None:
    paths = ("/metadata/uid", "/status/phase", "/spec/containers/0", PAUSED)
    assert losses.removed_pointers(removal(*paths)) == (PAUSED,)


def applied(spec: dict[str, Any], kind: str = "Deployment", **live: Any) -> dict[str, Any]:
    last = json.dumps({"kind": kind, "metadata": {"name": "web"}, "spec": spec})
    annotations = {"team": "a", "kubectl.kubernetes.io/last-applied-configuration": last}
    return {"kind": kind, "apiVersion": "v1", "metadata": {"name": "web", "annotations": annotations}, "spec": live}


def test_a_field_is_taken_out_of_the_last_applied_configuration_and_nothing_else() -> None:
    before = {"spec": {"replicas": 2, "paused": True, "containers": [{"name": "web", "image": "web:1"}]}}
    last = {"replicas": 1, "paused": True, "containers": [{"name": "mesh"}, {"name": "web", "image": "web:1"}]}
    found = losses.without_last_applied(applied(last, replicas=4), before, (REPLICAS, "/spec/containers/0/image"))
    assert found is not None
    live, places = found
    assert places == (REPLICAS, "/spec/containers/1/image")
    assert live["spec"] == {"replicas": 4}
    annotations = live["metadata"]["annotations"]
    assert annotations.pop("team") == "a"
    assert annotations == {
        "kubectl.kubernetes.io/last-applied-configuration": '{"kind":"Deployment","metadata":{"name":"web"},'
        '"spec":{"paused":true,"containers":[{"name":"mesh"},{"name":"web"}]}}'
    }


def test_there_is_no_step_where_the_last_applied_configuration_does_not_help() -> None:
    before = {"spec": {"replicas": 2, "paused": True}}
    assert losses.without_last_applied(workload(replicas=4), before, (REPLICAS,)) is None, "there is none"
    assert losses.without_last_applied(applied({"paused": True}, replicas=4), before, (REPLICAS,)) is None, (
        "it lacks the field"
    )
    secret = applied({"replicas": 2}, kind="Secret")
    assert losses.without_last_applied(secret, before, (REPLICAS,)) is None, "it is masked"
    assert losses.without_last_applied(applied({"replicas": 2}), before, (REPLICAS, PAUSED)) is None, "one of two"


def test_the_step_is_a_command_that_can_be_pasted() -> None:
    web = ResourceId("apps", "Deployment", "shop", "web", "v1", CLUSTER)
    places = (REPLICAS, "/spec/template/spec/containers/1/image", "/metadata/annotations/a.b~1c")
    command = (
        "set -o pipefail; kubectl apply view-last-applied deployment.apps web -n shop -o json | jq"
        " 'del(.spec.replicas, .spec.template.spec.containers[1].image, .metadata.annotations[\"a.b/c\"])'"
        " | kubectl apply set-last-applied -n shop -f -"
    )
    assert losses.last_applied_commands(app(), web, places) == (command,)
    healing = app(automated={"selfHeal": True})
    assert losses.last_applied_commands(healing, web, places) == (
        "argocd app set argocd/web --self-heal=false",
        command,
    )


def test_the_step_of_a_cluster_wide_object_names_no_namespace() -> None:
    role = ResourceId("rbac.authorization.k8s.io", "ClusterRole", "", "reader", "v1", CLUSTER)
    (command,) = losses.last_applied_commands(app(), role, ("/x.y/0",))
    assert command == (
        "set -o pipefail; kubectl apply view-last-applied clusterrole.rbac.authorization.k8s.io reader -o json"
        " | jq 'del(.[\"x.y\"][0])' | kubectl apply set-last-applied -f -"
    )


def test_a_closed_list_is_one_that_takes_no_further_item() -> None:
    desired = {"spec": {"args": ["a", "b"], "containers": [{"name": "web", "env": [{"name": "A", "value": "1"}]}]}}

    def keeps_args(manifest: Any) -> Any:
        return {**manifest, "spec": {**manifest["spec"], "args": ["a", "b"]}}

    assert losses.closed_list(["/spec/args/1"], desired, keeps_args) == "/spec/args"
    assert losses.closed_list(["/spec/args/1"], desired, lambda manifest: manifest) is None
    assert losses.closed_list(["/spec/containers/0/env/0/value"], desired, keeps_args) is None
    nameless = {"spec": {"rules": [{"host": "a"}]}}
    assert losses.closed_list(["/spec/rules/0/host"], nameless, lambda _: {"spec": {"rules": []}}) is None
