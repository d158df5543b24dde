"""Metrics: names and labels are a contract, the number of series is bounded, and Prometheus' own tools read them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from argolint.cli.demo import RECORDING
from argolint.engine.config import Metrics
from argolint.model.stats import Stats
from argolint.reports import assemble, formats
from argolint.reports import document as r
from argolint.reports.formats import Output, Style
from tests.here import run_here

SERVER = "https://argocd.example.com"
GOLDEN = Path(__file__).parent / "golden" / "metrics.prom"
RULES = (r.RanRule("self-heal-loop", "sync", "error"), r.RanRule("shared-resource", "ownership", "error"))


def _finding(name: str = "web", rule: str = "shared-resource", **other: Any) -> r.ReportedFinding:
    fields: dict[str, Any] = {
        "rule": rule,
        "family": "ownership",
        "severity": "error",
        "confidence": "proven",
        "app": r.ReportedApp(SERVER, "argocd", name, "shop"),
        "message": f"secret words about {name}",
        "docs": f"https://argolint.dev/rules/{rule}",
        "fingerprint": f"f-{name}",
        "cause": "two-owners",
        "resource": r.ReportedResource("", "v1", "ConfigMap", "prod", "settings", "https://10.0.0.1"),
        "pointer": "/data/key",
    }
    return r.ReportedFinding(**{**fields, **other})


def _report(*findings: r.ReportedFinding, complete: bool = True, **other: Any) -> r.Report:
    failures = (
        () if complete else (r.ReportedFailure("manifests", "no", app=r.ReportedApp(SERVER, "argocd", "web", "shop")),)
    )
    return r.Report(
        "1.0",
        r.Tool("argolint", "0.1.0"),
        other.pop("started_at", "2026-01-01T12:00:00Z"),
        complete,
        (r.Server(SERVER, "v3.5.1", 7),),
        assemble.summarise(findings, len(failures), apps=7, resources=9),
        findings,
        failures,
        Stats(12, 3456, 1.5),
        rules=RULES,
    )


def _samples(text: str, name: str) -> dict[tuple[str, ...], float]:
    """Label values (in order of label names) and numbers of one metric."""
    families = {f.name: f for f in text_string_to_metric_families(text)}
    return {tuple(s.labels[n] for n in sorted(s.labels)): s.value for s in families[name].samples}


def _render(report: r.Report, **metrics: Any) -> str:
    return formats.render(report, "prometheus", Style(metrics=Metrics(**metrics)))


def test_names_and_labels_are_those_of_the_contract() -> None:
    report = _report(
        _finding("web", since="2025-12-31T00:00:00Z"),
        _finding("api", rule="self-heal-loop", family="sync", severity="warning", cause=None, resource=None),
        _finding("old", suppressed={"by": "configuration", "reason": "known"}),
        complete=False,
    )
    text = _render(report).replace(f'python="{sys.version.split()[0]}"', 'python="3"')
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_nothing_but_names_reaches_a_label() -> None:
    text = _render(_report(_finding()))
    assert [w for w in ("secret words", "/data/key", "settings", "f-web") if w in text] == []


def test_a_rule_that_found_nothing_counts_zero_and_one_that_did_not_run_is_absent() -> None:
    found = _samples(_render(_report()), "argolint_findings")
    assert found == {
        ("argocd.example.com", "sync", "self-heal-loop", "error"): 0,
        ("argocd.example.com", "ownership", "shared-resource", "error"): 0,
    }


def test_over_max_series_the_least_severe_go_first_and_the_sums_stay() -> None:
    findings = [_finding(f"a{n:03}", severity=s) for s in ("info", "warning", "error") for n in range(10)]
    text = _render(_report(*findings), max_series=12)
    kept = _samples(text, "argolint_app_findings")
    assert sorted(labels[-1] for labels in kept) == ["error"] * 10 + ["warning"] * 2
    assert _samples(text, "argolint_metrics_truncated") == {("argolint_app_findings",): 1}
    sums = _samples(text, "argolint_findings")
    assert {labels[-1]: n for labels, n in sums.items() if labels[2] == "shared-resource"} == {
        "error": 10,
        "warning": 10,
        "info": 10,
    }
    assert _samples(_render(_report(*findings)), "argolint_metrics_truncated") == {("argolint_app_findings",): 0}


def test_single_applications_can_be_left_out_or_narrowed() -> None:
    report = _report(_finding("web"), _finding("api", severity="info"))
    assert _samples(_render(report, per_app=False), "argolint_app_findings") == {}
    assert len(_samples(_render(report, min_severity="warning"), "argolint_app_findings")) == 1


def test_hostile_names_are_one_label_each() -> None:
    names = ['a"} 1\nevil_metric 2\n', "\\", "\u202e\x00\ud800", "x" * 1_000_000, "x" * 999_999]
    report = _report(*(_finding(name) for name in names))
    text = _render(report)
    assert len(text) < 20_000
    assert {f.name for f in text_string_to_metric_families(text)} == {
        f.name for f in text_string_to_metric_families(_render(_report()))
    }
    found = _samples(text, "argolint_app_findings")
    assert sorted(found.values()) == [1, 1, 1, 2]


def test_the_last_complete_check_is_carried_on_while_checks_are_incomplete(tmp_path: Path) -> None:
    file = tmp_path / "argolint.prom"
    last = "argolint_last_complete_check_timestamp_seconds"

    def write(report: r.Report) -> dict[tuple[str, ...], float]:
        formats.write(report, (Output("prometheus", file),), Style())
        return _samples(file.read_text(encoding="utf-8"), last)

    assert write(_report(complete=False)) == {}
    noon = 1767268801.5
    assert write(_report()) == {("argocd.example.com",): noon}
    later = _report(complete=False, started_at="2026-01-02T12:00:00Z")
    assert write(later) == {("argocd.example.com",): noon}
    text = file.read_text(encoding="utf-8")
    assert _samples(text, "argolint_last_check_timestamp_seconds") == {("argocd.example.com",): noon + 86400}
    assert _samples(text, "argolint_check_complete") == {("argocd.example.com",): 0}
    other = msgspec.structs.replace(later, servers=(r.Server("https://other", "", 0),))
    assert write(other) == {}, "another server's time is not this one's"


@pytest.mark.parametrize("damage", [b"\xff\xfe", b'argolint_last_complete_check_timestamp_seconds{argocd="a"} e+e+\n'])
def test_a_damaged_file_is_replaced(tmp_path: Path, damage: bytes) -> None:
    file = tmp_path / "argolint.prom"
    file.write_bytes(damage)
    formats.write(_report(), (Output("prometheus", file),), Style())
    assert "argolint_check_complete" in file.read_text(encoding="utf-8")


def test_promtool_finds_nothing_to_say_of_the_demo(tmp_path: Path, demo_files: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    file = tmp_path / "argolint.prom"
    ran = run_here("report", demo_files / "report.json", "-o", f"prometheus={file}", cwd=tmp_path)
    assert (ran.code, ran.out) == (0, "")
    done = subprocess.run([promtool, "check", "metrics"], input=file.read_bytes(), capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_configuration_says_what_is_exposed(tmp_path: Path, pair: Path) -> None:
    ran = run_here("check", "--snapshot", pair, "-o", "prometheus", cwd=tmp_path)
    assert _samples(ran.out, "argolint_app_findings")
    (tmp_path / ".argolint.yaml").write_text("metrics: {per-app: false}\n", encoding="utf-8")
    ran = run_here("check", "--snapshot", pair, "-o", "prometheus", cwd=tmp_path)
    assert _samples(ran.out, "argolint_app_findings") == {}
    (tmp_path / ".argolint.yaml").write_text("metrics: {per-apps: false}\n", encoding="utf-8")
    ran = run_here("check", "--snapshot", RECORDING, cwd=tmp_path)
    assert (ran.code, "unknown key 'per-apps'; did you mean 'per-app'?" in ran.err) == (2, True)


def test_labels_of_applications_are_exposed_where_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / ".argolint.yaml").write_text("metrics: {app-labels: [team, no/such-label]}\n", encoding="utf-8")
    run_here("check", "--snapshot", RECORDING, "-o", "prometheus=p", "-o", "json=r.json", "-q", cwd=tmp_path)
    text = (tmp_path / "p").read_text(encoding="utf-8")
    rows = _samples(text, "argolint_app_labels")
    assert len(rows) == 61, "two have neither"
    assert rows["payments-gateway", "argocd", "argocd.example.com", "", "payments"] == 1
    assert 'label_no_such_label="",label_team="payments"' in text
    assert r.read(tmp_path / "r.json").applications[0].labels == {"team": "platform"}
    again = run_here("report", "r.json", "-o", "prometheus", cwd=tmp_path)
    assert _samples(again.out, "argolint_app_labels") == rows
    (tmp_path / ".argolint.yaml").write_text("metrics: {app-labels: [a/b, a.b]}\n", encoding="utf-8")
    ran = run_here("check", "--snapshot", RECORDING, cwd=tmp_path)
    assert (ran.code, "app-labels: a/b and a.b would be one label, label_a_b" in ran.err) == (2, True), ran.err


def test_labels_of_applications_are_bounded() -> None:
    counts = r.Counts()
    apps = tuple(
        r.Application(
            r.ReportedApp(SERVER, "argocd", f"app-{n}", "shop"),
            "Synced",
            "Healthy",
            1,
            counts,
            labels={"team": 'x\n"y'},
        )
        for n in range(9)
    )
    report = msgspec.structs.replace(_report(), applications=apps)
    text = _render(report, app_labels=("team",), max_series=5)
    assert len(_samples(text, "argolint_app_labels")) == 5
    assert _samples(text, "argolint_metrics_truncated") == {("argolint_app_findings",): 0, ("argolint_app_labels",): 1}
    assert "argolint_app_labels" not in _render(report)


def test_a_check_that_does_not_need_them_loads_no_library_of_other_formats(tmp_path: Path) -> None:
    code = f"""
import sys
sys.argv = ["argolint", "check", "no-such-app", "--snapshot", {str(RECORDING)!r}]
from argolint.cli.process import exit_code
exit_code()
print([m for m in ("prometheus_client", "jinja2", "sqlite3", "http.server") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "[]\n"
