"""`argolint why`: the chain from Git to the cluster, as data, as a narrative and from the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from argolint import testing
from argolint.cli.group import cli
from argolint.engine.inspect import inspect
from argolint.engine.join import join
from argolint.engine.load import read_application, read_fleet
from argolint.engine.plan import ChosenRule, Plan
from argolint.errors import UsageError
from argolint.model import ResourceId
from argolint.plugins import load_rules
from argolint.reports import chain as why
from argolint.reports.formats import Style, narrative
from tests.conftest import recording

RULES = tuple(ChosenRule(rule, rule.default_options) for rule in load_rules().values())
STYLE = Style(width=200)
FIXTURES = Path(__file__).parent / "rules"
WAVE = "argocd.argoproj.io/sync-wave"

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {
                        "name": "web",
                        "image": "registry.example.com/web:1",
                        "env": [{"name": "DB_PASSWORD", "value": "hunter2"}],
                    }
                ]
            },
        },
    },
}
SCALED = {
    **DEPLOYMENT,
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "uid": "d1",
        "managedFields": [
            {
                "manager": "kubectl-scale",
                "operation": "Update",
                "subresource": "scale",
                "time": "2026-01-01T11:00:00Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:spec": {"f:replicas": {}}},
            }
        ],
    },
    "spec": {**DEPLOYMENT["spec"], "replicas": 5},
}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db", "namespace": "shop"}}
DATA: Mapping[str, Any] = {
    "about": "A Deployment that somebody scaled, a Secret that differs, and a sync that waits.",
    "apps": [
        {
            "name": "shop",
            "spec": {"syncPolicy": {"automated": {"prune": True}}},
            "resources": [
                {"desired": DEPLOYMENT, "live": SCALED},
                {
                    "desired": {**SECRET, "data": {"password": "++++++++"}},
                    "live": {**SECRET, "data": {"password": "++++++++++++"}},
                },
            ],
        },
        {
            "name": "archive",
            "status": {
                "health": {"status": "Progressing"},
                "operationState": {
                    "phase": "Running",
                    "message": "waiting for healthy state of /Service/lb",
                    "startedAt": "2026-01-01T11:00:00Z",
                },
            },
            "resources": [
                {
                    "desired": {
                        "apiVersion": "v1",
                        "kind": "Service",
                        "metadata": {"name": "lb", "namespace": "shop"},
                        "spec": {"type": "LoadBalancer"},
                    },
                    "live": {
                        "apiVersion": "v1",
                        "kind": "Service",
                        "metadata": {
                            "name": "lb",
                            "namespace": "shop",
                            "uid": "s1",
                            "creationTimestamp": "2026-01-01T11:00:00Z",
                        },
                        "spec": {"type": "LoadBalancer"},
                        "status": {"loadBalancer": {}},
                    },
                    "health": {"status": "Progressing"},
                },
                {
                    "desired": {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "metadata": {"name": "later", "namespace": "shop", "annotations": {WAVE: "1"}},
                    }
                },
            ],
        },
    ],
}


def explained(app: str, resource: str = "", pointer: str = "") -> why.Why:
    """The chain of one application of DATA."""
    t = testing.FixtureTransport(DATA)
    fleet, _ = read_fleet(t)
    plan = Plan(RULES, workers=1)
    wanted = fleet.app(app)
    assert wanted is not None
    read, failures = read_application(t, wanted, fleet, plan, states=True)
    assert failures == ()
    outcome = join([inspect(read, fleet, plan.rules)], plan.rules)
    return why.explain(read, fleet, outcome.findings, why.Target(resource, pointer))


def test_a_field_tells_both_sides_the_writer_and_one_reason() -> None:
    chain = explained("shop", "deployment/web", "/spec/replicas").chain
    assert [(link.kind, link.fact) for link in chain] == [("change", "Deployment shop/web differs in 1 field")]
    field = chain[0].fields[0]
    assert (field.pointer, field.desired, field.live, field.equal) == ("/spec/replicas", "2", "5", False)
    assert field.writers[0] == why.Wrote("kubectl-scale", "Update", "scale", "2026-01-01T11:00:00Z")
    assert len(chain[0].because) == 1


def test_an_equal_field_is_told_as_equal() -> None:
    chain = explained("shop", "Deployment/shop/web", "/spec/selector/matchLabels/app").chain
    assert [(link.kind, link.fields[0].desired, link.fields[0].live) for link in chain] == [("field", '"web"', '"web"')]


def test_secrets_never_show() -> None:
    shown = narrative.render(explained("shop"), STYLE)
    shown += narrative.render(explained("shop", "Deployment/web", "/spec/template"), STYLE)
    shown += narrative.render(
        explained("shop", "Deployment/web", "/spec/template/spec/containers/0/env/0/value"), STYLE
    )
    shown += narrative.render(explained("shop", "Secret/db", "/data/password"), STYLE)
    assert "hunter2" not in shown
    assert "++++" not in shown
    assert "(masked)" in shown


def test_consequences_are_told_with_their_cause() -> None:
    told = explained("archive")
    reasons = {link.kind: [f.rule for f in link.because] for link in told.chain}
    assert reasons == {"operation": ["lb-pending"], "health": ["lb-pending"], "missing": ["lb-pending"]}
    assert narrative.render(told, STYLE).count("because") == 1


def test_the_narrative_reads_from_git_to_the_cluster() -> None:
    lines = narrative.render(explained("shop", "Deployment/web"), STYLE).splitlines()
    assert lines[0] == "argocd/shop  OutOfSync, Healthy  (synced automatically with pruning)"
    assert lines[1] == "  desired   https://git.example.com/apps.git path shop at 1f0e3dad9990 (main)"
    assert lines[2] == "  live on   https://kubernetes.default.svc"
    assert "    live    5  written by kubectl-scale (Update, scale) at 2026-01-01T11:00:00Z" in lines


@pytest.mark.parametrize(
    ("resource", "pointer", "message"),
    [
        (
            "Deployment/wep",
            "",
            "application argocd/shop has no object 'Deployment/wep'; did you mean 'Deployment/shop/web'?",
        ),
        ("Deployment/web", "spec.replicas", "'spec.replicas' is no JSON pointer"),
    ],
)
def test_what_is_not_there_is_refused_with_a_hint(resource: str, pointer: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        explained("shop", resource, pointer)
    assert caught.value.message == message


def test_the_command_explains_an_application_of_a_snapshot() -> None:
    path = recording("harbourline/3-after-commits")
    run = CliRunner().invoke(cli, ["why", "tracking-archive", "--snapshot", str(path), "--json"], standalone_mode=False)
    made = json.loads(run.stdout)
    assert made["app"]["name"] == "tracking-archive"
    assert {f["rule"] for link in made["chain"] for f in link["because"]} == {"pvc-first-consumer"}
    assert made["desired_from"][0]["author"] == "platform-bot <platform-bot@example.com>"


def test_the_command_names_the_other_application_of_a_shared_object() -> None:
    path = recording("harbourline/3-after-commits")
    run = CliRunner().invoke(
        cli, ["why", "tracking-normalizer", "ConfigMap/tracking-common", "--snapshot", str(path)], standalone_mode=False
    )
    assert "because   shared-resource/different-content" in run.stdout
    assert "involved  argocd/tracking-ingest" in run.stdout


@pytest.mark.parametrize("target", [(), ("cm/tracking-common",), ("cm/tracking-common", "/data/AIS_WINDOW")])
def test_the_command_shows_a_shared_object_where_argo_cd_shows_nothing(target: tuple[str, ...]) -> None:
    path = recording("harbourline/3-after-commits")
    run = CliRunner().invoke(cli, ["why", "tracking-ingest", *target, "--snapshot", str(path)], standalone_mode=False)
    text = " ".join(run.stdout.split())
    assert text.count("shared-resource/different-content") == 1
    assert text.count("fix: Keep ConfigMap tracking/tracking-common") == 1  # two findings share it
    assert "tracking-ingest and application argocd/tracking-normalizer keep undoing" in text
    assert "tracking-normalizer and application argocd/tracking-ingest keep undoing" not in text  # its other half


def test_the_command_refuses_an_unknown_application(tmp_path: Path) -> None:
    path = recording("harbourline/3-after-commits")
    run = CliRunner().invoke(cli, ["why", "no-such-app", "--snapshot", str(path)], standalone_mode=False)
    assert isinstance(run.exception, UsageError)
    assert run.exception.message.startswith("there is no application 'no-such-app' on ")


def test_the_order_of_a_sync_is_shown_where_something_stops_in_it() -> None:
    """Phases and waves with what they apply, and what each waits for; without a wait there is no such section."""
    path = FIXTURES / "sync-deadlock" / "bad-early-hook.yaml"
    t = testing.FixtureTransport(testing.load_fixture(path).data)
    fleet, _ = read_fleet(t)
    plan = Plan(RULES, workers=1, manifests=True)
    read, _ = read_application(t, fleet.apps[0], fleet, plan, states=True)
    found = why.explain(read, fleet, (), why.Target())
    assert [(s.phase, s.wave, len(s.objects), s.hooks) for s in found.steps] == [
        ("PreSync", 0, 1, 1),
        ("PreSync", 5, 1, 1),
        ("Sync", 0, 3, 0),
    ]
    assert "Job ledger/seed-presync waits" not in str(found.steps)  # its name is made at the time of the sync
    text = narrative.render(found, STYLE)
    assert "PreSync wave 0  Job ledger/migrate (1 hook)" in text
    assert "> Job ledger/migrate waits for ServiceAccount ledger/migrator of wave 0" in text
    assert json.loads(why.to_json(found))["steps"][2]["objects"][1]["name"] == "database"
    assert why.explain(read, fleet, (), why.Target("Secret/database")).steps == ()
    quiet = {"apps": [{**DATA["apps"][0], "status": {}}]}
    fleet, _ = read_fleet(testing.FixtureTransport(quiet))
    assert why.explain(fleet.apps[0], fleet, (), why.Target()).steps == ()


@pytest.mark.parametrize(("fixture", "first"), [("bad-early-hook", False), ("bad-operators", True)])
def test_the_order_says_of_a_wait_whether_only_a_first_sync_meets_it(fixture: str, first: bool) -> None:
    t = testing.FixtureTransport(testing.load_fixture(FIXTURES / "sync-deadlock" / f"{fixture}.yaml").data)
    fleet, _ = read_fleet(t)
    read, _ = read_application(t, fleet.apps[0], fleet, Plan(RULES, workers=1, manifests=True), states=True)
    waits = [text for step in why.explain(read, fleet, (), why.Target()).steps for text in step.waits]
    assert waits
    assert all(text.endswith(", at the first sync of a new cluster") is first for text in waits)


def test_the_order_says_where_the_sync_that_runs_is() -> None:
    steps = explained("archive").steps
    assert [(s.phase, s.wave) for s in steps] == [("Sync", 0), ("Sync", 1)]
    assert steps[0].waits == ("the sync that runs is here: it waits for the healthy state of Service lb",)


@pytest.mark.parametrize("resource", ["Deployment/web", "deployment.apps/web", "deploy/web", "deploy/shop/w*", "*/web"])
def test_a_target_takes_the_objects_of_its_kind_and_name_alone(resource: str) -> None:
    web = ResourceId("apps", "Deployment", "shop", "web")
    assert why.Target(resource).takes(web)
    places = (("apps", "Deployment", "api"), ("apps", "StatefulSet", "web"), ("", "Service", "web"))
    others = [ResourceId(group, kind, "shop", name) for group, kind, name in places]
    taken = [other.kind for other in others if why.Target(resource).takes(other)]
    assert taken == (["StatefulSet", "Service"] if resource == "*/web" else [])
