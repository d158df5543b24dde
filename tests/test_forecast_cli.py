"""`argolint forecast` as a user meets it: what it prints, how it ends, what it says of bad input, and what a hostile fleet may not do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from argolint.engine.load import read_fleet
from argolint.engine.plan import Plan
from argolint.forecast import report as told
from argolint.forecast.wanted import upgrades
from argolint.model.stats import Stats
from argolint.reports import document
from argolint.reports.formats import FORMATS, Style, render
from argolint.testing import FixtureTransport
from tests.here import run_here
from tests.test_forecast_upgrade import CASES, app, config, fleet

Data = dict[str, Any]


def made(data: Data, **wanted: str) -> document.Report:
    t = FixtureTransport(data)
    known, failures = read_fleet(t)
    forecast, found = upgrades(t, known, failures, wanted, Plan((), workers=1))
    return told.report(
        forecast,
        found.findings,
        (*failures, *found.failures),
        known,
        apps=found.apps,
        resources=found.resources,
        started_at="2026-01-01T12:00:00Z",
        stats=Stats(),
    )


def test_the_demo_has_something_to_forecast(tmp_path: Path) -> None:
    ran = run_here("forecast", "upgrade", "--argocd", "3.6", "--demo", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "Upgrade: Argo CD v3.5.1 → 3.6"
    assert "Only looks different" in lines
    assert lines[-1] == "63 applications: 5 places only look different"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "no upgrade is named"),
        (("--argocd", "3.99"), "no release 3.99 of Argo CD is known here"),
        (("--argocd", "3.5.0"), "is no upgrade: Argo CD v3.5.1 runs today"),
        (("--kubernetes", "1.30"), "is no upgrade: Kubernetes v1.36.1 runs today"),
        (("--kubernetes", "1.36", "--cluster", "moon"), "'moon' is no cluster of this Argo CD"),
        (("--argocd", "3.6", "--snapshot", "x"), "--demo and --snapshot both say what to read"),
        (("--helm", "2.17"), "no release 2.17 of Helm is known here"),
        (("--external-secrets", "3.0"), "no release 3.0 of External Secrets is known here (--external-secrets)"),
    ],
)
def test_bad_input_is_refused_before_anything_is_said(arguments: tuple[str, ...], says: str, tmp_path: Path) -> None:
    ran = run_here("forecast", "upgrade", "--demo", *arguments, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err


def test_an_operator_whose_release_is_not_seen_ends_with_3(tmp_path: Path) -> None:
    ran = run_here("forecast", "upgrade", "--external-secrets", "2.9", "--demo", cwd=tmp_path)
    assert ran.code == 3
    assert "which release runs is not known; by the API versions that are served it is v0.10.3 or later" in " ".join(
        ran.out.split()
    )
    assert "External Secrets 0.16 next" in ran.out
    ran = run_here(
        "forecast", "upgrade", "--external-secrets", "2.9", "--demo", "--allow-incomplete", "-q", cwd=tmp_path
    )
    assert ran.code == 1


@pytest.mark.parametrize("cause", ["kubernetes-version-label", "missing-in-part", "removed-api-policy-v1beta1"])
def test_every_format_shows_a_forecast(cause: str) -> None:
    concerned, _, wanted, message = CASES[cause]
    report = made(concerned, **wanted)
    for name in FORMATS.keys() - {"prometheus", "junit", "name"}:
        text = render(report, name, Style(width=1000))
        assert message in text or message.replace("'", "&#39;") in text or cause in text, name
    assert render(report, "name", Style())
    Draft202012Validator(document.schema()).validate(json.loads(document.to_json(report)))


def test_two_causes_at_one_place_stay_two() -> None:
    spec = {"syncPolicy": {"syncOptions": ["ApplyOutOfSyncOnly=true"]}, "source": {"helm": {"version": "v3"}}}
    one = {**app("web", config("a"), config("b"), spec=spec), "status": {"health": {"status": "Missing"}}}
    one["resources"][1].pop("live")
    report = made(fleet(one), argocd="3.5")
    assert {"missing-in-part", "helm-version-field", "annotation-tracking"} <= {f.cause for f in report.findings}
    assert report.forecast
    assert sum(c.findings for c in report.forecast.causes) == len(report.findings)


def test_the_worst_comes_first_and_the_last_line_counts() -> None:
    data = CASES["kubernetes-version-label"][0]
    report = made(data, argocd="3.6")
    text = render(report, "text", Style(width=200))
    assert text.splitlines()[2] == "Is deleted"
    assert text.splitlines()[-1].startswith("1 application: 1 place is deleted")
    assert render(report, "text", Style(quiet=True)).count("\n") == 1


def test_a_prune_that_deletes_nothing_counts_no_applications(tmp_path: Path) -> None:
    ran = run_here("forecast", "prune", "--demo", "tracking-ingest", cwd=tmp_path)
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "nothing is deleted")


def test_what_manifests_say_acts_on_nothing() -> None:
    evil = "x](https://evil.example.com)\x1b[31m<script>"
    data = fleet(
        app(
            "web",
            config("a"),
            spec={"sourceHydrator": {"drySource": {}, "syncSource": {"path": ".", "targetBranch": evil}}},
        ),
        version="v3.1.0",
    )
    data["apps"][0]["metadata"] = {"namespace": "argocd"}
    raw = {
        "metadata": {"name": evil, "namespace": "argocd"},
        "spec": {
            "generators": [
                {"clusters": {"selector": {"matchLabels": {"argocd.argoproj.io/kubernetes-version": "1.34"}}}}
            ]
        },
    }
    data["server"]["applicationsets"] = [raw]
    report = made(data, argocd="3.6")
    markdown = render(report, "markdown", Style())
    assert "](https://evil.example.com)" not in markdown
    assert "<script>" not in markdown
    assert "\x1b" not in markdown + render(report, "text", Style())


def test_a_long_forecast_fits_into_a_comment() -> None:
    many = [app(f"web-{n}", config("a"), spec={"source": {"helm": {"version": "v3"}}}) for n in range(60)]
    report = made(fleet(*many, version="v3.4.0"), argocd="3.5")
    markdown = render(report, "markdown", Style())
    assert "and 40 more; the JSON report has all of them" in markdown
    text = render(report, "text", Style())
    assert "… and 54 more (--full)" in text
    assert render(report, "text", Style(full=True)).count("asks for Helm v3") == 60


def test_a_saved_forecast_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "it.json"
    report = made(CASES["missing-in-part"][0], argocd="3.4")
    file.write_bytes(document.to_json(report))
    again = document.read(file)
    assert again.forecast == report.forecast
    ran = run_here("report", file, cwd=tmp_path)
    assert "Only looks different" in ran.out
    assert (
        msgspec.UNSET
        is document.from_json(
            b'{"schema_version": "1.0", "tool": {"name": "a", "version": "1"}, "started_at": "", "complete": true, "servers": [], "summary": {"apps": 0, "resources": 0, "findings": {}, "suppressed": 0, "failures": 0}, "findings": []}',
            "old",
        ).forecast
    )
