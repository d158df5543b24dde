"""The Helm chart: what it renders is valid, the same each time, restricted, and nothing that argolint itself would report."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from argolint import testing
from argolint.plugins import load_rules

DEPLOY = Path(__file__).parents[1] / "deploy"
CHART = DEPLOY / "helm" / "argolint"
HELM = os.environ.get("ARGOLINT_TEST_HELM") or shutil.which("helm") or ""
pytestmark = pytest.mark.skipif(not HELM, reason="no helm here: set ARGOLINT_TEST_HELM")

IMAGE: dict[str, Any] = {"image": {"repository": "registry.example/argolint"}}
VALUES: dict[str, dict[str, Any]] = {
    "serve": {},
    "cron": {"mode": "cron"},
    "digest": {"image": {"repository": "registry.example/argolint", "digest": f"sha256:{'a' * 64}"}},
    "state": {"persistence": {"enabled": True, "storageClassName": "fast"}},
    "existing-claim": {"persistence": {"enabled": True, "existingClaim": "mine"}},
    "authority": {"argocd": {"caSecret": {"name": "ca"}, "rootPath": "argo-cd"}},
    "plaintext": {"argocd": {"plaintext": True}, "mode": "cron"},
    "config": {"config": {"fail-on": "warning", "deselect": ["floating-revision"]}},
    "monitored": {"serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}},
    "alerts": {"prometheusRule": {"enabled": True}, "dashboards": {"enabled": True, "folder": "Argo CD"}},
    "watch": {"serve": {"watch": True}},
    "token": {"serve": {"existingTokenSecret": {"name": "callers"}}, "serviceMonitor": {"enabled": True}},
    "extension": {"extension": {"existingTokenSecret": {"name": "argolint-extension"}, "showOtherProjects": True}},
    "closed": {"networkPolicy": {"ingressFrom": [{"podSelector": {}}], "egressTo": [{"podSelector": {}}]}},
    "open": {"networkPolicy": {"enabled": False}, "service": {"type": "NodePort"}},
    "account": {"serviceAccount": {"create": False, "name": "mine"}, "imagePullSecrets": [{"name": "pull"}]},
    "extras": {
        "extraArgs": ["--project=shop"],
        "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"}],
        "extraVolumes": [{"name": "more", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
        "podLabels": {"team": "platform"},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"operator": "Exists"}],
    },
    "named": {
        "nameOverride": "linter",
        "commonLabels": {"team": "platform"},
        "commonAnnotations": {"example.com/owner": "platform"},
        "podAnnotations": {"example.com/scrape": "no"},
        "priorityClassName": "low",
        "livenessProbe": None,
        "startupProbe": {"httpGet": {"path": "/healthz", "port": "http"}},
    },
}
VALUES |= {f"example-{file.stem}": yaml.safe_load(file.read_text()) for file in (CHART / "examples").glob("*.yaml")}
VALUES["servers"] = yaml.safe_load(
    (DEPLOY.parent / "docs" / "deploy.md").read_text().partition("```yaml\n")[2].partition("```")[0]
)
_CUSTOM = ("monitoring.coreos.com/v1", "gateway.networking.k8s.io/v1")
_FLOOR, _CEILING = "1.28", "1.37"
_ALL = [f"1.{minor}" for minor in range(28, 38)]


def helm(folder: Path, values: dict[str, Any], *command: str) -> subprocess.CompletedProcess[str]:
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump({**IMAGE, **values}))
    return subprocess.run(
        [HELM, *command, str(CHART), "--values", str(file)], capture_output=True, text=True, check=False
    )


def rendered(folder: Path, values: dict[str, Any]) -> str:
    ran = helm(folder, values, "template", "linter", "--namespace", "argolint", "--kube-version", _FLOOR)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def objects(text: str) -> list[dict[str, Any]]:
    return [found for found in yaml.safe_load_all(text) if found]


@cache
def fits(text: str, version: str) -> bool:
    """Whether a Kubernetes of this version takes the object; renders of different values share most objects."""
    kubernetes_validate.validate(yaml.safe_load(text), version, strict=True)
    return True


@pytest.mark.parametrize("name", VALUES)
def test_every_object_is_valid_and_the_same_in_each_render(tmp_path: Path, name: str) -> None:
    one, other = (rendered(tmp_path, VALUES[name]) for _ in range(2))
    assert one == other
    for found, version in itertools.product(objects(one), (_FLOOR, _CEILING)):
        if found["apiVersion"] not in _CUSTOM:
            assert fits(yaml.safe_dump(found), version)


@pytest.mark.parametrize("name", ["state", "cron"])
def test_each_kind_is_valid_in_every_kubernetes_between(tmp_path: Path, name: str) -> None:
    found = objects(rendered(tmp_path, VALUES[name]))
    assert len({o["kind"] for o in found}) >= 4
    for one, version in itertools.product(found, _ALL):
        assert fits(yaml.safe_dump(one), version)


def test_lint_is_strict() -> None:
    ran = subprocess.run(
        [HELM, "lint", "--strict", str(CHART), "--set", "image.repository=registry.example/argolint"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout


def test_alerts_and_dashboards_are_those_of_the_repository(tmp_path: Path) -> None:
    made = {o["kind"] + o["metadata"]["name"]: o for o in objects(rendered(tmp_path, VALUES["alerts"]))}
    assert made["PrometheusRulelinter-argolint"]["spec"] == yaml.safe_load(
        (DEPLOY / "prometheus/rules.yaml").read_text()
    )
    dashboards = made["ConfigMaplinter-argolint-dashboards"]["data"]
    assert sorted(dashboards) == ["application.json", "fleet.json"]
    assert json.loads(dashboards["fleet.json"]) == json.loads((DEPLOY / "grafana/fleet.json").read_text())


def test_schema_and_page_follow_from_the_values() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/chart_files.py", "--check"],
        cwd=DEPLOY.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_names_and_labels_of_ones_own_reach_every_object(tmp_path: Path) -> None:
    made = objects(rendered(tmp_path, VALUES["named"]))
    for one in made:
        assert one["metadata"]["name"] == "linter"
        assert one["metadata"]["labels"]["team"] == "platform"
        assert one["metadata"]["labels"]["app.kubernetes.io/name"] == "linter"
        assert one["metadata"]["annotations"] == {"example.com/owner": "platform"}
    pod = next(o for o in made if o["kind"] == "Deployment")["spec"]["template"]
    assert pod["metadata"]["annotations"].keys() == {"checksum/config", "example.com/owner", "example.com/scrape"}
    (container,) = pod["spec"]["containers"]
    assert [name for name in container if name.endswith("Probe")] == ["startupProbe", "readinessProbe"]
    (whole,) = {o["metadata"]["name"] for o in objects(rendered(tmp_path, {"fullnameOverride": "only"}))}
    assert whole == "only"


def test_port_and_interval_are_those_of_the_command(tmp_path: Path) -> None:
    from argolint.cli.serve import command

    defaults = {option.name: option.default for option in command.params}
    made = {o["kind"]: o for o in objects(rendered(tmp_path, {}))}
    (container,) = made["Deployment"]["spec"]["template"]["spec"]["containers"]
    port = int(str(defaults["listen"]).rpartition(":")[2])
    assert container["ports"][0]["containerPort"] == made["Service"]["spec"]["ports"][0]["port"] == port
    assert f"--interval={defaults['interval']}" in container["args"]


def test_ways_in_lead_to_the_service(tmp_path: Path) -> None:
    made = {o["kind"]: o for o in objects(rendered(tmp_path, VALUES["example-ingress"]))}
    service = made["Service"]
    (rule,) = made["Ingress"]["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    assert path["backend"]["service"] == {"name": service["metadata"]["name"], "port": {"name": "http"}}
    assert service["spec"]["ports"][0]["name"] == "http"
    made = {o["kind"]: o for o in objects(rendered(tmp_path, VALUES["example-gateway"]))}
    assert "ServiceAccount" not in made
    (backend,) = made["HTTPRoute"]["spec"]["rules"][0]["backendRefs"]
    assert (backend["name"], backend["port"]) == (
        made["Service"]["metadata"]["name"],
        made["Service"]["spec"]["ports"][0]["port"],
    )
    labels = made["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert made["PodMonitor"]["spec"]["selector"]["matchLabels"].items() <= labels.items()


@pytest.mark.parametrize("mode", ["serve", "cron"])
def test_pods_meet_the_restricted_standard_and_hold_no_token(tmp_path: Path, mode: str) -> None:
    found = objects(rendered(tmp_path, {"mode": mode}))
    workload = next(o for o in found if o["kind"] in ("Deployment", "CronJob"))
    spec = workload["spec"] if mode == "serve" else workload["spec"]["jobTemplate"]["spec"]
    pod = spec["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    token = next(e for e in container["env"] if e["name"] == "ARGOCD_AUTH_TOKEN")
    assert token["valueFrom"] == {"secretKeyRef": {"name": "argolint", "key": "token"}}
    assert not [o for o in found if o["kind"] == "Secret"]


def test_the_extension_gets_its_token_by_reference_in_the_service_alone(tmp_path: Path) -> None:
    def container(values: dict[str, Any]) -> Any:
        workload = next(o for o in objects(rendered(tmp_path, values)) if o["kind"] in ("Deployment", "CronJob"))
        spec = workload["spec"].get("jobTemplate", workload)["spec"]
        return spec["template"]["spec"]["containers"][0]

    made = container(VALUES["extension"])
    assert made["args"].count("--extension-show-other-projects") == 1
    token = next(e for e in made["env"] if e["name"] == "ARGOLINT_EXTENSION_TOKEN")
    assert token["valueFrom"] == {"secretKeyRef": {"name": "argolint-extension", "key": "token"}}
    for values in ({}, {**VALUES["extension"], "mode": "cron"}):
        made = container(values)
        assert "EXTENSION" not in json.dumps(made)
        assert "--extension" not in json.dumps(made)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"mode": "daemon"}, "mode"),
        ({"argocd": {"servr": "x"}}, "servr"),
        ({"cron": {"failOn": "critical"}}, "failOn"),
        ({"serve": {"interval": "often"}}, "interval"),
        ({"argocd": {"existingSecret": {"name": ""}}}, "existingSecret"),
        ({"extension": {"token": "of-a-person"}}, "extension"),
        ({"image": {"repository": ""}}, "image.repository is empty"),
        ({"ingress": {"enabled": True}}, "ingress.hosts is empty"),
        ({"httpRoute": {"enabled": True}}, "httpRoute.parentRefs is empty"),
    ],
)
def test_a_mistake_in_the_values_is_refused_with_its_path(tmp_path: Path, values: dict[str, Any], message: str) -> None:
    ran = helm(tmp_path, values, "template", "linter", "--kube-version", _FLOOR)
    assert ran.returncode != 0
    assert message in ran.stderr


@pytest.mark.parametrize("name", ["serve", "cron", "state", "monitored", "example-ingress", "example-gateway"])
def test_argolint_reports_nothing_of_its_own_chart(tmp_path: Path, name: str) -> None:
    found = objects(rendered(tmp_path, VALUES[name]))
    pairs = [{"desired": o, "live": o} for o in (_placed(o) for o in found)]
    fixture = tmp_path / "chart.yaml"
    fixture.write_text(
        yaml.safe_dump(
            {
                "about": "its own chart",
                "apps": [{"name": "linter", "spec": {"source": {"targetRevision": "0" * 40}}, "resources": pairs}],
            }
        )
    )
    assert [
        f.message for f in testing.check(testing.load_fixture(fixture), tuple(load_rules().values())).findings
    ] == []


def _placed(obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "namespace": "argolint"}}
