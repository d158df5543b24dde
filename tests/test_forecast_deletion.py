"""Forecasts of deletions and prunes: what goes, in which order, what stays, what goes along, who still needs it, what hangs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from argolint.engine.load import read_fleet
from argolint.engine.plan import Plan
from argolint.errors import UsageError
from argolint.forecast import removal
from argolint.forecast.fate import EFFECT, DeletionForecast
from argolint.model import Finding
from argolint.testing import FixtureTransport
from tests.conftest import recording
from tests.here import run_here

Data = dict[str, Any]
CASCADES = ["resources-finalizer.argocd.argoproj.io"]


def tracked(owner: str, kind: str, name: str, *, group: str = "", namespace: str = "shop", **more: Any) -> Data:
    """A live object that `owner` tracks by annotation."""
    annotations = {"argocd.argoproj.io/tracking-id": f"{owner}:{group}/{kind}:{namespace or 'shop'}/{name}"}
    annotations |= more.pop("annotations", {})
    metadata = {"name": name, "annotations": annotations, **more.pop("metadata", {})}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": f"{group}/v1" if group else "v1", "kind": kind, "metadata": metadata, **more}


def wave(number: int) -> Data:
    return {"argocd.argoproj.io/sync-wave": str(number)}


def option(value: str) -> Data:
    return {"argocd.argoproj.io/sync-options": value}


def app(name: str, *objects: Data, left: tuple[Data, ...] = (), cascades: bool = True, **more: Any) -> Data:
    resources = [*({"desired": o, "live": o} for o in objects), *({"live": o} for o in left)]
    spec = {"destination": {"namespace": "shop"}, **more.pop("spec", {})}
    metadata = {**({"finalizers": CASCADES} if cascades else {}), **more.pop("metadata", {})}
    return {"name": name, "metadata": metadata, "spec": spec, "resources": resources, **more}


def fleet(*apps: Data, **server: Any) -> Data:
    return {"about": "inline", "server": {"settings": {"trackingMethod": "annotation"}, **server}, "apps": list(apps)}


def fate(
    data: Data, *names: str, way: Any = "delete", cascade: str = "auto", manifests: bool = False
) -> DeletionForecast:
    t = FixtureTransport(data)
    known, _ = read_fleet(t)
    meant = removal.removal_targets(known, names, lambda app, fleet: True, way)
    return removal.removal_forecast(t, known, meant, Plan((), workers=1, manifests=manifests), way, cascade)[0]


def of(found: DeletionForecast, cause: str) -> list[Finding]:
    return [f for f in found.findings if f.cause == cause]


def messages(found: DeletionForecast, cause: str) -> list[str]:
    return [f.message for f in of(found, cause)]


def order(found: DeletionForecast) -> list[tuple[int, str]]:
    return [(taken.turn, taken.resource.name) for taken in found.deleted]


def test_a_cascade_deletes_the_last_wave_first() -> None:
    one = app(
        "web",
        tracked("web", "ConfigMap", "first", annotations=wave(-1)),
        tracked("web", "ConfigMap", "middle"),
        tracked("web", "ConfigMap", "last", annotations=wave(5)),
    )
    found = fate(fleet(one), "web")
    assert order(found) == [(1, "last"), (2, "middle"), (3, "first")]
    assert [taken.note for taken in found.deleted] == ["wave 5", "wave 0", "wave -1"]
    alone = fate(fleet(app("web", tracked("web", "ConfigMap", "only", annotations=wave(3)))), "web")
    assert [taken.note for taken in alone.deleted] == [""]


def test_without_a_finalizer_everything_stays() -> None:
    one = app("web", tracked("web", "ConfigMap", "a"), tracked("web", "ConfigMap", "b"), cascades=False)
    one["resources"].append({"desired": tracked("web", "ConfigMap", "not-there"), "health": {"status": "Missing"}})
    found = fate(fleet(one), "web")
    assert found.deleted == ()
    assert messages(found, "not-cascading") == [
        "All 2 live objects of argocd/web stay when it is deleted, since it has no finalizer, and no application owns them then."
    ]
    assert order(fate(fleet(one), "web", cascade="foreground")) == [(1, "a"), (1, "b")]
    kept = fate(fleet(app("web", tracked("web", "ConfigMap", "a"))), "web", cascade="none")
    assert (kept.deleted, messages(kept, "not-cascading")[0].count("as asked for")) == ((), 1)


def test_what_outlives_its_application_is_named_with_the_reason() -> None:
    crd = tracked("none", "CustomResourceDefinition", "things.example.com", group="apiextensions.k8s.io", namespace="")
    one = app(
        "web",
        tracked("web", "ConfigMap", "goes"),
        tracked("web", "ConfigMap", "kept", annotations=option("Delete=false")),
        tracked("web", "ConfigMap", "helm", annotations={"helm.sh/resource-policy": "keep"}),
        crd,
        tracked("other", "ConfigMap", "foreign"),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bare", "namespace": "shop"}},
    )
    found = fate(fleet(one, app("other", tracked("other", "ConfigMap", "x"))), "web")
    assert order(found) == [(1, "goes")]
    assert sorted(messages(found, "kept")) == [
        "ConfigMap shop/helm of argocd/web stays: helm.sh/resource-policy: keep.",
        "ConfigMap shop/kept of argocd/web stays: Delete=false.",
        "CustomResourceDefinition things.example.com of argocd/web stays: Argo CD never deletes a CRD with its application.",
    ]
    assert sorted(messages(found, "other-owner")) == [
        "ConfigMap shop/bare, which argocd/web lists, stays: it has no tracking data of this application.",
        "ConfigMap shop/foreign, which argocd/web lists, stays: its tracking data names other.",
    ]


def test_volumes_go_with_their_claims_and_those_of_sets_stay() -> None:
    claim = tracked("web", "PersistentVolumeClaim", "data", spec={"storageClassName": "fast", "volumeName": "pv-1"})
    kept = tracked("web", "StorageClass", "fast", group="storage.k8s.io", namespace="", reclaimPolicy="Retain")
    template = [{"metadata": {"name": "data"}}]
    stays = tracked("web", "StatefulSet", "db", group="apps", spec={"volumeClaimTemplates": template})
    goes = tracked(
        "web",
        "StatefulSet",
        "cache",
        group="apps",
        spec={"volumeClaimTemplates": template, "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}},
    )
    found = fate(fleet(app("web", claim, stays, goes)), "web")
    assert messages(found, "volume-deleted") == [
        "PersistentVolumeClaim shop/data of argocd/web is deleted, and its volume too, unless that has the reclaim policy Retain.",
        "The claims of StatefulSet shop/cache of argocd/web are deleted with it, and their data.",
    ]
    assert [(f.evidence, [str(fix.edit.content) for fix in f.fixes]) for f in of(found, "volume-deleted")] == [
        (
            ("volume pv-1",),
            ['kubectl patch pv pv-1 -p \'{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}\'\n'],
        ),
        ((), []),
    ]
    assert messages(found, "claims-of-sets") == [
        "The claims of StatefulSet shop/db of argocd/web stay with their data (templates data)."
    ]
    held = {"kind": "PersistentVolumeClaim", "version": "v1", "namespace": "shop", "name": "data-cache-0", "uid": "c0"}
    known = fate(fleet(app("web", goes, nodes=[held])), "web")
    assert messages(known, "volume-deleted") == [
        "PersistentVolumeClaim shop/data-cache-0 of argocd/web is deleted with StatefulSet shop/cache, whose persistentVolumeClaimRetentionPolicy "
        "says so, and its volume too, unless that has the reclaim policy Retain."
    ]
    retained = fate(fleet(app("web", claim, kept)), "web")
    assert messages(retained, "volume-deleted")[0].endswith("is deleted, and its volume stays, released.")
    assert of(retained, "volume-deleted")[0].fixes == ()


def test_a_namespace_takes_the_objects_of_others_along() -> None:
    one = app("base", tracked("base", "Namespace", "shop", namespace=""))
    other = app("web", tracked("web", "ConfigMap", "a"))
    (found,) = of(fate(fleet(one, other), "base"), "namespace-with-content")
    assert found.message == (
        "Namespace shop of argocd/base is deleted with everything in it, managed by Argo CD or not, among it 1 object of argocd/web."
    )
    assert [str(r.app) for r in found.related] == ["argocd/web"]
    assert found.severity == "error"


def test_a_pruned_crd_takes_every_instance_along() -> None:
    names = {"group": "example.com", "names": {"kind": "Thing"}}
    crd = tracked(
        "base", "CustomResourceDefinition", "things.example.com", group="apiextensions.k8s.io", namespace="", spec=names
    )
    other = app("web", tracked("web", "Thing", "a", group="example.com"))
    found = fate(fleet(app("base", tracked("base", "ConfigMap", "x"), left=(crd,)), other), "base", way="prune")
    assert messages(found, "instances-deleted") == [
        "CustomResourceDefinition things.example.com of argocd/base is deleted with every Thing of the cluster, among them 1 object of argocd/web."
    ]


def test_a_controller_that_goes_before_what_it_cleans_up_makes_that_hang() -> None:
    def operator(number: int) -> Data:
        image = {"template": {"spec": {"containers": [{"image": "quay.io/strimzi/operator:0.48"}]}}}
        return tracked("kafka", "Deployment", "cluster-operator", group="apps", annotations=wave(number), spec=image)

    topic = tracked(
        "kafka",
        "KafkaTopic",
        "orders",
        group="kafka.strimzi.io",
        metadata={"finalizers": ["strimzi.io/topic-operator"]},
    )
    (found,) = of(fate(fleet(app("kafka", operator(0), topic)), "kafka"), "controller-first")
    assert found.message == (
        "KafkaTopic shop/orders of argocd/kafka may never go: it is deleted together with Deployment shop/cluster-operator, which removes its finalizer strimzi.io/topic-operator."
    )
    assert "is deleted after" in messages(fate(fleet(app("kafka", operator(1), topic)), "kafka"), "controller-first")[0]
    assert of(fate(fleet(app("kafka", operator(-1), topic)), "kafka"), "controller-first") == []


def test_children_go_with_their_own_objects_in_the_turn_of_their_application() -> None:
    child = tracked("root", "Application", "child", group="argoproj.io", namespace="argocd", annotations=wave(1))
    orphan = tracked("root", "Application", "orphan", group="argoproj.io", namespace="argocd")
    data = fleet(
        app("root", child, orphan, tracked("root", "ConfigMap", "settings", annotations=wave(2))),
        app("child", tracked("child", "ConfigMap", "of-child")),
        app("orphan", tracked("orphan", "ConfigMap", "of-orphan"), cascades=False),
    )
    found = fate(data, "root")
    assert [name for _, name in order(found)] == ["settings", "of-child", "child", "orphan"]
    assert sorted(messages(found, "child-application")) == [
        "Application argocd/child is deleted, as an object of argocd/root, with its only object.",
        "Application argocd/orphan is deleted, as an object of argocd/root, and its only object stays in the cluster.",
    ]
    data["apps"][0]["resources"][0].pop("desired")  # a cascade asks the cluster, not Git
    assert [name for _, name in order(fate(data, "root"))] == ["settings", "of-child", "child", "orphan"]


def test_what_lies_below_an_application_without_a_finalizer_stays_as_it_is() -> None:
    child = tracked("root", "Application", "child", group="argoproj.io", namespace="argocd")
    found = fate(fleet(app("root", child, cascades=False), app("child", tracked("child", "ConfigMap", "a"))), "root")
    assert (order(found), {f.at.app.name for f in found.findings}) == ([], {"root"})


def test_applications_that_hold_each_other_end() -> None:
    a = tracked("a", "Application", "b", group="argoproj.io", namespace="argocd")
    b = tracked("b", "Application", "a", group="argoproj.io", namespace="argocd")
    assert sorted(name for _, name in order(fate(fleet(app("a", a), app("b", b)), "a"))) == ["a", "b"]


def test_what_others_still_name_is_a_break() -> None:
    secret = tracked("base", "Secret", "db")
    pod = {"containers": [{"name": "web", "envFrom": [{"secretRef": {"name": "db"}}]}]}
    other = tracked("web", "Deployment", "web", group="apps", spec={"template": {"spec": pod}})
    (found,) = of(fate(fleet(app("base", secret), app("web", other)), "base"), "still-referenced")
    assert (
        found.message
        == "Secret shop/db of argocd/base is deleted, though Deployment shop/web of argocd/web still names it."
    )
    assert (found.severity, found.related[0].pointer) == (
        "error",
        "/spec/template/spec/containers/0/envFrom/0/secretRef/name",
    )
    elsewhere = app("web", {**other, "metadata": {**other["metadata"], "namespace": "mall"}})
    assert of(fate(fleet(app("base", secret), elsewhere), "base"), "still-referenced") == []


def test_what_an_object_owns_goes_with_it() -> None:
    made = {"group": "external-secrets.io", "kind": "ExternalSecret", "namespace": "shop", "name": "db", "uid": "u1"}
    secret = tracked("base", "ExternalSecret", "db", group="external-secrets.io", metadata={"uid": "u1"})
    owner = {key: made[key] for key in ("group", "kind", "namespace", "name", "uid")}
    below = [
        {"kind": "Secret", "namespace": "shop", "name": "db-credentials", "uid": "u2", "parentRefs": [owner]},
        {"kind": "PersistentVolumeClaim", "namespace": "shop", "name": "db-1", "uid": "u3", "parentRefs": [owner]},
        {
            "kind": "PersistentVolumeClaim",
            "namespace": "shop",
            "name": "data-db-0",
            "uid": "u4",
            "parentRefs": [{**owner, "kind": "StatefulSet"}],
        },
    ]
    pod = {"containers": [{"name": "web", "envFrom": [{"secretRef": {"name": "db-credentials"}}]}]}
    other = tracked("web", "Deployment", "web", group="apps", spec={"template": {"spec": pod}})
    found = fate(fleet(app("base", secret, nodes=below), app("web", other)), "base")
    assert messages(found, "still-referenced") == [
        "Secret shop/db-credentials is deleted with ExternalSecret shop/db of argocd/base, which made it, though Deployment shop/web of argocd/web still names it."
    ]
    assert messages(found, "volume-deleted") == [
        "PersistentVolumeClaim shop/db-1 of argocd/base is deleted with ExternalSecret shop/db, which owns it, and its volume too, unless that has the reclaim policy Retain."
    ]


def test_cluster_scoped_objects_are_looked_for_everywhere() -> None:
    kind = tracked("base", "StorageClass", "fast", group="storage.k8s.io", namespace="")
    claim = tracked("web", "PersistentVolumeClaim", "data", namespace="mall", spec={"storageClassName": "fast"})
    found = fate(fleet(app("base", kind), app("web", claim)), "base")
    assert messages(found, "still-referenced") == [
        "StorageClass fast of argocd/base is deleted, though PersistentVolumeClaim mall/data of argocd/web still names it."
    ]


def test_hooks_that_run_last_and_namespaces_that_nothing_tracks() -> None:
    finalizers = [
        *CASCADES,
        "pre-delete-finalizer.argocd.argoproj.io",
        "post-delete-finalizer.argocd.argoproj.io",
    ]
    one = app(
        "web",
        tracked("web", "ServiceAccount", "cleaner"),
        spec={"syncPolicy": {"syncOptions": ["CreateNamespace=true"]}},
    )
    one["metadata"] = {"finalizers": finalizers}
    found = fate(fleet(one), "web")
    assert messages(found, "hook-first") == [
        "The PreDelete hooks of argocd/web run first; one that fails holds the deletion up."
    ]
    assert messages(found, "hook-after-all") == [
        "The PostDelete hooks of argocd/web run last, without ServiceAccount shop/cleaner; one that needs any of these never ends."
    ]
    assert messages(found, "kept") == [
        "Namespace shop of argocd/web stays: it is no object of the application (CreateNamespace=true)."
    ]


def test_confirmations_and_deletions_under_way_are_named() -> None:
    asks = tracked("web", "ConfigMap", "a", annotations=option("Delete=confirm"))
    assert messages(fate(fleet(app("web", asks)), "web"), "waits-for-confirmation") == [
        "ConfigMap shop/a of argocd/web has Delete=confirm, so nothing goes on until someone confirms."
    ]
    going = app("web", tracked("web", "ConfigMap", "a"), metadata={"deletionTimestamp": "2026-01-01T11:00:00Z"})
    assert messages(fate(fleet(going), "web"), "already-deleting") == [
        "argocd/web is being deleted since 2026-01-01T11:00:00Z, and waits for its finalizers: resources-finalizer.argocd.argoproj.io."
    ]


def test_a_cluster_that_is_gone_keeps_what_it_has() -> None:
    one = app("web", tracked("web", "ConfigMap", "a"), spec={"destination": {"name": "gone", "server": ""}})
    found = fate(fleet(one), "web")
    assert found.deleted == ()
    assert messages(found, "no-cluster") == [
        "Nothing on the cluster of argocd/web is deleted, because Argo CD does not know the cluster gone."
    ]


def of_set(name: str) -> Data:
    owner = {"kind": "ApplicationSet", "name": "fleet"}
    return app(name, tracked(name, "ConfigMap", name), metadata={"ownerReferences": [owner]})


def test_a_set_among_the_objects_of_an_application_takes_its_applications_along() -> None:
    raw = {"metadata": {"name": "fleet", "namespace": "argocd"}, "spec": {"generators": [], "template": {}}}
    held = tracked("root", "ApplicationSet", "fleet", group="argoproj.io", namespace="argocd")
    early = tracked("root", "ConfigMap", "settings", annotations=wave(-1))
    found = fate(fleet(app("root", held, early), of_set("a"), of_set("b"), applicationsets=[raw]), "root")
    assert [name for _, name in order(found)] == ["fleet", "a", "b", "settings"]
    assert messages(found, "child-application") == [
        "ApplicationSet fleet is deleted, as an object of argocd/root, with its 2 Applications and with what they deployed."
    ]

    one = fate(fleet(app("root", held), of_set("a"), applicationsets=[raw]), "root")
    assert messages(one, "child-application") == [
        "ApplicationSet fleet is deleted, as an object of argocd/root, with its Application and with what it deployed."
    ]


@pytest.mark.parametrize("preserve", [True, False])
def test_a_set_is_deleted_with_its_applications(preserve: bool, tmp_path: Path) -> None:
    policy = {"syncPolicy": {"preserveResourcesOnDeletion": True}} if preserve else {}
    raw = {"metadata": {"name": "fleet", "namespace": "argocd"}, "spec": {"generators": [], "template": {}, **policy}}
    data = fleet(of_set("a"), of_set("b"), applicationsets=[raw])
    found = fate(data, "fleet")
    file = tmp_path / "set.yaml"
    file.write_text("apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: fleet}\n")
    assert fate(data, str(file)).findings == found.findings
    assert bool(of(found, "set-preserves")) is preserve
    assert bool(of(found, "child-application")) is not preserve
    assert len({f.at.app for f in found.findings if f.cause == "objects-deleted"}) == 2


def test_a_prune_goes_in_reverse_order_with_prune_last_at_the_end() -> None:
    left = (
        tracked("web", "ConfigMap", "early", annotations=wave(-5)),
        tracked("web", "ConfigMap", "late", annotations=wave(5)),
        tracked("web", "ConfigMap", "very-last", annotations={**wave(9), **option("PruneLast=true")}),
        tracked("web", "ConfigMap", "kept", annotations=option("Prune=false")),
        tracked("web", "ConfigMap", "asks", annotations=option("Prune=confirm")),
        tracked("other", "ConfigMap", "foreign"),
    )
    found = fate(fleet(app("web", tracked("web", "ConfigMap", "stays"), left=left)), way="prune")
    assert order(found) == [(1, "late"), (2, "asks"), (3, "early"), (4, "very-last")]
    assert messages(found, "kept") == ["ConfigMap shop/kept of argocd/web stays: Prune=false."]
    assert len(of(found, "waits-for-confirmation")) == 1
    assert messages(found, "objects-deleted")[0].startswith(
        "4 objects of argocd/web are deleted, by the next sync with prune"
    )
    last = {"syncPolicy": {"syncOptions": ["PruneLast=true"]}}
    found = fate(fleet(app("web", left=left[:2], spec=last)), way="prune")
    assert order(found) == [(1, "early"), (1, "late")]
    for automated, when in (({"prune": True}, "by the next automated sync"), ({}, "by the next sync with prune")):
        found = fate(fleet(app("web", left=left[:1], spec={"syncPolicy": {"automated": automated}})), way="prune")
        assert when in messages(found, "objects-deleted")[0]
    going = app("web", left=left[:2], metadata={"deletionTimestamp": "2026-01-01T11:00:00Z"})
    assert order(fate(fleet(going), way="prune")) == [], "what is being deleted is no longer synced"


def test_a_file_says_what_would_leave_git(tmp_path: Path) -> None:
    data = fleet(app("web", tracked("web", "ConfigMap", "a"), tracked("web", "ConfigMap", "b")))
    file = tmp_path / "a.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\n")
    assert order(fate(data, str(file), way="prune")) == [(1, "a")]
    assert order(fate(data, str(file))) == [(1, "a")]
    file.write_text("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd}\n")
    assert [name for _, name in order(fate(data, str(file)))] == ["a", "b"]
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: unknown, namespace: shop}\n")
    with pytest.raises(UsageError, match="is an Application, an ApplicationSet or an object"):
        fate(data, str(file))


def test_a_name_that_nothing_bears_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError) as refused:
        fate(fleet(app("web", tracked("web", "ConfigMap", "a"))), "wep")
    assert refused.value.hint == "did you mean 'web'?"


def test_every_cause_has_an_effect() -> None:
    assert set(EFFECT.values()) <= {"deletes", "breaks", "hangs", "stays"}


def test_the_command_prunes_a_recorded_company(tmp_path: Path) -> None:
    phase = recording("harbourline/3-after-commits")
    ran = run_here("forecast", "prune", "--snapshot", phase, "-o", "json=it.json", "-o", "text", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert "2 objects of argocd/tracking-reports are deleted" in ran.out.replace("\n      ", " ")
    made = json.loads((tmp_path / "it.json").read_bytes())
    assert [s["resource"]["kind"] for s in made["forecast"]["steps"]] == ["Service", "Deployment"]
    assert made["forecast"]["kind"] == "prune"


def test_the_render_says_which_hook_loses_its_account_or_its_rights() -> None:
    def job(name: str, phase: str, account: str) -> Data:
        metadata = {"name": name, "namespace": "shop", "annotations": {"argocd.argoproj.io/hook": phase}}
        spec = {"serviceAccountName": account, "containers": [{"name": "a", "image": "a"}]}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": {"spec": spec}}}

    subjects = [{"kind": "ServiceAccount", "name": "archiver", "namespace": "shop"}]
    one = app(
        "web",
        tracked("web", "ServiceAccount", "cleaner"),
        tracked("web", "RoleBinding", "may-archive", group="rbac.authorization.k8s.io", subjects=subjects),
        metadata={"finalizers": [*CASCADES, "post-delete-finalizer.argocd.argoproj.io"]},
        manifests=[
            job("clean", "PostDelete", "cleaner"),
            job("archive", "PostDelete", "archiver"),
            job("farewell", "PostDelete", "default"),
            job("prepare", "PreSync", "cleaner"),
        ],
    )
    assert sorted(messages(fate(fleet(one), "web", manifests=True), "hook-after-all")) == [
        "PostDelete hook Job archive of argocd/web runs last, when RoleBinding shop/may-archive is gone, and may never end.",
        "PostDelete hook Job clean of argocd/web runs last, when ServiceAccount shop/cleaner is gone, and may never end.",
    ]
    (general,) = messages(fate(fleet(one), "web"), "hook-after-all")
    assert general.startswith("The PostDelete hooks of argocd/web run last, without")
