"""Alerts and dashboards: run by Prometheus' own tools, and against a real Prometheus that scraped the demo."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from argolint import DOCS
from argolint.cli.demo import RECORDING
from tests.conftest import ROOT
from tests.test_prometheus import GOLDEN, _render, _report
from tests.test_serve import serving
from tests.waiting import PATIENCE_S, until

RULES = ROOT / "deploy" / "prometheus" / "rules.yaml"
QUIET = {
    "fleet.json: Could not be looked at": "nothing failed",
    "fleet.json: Suppressed": "nothing is suppressed",
}
"""Panels that are empty when all is well."""


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed (Debian: prometheus)")
    return found


def _rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return list(group["rules"])


def _expressions() -> dict[str, str]:
    """Of every panel and alert, with the dashboards' variables as they stand at first."""
    code = "import json, sys; sys.path.insert(0, 'scripts'); import dashboards; print(json.dumps(dict(dashboards.expressions())))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    panels = {title: re.sub(r"\$\w+", ".*", text) for title, text in json.loads(done.stdout).items()}
    return panels | {rule.get("alert") or rule["record"]: rule["expr"] for rule in _rules()}


def test_alerts_fire_when_they_should_and_do_not_when_they_should_not() -> None:
    promtool = _tool("promtool")
    for args in (("check", "rules", "--lint-fatal", RULES), ("test", "rules", RULES.with_name("tests.yaml"))):
        done = subprocess.run([promtool, *args], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_is_tested_and_told() -> None:
    told = re.findall(r"^## (\w+)$", (ROOT / "docs" / "alerts.md").read_text(encoding="utf-8"), re.MULTILINE)
    tests = RULES.with_name("tests.yaml").read_text(encoding="utf-8")
    alerts = [rule for rule in _rules() if "alert" in rule]
    assert sorted(told) == sorted(rule["alert"] for rule in alerts)
    for rule in alerts:
        name = rule["alert"]
        assert rule["annotations"]["runbook_url"] == f"{DOCS}alerts.md#{name.lower()}"
        assert rule["annotations"].get("rule_url") in (None, f"{DOCS}rules/{{{{ $labels.rule }}}}.md")
        assert re.search(rf"\{{eval_time: \w+, alertname: {name}\}}", tests), (
            f"{name} has a case in which it does not fire"
        )
        assert re.search(rf"alertname: {name}\n +exp_alerts:", tests), f"{name} has a case in which it fires"


def test_no_address_leads_to_a_site_that_is_not_published() -> None:
    """Docs addresses come from one setting (argolint.DOCS), which points into the repository until there is a site."""
    for folder in ("argolint", "rules", "templates", "deploy", "docs", "contrib", "scripts"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in (".py", ".yaml", ".yml", ".json", ".md", ".tpl", ".txt", ".js", ".sh"):
                assert "https://argolint.dev" not in file.read_text(encoding="utf-8"), file


def test_dashboards_are_those_of_the_script() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/dashboards.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_expressions_name_metrics_and_labels_of_the_contract() -> None:
    known: dict[str, set[str]] = {}
    for text in (GOLDEN.read_text(encoding="utf-8"), _render(_report())):
        for family in text_string_to_metric_families(text):
            known.setdefault(family.name, set()).update(*(sample.labels for sample in family.samples))
    for title, expression in _expressions().items():
        for metric, matchers in re.findall(r"\b(argolint_\w+)(?:\{([^}]*)\})?", expression):
            labels = set(re.findall(r"(\w+)=", matchers))
            assert labels <= known[metric], (title, metric)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Prometheus that scrapes the service over the demo, and loads the rules."""
    binary = _tool("prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    with serving(folder, "--snapshot", RECORDING, "--state", "state") as service:
        service.wait_until_ready()
        target = ":".join(map(str, service.address))
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(RULES)],
            "scrape_configs": [{"job_name": "argolint", "static_configs": [{"targets": [target]}]}],
        }
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
        command = [
            binary,
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            "--web.listen-address=127.0.0.1:0",
        ]
        said = folder / "log"
        with said.open("wb") as log, subprocess.Popen(command, cwd=folder, stderr=log) as process:
            try:
                until(lambda: "Listening on" in said.read_text() or process.poll() is not None, said.read_text)
                (listens,) = re.findall(r'"Listening on" address=(\S+)', said.read_text())
                address = f"http://{listens}"
                _wait_for(address, "count(argolint_app_findings) and on() (argolint:errors:sum > 0)")
                yield address
            finally:
                process.terminate()


def _query(address: str, expression: str) -> list[dict[str, Any]]:
    with urlopen(f"{address}/api/v1/query?{urlencode({'query': expression})}", timeout=PATIENCE_S) as answer:
        result = json.load(answer)
    assert result["status"] == "success"
    return list(result["data"]["result"])


def _wait_for(address: str, expression: str) -> None:
    def has() -> bool:
        with contextlib.suppress(URLError):  # it says that it is not ready yet
            return bool(_query(address, expression))
        return False

    until(has, lambda: f"Prometheus never had {expression}")


def test_a_real_prometheus_holds_what_the_report_counts(prometheus: str) -> None:
    (up,) = _query(prometheus, 'up{job="argolint"}')
    assert up["value"][1] == "1"
    sums = {
        s["metric"]["severity"]: int(s["value"][1]) for s in _query(prometheus, "sum by (severity) (argolint_findings)")
    }
    per_app = {
        s["metric"]["severity"]: int(s["value"][1])
        for s in _query(prometheus, "sum by (severity) (argolint_app_findings)")
    }
    assert sums == per_app
    assert sums["error"] > 10
    (applications,) = _query(prometheus, "sum(argolint_applications)")
    assert applications["value"][1] == "63"


def test_every_panel_and_alert_runs_and_has_data(prometheus: str) -> None:
    empty = {title for title, expression in _expressions().items() if not _query(prometheus, expression)}
    alerts = {rule["alert"] for rule in _rules() if "alert" in rule}
    assert empty - alerts - QUIET.keys() == set()
    firing = alerts - empty
    assert {"ArgolintSecretStuck", "ArgolintOwnershipConflict", "ArgolintSelfHealLoop", "ArgolintCheckStale"} <= firing
    assert {"ArgolintDown", "ArgolintIncomplete", "ArgolintMoreErrors"} <= empty
