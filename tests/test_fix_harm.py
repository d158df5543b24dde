"""What a fix must not do or leave unsaid: each on one small application, by what a user reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from argolint import Edit, Fix, testing
from argolint.comparison import TRACKING_ID
from argolint.fixes.allowed import split
from argolint.fixes.site import Choice
from argolint.plugins import load_rules
from argolint.proof.effects import declared_effects
from argolint.proof.verify import unreplayed_fix
from argolint.reports import document as report

RULES = list(load_rules().values())
RESPECT = {"syncOptions": ["RespectIgnoreDifferences=true"]}
ONE, TWO = "1" * 64, "2" * 64


def findings(rule: str, *apps: dict[str, Any], **server: Any) -> list[report.ReportedFinding]:
    data = {"about": "inline", "apps": list(apps), "server": server}
    found = testing.check(testing.Fixture(Path("inline.yaml"), data), RULES)
    assert [f.error for f in found.failures] == []
    return [finding for finding in found.findings if finding.rule == rule]


def fixes(rule: str, *apps: dict[str, Any], **server: Any) -> list[report.ReportedFix]:
    """Every fix of the rule's findings over these applications."""
    return [fix for finding in findings(rule, *apps, **server) for fix in finding.fixes]


def job(live: bool) -> dict[str, Any]:
    desired = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "seed", "namespace": "n"},
        "spec": {"ttlSecondsAfterFinished": 60, "template": {"spec": {"containers": [{"name": "c", "image": "x:1"}]}}},
    }
    return {"desired": desired, **({"live": desired} if live else {})}


def failed(message: str, **resource: str) -> dict[str, Any]:
    results = [{"status": "SyncFailed", "message": message, **resource}]
    return {
        "sync": {"status": "OutOfSync"},
        "operationState": {
            "phase": "Failed",
            "message": "one or more objects failed",
            "syncResult": {"resources": results},
        },
    }


def test_the_last_object_that_becomes_a_hook_has_second_steps() -> None:
    policy = {"automated": {"prune": True}}
    (hook, *_) = fixes("job-ttl", {"name": "seed", "spec": {"syncPolicy": policy}, "resources": [job(live=True)]})
    assert hook.caveat == (
        "it then runs at each sync; what is live now is then extraneous: run `argocd app sync argocd/seed --prune` once;"
        ' it is the only object of the application: automated sync refuses that ("will wipe out all resources") until it'
        " is synced by hand or spec.syncPolicy.automated.allowEmpty is true"
    )
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}}
    beside = {"name": "seed", "resources": [job(live=False), {"desired": config, "live": config}]}
    assert fixes("job-ttl", beside)[0].caveat == "it then runs at each sync"


def test_a_namespace_that_the_sync_makes_already_is_not_proposed_again() -> None:
    status = failed('namespaces "shop" not found', kind="ConfigMap", version="v1", namespace="shop", name="c")
    spec: dict[str, Any] = {"destination": {"namespace": "shop"}}
    (first, *_) = fixes("sync-failed", {"name": "web", "spec": spec, "status": status, "resources": []})
    assert first.edit.content == [
        {"op": "add", "path": "/spec/syncPolicy", "value": {"syncOptions": ["CreateNamespace=true"]}}
    ]
    spec["syncPolicy"] = {"syncOptions": ["CreateNamespace=true"]}
    (again, *_) = fixes("sync-failed", {"name": "web", "spec": spec, "status": status, "resources": []})
    assert (again.edit.kind, again.edit.content) == ("command", "argocd app sync argocd/web")


def test_another_destination_drops_the_name_that_it_contradicts() -> None:
    blind = [
        {
            "type": "InvalidSpecError",
            "message": "unable to find destination server: there are no clusters with this name: old",
        }
    ]
    app = {"name": "web", "spec": {"destination": {"name": "old", "namespace": "n"}}, "status": {"conditions": blind}}
    found = fixes("cluster-unknown", app, clusters=[{"server": "https://new.example.com", "name": "new"}])
    assert found[-1].edit.content == [
        {"op": "remove", "path": "/spec/destination/name"},
        {"op": "replace", "path": "/spec/destination/server", "value": "https://new.example.com"},
    ]


def test_copies_that_were_not_read_are_not_called_equal() -> None:
    repeated = "Resource /ConfigMap/n/c appeared 2 times among application resources."
    status = {"conditions": [{"type": "RepeatedResourceWarning", "message": repeated}]}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}, "data": {"a": "b"}}
    app = {
        "name": "web",
        "spec": {"source": {"path": "p"}},
        "status": status,
        "resources": [{"desired": config, "live": config}],
    }
    (unread,) = fixes("repeated-resource", app)
    assert (unread.caveat.partition(";")[0], unread.safe) == ("the copies were not read: compare them first", False)
    (read,) = fixes("repeated-resource", {**app, "manifests": [config, config]})
    assert (read.caveat.partition(";")[0], read.safe) == ("the copies are equal", True)


def duplicate(elements: list[dict[str, str]], name: str) -> report.ReportedFix:
    told = "ApplicationSet shop contains applications with duplicate name: web (and 1 more)"
    condition = {"type": "ErrorOccurred", "status": "True", "reason": "ApplicationValidationError", "message": told}
    made = {
        "metadata": {"name": "shop", "namespace": "argocd"},
        "spec": {"generators": [{"list": {"elements": elements}}], "template": {"metadata": {"name": name}}},
        "status": {"conditions": [condition]},
    }
    (fix,) = fixes("appset-duplicate-application", {"name": "web", "resources": []}, applicationsets=[made])
    return fix


def test_a_name_gets_a_field_that_differs_or_none() -> None:
    differing = [{"env": "prod", "cluster": "north"}, {"env": "prod", "cluster": "south"}]
    assert duplicate(differing, "web").edit.content.endswith("name: 'web-{{cluster}}'\n")
    alike = [{"env": "prod"}, {"env": "prod"}]
    assert duplicate(alike, "web").edit.kind == "text"


def secret(mask: str) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "n", "labels": {"helm.sh/chart": "shop-1.0.0"}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"password": mask}}


def workload(**sums: str) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "n", "labels": {"helm.sh/chart": "shop-1.0.0"}}
    container = {"name": "c", "image": "x:1", "envFrom": [{"secretRef": {"name": "web"}}]}
    annotations = {f"checksum/{name}": value for name, value in sums.items()}
    template = {"metadata": {"annotations": annotations}, "spec": {"containers": [container]}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": template}}


def written(state: dict[str, Any]) -> dict[str, Any]:
    """The object as Argo CD wrote it."""
    fields: dict[str, dict[str, str]] = {
        f"f:{key}": {} for key in state if key not in ("apiVersion", "kind", "metadata")
    }
    entry = {"manager": "argocd-controller", "operation": "Update", "time": "2026-01-01T11:50:00Z", "fieldsV1": fields}
    return {**state, "metadata": {**state["metadata"], "managedFields": [entry]}}


def shop(**spec: Any) -> dict[str, Any]:
    """A Helm application whose Secret differs at the revision that was synced."""
    revision = "1f0e3dad99908345f7439f8ffabdffc4c1a0b0d5"
    pods = workload(secret=ONE, config=TWO)
    return {
        "name": "shop",
        "spec": {"source": {"path": "charts/shop"}, "destination": {"namespace": "n"}, **spec},
        "status": {
            "sourceType": "Helm",
            "sync": {"status": "OutOfSync", "revision": revision},
            "operationState": {"phase": "Succeeded", "syncResult": {"revision": revision}},
        },
        "resources": [
            {"desired": secret("+" * 8), "live": written(secret("+" * 12))},
            {"desired": pods, "live": written(pods)},
        ],
    }


def test_a_secret_that_is_ignored_brings_what_hashes_it_and_where_a_chart_may_write_it() -> None:
    *_, ignoring = fixes("nondeterministic-secret", shop())
    entries = ignoring.edit.content[0]["value"]
    assert [(e["kind"], e["jsonPointers"]) for e in entries] == [
        ("Secret", ["/data/password", "/stringData/password"]),
        ("Deployment", ["/spec/template/metadata/annotations/checksum~1secret"]),
    ]
    assert (ignoring.verified, ignoring.effects) == (None, ("hides",))


def test_what_is_ignored_and_respected_is_told_neither_as_random_nor_as_dead() -> None:
    entries = fixes("nondeterministic-secret", shop())[-1].edit.content[0]["value"]
    quiet = shop(ignoreDifferences=entries, syncPolicy=RESPECT)
    quiet["status"]["sync"]["status"] = "Synced"
    moved = workload(secret=TWO, config=TWO)
    twice = [[secret("+" * 8), workload(secret=ONE, config=TWO)], [secret("+" * 8), moved]]
    for app in (quiet, {**quiet, "renders": twice}):
        for rule in ("nondeterministic-secret", "nondeterministic-checksum", "ignore-rule-dead"):
            assert [f.message for f in findings(rule, app)] == []


def test_a_secret_that_was_never_synced_is_not_copied() -> None:
    fixture = testing.load_fixture(Path(__file__).parent / "rules/nondeterministic-secret/bad-wrapper-chart.yaml")
    assert "get secret" in fixes("nondeterministic-secret", *fixture.data["apps"])[0].before[0]
    for app in fixture.data["apps"]:
        for resource in app["resources"]:
            if resource["desired"]["kind"] == "Secret":
                resource.pop("live", None)
    fix = fixes("nondeterministic-secret", *fixture.data["apps"])[0]
    made = "\n".join((*fix.before, fix.edit.content))
    assert "get secret" not in made
    assert "Secret etl/airflow-webserver-secret-key is not live, so there is nothing to copy into" in made
    assert "create secret generic airflow-webserver-secret-key-pinned" in made


def web(spec: dict[str, Any], container: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    pods = {
        "metadata": {"labels": {"app": "w"}},
        "spec": {"containers": [{"name": "c", "image": "x:1", **(container or {})}]},
    }
    spec = {"selector": {"matchLabels": {"app": "w"}}, "template": pods, **spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "n", **metadata},
        "spec": spec,
    }


def applied(state: dict[str, Any]) -> dict[str, Any]:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(state)}
    return {**state, "metadata": {**state["metadata"], "annotations": annotations}}


ENV = [{"name": "LIMIT", "value": "5"}, {"name": "LOG", "value": "info"}, {"name": "LIMIT", "value": "20"}]


def named_twice(last: dict[str, Any]) -> report.ReportedFix:
    """The fix for a variable that stands twice, where this was applied last."""
    secret_ = secret("+" * 8)
    beside = {"desired": secret_, "live": secret_}
    state = web({}, {"env": ENV})
    live = {**state, "metadata": {**state["metadata"], "annotations": applied(last)["metadata"]["annotations"]}}
    (fix,) = fixes("duplicate-env", {"name": "web", "resources": [{"desired": state, "live": live}, beside]})
    return fix


def test_a_merge_by_name_that_deletes_more_than_the_edit_takes_two_syncs() -> None:
    """Called verified once: the sync after it took the variable from the pods altogether."""
    fix = named_twice(web({}, {"env": [*ENV, {"name": "OLD", "value": "1"}]}))
    assert (fix.verified, fix.effects, fix.before) == (None, ("restarts", "needs-sync"), ())
    assert fix.unverified == (
        "it takes two syncs: after the first one /spec/template/spec/containers/0/env/1 of Deployment n/web differs"
    )
    assert fix.caveat == (
        "the first sync also removes /spec/template/spec/containers/0/env/1: sync again at once (`argocd app sync argocd/web`)"
    )


def test_one_sync_is_enough_where_what_was_applied_last_forgets_the_item_first() -> None:
    fix = named_twice(web({}, {"env": ENV}))
    assert (fix.verified, fix.caveat) == (True, "")
    assert "jq 'del(.spec.template.spec.containers[0].env[0])'" in fix.before[0]


def by(manager: str, *pointers: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for pointer in pointers:
        at = fields
        for token in pointer.split("/")[1:]:
            at = at.setdefault(f"f:{token}", {})
    return {"manager": manager, "operation": "Update", "time": "2026-01-01T11:50:00Z", "fieldsV1": fields}


def edited(**status: Any) -> dict[str, Any]:
    """An application whose ConfigMap holds a second key that somebody has changed by hand."""
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "n"},
        "data": {"a": "1", "b": "1"},
    }
    live = applied({**config, "data": {"a": "2", "b": "1"}})
    live = {**live, "metadata": {**live["metadata"], "managedFields": [by("kubectl-edit", "/data/a")]}}
    return {"name": "web", "status": status, "resources": [{"desired": config, "live": live}]}


def test_what_needs_a_sync_is_not_proven_while_the_syncs_of_its_application_fail() -> None:
    """Git's side then does not arrive. What ends the difference by itself needs no sync."""
    broken = failed("admission denied", kind="Service", version="v1", namespace="n", name="s")
    (commit, *_) = fixes("live-edit", edited(**broken))
    assert (commit.title, commit.verified) == ("Commit the live value, if it is right", True)
    state = web({"paused": True})
    app = {"name": "web", "status": broken, "resources": [{"desired": state, "live": applied(state)}]}
    (resumed,) = fixes("suspended", app)
    assert (resumed.verified, resumed.unverified) == (
        None,
        "the last sync of the application failed, and nothing of Git is sure to arrive before that ends",
    )


def test_an_option_that_would_freeze_the_list_of_another_rule_is_not_proven() -> None:
    """RespectIgnoreDifferences holds for every entry, not only for the one that the finding is about."""
    widget = {"apiVersion": "acme.io/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "n"}}
    desired = {**widget, "spec": {"items": [{"name": "a", "size": 1}]}}
    live = {**applied(desired), "spec": {"items": [{"name": "a", "size": 3}]}}
    count = {"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}
    sizes = {"group": "acme.io", "kind": "Widget", "jqPathExpressions": [".spec.items[].size"]}
    scaled = web({"replicas": 4})
    scaled["metadata"]["managedFields"] = [by("kube-controller-manager", "/spec/replicas")]
    resources = [{"desired": web({"replicas": 2}), "live": scaled}]
    spec = {"syncPolicy": {"automated": {"selfHeal": True}}}
    (alone, *_) = fixes(
        "ignore-not-respected",
        {"name": "web", "spec": {**spec, "ignoreDifferences": [count]}, "resources": resources},
    )
    assert alone.verified is True
    entry = by("sizer", "/spec")
    entry["fieldsV1"]["f:spec"] = {"f:items": {'k:{"name":"a"}': {"f:size": {}}}}
    managed = {**live, "metadata": {**live["metadata"], "managedFields": [entry]}}
    trusted = {"group": "acme.io", "kind": "Widget", "managedFieldsManagers": ["sizer"]}
    for rule, widget_ in ((sizes, live), (trusted, managed)):
        objects = [*resources, {"desired": desired, "live": widget_}]
        app = {"name": "web", "spec": {**spec, "ignoreDifferences": [count, rule]}, "resources": objects}
        both = fixes("ignore-not-respected", app)[0]
        assert (both.verified, both.unverified) == (
            None,
            "no later commit to /spec/items of Widget n/w would arrive: RespectIgnoreDifferences keeps such a list whole",
        )


def test_a_roll_out_that_was_held_back_is_a_restart() -> None:
    paused = web({"paused": True})
    (resumed, *_) = fixes(
        "suspended",
        {"name": "web", "resources": [{"desired": paused, "live": applied(paused), "health": {"status": "Suspended"}}]},
    )
    assert "restarts" in resumed.effects


def test_who_has_to_make_the_operator_look_again_is_told_so() -> None:
    """Of a finding about one application, and of one about several, whose fixes no application's states could prove."""
    command = 'kubectl -n n annotate externalsecrets.external-secrets.io db force-sync="$(date +%s)" --overwrite'
    assert declared_effects(Fix("Sync", "live", "db", Edit("command", command))) == {"needs-force-sync"}
    assert declared_effects(Fix("Sync", "live", "db", Edit("command", f"# when it is Ready: {command}"))) == {
        "needs-force-sync"
    }
    assert unreplayed_fix(Fix("Sync", "live", "db", Edit("command", command))).effects == ("needs-force-sync",)


@pytest.mark.parametrize(
    ("command", "effects"),
    [
        ("kubectl -n shop delete deployment.apps web && argocd app sync argocd/web", {"deletes"}),
        ("kubectl -n shop delete statefulset.apps db --cascade=orphan", {"deletes"}),
        ("# when it is Ready: kubectl -n shop delete externalsecrets.kubernetes-client.io db", {"deletes"}),
        ("kubectl -n shop delete pod -l app=web", {"restarts"}),
        ("kubectl -n shop scale deployment web --replicas=0", {"scales"}),
        ('kubectl patch namespace shop --type=merge -p \'{"metadata":{"finalizers":null}}\'', {"deletes"}),
        ("argocd app confirm-deletion argocd/web", {"deletes"}),
        ("argocd app delete-resource argocd/web --kind Job", {"deletes"}),
        ("kubectl -n shop get pods", set()),
    ],
)
def test_what_a_command_does_besides_is_told(command: str, effects: set[str]) -> None:
    fix = Fix("Do it", "live", "web", Edit("command", command))
    assert declared_effects(fix) == effects
    caveat = Fix("Do it", "manifest", "web", Edit("text", "so"), caveat=f"then `{command}`")
    assert declared_effects(caveat) == (effects if command[0] != "#" else set())
    first = Fix("Do it", "manifest", "web", Edit("json-patch", []), before=(command,))
    assert declared_effects(first) == effects


@pytest.mark.parametrize(
    ("fragment", "effects"),
    [
        ("spec:\n  replicas: 3\n", {"scales"}),
        ("tolerations:\n- key: dedicated\n", {"restarts"}),
        ("resources:\n  requests:\n    cpu: 100m\n", {"restarts"}),
        ("rules:\n- apiGroups: ['']\n  resources:\n  - pods\n", set()),
        ("data:\n  replicas: many\n", set()),
    ],
)
def test_what_a_fragment_of_a_manifest_does_to_pods_is_told(fragment: str, effects: set[str]) -> None:
    assert declared_effects(Fix("Write it", "manifest", "web", Edit("yaml", fragment))) == effects
    assert declared_effects(Fix("Write it", "argocd-settings", "argocd-cm", Edit("yaml", fragment))) == frozenset()


def waiting(kind: str, **metadata: Any) -> dict[str, Any]:
    """An application whose operation waits for a deletion."""
    obj = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "namespace": "n", **metadata}}
    state = {"phase": "Running", "startedAt": "2026-01-01T10:00:00Z", "message": f"waiting for deletion of /{kind}/a"}
    status = {"sync": {"status": "OutOfSync"}, "operationState": state}
    return {"name": "web", "status": status, "resources": [{"live": obj}]}


def test_another_operation_starts_when_the_one_before_it_is_over() -> None:
    """Told to end, it goes on for a while, and the server then answers "another operation is already in progress"."""
    found = fixes("hook-stuck", waiting("Service", deletionTimestamp="2026-01-01T10:00:00Z", finalizers=["x/y"]))
    assert [fix.edit.content for fix in found if "terminate" in fix.title] == [
        "argocd app terminate-op argocd/web && argocd app wait argocd/web --operation --timeout 120 && argocd app sync argocd/web"
    ]


@pytest.mark.parametrize("automated", [{"selfHeal": True}, {}])
def test_an_automated_sync_that_starts_first_is_waited_for(automated: dict[str, bool]) -> None:
    """It starts by itself with a new commit, and a sync by hand then meets it; after an operation that was ended, self-heal starts none."""
    app = waiting("Service", deletionTimestamp="2026-01-01T10:00:00Z", finalizers=["x/y"])
    found = fixes("hook-stuck", {**app, "spec": {"syncPolicy": {"automated": automated}}})
    begun = "argocd app terminate-op argocd/web && argocd app wait argocd/web --operation --timeout 120"
    then = "{ argocd app sync argocd/web || argocd app wait argocd/web --sync --timeout 600; }"
    assert [fix.edit.content for fix in found if "terminate" in fix.title] == [f"{begun} && {then}"]


def test_what_replaces_an_entry_of_argo_cd_says_so() -> None:
    """`--upsert` empties what the command does not repeat: credentials, or the labels by which ApplicationSets choose clusters."""

    def blind(message: str, **source: str) -> report.ReportedFix:
        told = f"Failed to load target state: failed to generate manifest for source 1 of 1: {message}"
        status = {"conditions": [{"type": "ComparisonError", "message": told}], "sync": {"status": "Unknown"}}
        (fix, *_) = fixes("comparison-error", {"name": "web", "spec": {"source": source}, "status": status})
        return fix

    denied = "rpc error: code = Unknown desc = authentication required"
    logins = {
        "https://git.example.com/a.git": '--username USER --password "$TOKEN" --upsert',
        "git@git.example.com:a.git": "--ssh-private-key-path KEY_FILE --upsert",
    }
    for address, login in logins.items():
        fix = blind(denied, repoURL=address, path="p")
        assert fix.edit.content == f"argocd repo add {address} {login}"
        assert "--upsert replaces the whole entry" in fix.caveat
    charts = blind(denied, repoURL="registry.example.com/charts", chart="web", targetRevision="1.0.0")
    assert charts.edit.content == (
        'argocd repo add registry.example.com/charts --type helm --name NAME --enable-oci --username USER --password "$TOKEN" --upsert'
    )
    large = blind("git-lfs filter-process: smudge filter lfs failed", repoURL="https://git.example.com/a.git", path="p")
    assert '--username USER --password "$TOKEN" --enable-lfs --upsert' in large.edit.content
    assert large.caveat.startswith("replaces the whole entry")


def test_an_application_that_another_one_makes_is_edited_where_that_one_takes_it_from() -> None:
    """A patch of the live Application alone would be undone by its maker."""
    child = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "web", "namespace": "argocd"},
    }
    root = {"name": "root", "resources": [{"desired": child, "live": child}]}
    count = {"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}
    scaled = web({"replicas": 4})
    scaled["metadata"]["managedFields"] = [by("kube-controller-manager", "/spec/replicas")]
    spec = {"syncPolicy": {"automated": {"selfHeal": True}}, "ignoreDifferences": [count]}
    app = {"name": "web", "spec": spec, "resources": [{"desired": web({"replicas": 2}), "live": scaled}]}
    told = "edit it in the source of application argocd/root, which puts it back"
    (alone, *_), (made, *_) = fixes("ignore-not-respected", app), fixes("ignore-not-respected", root, app)
    assert (alone.caveat.endswith(told), made.caveat) == (False, f"{alone.caveat}; {told}")


def generated(name: str) -> dict[str, Any]:
    """Metadata of an Application that ApplicationSet shops makes."""
    owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "shops", "uid": "u"}
    return {"name": name, "namespace": "argocd", "ownerReferences": [owner]}


def test_an_application_that_a_set_makes_is_edited_in_its_template() -> None:
    scaled = web({"replicas": 4})
    scaled["metadata"]["managedFields"] = [by("kube-controller-manager", "/spec/replicas")]
    count = {"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}
    dead = {"kind": "DaemonSet", "group": "apps", "jsonPointers": ["/spec/x"]}
    spec = {"syncPolicy": {"automated": {"selfHeal": True}}, "ignoreDifferences": [count, dead]}
    desired = web({"replicas": 2})
    app = {
        "name": "web",
        "metadata": generated("web"),
        "spec": spec,
        "resources": [{"desired": desired, "live": scaled}],
    }
    place = "template of ApplicationSet argocd/shops"
    told = "all Applications of the set get it"
    for rule in ("ignore-not-respected", "ignore-rule-dead"):
        edits = [fix for fix in fixes(rule, app) if fix.target == "application"]
        assert edits, rule
        assert {fix.where for fix in edits} == {place}
        assert all(fix.caveat.endswith(told) for fix in edits)
    message = "Application referencing project lost which does not exist"
    refused = {"type": "InvalidSpecError", "message": message}
    (named, *_) = fixes("invalid-spec", {**app, "spec": {}, "status": {"conditions": [refused]}})
    patch = """kubectl -n argocd patch applications.argoproj.io web --type=merge -p '{"spec":{"project":"PROJECT"}}'"""
    assert (named.edit.content, named.where) == (patch, place)
    refusal = "argocd app set is refused while the old project is missing"
    assert named.caveat == f"{refusal}; change the template of ApplicationSet shops instead, which puts it back"


def test_values_go_where_the_application_keeps_its_own() -> None:
    """A valuesObject would replace `values`, and the CustomResourceDefinition of an Argo CD before 2.8 drops it."""
    fixture = testing.load_fixture(Path(__file__).parent / "rules/nondeterministic-secret/bad-alias.yaml")
    (app,) = fixture.data["apps"][:1]
    chart = {"chart": "shop", "path": "", "repoURL": "https://charts.example.com", "targetRevision": "1.0.0"}
    for helm, version, place in (
        ({}, "v3.5.1", "valuesObject"),
        ({"values": "a: 1\n"}, "v3.5.1", "values"),
        ({"valuesObject": {"a": 1}}, "v3.5.1", "valuesObject"),
        ({}, "v2.8.0", "valuesObject"),
        ({}, "v2.7.9", "values"),
    ):
        source = {**chart, "helm": helm}
        told = fixes("nondeterministic-secret", {**app, "spec": {**app["spec"], "source": source}}, version=version)
        assert {f"the Application's spec.source.helm.{place}"} == {f.where for f in told if f.target == "helm-values"}


def test_patches_that_make_one_list_say_so() -> None:
    """Whoever applies the second as it stands, with `kubectl patch` say, undoes the first."""

    def scaled(name: str) -> dict[str, Any]:
        desired, live = web({"replicas": 2}), web({"replicas": 4})
        live["metadata"] |= {"name": name, "managedFields": [by("kube-downscaler", "/spec/replicas")]}
        return {"desired": {**desired, "metadata": {**desired["metadata"], "name": name}}, "live": live}

    told = "put it together with the other patch of /spec/ignoreDifferences"
    alone = fixes("autoscaler-replicas", {"name": "web", "resources": [scaled("one")]})
    both = fixes("autoscaler-replicas", {"name": "web", "resources": [scaled("one"), scaled("two")]})
    ignoring = [f.caveat.endswith(told) for f in both if f.title.startswith("Ignore")]
    assert (ignoring, any(told in f.caveat for f in alone)) == ([True, True], False)


def test_a_field_that_an_old_crd_would_prune_is_not_offered() -> None:
    def titles(version: str) -> list[str]:
        spec = {"refreshInterval": "0", "secretStoreRef": {"name": "s", "kind": "SecretStore"}, "data": []}
        state = {"kind": "ExternalSecret", "metadata": {"name": "db", "namespace": "n"}, "spec": spec}
        state = {"apiVersion": f"external-secrets.io/{version}", **state}
        resources = [{"desired": state, "live": state}]
        return [f.title for f in fixes("external-secret-refresh-disabled", {"name": "web", "resources": resources})]

    assert titles("v1beta1") == ["Refresh every hour"]
    assert titles("v1")[1:] == ["Refresh it when its manifest changes, and let force-sync work"]


def test_a_pruning_is_confirmed_while_the_sync_waits_for_it() -> None:
    """A confirmation from before the operation's start does not count, and a sync that is waited for never gets one."""
    metadata = {
        "name": "old",
        "namespace": "n",
        "annotations": {"argocd.argoproj.io/sync-options": "Prune=confirm", TRACKING_ID: "web:/ConfigMap:n/old"},
    }
    extra = {"live": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}, "status": "OutOfSync"}
    (prune, *_) = fixes("prune-disabled-drift", {"name": "web", "resources": [extra]})
    assert prune.edit.content == (
        "argocd app sync argocd/web --prune --async\n"
        "# when the operation waits for the confirmation; one from before its start does not count:\n"
        "argocd app confirm-deletion argocd/web\n"
    )
    assert prune.effects == ("deletes",)


def test_who_writes_a_failure_policy_that_refuses_is_warned_of_refused_syncs() -> None:
    def webhook(policy: str, manager: str = "", **client: str) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "f:webhooks": {'k:{"name":"seal.dock.io"}': {"f:clientConfig": {"f:caBundle": {}}, "f:failurePolicy": {}}}
        }
        written = {"manager": manager, "operation": "Update", "time": "2026-01-01T10:00:00Z", "fieldsType": "FieldsV1"}
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "dock", **({"managedFields": [{**written, "fieldsV1": fields}]} if manager else {})},
            "webhooks": [{"name": "seal.dock.io", "failurePolicy": policy, "clientConfig": client}],
        }

    def caveats(git: str, live: str) -> list[str]:
        sides = {"desired": webhook(git), "live": webhook(live, "kube-webhook-certgen", caBundle="LS0tLS1CRUdJTg==")}
        return [fix.caveat for fix in fixes("ca-bundle-injected", {"name": "dock", "resources": [sides]})]

    assert "until the webhook serves, it may refuse a sync" in caveats("Ignore", "Fail")
    opening = caveats("Fail", "Ignore")
    assert opening
    assert not any("refuse" in caveat for caveat in opening)


@pytest.mark.parametrize(
    ("before", "words", "held"),
    [
        ((), (), 0),
        (("kubectl get ns",), (), 1),
        (("kubectl get ns",), ("all",), 1),
        (("kubectl get ns",), ("0123456",), 0),
    ],
)
def test_a_fix_that_needs_a_step_first_is_written_only_when_its_finding_is_named(
    before: tuple[str, ...], words: tuple[str, ...], held: int
) -> None:
    fix = report.ReportedFix(
        "Do it", "manifest", "web", report.ReportedEdit("json-patch", []), verified=True, before=before
    )
    app = report.ReportedApp("", "argocd", "web", "default")
    finding = report.ReportedFinding("r", "drift", "error", "proven", app, "It is so.", "", "0123456789")
    assert len(split([Choice(finding, fix, 1)], words)[0]) == held


@pytest.mark.parametrize(("operation", "effects"), [("add", {"deletes"}), ("remove", set())])
def test_automated_pruning_that_a_fix_switches_on_is_told(operation: str, effects: set[str]) -> None:
    patch = [{"op": operation, "path": "/spec/syncPolicy/automated/prune", "value": True}]
    assert declared_effects(Fix("Prune", "application", "web", Edit("json-patch", patch))) == effects
