"""Plans of moves: the order of the steps, what their commands do, and where a plan is refused."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jq
import pytest

from argolint.engine.load import read_fleet
from argolint.engine.plan import Plan as Reading
from argolint.errors import UsageError
from argolint.forecast import removal
from argolint.forecast.move import plan
from argolint.forecast.moves.plan import Plan, Where
from argolint.testing import FixtureTransport
from tests.conftest import recording
from tests.here import run_here
from tests.moving_world import FINALIZER, Key, World, serving
from tests.test_forecast_deletion import app, fleet, tracked

Data = dict[str, Any]
AUTOMATED = {"syncPolicy": {"automated": {"prune": True, "selfHeal": True}, "syncOptions": ["CreateNamespace=true"]}}
NAMES = {"set": {"kind": "ApplicationSet", "name": "fleet"}}


def moved(data: Data, name: str, where: Where, target: str) -> Plan:
    t = FixtureTransport(data)
    known, _ = read_fleet(t)
    one, failures = removal.application_named(t, known, name, Reading((), workers=1))
    assert failures == ()
    return plan(one, known, where, target)


def refusals(found: Plan) -> dict[str, str]:
    return {f.cause or "": f.message for f in found.findings}


def web(**more: Any) -> Data:
    return app("web", tracked("web", "ConfigMap", "a"), tracked("web", "Service", "b"), spec={**AUTOMATED, **more})


def test_a_rename_lets_go_before_the_new_one_takes_and_deletes_nothing() -> None:
    found = moved(fleet(web()), "web", "rename", "shop")
    assert [step.what.partition(" ")[0] for step in found.steps] == ["Stop", "Take", "Make", "Sync", "Delete", "Turn"]
    assert [step.command.partition(" -o json")[0] for step in found.steps] == [
        "argocd app set argocd/web --sync-policy none",
        """kubectl -n argocd patch application web --type merge -p '{"metadata":{"finalizers":null}}'""",
        "kubectl -n argocd get application web",
        "argocd app sync argocd/shop",
        "argocd app delete argocd/web --cascade=false --yes",
        "argocd app set argocd/shop --sync-policy automated --auto-prune --self-heal",
    ]
    assert all(step.check for step in found.steps)


def test_the_commands_are_shell_and_make_the_application_that_they_should() -> None:
    helm = {
        "source": {
            "repoURL": "https://git.example.com/a.git",
            "path": "a",
            "helm": {"parameters": [{"name": "token", "value": "hush"}]},
        }
    }
    one = app("web", tracked("web", "ConfigMap", "a"), spec={**AUTOMATED, **helm}, metadata={"labels": {"team": "a"}})
    found = moved(fleet(one), "web", "rename", "shop")
    for step in found.steps:
        subprocess.run(["bash", "-n"], input=step.command, text=True, check=True)
        assert "hush" not in step.command + step.check
    script = shlex.split(
        next(s.command for s in found.steps if "jq" in s.command).partition("jq ")[2].partition("|\n")[0]
    )[0]
    raw = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {
            "name": "web",
            "namespace": "argocd",
            "uid": "1",
            "labels": {"team": "a"},
            "annotations": {
                "argocd.argoproj.io/refresh": "hard",
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                "own": "x",
            },
        },
        "spec": {**AUTOMATED, **helm},
        "status": {},
    }
    made = jq.compile(script).input_value(raw).first()
    assert made["metadata"] == {
        "name": "shop",
        "namespace": "argocd",
        "labels": {"team": "a"},
        "annotations": {"own": "x"},
        "finalizers": ["resources-finalizer.argocd.argoproj.io"],
    }
    assert made["spec"]["syncPolicy"] == {"syncOptions": ["CreateNamespace=true"]}
    assert made["spec"]["source"]["helm"]["releaseName"] == "web"
    assert "status" not in made


def test_the_check_of_a_hand_over_wants_the_new_name_on_the_live_object() -> None:
    found = moved(fleet(web()), "web", "rename", "shop")
    check = next(s.check for s in found.steps if s.what.startswith("Sync"))
    patterns = [shlex.split(line.rpartition("grep -qE ")[2])[0] for line in check.splitlines()]
    assert len(patterns) == 2
    assert all(re.search(p, "shop:/ConfigMap:shop/a") and not re.search(p, "web:/ConfigMap:shop/a") for p in patterns)
    labels = moved({**fleet(web()), "server": {"settings": {"trackingMethod": "label"}}}, "web", "rename", "shop")
    assert "labels" in next(s.check for s in labels.steps if s.what.startswith("Sync"))


def test_what_refuses_a_shared_owner_gets_its_tracking_data_off_first() -> None:
    one = web(syncPolicy={"syncOptions": ["FailOnSharedResource=true"]})
    steps = [s.command for s in moved(fleet(one), "web", "rename", "shop").steps]
    untrack = next(s for s in steps if s.startswith("kubectl annotate"))
    assert "kubectl annotate configmap a -n shop argocd.argoproj.io/tracking-id-" in untrack
    assert steps.index(untrack) < steps.index("argocd app sync argocd/shop")


def test_moving_into_another_application_commits_before_it_syncs() -> None:
    data = fleet(web(), app("shop", tracked("shop", "ConfigMap", "x")))
    found = moved(data, "web", "to", "shop")
    assert [step.what.partition(" ")[0] for step in found.steps] == ["Stop", "Take", "Commit", "Sync", "Delete"]
    assert "argocd app delete argocd/web --cascade=false --yes" in found.steps[-1].command


def test_an_application_outside_the_control_plane_is_called_by_both_names() -> None:
    one = {**web(), "metadata": {"namespace": "team", "finalizers": []}}
    found = moved(fleet(one), "team/web", "rename", "shop")
    assert "'^team_shop:'" in next(s.check for s in found.steps if s.what.startswith("Sync"))


OWNED = {"ownerReferences": [NAMES["set"]]}
SET: Data = {
    "metadata": {"name": "fleet", "namespace": "argocd"},
    "spec": {"template": {"metadata": {"name": "{{.name}}"}}},
}


def child(**more: Any) -> Data:
    return tracked("root", "Application", "web", group="argoproj.io", namespace="argocd", **more)


def others() -> dict[str, tuple[Data, Where, str]]:
    one = web()
    return {
        "name-taken": (fleet(one, app("shop", tracked("shop", "ConfigMap", "x"))), "rename", "shop"),
        "application-deleting": (
            fleet({**one, "metadata": {**one["metadata"], "deletionTimestamp": "2026-01-01T11:00:00Z"}}),
            "rename",
            "shop",
        ),
        "set-deletes-objects": (
            fleet({**one, "metadata": {**one["metadata"], **OWNED}}, applicationsets=[SET]),
            "rename",
            "shop",
        ),
        "parent-deletes-objects": (fleet(one, app("root", child())), "rename", "shop"),
        "shared-objects": (fleet(one, app("mall", tracked("web", "ConfigMap", "a"))), "rename", "shop"),
        "target-unknown": (fleet(one), "to", "shop"),
        "same-place": (fleet(one), "to", "web"),
        "other-cluster": (
            fleet(
                one,
                app(
                    "shop",
                    tracked("shop", "ConfigMap", "x"),
                    spec={"destination": {"server": "https://b.example.com", "namespace": "shop"}},
                ),
            ),
            "to",
            "shop",
        ),
        "template-differs": (
            fleet(one, applicationsets=[{**SET, "spec": {"template": {"metadata": {"name": "edge-{{.name}}"}}}}]),
            "to-set",
            "fleet",
        ),
        "project-forbids": (
            fleet(
                one,
                clusters=CLUSTERS,
                projects=[
                    {
                        "metadata": {"name": "default"},
                        "spec": {"destinations": [{"server": "https://kubernetes.default.svc", "namespace": "*"}]},
                    }
                ],
            ),
            "to-cluster",
            "b",
        ),
        "kinds-not-served": (
            fleet(app("web", tracked("web", "Thing", "t", group="example.com")), clusters=CLUSTERS),
            "to-cluster",
            "b",
        ),
        "set-makes-it-again": (
            fleet({**one, "metadata": {**one["metadata"], **OWNED}}, clusters=CLUSTERS, applicationsets=[SET]),
            "to-cluster",
            "b",
        ),
    }


CLUSTERS: list[Data] = [
    {"server": "https://kubernetes.default.svc", "name": "in-cluster"},
    {"server": "https://b.example.com", "name": "b", "info": {"apiVersions": ["v1/ConfigMap", "v1/Service"]}},
]


@pytest.mark.parametrize("cause", list(others()))
def test_a_move_on_which_an_object_would_be_lost_is_refused(cause: str) -> None:
    data, where, target = others()[cause]
    found = moved(data, "web", where, target)
    assert list(refusals(found)) == [cause]
    assert found.steps == ()


def test_a_set_that_preserves_and_a_parent_without_a_finalizer_are_no_danger() -> None:
    kept = {**SET, "spec": {**SET["spec"], "syncPolicy": {"preserveResourcesOnDeletion": True}}}
    one = web()
    assert moved(fleet({**one, "metadata": OWNED}, applicationsets=[kept]), "web", "rename", "shop").steps
    assert moved(fleet({**one, "metadata": {}}, app("root", child())), "web", "rename", "shop").steps


@pytest.mark.parametrize(
    ("spec", "more"),
    [
        ({}, ""),
        ({"project": "depot"}, ", and 1 more field differs"),
        ({"project": "depot", "destination": {"namespace": "depot"}}, ", and 2 more fields differ"),
    ],
)
def test_a_set_that_renders_another_application_is_refused_by_what_differs(spec: Data, more: str) -> None:
    template = {"metadata": {"name": "edge-{{.name}}"}, "spec": spec}
    found = moved(fleet(web(), applicationsets=[{**SET, "spec": {"template": template}}]), "web", "to-set", "fleet")
    assert refusals(found) == {
        "template-differs": "ApplicationSet fleet cannot render argocd/web: its template says edge-{{.name}} for the name, "
        f"the application web{more}."
    }


def test_a_set_takes_an_application_over_that_it_can_render() -> None:
    found = moved(fleet(web(), applicationsets=[SET]), "web", "to-set", "fleet")
    assert found.findings == ()
    assert "preserveResourcesOnDeletion" in found.steps[0].what
    assert "its old policy back" in found.steps[-1].what
    owned = {**web(), "metadata": {"ownerReferences": [{"kind": "ApplicationSet", "name": "old"}]}}
    kept = {
        "metadata": {"name": "old", "namespace": "argocd"},
        "spec": {"syncPolicy": {"preserveResourcesOnDeletion": True}},
    }
    steps = moved(fleet(owned, applicationsets=[SET, kept]), "web", "to-set", "fleet").steps
    assert "ownerReferences" in steps[1].command


def test_another_cluster_gets_an_application_of_its_own_first() -> None:
    claim = tracked("web", "PersistentVolumeClaim", "data")
    info = {"apiVersions": ["v1/PersistentVolumeClaim"]}
    clusters = [CLUSTERS[0], {**CLUSTERS[1], "info": info}]
    found = moved(fleet(app("web", claim, spec=AUTOMATED), clusters=clusters), "web", "to-cluster", "b")
    assert refusals(found) == {
        "data-stays": "The volumes of PersistentVolumeClaim shop/data stay on the old cluster; their data must be copied."
    }
    assert "Send the traffic to the new cluster." in [step.what for step in found.steps]
    commands = [step.command for step in found.steps]
    assert commands.index("argocd app sync argocd/web-b") < commands.index("argocd app delete argocd/web --cascade")


def test_on_the_way_to_another_cluster_the_parent_lets_go_before_the_deletion() -> None:
    """It would make the Application again, on the old cluster."""
    root = app("root", child(), spec=AUTOMATED)
    found = moved(fleet(root, app("web", spec=AUTOMATED), clusters=CLUSTERS), "web", "to-cluster", "b")
    titles = [step.what for step in found.steps]
    assert titles[-3].startswith("Remove the manifest of Application web from argocd/root in Git")
    assert titles[-2].startswith("Delete argocd/web with its objects on the old cluster, unless it is gone already")


def test_the_name_of_a_helm_release_is_kept() -> None:
    one = web(source={"repoURL": "https://charts.example.com", "chart": "web", "targetRevision": "1.0.0"})
    found = moved(fleet(one), "web", "rename", "shop")
    assert "release-name" in refusals(found)
    assert any('.source.helm.releaseName = "web"' in step.command for step in found.steps)


def test_the_command_prints_the_plan_and_refuses_with_1(tmp_path: Path) -> None:
    phase = recording("harbourline/3-after-commits")
    ran = run_here("forecast", "move", "payments-ledger", "--rename", "ledger", "--snapshot", phase, cwd=tmp_path)
    assert (ran.code, ran.out.count("check:")) == (0, 5)
    ran = run_here(
        "forecast", "move", "node-exporter-prod", "--rename", "x", "--snapshot", phase, "-o", "json", cwd=tmp_path
    )
    made = json.loads(ran.out)
    assert (ran.code, made["forecast"]["causes"][0]["effect"], made["forecast"].get("steps")) == (1, "refuses", [])
    ran = run_here("forecast", "move", "payments-ledger", "--snapshot", phase, cwd=tmp_path)
    assert (ran.code, "name one place to move to" in ran.err) == (2, True)


def test_an_unknown_application_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no application"):
        moved(fleet(web()), "nothing", "rename", "shop")


def test_another_argo_cd_takes_the_objects_where_they_are() -> None:
    found = moved(fleet(web()), "web", "to-argocd", "blue/admin")
    assert refusals(found) == {
        "other-api-server": "argocd/web deploys to the cluster of its own Argo CD; one that runs elsewhere must name that cluster's address."
    }
    assert [step.what.partition(" ")[0] for step in found.steps] == [
        "Give",
        "See",
        "Stop",
        "Take",
        "Make",
        "Delete",
        "Sync",
        "Turn",
    ]
    commands = [step.command for step in found.steps]
    assert commands[4].endswith("argocd --argocd-context blue/admin app create --file - > /dev/null")
    assert commands[5:] == [
        "argocd app delete argocd/web --cascade=false --yes",
        "argocd --argocd-context blue/admin app sync argocd/web",
        "argocd --argocd-context blue/admin app set argocd/web --sync-policy automated --auto-prune --self-heal",
    ]
    for step in found.steps:
        subprocess.run(["bash", "-n"], input=f"{step.command}\n{step.check}", text=True, check=True)
        assert step.check


def test_another_argo_cd_is_no_way_around_a_parent_that_prunes() -> None:
    parent = app("root", tracked("root", "Application", "web", group="argoproj.io", namespace="argocd"))
    found = moved(fleet(web(), parent), "web", "to-argocd", "blue")
    assert found.steps == ()
    assert "parent-deletes-objects" in refusals(found)


def test_a_destination_that_the_project_denies_is_refused() -> None:
    everywhere = {"server": "*", "namespace": "*"}
    but = {"server": "https://edge.example.com", "namespace": "!shop"}
    denied = {"metadata": {"name": "default"}, "spec": {"destinations": [everywhere, but]}}
    clusters = [{"server": "https://kubernetes.default.svc"}, {"server": "https://edge.example.com", "name": "edge"}]
    data = {**fleet(web()), "server": {"clusters": clusters, "projects": [denied]}}
    assert "project-forbids" in refusals(moved(data, "web", "to-cluster", "edge"))


def world(**others: list[Key]) -> World:
    """The application `web` with two objects, as `web()` has it, and others that are synced by hand."""
    names = {"web": [("configmap", "a"), ("service", "b")], **others}
    live = {key: name for name, keys in names.items() for key in keys}
    apps = {}
    for name in names:
        automated = AUTOMATED["syncPolicy"] if name == "web" else {}
        source = {"repoURL": "https://git.example.com/a.git", "path": name}
        metadata = {"name": name, "namespace": "argocd", "finalizers": [FINALIZER]}
        apps[name] = {"metadata": metadata, "spec": {"source": source, "syncPolicy": json.loads(json.dumps(automated))}}
    return World(apps, {name: list(keys) for name, keys in names.items()}, live)


def committed(made: World, step: str) -> None:
    """What a step asks of Git."""
    if step.startswith("Commit the manifests"):
        made.git["shop"] += made.git["web"]
    if step.startswith("Remove"):
        made.listed.clear()


PRESERVED = {
    "spec": {"syncPolicy": {"preserveResourcesOnDeletion": True}, "template": {"metadata": {"name": "{{name}}"}}}
}
TO_SHOP = app("shop", tracked("shop", "ConfigMap", "x"))
UNDER_A_SET = {
    **web(),
    "metadata": {**web()["metadata"], "ownerReferences": [{"kind": "ApplicationSet", "name": "fleet"}]},
}


@pytest.mark.skipif(shutil.which("jq") is None, reason="the checks of a plan are run by jq")
@pytest.mark.parametrize(
    ("where", "data"),
    [
        ("rename", fleet(web())),
        ("to", fleet(web(), TO_SHOP)),
        ("rename", fleet(UNDER_A_SET, applicationsets=[{**PRESERVED, "metadata": {"name": "fleet", "namespace": "argocd"}}])),
        ("rename", fleet({**web(), "metadata": {}}, app("root", child()))),
    ],
    ids=["alone", "into another", "of a set", "of a parent"],
)  # fmt: skip
def test_the_steps_move_every_object_and_a_check_fails_until_its_step_is_done(
    where: Where, data: Data, tmp_path: Path
) -> None:
    names = [made["name"] for made in data["apps"]]
    there = world(**{name: [("configmap", "x")] for name in names if name != "web"})
    if "root" in names or "ownerReferences" in data["apps"][0]["metadata"]:
        there.listed["web"] = json.loads(json.dumps(there.apps["web"]))
    with serving(there, tmp_path) as run:
        for step in moved(data, "web", where, "shop").steps:
            tells = not step.what.startswith(("Delete", "Make", "Turn")) and not _read_by_a_person(step.check)
            assert not (tells and run(step.check)), f"{step.what} is done already, says its check"
            committed(there, step.what)
            assert run(step.command), step
            assert _read_by_a_person(step.check) or run(step.check), step
            assert there.lost == []
    assert "web" not in there.apps
    assert {there.live[key] for key in there.git["web"]} == {"shop"}


def _read_by_a_person(check: str) -> bool:
    return "# " in check


@pytest.mark.skipif(shutil.which("jq") is None, reason="the checks of a plan are run by jq")
def test_a_step_that_is_left_out_is_noticed_before_an_object_is_lost(tmp_path: Path) -> None:
    there = world()
    steps = moved(fleet(web()), "web", "rename", "shop").steps
    with serving(there, tmp_path) as run:
        for step in steps[1:4]:  # the automated sync goes on
            assert run(step.command)
        assert not run(steps[3].check), "self-heal took the objects back"
        assert there.lost == []
        assert run("argocd app delete argocd/web --yes --cascade=false")
        assert there.lost == []
