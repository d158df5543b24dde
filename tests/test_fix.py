"""Fixes are replayed: what works is verified, what does not is found out, what cannot be replayed says why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from argolint import narrowest_ignore
from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.comparison.compare import LAST_APPLIED
from argolint.engine import run as engine
from argolint.engine.load import read_fleet
from argolint.engine.plan import ChosenRule, Plan
from argolint.model import Edit, Finding, Fix, FixTarget, Json, Location, Related, ResourceId, Symptom, Want
from argolint.plugins import load_rules
from argolint.proof.replay import Checks
from argolint.proof.verify import unreplayed_fix, verify
from argolint.server import api as argocd
from argolint.server.transport import Transport
from argolint.snapshots.reader import SnapshotTransport
from argolint.testing import FixtureTransport
from tests.conftest import recording


def states(t: Transport) -> Iterator[tuple[App, Fleet]]:
    """Every application whose states the server answered."""
    fleet, _ = read_fleet(t)
    for app in fleet.apps:
        if app.desired_known:
            yield app.with_states(argocd.managed_resources(t, app.ref), argocd.resource_tree(t, app.ref)), fleet


def lone(desired: Json, live: Json, **app: Any) -> tuple[App, Fleet]:
    """An application that manages one object."""
    data = {"apps": [{"name": "web", "resources": [{"desired": desired, "live": live}], **app}]}
    return next(states(FixtureTransport(data)))


def deployment(last: Json = None, fields: Mapping[str, Json] | None = None, **spec: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "web", "namespace": "shop"}
    if last is not None:
        metadata["annotations"] = {LAST_APPLIED: json.dumps(last)}
    if fields is not None:
        metadata["managedFields"] = [{"manager": "scaler", "operation": "Update", "fieldsV1": fields}]
    template = {
        "spec": {
            "containers": [{"name": "proxy", "image": "p:1"}, {"name": "app", "image": spec.pop("image", "web:1")}]
        }
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": template, **spec}}


def config_map(app: App) -> ResourceId:
    """A ConfigMap of the name of the only object."""
    return structs.replace(app.resources[0].id, kind="ConfigMap")


def drift(app: App) -> Finding:
    """A finding that claims every difference of the only object."""
    resource = app.resources[0]
    claims = tuple(Symptom.change(resource.id, change.pointer) for change in resource.changes)
    assert claims
    return Finding("it drifts", Location(app.ref, resource.id, claims[0].detail), explains=claims)


def patch(target: FixTarget, *operations: Json) -> Fix:
    return Fix("Try this", target, "somewhere", Edit("json-patch", list(operations)))


REMOVE = {"op": "remove", "path": "/spec/replicas"}


def test_a_field_that_leaves_the_manifest_is_its_writers_after_the_sync() -> None:
    """What was applied last is told to forget it first: the sync would delete it, and the API server would fill in 1."""
    app, fleet = lone(deployment(replicas=2), deployment(deployment(replicas=2), replicas=5))
    found = verify(patch("manifest", REMOVE), drift(app), app, fleet)
    assert (found.verified, found.proof, found.effects) == (True, "replayed", ("needs-sync",))
    assert found.before == (
        "set -o pipefail; kubectl apply view-last-applied deployment.apps web -n shop -o json | jq 'del(.spec.replicas)'"
        " | kubectl apply set-last-applied -n shop -f -",
    )


@pytest.mark.parametrize(
    ("source", "where"),
    [
        ({"chart": "tarn", "targetRevision": "4.1.0"}, "Deployment shop/web, made by chart tarn"),
        ({"path": "deploy/tarn", "targetRevision": "main"}, "Deployment shop/web"),
    ],
)
def test_a_fix_of_an_object_names_the_chart_that_makes_it(source: dict[str, str], where: str) -> None:
    """A chart of a repository is not the reader's to edit; a folder of Git is."""
    spec = {"source": {"repoURL": "https://charts.example.com", **source}}
    app, fleet = lone(deployment(replicas=2), deployment(replicas=5), spec=spec)
    fix = replace(patch("manifest", REMOVE), where=str(app.resources[0].id))
    assert verify(fix, drift(app), app, fleet).where == where
    ignore = replace(patch("application", {"op": "add", "path": "/spec/x", "value": 1}), where=fix.where)
    assert verify(ignore, drift(app), app, fleet).where == fix.where


def test_self_heal_rests_while_what_was_applied_last_is_edited() -> None:
    heals = {"syncPolicy": {"automated": {"selfHeal": True}}}
    app, fleet = lone(deployment(replicas=2), deployment(deployment(replicas=2), replicas=5), spec=heals)
    found = verify(patch("manifest", REMOVE), drift(app), app, fleet)
    assert found.before[0] == "argocd app set argocd/web --self-heal=false"
    assert found.caveat == "switch self-heal on again when the edit is synced"
    made = app.with_raw(
        {
            **app.raw,
            "metadata": {**app.raw["metadata"], "ownerReferences": [{"kind": "ApplicationSet", "name": "shops"}]},
        }
    )
    assert verify(patch("manifest", REMOVE), drift(made), made, fleet).caveat == (
        "switch self-heal on again when the edit is synced; change the template of ApplicationSet shops instead, which puts it back"
    )


def test_a_field_that_only_a_manager_entry_holds_is_lost_with_the_manifests() -> None:
    """No step takes a field out of Argo CD's own entry: the fix is offered, and not called verified."""
    live = deployment(replicas=5)
    mine: Json = {"f:spec": {"f:replicas": {}}}
    live["metadata"]["managedFields"] = [{"manager": "argocd-controller", "operation": "Apply", "fieldsV1": mine}]
    app, fleet = lone(deployment(replicas=2), live, spec={"syncPolicy": {"syncOptions": ["ServerSideApply=true"]}})
    found = verify(patch("manifest", REMOVE), drift(app), app, fleet)
    assert (found.verified, found.before, found.effects) == (None, (), ("scales", "needs-sync"))
    assert found.unverified == (
        "the next sync removes /spec/replicas of Deployment shop/web from the cluster: it was applied before"
    )


def test_to_ignore_a_field_that_the_next_sync_overwrites_is_not_verified() -> None:
    entry = {"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}
    app, fleet = lone(deployment(replicas=2), deployment(deployment(replicas=2), replicas=5))
    found = verify(
        patch("application", {"op": "add", "path": "/spec/ignoreDifferences", "value": [entry]}), drift(app), app, fleet
    )
    assert (found.verified, found.effects) == (None, ("hides",))
    assert found.unverified == "the next sync still overwrites /spec/replicas of Deployment shop/web"


def test_an_edit_that_leaves_an_empty_item_is_found_out() -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s", "namespace": "shop"}}
    git, live = {**account, "imagePullSecrets": [{"name": "a"}]}, {**account, "imagePullSecrets": [{"name": "b"}]}
    app, fleet = lone(git, live)
    found = verify(patch("manifest", {"op": "remove", "path": "/imagePullSecrets/0/name"}), drift(app), app, fleet)
    assert (found.verified, found.unverified) == (
        False,
        "the edit leaves an empty item in a list, or empty annotations",
    )


def test_what_any_rule_newly_finds_keeps_a_fix_from_being_verified() -> None:
    app, fleet = lone(deployment(replicas=2), deployment(replicas=5))
    news = replace(drift(app), message="the pods lose their disk", rule="other")
    found = verify(patch("manifest", REMOVE), drift(app), app, fleet, Checks(lambda after: (), lambda after: [news]))
    assert (found.verified, found.unverified) == (None, "other would then report: the pods lose their disk")


def test_a_new_finding_that_rests_on_an_operators_status_is_no_news() -> None:
    """The operator, which is not replayed, wrote the status before the edit."""
    app, fleet = lone(deployment(replicas=2), {**deployment(replicas=5), "status": {"seen": True}})

    def stale(after: App) -> list[Finding]:
        return [drift(app)] if "status" in (after.resources[0].live or {}) else []

    found = verify(patch("manifest", REMOVE), drift(app), app, fleet, Checks(lambda after: (), stale))
    assert found.verified is True


def test_a_masked_secret_is_ignored_for_certain_only_by_two_renders() -> None:
    """What follows from its values, a checksum for one, shows in two renders only."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}}
    old, new = ({**secret, "data": {"k": value}} for value in ("++++++++", "++++++++++++"))
    entry = {"kind": "Secret", "jsonPointers": ["/data/k"]}
    ignore = patch(
        "application",
        {"op": "add", "path": "/spec/ignoreDifferences", "value": [entry]},
        {"op": "add", "path": "/spec/syncPolicy", "value": {"syncOptions": ["RespectIgnoreDifferences=true"]}},
    )
    app, fleet = lone(old, new)
    assert "--render-twice" in verify(ignore, drift(app), app, fleet).unverified
    renders = [[{**old, "extra": "a"}], [{**old, "extra": "b"}]]
    twice = replace(app, evidence={Want("render"): tuple(map(tuple, renders))})
    found = verify(ignore, drift(app), twice, fleet)
    assert (found.verified, found.proof) == (True, "rendered-twice")
    follows = replace(drift(app), related=(Related(app.ref, config_map(app), "/metadata/annotations/sum"),))
    config: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s", "namespace": "shop"}}
    sums = tuple(({**config, "metadata": {**config["metadata"], "annotations": {"sum": n}}},) for n in "ab")
    left = verify(ignore, follows, replace(app, evidence={Want("render"): sums}), fleet)
    assert (left.verified, left.unverified) == (
        None,
        "another render changes /metadata/annotations/sum of ConfigMap s as well",
    )


def test_another_value_in_git_ends_nothing_while_somebody_else_writes_the_field() -> None:
    app, fleet = lone(deployment(replicas=2), deployment(deployment(replicas=2), replicas=5))
    found = verify(patch("manifest", {"op": "replace", "path": "/spec/replicas", "value": 3}), drift(app), app, fleet)
    assert found.verified is False
    assert found.unverified == "/spec/replicas of Deployment shop/web would still differ"


def test_a_fix_that_brings_another_difference_is_found_out() -> None:
    everything = patch("application", {"op": "remove", "path": "/spec/ignoreDifferences"})
    app, fleet = lone(
        deployment(replicas=1, paused=True),
        deployment(deployment(replicas=1, paused=True), replicas=4, paused=False),
        spec={"ignoreDifferences": [{"group": "apps", "kind": "*", "jsonPointers": ["/spec/replicas"]}]},
    )
    found = verify(everything, Finding("an entry too much", Location(app.ref)), app, fleet, Checks(lambda after: ()))
    assert (found.verified, found.unverified) == (False, "/spec/replicas of Deployment shop/web would newly differ")


def test_a_patch_that_does_not_apply_is_found_out() -> None:
    app, fleet = lone(deployment(replicas=2), deployment(replicas=5))
    found = verify(patch("manifest", {"op": "remove", "path": "/spec/absent"}), drift(app), app, fleet)
    assert found.verified is False
    assert found.unverified.startswith("the patch does not apply")


def test_a_rule_that_still_speaks_keeps_the_fix_from_being_verified() -> None:
    app, fleet = lone(deployment(replicas=2), deployment(replicas=5))
    finding = drift(app)
    assert verify(patch("manifest", REMOVE), finding, app, fleet, Checks(lambda after: ())).verified is True
    half = verify(patch("manifest", REMOVE), finding, app, fleet, Checks(lambda after: [finding]))
    assert half.verified is None
    assert half.unverified == "the rule also looks at what is not replayed here, and would still report it"


def test_an_edit_that_leaves_the_differences_alone_proves_nothing() -> None:
    app, fleet = lone(
        deployment(replicas=2), deployment(replicas=5), spec={"syncPolicy": {"automated": {"selfHeal": True}}}
    )
    quiet = patch("application", {"op": "remove", "path": "/spec/syncPolicy/automated/selfHeal"})
    assert (
        verify(quiet, drift(app), app, fleet, Checks(lambda after: ())).unverified == "the differences themselves stay"
    )


def test_an_item_that_somebody_puts_before_ours_comes_back_before_ours() -> None:
    def scaled(*verbs: str) -> dict[str, Any]:
        spec = {"behavior": {"verbs": list(verbs)}}
        return {"apiVersion": "x.example.com/v1", "kind": "Scaler", "metadata": {"name": "s"}, "spec": spec}

    live = scaled("injected", "a", "b")
    live["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(scaled("a", "b"))}
    app, fleet = lone(scaled("a", "b"), live)
    adopt = patch("manifest", {"op": "add", "path": "/spec/behavior/verbs/0", "value": "injected"})
    assert verify(adopt, drift(app), app, fleet).verified is True


def test_the_rule_sees_the_application_after_the_fix() -> None:
    app, fleet = lone(deployment(replicas=2), deployment(replicas=5))
    seen: list[App] = []

    def check(after: App) -> list[Finding]:
        seen.append(after)
        return []

    verify(patch("manifest", REMOVE), drift(app), app, fleet, Checks(check))
    after = seen[0].resources[0]
    assert (after.status, after.changes, app.resources[0].status) == ("Synced", (), "OutOfSync")
    assert after.live is not None
    assert after.desired is not None
    assert (after.live["spec"]["replicas"], "replicas" in after.desired["spec"]) == (5, False)


@pytest.mark.parametrize(
    ("fix", "why"),
    [
        (Fix("Run it", "live", "", Edit("command", "kubectl ...")), "a command is not run"),
        (
            Fix("Look", "live", "", Edit("command", "# why?\nkubectl -n a describe pod b | tail -20")),
            "it says where to look",
        ),
        (
            Fix("Copy", "live", "", Edit("command", "kubectl get cm a -o json | kubectl apply -f -")),
            "a command is not run",
        ),
        (
            Fix("Repair", "live", "", Edit("command", "kubectl get es\nkubectl -n a annotate es b force-sync=1")),
            "what the operator finds at the next sync is not known here",
        ),
        (patch("helm-values", REMOVE), "what is made of this setting cannot be replayed"),
        (
            patch("application", {"op": "replace", "path": "/spec/source/path", "value": "x"}),
            "the edit changes what is rendered",
        ),
        (
            patch("application", {"op": "move", "from": "/spec/source/path", "path": "/metadata/annotations/a"}),
            "the edit changes what is rendered",
        ),
        (
            patch("manifest", {"op": "replace", "path": "/metadata/name", "value": "x"}),
            "the edit makes another object of it",
        ),
    ],
)
def test_what_cannot_be_replayed_says_why(fix: Fix, why: str) -> None:
    app, fleet = lone(deployment(replicas=2), deployment(replicas=5), spec={"source": {"repoURL": "r", "path": "p"}})
    found = verify(fix, drift(app), app, fleet)
    assert found.verified is None
    assert found.unverified.startswith(why)


def test_a_failed_operation_is_not_cured_in_memory_and_a_difference_of_today_is_no_contradiction() -> None:
    app, fleet = lone(deployment(replicas=2), deployment(deployment(replicas=2), replicas=5))
    finding = replace(drift(app), explains=(*drift(app).explains, Symptom.operation()))
    assert verify(patch("manifest", REMOVE), finding, app, fleet).unverified == "only a sync shows whether this ends it"
    other = patch("manifest", {"op": "replace", "path": "/spec/replicas", "value": 3})
    assert verify(other, finding, app, fleet).unverified == "only a sync shows whether this ends it"


def test_masked_secret_data_is_not_replayed() -> None:
    desired = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "shop"},
        "data": {"k": "++++++++"},
    }
    app, fleet = lone(desired, {**desired, "data": {"k": "++++++++++++"}})
    fix = patch("manifest", {"op": "remove", "path": "/data/k"})
    assert verify(fix, drift(app), app, fleet).unverified == "Argo CD masks the data of Secrets"


def test_a_verdict_that_argolint_cannot_reproduce_is_not_reasoned_from() -> None:
    data = {
        "apps": [
            {
                "name": "web",
                "resources": [
                    {
                        "desired": deployment(replicas=2),
                        "live": deployment(replicas=5),
                        "normalized": deployment(paused=True),
                        "predicted": deployment(paused=False),
                    }
                ],
            }
        ]
    }
    app, fleet = next(states(FixtureTransport(data)))
    assert "does not agree with Argo CD's" in verify(patch("manifest", REMOVE), drift(app), app, fleet).unverified


def test_a_fleet_findings_fix_says_that_it_was_not_replayed() -> None:
    assert (
        unreplayed_fix(patch("application", REMOVE)).unverified
        == "a finding about several applications is not replayed"
    )


class TestNarrowestIgnore:
    def entry(self, app: App) -> tuple[Json, Json]:
        resource = app.resources[0]
        fix = narrowest_ignore(app, resource, [change.pointer for change in resource.changes])
        return fix.edit.content[0]["value"], fix.edit.content[1:]

    def test_it_names_one_object_and_one_field_and_makes_syncs_respect_it(self) -> None:
        app, fleet = lone(deployment(replicas=2), deployment(replicas=5))
        entry, rest = self.entry(app)
        assert entry == [
            {
                "group": "apps",
                "kind": "Deployment",
                "name": "web",
                "namespace": "shop",
                "jsonPointers": ["/spec/replicas"],
            }
        ]
        assert rest == [
            {"op": "add", "path": "/spec/syncPolicy", "value": {"syncOptions": ["RespectIgnoreDifferences=true"]}}
        ]
        fix = narrowest_ignore(app, app.resources[0], ["/spec/replicas"])
        assert verify(fix, drift(app), app, fleet).verified is True

    def test_core_objects_have_no_group_and_keys_are_escaped(self) -> None:
        desired = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a/b~c": "1"}}
        app, _ = lone(desired, {**desired, "data": {"a/b~c": "2"}})
        assert self.entry(app)[0] == [{"kind": "ConfigMap", "name": "c", "jsonPointers": ["/data/a~1b~0c"]}]

    def test_list_items_are_chosen_by_name(self) -> None:
        app, fleet = lone(deployment(image="web:1"), deployment(image="web:2"))
        entry = self.entry(app)[0][0]
        assert entry["jqPathExpressions"] == ['.spec.template.spec.containers[] | select(.name == "app") | .image']
        assert verify(
            narrowest_ignore(app, app.resources[0], [app.resources[0].changes[0].pointer]), drift(app), app, fleet
        ).verified

    def test_several_plain_items_of_a_list_are_ignored_as_the_list(self) -> None:
        def role(*verbs: str) -> dict[str, Any]:
            rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": list(verbs)}]
            api = "rbac.authorization.k8s.io/v1"
            return {"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": rules}

        app, fleet = lone(role("get", "list", "watch"), role("list", "watch", "delete"))
        assert self.entry(app)[0][0]["jqPathExpressions"] == [".rules[0].verbs"]
        pointers = [change.pointer for change in app.resources[0].changes]
        assert verify(narrowest_ignore(app, app.resources[0], pointers), drift(app), app, fleet).verified is True

    def test_keys_that_are_no_identifiers_are_quoted_behind_a_pipe(self) -> None:
        def gateway(value: str) -> dict[str, Any]:
            spec = {"listeners": [{"name": "http", "labels": {"a.b/c": value}}]}
            return {"apiVersion": "net.example.com/v1", "kind": "Gateway", "metadata": {"name": "g"}, "spec": spec}

        app, fleet = lone(gateway("1"), gateway("2"))
        entry = self.entry(app)[0][0]
        assert entry["jqPathExpressions"] == ['.spec.listeners[] | select(.name == "http") | .labels["a.b/c"]']
        fix = narrowest_ignore(app, app.resources[0], ["/spec/listeners/0/labels/a.b~1c"])
        found = verify(fix, drift(app), app, fleet)
        assert found.verified is None
        assert found.unverified == (
            "no later commit to /spec/listeners of Gateway g would arrive: RespectIgnoreDifferences keeps such a list whole"
        )
        assert "no later commit to that list arrives" in fix.caveat

    def test_a_manager_that_owns_just_these_fields_is_trusted_with_them(self) -> None:
        app, _ = lone(deployment(replicas=2), deployment(fields={"f:spec": {"f:replicas": {}}}, replicas=5))
        assert self.entry(app)[0][0]["managedFieldsManagers"] == ["scaler"]

    def test_a_manager_that_owns_more_is_not(self) -> None:
        fields: dict[str, Any] = {"f:spec": {"f:replicas": {}, "f:minReadySeconds": {}}}
        app, _ = lone(deployment(replicas=2), deployment(fields=fields, replicas=5, minReadySeconds=3))
        assert self.entry(app)[0][0]["jsonPointers"] == ["/spec/replicas"]

    def test_it_joins_an_entry_of_the_same_object(self) -> None:
        own = {
            "group": "apps",
            "kind": "Deployment",
            "name": "web",
            "namespace": "shop",
            "jsonPointers": ["/spec/paused"],
        }
        spec = {"ignoreDifferences": [own], "syncPolicy": {"syncOptions": ["RespectIgnoreDifferences=true"]}}
        app, _ = lone(deployment(replicas=2), deployment(replicas=5), spec=spec)
        fix = narrowest_ignore(app, app.resources[0], ["/spec/replicas"])
        assert fix.edit.content == [
            {"op": "add", "path": "/spec/ignoreDifferences/0/jsonPointers/-", "value": "/spec/replicas"}
        ]

    def test_it_stands_beside_an_entry_of_another_object(self) -> None:
        spec = {"ignoreDifferences": [{"group": "apps", "kind": "StatefulSet", "jsonPointers": ["/spec/replicas"]}]}
        app, _ = lone(deployment(replicas=2), deployment(replicas=5), spec=spec)
        fix = narrowest_ignore(app, app.resources[0], ["/spec/replicas"])
        assert fix.edit.content[0]["path"] == "/spec/ignoreDifferences/-"
        assert "RespectIgnoreDifferences=true then holds for 1 other entry too" in fix.caveat

    def test_an_application_of_an_application_set_is_edited_in_its_template(self) -> None:
        owner = {"ownerReferences": [{"kind": "ApplicationSet", "name": "shops"}]}
        app, _ = lone(deployment(replicas=2), deployment(replicas=5), metadata=owner)
        assert (
            narrowest_ignore(app, app.resources[0], ["/spec/replicas"]).where
            == "template of ApplicationSet argocd/shops"
        )


@pytest.mark.parametrize(
    "phase",
    ["harbourline/3-after-commits", "harbourline-2.14/2-after-mutate"],
)
def test_every_recorded_drift_has_a_narrowest_ignore_that_holds(phase: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All but those that nobody should ignore: an object that two owners fight for, and one that cannot be compared."""
    verdicts: dict[bool | None, list[str]] = {True: [], False: [], None: []}
    for app, fleet in states(SnapshotTransport([recording(phase)])):
        for resource in app.resources:
            if resource.changes:
                claims = tuple(Symptom.change(resource.id, change.pointer) for change in resource.changes)
                finding = Finding("drift", Location(app.ref, resource.id), explains=claims)
                fix = verify(narrowest_ignore(app, resource, [c.detail for c in claims]), finding, app, fleet)
                verdicts[fix.verified].append(f"{app.ref} {resource.id}: {fix.unverified}")
    with capsys.disabled():
        print(f"\n{phase}: {len(verdicts[True])} verified", *verdicts[False], *verdicts[None], sep="\n  ")  # noqa: T201
    masked = [told for told in verdicts[None] if "Argo CD masks the values" in told]
    closed = [told for told in verdicts[None] if "no later commit to" in told]  # a custom resource's list
    assert all(" Secret " in told for told in masked)
    assert len(verdicts[True]) + len(masked) >= 25
    assert len(closed) <= 2
    assert len(verdicts[False]) + len(verdicts[None]) - len(masked) - len(closed) <= 2


@pytest.mark.parametrize("phase", ["seeds/1-stuck", "harbourline/2-after-mutate"])
def test_every_rule_proves_its_fixes_on_recordings(
    phase: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """Verified first fixes are counted by rule; a fix that the engine had to drop is a fault of its rule."""
    transport = SnapshotTransport([recording(phase)])
    fleet, _ = read_fleet(transport)
    plan = Plan(tuple(ChosenRule(rule, rule.default_options) for rule in load_rules().values()), workers=1)
    with caplog.at_level("DEBUG", logger="argolint.engine.run"):
        findings = [finding for result in engine.run(transport, fleet, plan) for finding in result.findings]
    patched = [f for f in findings if f.fixes and f.fixes[0].edit.kind == "json-patch"]
    first = Counter((f.rule, f.fixes[0].verified) for f in patched)
    dropped = [record.getMessage() for record in caplog.records if "dropped the fix" in record.getMessage()]
    lines = [
        f"  {rule:34}{first[rule, True]:4} verified{first[rule, None]:4} not replayed"
        for rule, _ in sorted(first, key=str)
    ]
    with capsys.disabled():
        print(f"\n{phase}: first fixes that are patches", *dict.fromkeys(lines), *dropped, sep="\n")  # noqa: T201
    assert len(dropped) <= 1
    drifts = [f for f in patched if f.explains and all(symptom.kind == "change" for symptom in f.explains)]
    assert all(f.fixes[0].verified is True or f.fixes[0].unverified for f in patched)
    assert sum(f.fixes[0].verified is True or bool(f.fixes[0].before) for f in drifts) >= 0.9 * len(drifts)


SERVER_DIFF = {
    "op": "add",
    "path": "/metadata/annotations",
    "value": {"argocd.argoproj.io/compare-options": "ServerSideDiff=true"},
}


def test_a_server_side_diff_of_client_side_syncs_sees_no_field_leave_git() -> None:
    """The API server gives up what the manager has applied, and a client-side apply notes none of that (argoproj/argo-cd#25205)."""
    app, fleet = lone(deployment(replicas=2), deployment(deployment(replicas=2), replicas=5))
    found = verify(patch("application", SERVER_DIFF), drift(app), app, fleet)
    assert (found.verified, found.effects) == (None, ("hides",))
    assert (
        found.unverified
        == "a later commit that takes a field out of Git would show no difference: syncs are client-side"
    )
    assert found.caveat == "a field that leaves Git then shows no difference without ServerSideApply=true"


def limits(**item: Any) -> dict[str, Any]:
    metadata = {"name": "l", "namespace": "shop"}
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": metadata,
        "spec": {"limits": [{"type": "Container", **item}]},
    }


def test_another_writers_field_in_a_list_that_is_sent_whole_is_not_kept() -> None:
    """RespectIgnoreDifferences takes Git's list where Git has no such field, and the API server fills in its own default."""
    desired = limits(default={"cpu": "500m"})
    live = limits(default={"cpu": "500m"}, defaultRequest={"cpu": "1"})
    fields: Json = {"f:spec": {"f:limits": {}}}
    live["metadata"] |= {
        "managedFields": [
            {"manager": "tuner", "operation": "Update", "time": "2026-01-01T11:00:00Z", "fieldsV1": fields}
        ]
    }
    app, fleet = lone(desired, live)
    found = verify(
        narrowest_ignore(app, app.resources[0], ["/spec/limits/0/defaultRequest/cpu"]), drift(app), app, fleet
    )
    assert (found.verified, found.unverified) == (
        None,
        "a sync sends the list of /spec/limits/0/defaultRequest/cpu of LimitRange shop/l whole, without what its other writer has put there",
    )


def test_a_merge_by_schema_refuses_two_items_of_one_key() -> None:
    twice = deployment(replicas=2)
    twice["spec"]["template"] = {
        "spec": {"containers": [{"name": "c", "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "1"}]}]}
    }
    app, fleet = lone(
        twice, deployment(twice, replicas=5), spec={"syncPolicy": {"syncOptions": ["ServerSideApply=true"]}}
    )
    finding = Finding(
        "it drifts",
        Location(app.ref, app.resources[0].id),
        explains=(Symptom.change(app.resources[0].id, "/spec/replicas"),),
    )
    found = verify(patch("manifest", {"op": "replace", "path": "/spec/replicas", "value": 5}), finding, app, fleet)
    assert (found.verified, found.unverified) == (
        None,
        "two items of env of Deployment shop/web have one key, which a merge by schema refuses",
    )


def test_an_edit_in_git_needs_no_sync_by_hand_where_an_application_set_starts_the_syncs() -> None:
    owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "boats", "controller": True}
    made = {"name": "web", "metadata": {"ownerReferences": [owner]}}

    def effects(strategy: str) -> tuple[str, ...]:
        boats = {"metadata": {"name": "boats", "namespace": "argocd"}, "spec": {"strategy": {"type": strategy}}}
        resources = [{"desired": deployment(replicas=1), "live": deployment(replicas=5)}]
        data = {"server": {"applicationsets": [boats]}, "apps": [{**made, "resources": resources}]}
        app, fleet = next(states(FixtureTransport(data)))
        symptom = Symptom.change(app.resources[0].id, "/spec/replicas")
        finding = Finding("it drifts", Location(app.ref, app.resources[0].id), explains=(symptom,))
        edit = patch("manifest", {"op": "replace", "path": "/spec/replicas", "value": 5})
        return verify(edit, finding, app, fleet).effects

    assert (effects("RollingSync"), effects("AllAtOnce")) == ((), ("needs-sync",))
