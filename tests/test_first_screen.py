"""What a person sees: the first screen, the other forms of the text, and fixes that can be pasted."""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from pathlib import Path

import msgspec
import pytest
import yaml

from argolint.engine import pipeline
from argolint.model.stats import Stats
from argolint.reports import assemble, formats
from argolint.reports import document as report
from argolint.reports.formats import Style
from argolint.reports.formats.edits import as_text
from argolint.reports.formats.layout import visible, wrapped
from argolint.snapshots.reader import SnapshotTransport
from argolint.suppression import suppress
from tests.conftest import PHASES, recording, run_argolint
from tests.recorded import plainly, rules

GOLDEN = Path(__file__).parent / "golden" / "demo-80-columns.txt"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@cache
def reported(phase: str) -> report.Report:
    now = SnapshotTransport([recording(phase)]).now()
    part = plainly(phase)
    outcome = pipeline.conclude(part, rules(), suppress.Suppressions(now=now))
    return assemble.build(outcome, servers=part.servers, started_at="", stats=Stats(), tool_version="1", remarks=())


def test_the_first_screen_of_the_demo() -> None:
    ran = run_argolint("demo", env={"COLUMNS": "80"})
    assert (ran.code, ran.err) == (0, "")
    shown = re.sub(r"· \d+ requests,\s[\d.]+ MB,\s[\d.]+ s", "· 0 requests", ran.out)
    assert shown == GOLDEN.read_text()
    assert len(ran.out.splitlines()) <= 45
    assert max(map(len, ran.out.splitlines())) <= 80
    for rule in ("shared-resource", "nondeterministic-", "external-secret-"):
        assert rule in ran.out


def test_each_cause_has_one_block_with_its_applications_its_fix_and_its_caveat() -> None:
    made = reported("harbourline/3-after-commits")
    out = formats.render(made, "concise", Style(width=100))
    assert out == formats.render(made, "text", Style(width=100)), "what text is above thirty findings"
    blocks = out.split("\n\n")[: len(made.causes)]
    assert len(blocks) == len(made.causes)
    block = next(b for b in blocks if "No External Secrets Operator serves cluster" in b)
    lines = block.splitlines()
    assert lines[:3] == [
        "error    argocd/edge-gateway-secrets, argocd/edge-scanner-hub · fixes 1 of 2",
        "         No External Secrets Operator serves cluster https://edge.example.com:6444.",
        "         external-secret-not-reconciled · 4 findings",
    ]
    assert lines[3].startswith("         · argocd/edge-gateway-secrets external-secret-not-reconciled: "), (
        "what follows"
    )
    assert lines[-4:] == [
        "         fix: Install the External Secrets Operator on this cluster, or start it again [cluster of",
        "           the application]",
        "           caveat: install the version of the operator that matches the existing CRDs",
        "             kubectl get pods -A -l app.kubernetes.io/name=external-secrets   # is there one, and is it running?",
    ]


def test_infos_leave_the_screen_to_what_is_worse() -> None:
    made = reported("harbourline/3-after-commits")
    infos = tuple(f for f in made.findings if f.severity == "info" and not f.caused_by)[:3]
    error = next(f for f in made.findings if f.severity == "error" and not f.caused_by)

    def screen(*findings: report.ReportedFinding) -> str:
        few = msgspec.structs.replace(made, findings=findings, causes=())
        return formats.render(few, "text", Style(width=100, lines=100))

    assert re.findall(r"^(?:info|error) ", screen(error, *infos), re.M) == ["error "]
    assert "\nWithout 3 info: --full shows all.\n" in screen(error, *infos)
    assert re.findall(r"^(?:info|error) ", screen(*infos), re.M) == ["info "] * 3
    assert "Without" not in screen(*infos)


def test_the_end_says_how_many_are_fine_where_to_start_and_what_to_type() -> None:
    end = formats.render(reported("harbourline/3-after-commits"), "text", Style(width=100)).split("\n\n")[-1]
    first, *rest = end.splitlines()
    assert re.fullmatch(r"\d+ of 81 applications are fine; \d+ causes behind \d+ errors", first)
    assert [line[:12].strip() for line in rest if line[:1].strip()] == [
        *("families", "start here", "next", "✓ verified:", "Some finding", rest[-1][:12])
    ]
    assert "add --full" in end
    assert "argolint why argocd/" in end
    assert "argolint explain pod-unschedulable/resources" in end, (
        "of the first cause, which no finding of its own shows"
    )
    assert rest[-1].startswith("81 applications, ")


def test_a_long_fix_of_several_findings_is_printed_once() -> None:
    text = formats.render(reported("harbourline/3-after-commits"), "text", Style(width=200, full=True))
    assert text.count('fix: Keep ConfigMap tracking/tracking-common in "tracking-ingest" alone') == 3
    assert text.count("kubectl annotate configmap tracking-common -n tracking --overwrite") == 1
    assert text.count("… as above, of shared-resource/different-content in argocd/tracking-ingest") == 2


def test_the_next_command_reads_the_same_snapshots() -> None:
    style = Style(width=100, snapshots=("my shots/a", "b.zip"))
    end = formats.render(reported("harbourline/3-after-commits"), "text", style)
    assert re.search(r"^next +argolint why argocd/\S+ --snapshot 'my shots/a' --snapshot b.zip$", end, re.M)


def test_full_shows_every_finding_and_is_grouped_as_asked() -> None:
    made = reported("harbourline/3-after-commits")
    messages = {" ".join(f.message.split()) for f in made.findings}
    for wish in ("", "cause", "rule", "app", "project"):
        out = " ".join(formats.render(made, "text", Style(width=10_000, full=True, group_by=wish)).split())
        assert [m for m in messages if m not in out] == [], wish
    by_rule = formats.render(made, "text", Style(width=200, group_by="rule"))
    heads = [line for line in by_rule.splitlines() if re.match(r"[a-z-]+  \d+ (error|warning|info)", line)]
    assert len(heads) == len(made.summary.by_rule)
    by_project = formats.render(made, "text", Style(width=200, group_by="project"))
    assert by_project.count("\nproject ") + by_project.startswith("project ") == len(made.summary.by_project)


def test_statistics_count_each_rule() -> None:
    made = reported("harbourline/3-after-commits")
    lines = formats.render(made, "text", Style(width=100, statistics=True)).splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines[1 : 1 + len(made.summary.by_rule)]}
    assert {rule: [str(c.error), str(c.warning), str(c.info)] for rule, c in made.summary.by_rule.items()} == {
        rule: row[:3] for rule, row in rows.items()
    }


@pytest.mark.parametrize("width", [60, 80, 120])
def test_prose_fits_the_width_with_colour_and_what_is_pasted_stays_whole(width: int) -> None:
    made = reported("harbourline/3-after-commits")
    pasted = {line for f in made.findings for x in f.fixes for line in (*x.before, *as_text(x.edit).splitlines())}
    for style in (Style(width, color=True), Style(width, color=True, verbose=True), Style(width, group_by="rule")):
        for line in formats.render(made, "text", style).splitlines():
            text = COLOUR.sub("", line)
            if visible(line) > width and text.strip() not in {p.strip() for p in pasted}:
                assert " " not in text.strip().removeprefix("· ").removeprefix("[").rstrip(), text
    full = formats.render(made, "text", Style(width, verbose=True)).splitlines()
    commands = [x.edit for f in made.findings for x in f.fixes if x.edit.kind in ("command", "yaml")]
    stripped, said = {line.strip() for line in full}, "\n".join(full)
    for edit in commands:
        lines = {line.strip() for line in as_text(edit).splitlines()}
        sentences = {line for line in lines if edit.kind == "command" and re.match(r"# (\d\. )?[A-Z]", line)}
        assert lines - sentences <= stripped
        assert all(line[:30] in said for line in sentences)


def test_wide_characters_and_colours_are_measured_as_they_are_seen() -> None:
    assert visible("\x1b[31m日本\x1b[0m e\u0301") == 6
    assert wrapped("日本 " * 30, Style(width=60))[0] == ("日本 " * 12).strip()


def test_a_caveat_stands_before_what_is_to_be_pasted() -> None:
    made = reported("harbourline/3-after-commits")
    found = next(
        f
        for f in made.findings
        if f.severity == "error"
        and not f.caused_by
        and f.fixes[:1]
        and f.fixes[0].caveat
        and f.fixes[0].edit.kind == "command"
    )
    for style in (Style(width=500, full=True), Style(width=500)):
        out = formats.render(made, "text", style)
        start = out.index("fix: " + found.fixes[0].title)
        block = out[start : out.index("\n\n", start)]
        assert "caveat: " + found.fixes[0].caveat in block
        paste = as_text(found.fixes[0].edit).splitlines()[0]
        assert paste not in block or block.index("caveat: ") < block.index(paste)


@pytest.mark.parametrize("phase", PHASES)
def test_every_fix_that_is_to_be_pasted_is_yaml_or_shell(phase: str, tmp_path: Path) -> None:
    edits = {(x.edit.kind, as_text(x.edit)) for f in reported(phase).findings for x in f.fixes}
    for kind, text in edits:
        if kind in ("yaml", "json-patch"):
            documents = list(yaml.safe_load_all(text))
            assert all(isinstance(d, dict | list) for d in documents), text
            assert kind == "yaml" or len(documents) == 1, text
    for number, text in enumerate(text for kind, text in sorted(edits) if kind == "command"):
        assert not re.search(r"<[a-z][^>]*>", re.sub(r"(?m)^# .*$", "", text)), "a word to fill in must not read a file"
        (tmp_path / f"{number}.sh").write_text(text + "\n")
    checked = 'for file in "$0"/*.sh; do bash -n "$file" || cat "$file"; done'
    ran = subprocess.run(["bash", "-c", checked, tmp_path], capture_output=True, text=True, check=True)
    assert ran.stdout + ran.stderr == ""


def test_colour_follows_the_environment(pair: Path) -> None:
    check = ("check", "--snapshot", pair)
    assert "\x1b[" in run_argolint(*check, env={"FORCE_COLOR": "1", "TERM": "dumb"}).out
    assert "\x1b[" not in run_argolint(*check, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).out


def test_a_dash_is_standard_output_and_a_file_holds_what_the_screen_has(tmp_path: Path, pair: Path) -> None:
    check = ("check", "--snapshot", pair)
    assert json.loads(run_argolint(*check, "-o", "json=-").out)["schema_version"] == "1.2"
    file = tmp_path / "out.txt"
    screen = run_argolint(*check, "-o", "text", "-o", f"concise={file}", env={"COLUMNS": "100"}).out
    assert "web, api" in file.read_text() or "api, web" in file.read_text()
    run_argolint(*check, "-o", f"text={file}")
    cost = re.compile(r"· \d+ requests?.*")
    assert cost.sub("", file.read_text()) == cost.sub("", screen)


def test_quiet_is_one_line(pair: Path) -> None:
    ran = run_argolint("check", "--snapshot", pair, "-q")
    assert len(ran.out.splitlines()) == 1
    assert ran.out.startswith("2 applications, ")


def test_a_report_of_an_older_argolint_is_shown_by_cause_as_well() -> None:
    made = json.loads(report.to_json(reported("harbourline/3-after-commits")))
    old = {key: value for key, value in made.items() if key not in ("causes", "applications")}
    old["findings"] = [{key: v for key, v in f.items() if key != "caused_by"} for f in made["findings"]]
    read = report.from_json(json.dumps({**old, "schema_version": "1.0"}).encode(), "old.json")
    out = formats.render(read, "text", Style(width=100))
    assert "start here  " in out
    assert len(out.split("\n\n")) == len(made["findings"]) + 1, "each finding is a cause of its own"


def test_what_fails_alike_is_one_line_with_the_applications() -> None:
    made = reported("seeds/1-stuck")
    path = "/api/v1/applications/{}/managed-resources: 500 context deadline exceeded"
    names = [f"team web {n}" for n in range(12)]
    failures = [
        report.ReportedFailure(
            "managed-resources",
            path.format(name.replace(" ", "%20")),
            "run again",
            report.ReportedApp("", "argocd", name, "p"),
        )
        for name in names
    ]
    alone = report.ReportedFailure("clusters", "403 permission denied")
    lines = formats.render(
        msgspec.structs.replace(made, failures=(*failures, alone)), "text", Style(width=400)
    ).splitlines()
    told = [line for line in lines if line.startswith("not looked at")]
    shown = ", ".join(f"argocd/{name}" for name in names[:5])
    assert told == [
        "not looked at  /api/v1/applications/*/managed-resources: 500 context deadline exceeded from managed-resources: "
        f"12 applications ({shown}, …)",
        "not looked at  clusters: 403 permission denied",
    ]


def test_an_application_has_a_link_to_argo_cd_in_markdown() -> None:
    out = formats.render(reported("seeds/1-stuck"), "markdown", Style())
    assert "[in Argo CD](https://argocd.example.com/applications/argocd/legacy-missing-key)" in out


def test_prose_holds_no_command_and_no_first_fix_is_not_yet_to_be_done() -> None:
    for phase in PHASES:
        for found in reported(phase).findings:
            for place, fix in enumerate(found.fixes):
                if fix.edit.kind == "text":
                    assert not re.search(r"(?m)^(kubectl|argocd|helm|git) ", str(fix.edit.content)), fix.title
                assert place > 0 or "not yet" not in fix.caveat, fix.title
                assert fix.edit.kind != "yaml" or "not served yet" not in fix.caveat, fix.title
