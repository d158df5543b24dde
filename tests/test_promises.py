"""What stays as it is (docs/promises.md), and what an older argolint wrote is read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from argolint.cli.demo import RECORDING
from argolint.reports import document
from scripts.promises import FILE, promised
from tests.conftest import ROOT, run_argolint

OF_0_1 = ROOT / "tests" / "golden" / "report-0.1.json"
"""A report of the demo as argolint 0.1 wrote it, with six of its findings."""
PROMISED = json.loads(FILE.read_text())
NOW = promised()


@pytest.mark.parametrize("what", PROMISED)
def test_what_was_promised_is_there(what: str) -> None:
    """A name that is gone is a new major version; `scripts/promises.py` adds what is new at each release."""
    assert sorted(set(PROMISED[what]) - set(NOW[what])) == []


def test_the_page_names_tests_that_are_there() -> None:
    page = (ROOT / "docs" / "promises.md").read_text()
    named = re.findall(r"`(tests/\w+\.py)`", page)
    assert len(set(named)) > 8
    assert [name for name in named if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize(
    "form", ["text", "html", "markdown", "sarif", "junit", "gitlab", "prometheus", "json", "openreports"]
)
def test_a_report_of_0_1_is_turned_into_every_format(form: str) -> None:
    ran = run_argolint("report", OF_0_1, "-o", form)
    assert ran.code == 0, ran.err
    assert ran.out


def test_a_report_of_0_1_keeps_what_it_says() -> None:
    old = json.loads(OF_0_1.read_text())
    assert old["schema_version"] == "1.0"
    assert old["tool"] == {"name": "argolint", "version": "0.1.0"}
    read = json.loads(document.to_json(document.read(OF_0_1)))
    for was, now in zip(old["findings"], read["findings"], strict=True):
        kept = ("rule", "severity", "confidence", "app", "resource", "pointer", "message", "evidence", "fingerprint")
        assert {k: now[k] for k in kept} == {k: was[k] for k in kept}
        assert [f["title"] for f in now["fixes"]] == [f["title"] for f in was["fixes"]]


def test_findings_of_0_1_are_found_again_and_accepted_by_their_fingerprints(tmp_path: Path) -> None:
    old = json.loads(OF_0_1.read_text())
    new = tmp_path / "new.json"
    baseline = tmp_path / "baseline.json"
    accepted = [
        {"fingerprint": f["fingerprint"], "rule": f["rule"], "app": f"{f['app']['namespace']}/{f['app']['name']}"}
        for f in old["findings"]
    ]
    head = {"baseline_version": "1.0", "server": old["servers"][0]["url"], "written_at": old["started_at"]}
    baseline.write_text(json.dumps({**head, "findings": accepted}))
    check = ("check", "--quiet", "--fail-on", "never", "--snapshot", RECORDING, "--baseline", baseline)
    assert run_argolint(*check, "-o", f"json={new}").code == 0
    made = json.loads(new.read_text())
    suppressed = {f["fingerprint"] for f in made["findings"] if f["suppressed"]}
    assert suppressed == {f["fingerprint"] for f in old["findings"]}
    compared = json.loads(run_argolint("compare", OF_0_1, new, "-o", "json").out)
    assert {f["fingerprint"] for f in compared["gone"]} == suppressed  # accepted since: no longer shown
