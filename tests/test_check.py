"""The main job on recorded servers: every fault that Argo CD shows is answered, and the report keeps its promises."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from argolint.cli.group import COMMANDS, cli
from argolint.reports import document as report
from argolint.snapshots.http_server import Faults, ReplayServer
from argolint.snapshots.reader import SnapshotTransport
from tests.conftest import PHASES, RECORDINGS, recording, run_argolint
from tests.small import ANSWERS, write_snapshot


@pytest.fixture(scope="module", params=PHASES)
def checked(request: pytest.FixtureRequest, report_of: Callable[[str], Path]) -> tuple[str, dict[str, Any], Path]:
    """One check of each recorded phase: its name, the report, and where the report lies."""
    file = report_of(request.param)
    return request.param, json.loads(file.read_text()), file


def _applications(phase: str) -> list[dict[str, Any]]:
    from argolint.server.api import Unreadable, applications
    from argolint.snapshots.reader import SnapshotTransport

    listed = applications(SnapshotTransport([recording(phase)]))
    return [dict(app.raw) for app in listed if not isinstance(app, Unreadable)]


def test_every_application_that_argo_cd_shows_as_bad_has_a_finding(checked: tuple[str, dict[str, Any], Path]) -> None:
    phase, made, _ = checked
    told = {(f["app"]["namespace"], f["app"]["name"]) for f in made["findings"]}
    told |= {(r["app"]["namespace"], r["app"]["name"]) for f in made["findings"] for r in f["related"]}
    bad = [
        (app["metadata"]["namespace"], app["metadata"]["name"])
        for app in _applications(phase)
        if app["status"]["sync"]["status"] in ("OutOfSync", "Unknown")
        or app["status"]["health"].get("status") in ("Degraded", "Missing", "Unknown")
        or app["status"].get("conditions")
    ]
    assert len(bad) > 0
    assert sorted(set(bad) - told) == []


def test_nothing_is_left_unlooked_at_and_each_finding_has_a_message_and_a_fix(
    checked: tuple[str, dict[str, Any], Path],
) -> None:
    _, made, _ = checked
    assert made["complete"]
    assert made["failures"] == []
    assert [f["rule"] for f in made["findings"] if not f["message"].strip()] == []
    assert [f["rule"] for f in made["findings"] if not f["fixes"]] == []


def test_the_report_is_what_its_schema_says(checked: tuple[str, dict[str, Any], Path]) -> None:
    _, made, _ = checked
    jsonschema.Draft202012Validator(report.schema()).validate(made)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(report.schema()).validate(made | {"findings": [{"rule": "x"}]})


def test_fingerprints_are_unique_and_the_summary_counts_what_is_there(
    checked: tuple[str, dict[str, Any], Path],
) -> None:
    _, made, _ = checked
    marks = [f["fingerprint"] for f in made["findings"]]
    assert len(set(marks)) == len(marks)
    assert sum(made["summary"]["findings"].values()) == len([f for f in made["findings"] if f["suppressed"] is None])


def test_no_secret_value_reaches_the_report(checked: tuple[str, dict[str, Any], Path]) -> None:
    """The server masks Secret data with plus signs; neither those nor a base64 run of any length may be told."""
    _, made, _ = checked
    told = json.dumps([[f["message"], f["evidence"]] for f in made["findings"]])
    assert "++++" not in told
    assert not re.search(r"BEGIN (RSA |EC )?PRIVATE KEY", told)


def test_the_score_on_the_recordings_does_not_fall(checked: tuple[str, dict[str, Any], Path]) -> None:
    phase, _, file = checked
    tool = RECORDINGS.parent / "tools" / "score.py"
    truth = RECORDINGS / phase.partition("/")[0] / "truth.yaml"
    done = subprocess.run(
        [sys.executable, tool, file, truth, "--phase", phase.partition("/")[2], "--require", "0.95,0,0.95,10"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_one_application_can_be_named_and_an_unknown_one_is_an_error() -> None:
    phase = recording("harbourline/2-after-mutate")
    made = json.loads(run_argolint("check", "argocd/payments-gateway", "--snapshot", phase, "-o", "json").out)
    assert {f["app"]["name"] for f in made["findings"]} == {"payments-gateway"}
    assert made["summary"]["apps"] == 1
    ran = run_argolint("check", "no-such-app", "--snapshot", phase)
    assert (ran.code, ran.out) == (2, "")
    assert "there is no application 'no-such-app' on https://argocd.example.com" in ran.err


@pytest.mark.parametrize(
    ("option", "value", "apps"),
    [
        ("--project", "payments", lambda a: a["spec"]["project"] == "payments"),
        ("--selector", "team=identity", lambda a: (a["metadata"].get("labels") or {}).get("team") == "identity"),
        ("--app-namespace", "team-tracking", lambda a: a["metadata"]["namespace"] == "team-tracking"),
        (
            "--cluster",
            "edge",
            lambda a: (
                a["spec"]["destination"].get("server") == "https://edge.example.com:6444"
                or a["spec"]["destination"].get("name") == "edge"
            ),
        ),
    ],
)
def test_selection_takes_the_applications_that_argo_cds_own_options_take(option: str, value: str, apps: Any) -> None:
    phase = "harbourline/2-after-mutate"
    made = json.loads(run_argolint("check", option, value, "--snapshot", recording(phase), "-o", "json").out)
    expected = [a["metadata"]["name"] for a in _applications(phase) if apps(a)]
    assert made["summary"]["apps"] == len(expected) > 0
    assert {f["app"]["name"] for f in made["findings"]} <= set(expected)


def test_exit_codes_follow_fail_on() -> None:
    one = ("check", "--snapshot", recording("seeds/1-stuck"), "-q", "--select", "floating-revision")
    codes = [run_argolint(*one, *more).code for more in ((), ("--fail-on", "info"), ("--fail-on", "never"))]
    assert codes == [0, 1, 0]


def test_a_clean_run_says_so_in_one_line() -> None:
    ran = run_argolint("check", "--snapshot", recording("seeds/1-stuck"), "--select", "tracking-label-too-long")
    assert ran.code == 0
    assert len(ran.out.splitlines()) == 1
    assert "nothing found" in ran.out


def test_text_is_grouped_by_application_worst_first_and_fits_the_terminal(report_of: Callable[[str], Path]) -> None:
    saved = report_of("harbourline/2-after-mutate")
    for width in (60, 140):
        out = run_argolint("report", saved, "--full", env={"COLUMNS": str(width)}).out
        heads = [line for line in out.splitlines() if re.match(r"\S+  \d+ (error|warning|info)", line)]
        assert len(heads) > 20
        errors = ["error" in head for head in heads]
        assert errors == sorted(errors, reverse=True)
        prose = [
            line for line in out.splitlines() if line.startswith("           ") and not line.startswith("            ")
        ]
        assert len(prose) > 50
        assert [line for line in prose if len(line) > width and " " in line.strip()[: width - 12]] == []


def test_colour_comes_only_when_it_is_wanted() -> None:
    phase = recording("seeds/1-stuck")
    assert "\x1b[" not in run_argolint("check", "--snapshot", phase).out
    assert "\x1b[31m" in run_argolint("check", "--snapshot", phase, "--color", "always").out
    assert "\x1b[" not in run_argolint("check", "--snapshot", phase, "--color", "never").out


def test_formats_and_files_are_checked_before_anything_is_read(tmp_path: Path) -> None:
    for output, told in (
        ("xml", "there is no format 'xml'"),
        ("sarif=", "-o sarif= names no file"),
        (f"json={tmp_path}/none/x.json", "does not exist"),
    ):
        ran = run_argolint("check", "--snapshot", tmp_path / "no-snapshot", "-o", output)
        assert ran.code == 2
        assert told in ran.err


def test_every_command_has_help_and_stands_in_the_readme() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    for name in COMMANDS:
        ran = CliRunner().invoke(cli, [name, "--help"])
        assert ran.exit_code == 0, name
        assert ran.stdout.startswith("Usage:"), name
        assert f"argolint {name}" in readme, f"the README does not tell `argolint {name}`"


def test_help_imports_neither_requests_nor_deepdiff() -> None:
    code = "import atexit, sys; sys.argv = ['argolint', '--help']; from argolint.cli import main\n"
    code += "atexit.register(lambda: print([m for m in ('requests', 'deepdiff', 'msgspec', 'yaml') if m in sys.modules], flush=True)); main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "Exit codes" in done.stdout


def test_explain_shows_a_page_a_cause_and_the_setup() -> None:
    page = run_argolint("explain", "shared-resource")
    assert page.code == 0
    assert "What it finds" in page.out
    assert "How to fix" in page.out
    cause = run_argolint("explain", "shared-resource/predicted")
    headings = ["Why it hurts", "How to fix"]
    assert (cause.code, [line for line in cause.out.splitlines() if line in headings]) == (0, headings)
    wrong = run_argolint("explain", "shared-resource/nonsense")
    assert (wrong.code, wrong.out) == (2, "")
    assert "its causes: same-content" in wrong.err
    assert "p, role:argolint, applications, get, */*, allow" in run_argolint("explain", "--setup").out


def test_merged_shards_are_the_report_of_a_plain_run(tmp_path: Path, report_of: Callable[[str], Path]) -> None:
    phase = recording("harbourline/2-after-mutate")
    files = [tmp_path / f"{n}.json" for n in (1, 2, 3)]
    for n, file in enumerate(files, 1):
        assert run_argolint("check", "--snapshot", phase, "--shard", f"{n}/3", "-o", f"json={file}").code == 0
    plain = json.loads(report_of("harbourline/2-after-mutate").read_text())
    merged = json.loads(run_argolint("merge", *files, "-o", "json").out)
    plain.pop("stats")
    merged.pop("stats")
    assert merged == plain
    broken = run_argolint("merge", files[0], files[2])
    assert (broken.code, broken.out) == (2, "")
    assert "shard 2 of 3 is missing" in broken.err


def test_one_application_is_told_of_its_shared_objects_as_the_whole_fleet_is(
    report_of: Callable[[str], Path],
) -> None:
    """Who else claims an object, and whether the contents differ, cannot hang on which applications were asked for."""
    phase = "harbourline/2-after-mutate"
    whole = [f for f in json.loads(report_of(phase).read_text())["findings"] if f["rule"] == "shared-resource"]
    name = whole[0]["related"][0]["app"]["name"]
    alone = json.loads(
        run_argolint("check", name, "--snapshot", recording(phase), "--select", "shared-resource", "-o", "json").out
    )
    assert alone["summary"]["apps"] == 1
    assert alone["findings"] == [
        f for f in whole if name in {f["app"]["name"], *(r["app"]["name"] for r in f["related"])}
    ]
    assert alone["findings"]


def test_a_list_over_the_message_limit_is_read_project_by_project_and_said_so(
    tmp_path: Path, report_of: Callable[[str], Path]
) -> None:
    phase = recording("harbourline/2-after-mutate")
    rights = write_snapshot(tmp_path, [("/api/v1/account/can-i/projects/get/*", (), False, 200, {"value": "yes"})])
    with ReplayServer(SnapshotTransport([phase, rights]), faults=Faults(too_big=True)) as server:
        login = ("--server", server.address, "--plaintext", "--auth-token", server.token())
        text = run_argolint("check", *login, "-o", "text", "-o", f"json={tmp_path / 'parts.json'}").out
    parts = json.loads((tmp_path / "parts.json").read_text())
    whole = json.loads(report_of("harbourline/2-after-mutate").read_text())
    assert parts["findings"] == whole["findings"]
    assert parts["summary"] == whole["summary"]
    assert parts["complete"]
    assert "over the server's message limit, so it was read project by project" in text
    assert whole["remarks"] == []


@pytest.mark.parametrize("rights", [{"value": "no"}, None])
def test_a_list_by_project_is_incomplete_unless_the_account_sees_every_project(
    tmp_path: Path, rights: dict[str, str] | None
) -> None:
    projects = {"items": [{"metadata": {"name": "shop"}}]}
    answers = [*ANSWERS, ("/api/v1/projects", (), False, 200, projects)]
    if rights:
        answers.append(("/api/v1/account/can-i/projects/get/*", (), False, 200, rights))
    with ReplayServer(SnapshotTransport([write_snapshot(tmp_path, answers)]), faults=Faults(too_big=True)) as server:
        ran = run_argolint(
            "check", "--server", server.address, "--plaintext", "--auth-token", server.token(), "-o", "json"
        )
    made = json.loads(ran.out)
    assert (ran.code, made["summary"]["apps"], made["complete"]) == (3, 1, False)
    assert [f["error"] for f in made["failures"] if f["stage"] == "applications"] == [
        "the list was read project by project, and the account may not see every project: applications of hidden "
        "projects were not looked at"
    ]


def test_advice_is_wrapped_and_what_is_to_be_pasted_is_not(demo_files: Path) -> None:
    saved = demo_files / "report.json"
    found = run_argolint("report", saved, "--full", env={"COLUMNS": "60"}).out.splitlines()
    advice = next(i for i, line in enumerate(found) if "fix: Keep ConfigMap tracking/tracking-common in" in line)
    assert len(found[advice]) <= 60
    assert found[advice + 1].startswith(" " * 13 + '"tracking-ingest" alone')
    pasted = run_argolint("report", saved, "-v", env={"COLUMNS": "60"}).out.splitlines()
    assert [line for line in pasted if line.strip().startswith("kubectl ") and len(line) > 60]
