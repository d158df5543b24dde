"""Fixes of several applications: each plays its part on its own states, and the join calls verified what all of them played."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from argolint import testing
from argolint.comparison import LAST_APPLIED, TRACKING_ID, compare
from argolint.edits.handover import released
from argolint.engine import pipeline
from argolint.engine.join import join
from argolint.engine.load import read_application, read_fleet
from argolint.engine.plan import ChosenRule, Plan
from argolint.model import AppRef, Edit, Fact, Fix, ResourceId, Trial
from argolint.plugins import load_rules
from argolint.proof.handover import GUARD, trial_effects, with_trials
from argolint.reports import document as report
from argolint.values.kubernetes import SYNC_OPTIONS

RULES = list(load_rules().values())
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap"}


def settings(owner: str, window: str = "30s", **annotations: str) -> dict[str, Any]:
    """The shared ConfigMap as one application renders it."""
    track = {TRACKING_ID: f"{owner}:/ConfigMap:shop/common"}
    metadata = {"name": "common", "namespace": "shop", "annotations": {**annotations, **track}}
    return {**CONFIG, "metadata": metadata, "data": {"WINDOW": window}}


def applied(state: dict[str, Any]) -> dict[str, Any]:
    annotations = {**state["metadata"]["annotations"], LAST_APPLIED: json.dumps(state)}
    return {**state, "metadata": {**state["metadata"], "annotations": annotations}}


def app(
    name: str, desired: dict[str, Any], live: dict[str, Any], *, alone: bool = False, **more: Any
) -> dict[str, Any]:
    own = {**CONFIG, "metadata": {"name": name, "namespace": "shop"}, "data": {"a": "b"}}
    shared = {"desired": desired, "live": live}
    spec = {"syncPolicy": {"automated": {"selfHeal": True, "prune": True}}, **more.get("spec", {})}
    message = "ConfigMap/common is part of applications argocd/read and write"
    conditions = [{"type": "SharedResourceWarning", "message": message}] if name == "read" else []
    status = {"sourceType": "Directory", "conditions": conditions, "history": [{"id": 1}], **more.get("status", {})}
    rest = [] if alone else [{"desired": own, "live": own}]
    return {"name": name, "spec": spec, "status": status, "resources": [shared, *rest]}


def two(**reader: Any) -> dict[str, Any]:
    """`write` owns the live object, `read` renders it too."""
    live = applied(settings("write"))
    wanted = reader.pop("desired", settings("read", "60s"))
    return {"about": "inline", "apps": [app("write", settings("write"), live), app("read", wanted, live, **reader)]}


def first(data: dict[str, Any], rule: str = "shared-resource") -> report.ReportedFix:
    found = testing.check(testing.Fixture(Path("inline.yaml"), data), RULES)
    assert [f.error for f in found.failures] == []
    (finding,) = [f for f in found.findings if f.rule == rule]
    return finding.fixes[0]


def test_one_owner_is_verified_when_each_application_has_played_its_part() -> None:
    fix = first(two())
    assert fix.title == 'Keep ConfigMap shop/common in "write" alone'
    assert (fix.verified, fix.proof, fix.unverified) == (True, "replayed", "")
    assert f"{SYNC_OPTIONS}={GUARD}" in fix.edit.content  # the script guards with what was played


@pytest.mark.parametrize(
    ("reader", "why"),
    [
        (
            {"desired": settings("read", **{SYNC_OPTIONS: "ServerSideApply=false"})},
            "a sync of argocd/read takes the guard off the object again",
        ),
        (
            {"spec": {"syncPolicy": {"syncOptions": ["Replace=true"]}}},
            "a sync of argocd/read takes the guard off the object again",
        ),
        (
            {"status": {"operationState": {"phase": "Failed", "message": "no"}}},
            "the last sync of the application failed, and nothing of Git is sure to arrive before that ends",
        ),
        (
            {"spec": {"syncPolicy": {"syncOptions": ["FailOnSharedResource=true"]}}},
            "FailOnSharedResource refuses the syncs of argocd/read as long as another owner is named",
        ),
    ],
)
def test_what_is_in_the_way_of_one_application_is_the_reason(reader: dict[str, Any], why: str) -> None:
    fix = first(two(**reader))
    assert (fix.verified, fix.unverified) == (None, why)


@pytest.mark.parametrize(
    "rest", [[], [{"hook": True, "live": {**CONFIG, "metadata": {"name": "h", "namespace": "shop"}}}]]
)
def test_an_application_is_not_emptied(rest: list[dict[str, Any]]) -> None:
    """Hooks are no objects that automated sync counts."""
    data = two()
    data["apps"][1]["resources"] = [*data["apps"][1]["resources"][:1], *rest]
    fix = first(data)
    assert (fix.verified, fix.unverified) == (
        None,
        "it is the only object of argocd/read, and automated sync refuses to leave none",
    )


@pytest.mark.parametrize(("tool", "how"), [("Helm", "`helm template`"), ("Kustomize", "`kustomize build`")])
def test_what_a_chart_or_an_overlay_then_renders_is_left_open(tool: str, how: str) -> None:
    """The states are played all the same: what is in the way comes first."""
    fix = first(two(status={"sourceType": tool}))
    assert (fix.verified, fix.unverified) == (
        None,
        f"it was replayed, and works when argocd/read then renders all that it renders today but for this object: {how} shows it",
    )
    data = two(status={"sourceType": tool})
    data["apps"][1]["resources"] = data["apps"][1]["resources"][:1]
    assert first(data).unverified == "it is the only object of argocd/read, and automated sync refuses to leave none"


def test_a_render_with_the_values_closes_what_was_left_open() -> None:
    """With --helm-render, and known values that switch the object off."""
    fleet, _ = read_fleet(transport := testing.FixtureTransport(two()))
    plan = Plan(tuple(ChosenRule(rule, rule.default_options) for rule in RULES), workers=1)
    (ref,) = (app.ref for app in fleet.apps if app.name == "read")
    read, _ = read_application(
        transport, replace(fleet.by_ref[ref], resources=tuple(fleet.by_ref[ref].resources)), fleet, plan, states=True
    )
    (shared,) = (r for r in read.resources if r.name == "common")
    rest = {**CONFIG, "metadata": {"name": "read", "namespace": "shop"}, "data": {"a": "b"}}
    trial = Trial("release", shared.id, open="a render shows it", values="common: {create: false}\n")
    fact = Fact("shared", read.ref, trials=(trial,))

    def played(without: list[Any], whole: list[Any] | None = None) -> Trial:
        base = [rest, settings("read")] if whole is None else whole

        def render(app: Any, values: Any) -> Any:
            made = without if values == {"common": {"create": False}} else base
            return made, made

        (found,) = with_trials(fact, read, fleet, lambda app, fleet: (), lambda app: (), render).trials
        return found

    assert played([rest]) == replace(trial, why="", open="")
    for made, why in (
        ([rest, settings("read")], "with these values argocd/read still renders it"),
        ([], "with these values argocd/read changes ConfigMap read too"),
        ([{**rest, "data": {"a": "c"}}], "with these values argocd/read changes /data/a of ConfigMap read too"),
    ):
        assert played(made).why == why


def test_a_third_application_that_may_still_want_the_object_keeps_the_fix_from_being_verified() -> None:
    data = two()
    blind = {"type": "ComparisonError", "message": "rpc error: cannot render"}
    third = app("third", settings("third"), data["apps"][0]["resources"][0]["live"], status={"conditions": []})
    data["apps"].append(third)
    assert first(data).verified is True
    third["status"]["conditions"] = [blind]
    for each in data["apps"]:
        state = each["resources"][0]["live"]
        notes = {**state["metadata"]["annotations"], TRACKING_ID: "third:/ConfigMap:shop/common"}
        each["resources"][0]["live"] = {**state, "metadata": {**state["metadata"], "annotations": notes}}
    fix = first(data)
    assert (fix.verified, fix.unverified) == (None, "a command is not run")


def test_a_fix_has_the_effects_of_its_own_parts() -> None:
    def fact(name: str, *trials: Trial) -> Fact:
        return Fact("key", AppRef("argocd", name), trials=trials)

    shared = ResourceId("", "ConfigMap", "shop", "common", "v1")
    kept, left = Trial("keep", shared, effects=("restarts",)), Trial("release", shared, effects=("deletes",))
    one = Fix("Keep it", "manifest", "Git", Edit("text", ""), trials=((AppRef("argocd", "a"), "keep"),))
    assert trial_effects(one, (fact("a", kept, left), fact("b", kept, left))) == {"restarts"}


def test_shards_come_to_the_same_verdict() -> None:
    chosen = tuple(ChosenRule(rule, rule.default_options) for rule in RULES)

    def joined(*shards: tuple[int, int]) -> list[Any]:
        parts = []
        for shard in shards:
            part = pipeline.examine_shard(testing.FixtureTransport(two()), Plan(chosen, workers=1, shard=shard))
            parts.append((str(shard), pipeline.from_json(pipeline.to_json(part), "shard")))
        merged = pipeline.merge(parts)
        return [f for f in join(merged.results, chosen).findings if f.rule == "shared-resource"]

    whole = joined((1, 1))
    assert [fix.verified for fix in whole[0].fixes][:1] == [True]
    assert joined((1, 3), (2, 3), (3, 3)) == whole


def test_the_guarded_object_outlives_every_order_of_syncs() -> None:
    """Argo CD as it prunes: what an application owns by the live tracking data and does not render, unless Prune=false is on it."""
    rendered = {"write": None, "read": settings("read", "60s")}
    live = applied(settings("write"))
    metadata = {**live["metadata"], "annotations": {**live["metadata"]["annotations"], SYNC_OPTIONS: GUARD}}
    for order in permutations(("write", "write", "read", "read")):
        state: Any = {**live, "metadata": metadata}
        for name in order:
            wanted, notes = rendered[name], state["metadata"]["annotations"]
            if wanted is not None:
                state = compare.apply(state, wanted)
            elif notes[TRACKING_ID].startswith(f"{name}:"):
                assert "Prune=false" in notes[SYNC_OPTIONS], order
        assert state["metadata"]["annotations"][TRACKING_ID].startswith("read:")


def test_an_owner_that_renames_the_object_prunes_it_under_the_others() -> None:
    data = two()
    data["apps"][1]["metadata"] = {"annotations": {"argocd.argoproj.io/sync-wave": "-1"}}
    found = testing.check(testing.Fixture(Path("inline.yaml"), data), RULES)
    (finding,) = [f for f in found.findings if f.rule == "shared-resource"]
    keeps, renames, *_ = finding.fixes
    assert keeps.title == 'Keep ConfigMap shop/common in "read" alone'
    assert (renames.title, renames.verified, renames.effects) == ('Give it another name in "write"', None, ())
    assert renames.caveat == (
        "whatever refers to it by name in that Application must follow; "
        '"write" owns the live object and prunes it then: first `kubectl annotate configmap common -n shop --overwrite'
        " argocd.argoproj.io/sync-options=Prune=false,Delete=false`, afterwards `argocd app sync argocd/read`, and then"
        " `kubectl get configmap common -n shop -o jsonpath='{.metadata.annotations.argocd\\.argoproj\\.io/tracking-id}'"
        " | grep -qE '^read:' && kubectl annotate configmap common -n shop argocd.argoproj.io/sync-options-`"
    )
    assert renames.unverified.startswith("what refers to it by name is not known completely: a diff of the commit")


def test_a_guard_comes_off_only_where_the_live_tracking_data_name_the_keeper() -> None:
    """The last step of each handover, run by a real shell over what the object then bears."""
    for key, bears, keepers, off in (
        (TRACKING_ID, "web:apps/Deployment:shop/web", ["web"], True),
        (TRACKING_ID, "web-2:apps/Deployment:shop/web", ["web"], False),
        (TRACKING_ID, "webx:apps/Deployment:shop/web", ["web"], False),
        (TRACKING_ID, "", ["web"], False),
        (TRACKING_ID, "team-b_api.v2:apps/Deployment:shop/web", ["team-b_api.v2"], True),
        (TRACKING_ID, "team-b_apixv2:apps/Deployment:shop/web", ["team-b_api.v2"], False),
        (TRACKING_ID, "b:apps/Deployment:shop/web", ["a", "b"], True),
        ("app.kubernetes.io/instance", "web", ["web"], True),
        ("app.kubernetes.io/instance", "web-2", ["web"], False),
        ("", "", ["web"], True),
    ):
        id_ = ResourceId("apps", "Deployment", "shop", "web")
        said = f'kubectl() {{ case $1 in get) printf %s "{bears}";; annotate) echo off;; esac; }}\n'
        ran = subprocess.run(
            ["bash", "-c", said + released(id_, keepers, key)], capture_output=True, text=True, check=False
        )
        assert (ran.stdout == "off\n") is off, (bears, keepers)
