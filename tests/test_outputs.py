"""The forms of a report that are read by a line: `lines`, `table`, `name`; one order in all of them; bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from argolint.gate.undo import undo_first
from argolint.reports import document, formats
from argolint.reports.causes import with_causes, worst_first
from argolint.reports.formats import Style
from argolint.reports.formats.layout import visible
from argolint.serve import agent_answers
from tests.checkouts import app, finding, fragment, patch, resource
from tests.checkouts import document as written
from tests.conftest import recording, run_argolint

SEVERAL = [
    finding(severity="warning", rule="live-edit", fingerprint="a" * 16, app=app("calm"), message="It drifts."),
    finding(severity="error", rule="hook-stuck", fingerprint="b" * 16, app=app("sick"), message="It waits: no end."),
    finding(
        severity="warning",
        rule="not-synced",
        fingerprint="c" * 16,
        app=app("sick"),
        caused_by="b" * 16,
        message="It is behind.",
    ),
]


def report(*findings: Any, **more: Any) -> document.Report:
    return document.from_json(json.dumps({**written(*findings), **more}).encode(), "here")


def test_a_line_has_severity_rule_app_object_and_message() -> None:
    out = formats.render(report(*SEVERAL), "lines", Style())
    assert out.splitlines() == [
        "error hook-stuck argocd/sick Deployment/shop/web/spec/replicas: It waits: no end.",
        "warning not-synced argocd/sick Deployment/shop/web/spec/replicas: It is behind.",
        "warning live-edit argocd/calm Deployment/shop/web/spec/replicas: It drifts.",
    ]


def test_every_line_of_the_demo_has_its_four_words(demo_files: Path) -> None:
    lines = run_argolint("report", demo_files / "report.json", "-o", "lines").out.splitlines()
    made = json.loads((demo_files / "report.json").read_text())
    assert len(lines) == sum(f["suppressed"] is None for f in made["findings"])
    for line in lines:
        assert re.match(r"(error|warning|info) [a-z0-9-]+ [^ ]+/[^ ]+ [^ ]+: .", line), line


def test_what_could_not_be_looked_at_has_a_line() -> None:
    failure = {"stage": "managed-resources", "error": "500 it broke", "hint": "", "app": app("web"), "rule": None}
    out = formats.render(report(failures=[failure], complete=False), "lines", Style())
    assert out == "incomplete managed-resources argocd/web -: 500 it broke\n"


def test_names_are_those_of_applications_with_findings_the_worst_first() -> None:
    assert formats.render(report(*SEVERAL), "name", Style()) == "argocd/sick\nargocd/calm\n"
    assert formats.render(report(), "name", Style()) == ""


def test_the_table_has_a_line_an_application_healthy_ones_too() -> None:
    made = json.loads(run_argolint("check", "--snapshot", recording("seeds/1-stuck"), "-o", "json").out)
    out = run_argolint("check", "--snapshot", recording("seeds/1-stuck"), "-o", "table").out.splitlines()
    assert out[0].split() == ["application", "sync", "health", "errors", "warnings", "info", "worst"]
    rows = [line.split() for line in out[1:-1]]
    assert {row[0] for row in rows} == {f"{a['app']['namespace']}/{a['app']['name']}" for a in made["applications"]}
    assert [row[3] == "-" for row in rows] == sorted(row[3] == "-" for row in rows), "errors first"


def test_every_output_has_the_same_order_of_the_worst() -> None:
    made = with_causes(report(*SEVERAL))
    order = [f.fingerprint for f in worst_first(made)]
    assert order == ["b" * 16, "c" * 16, "a" * 16], "what follows comes after its cause"
    assert [f.fingerprint for f in agent_answers.chosen(made, {})] == order
    assert [c.fingerprint for c in made.causes] == ["b" * 16, "a" * 16]
    for name in ("text", "concise", "lines", "html"):
        out = formats.render(made, name, Style(width=200, lines=45))
        places = [out.index(text) for text in ("It waits: no end.", "It is behind.", "It drifts.")]
        assert places == sorted(places), name


@pytest.mark.parametrize("count", [1, 5, 29, 400])
@pytest.mark.parametrize("width", [60, 80])
def test_a_first_screen_has_forty_five_lines_at_most(count: int, width: int) -> None:
    fixes = [fragment("a: 1\n" * 30, title="Do what is to be done here, and then look again " * 2)] * 40
    found = [
        finding(
            *fixes,
            severity=("error", "warning", "info")[n % 3],
            fingerprint=f"{n:016x}",
            app=app(f"app-{n}"),
            message="The Deployment of this application cannot be rolled out since its pods are refused by a quota, "
            "so the old ones go on.",
        )
        for n in range(count)
    ]
    lines = formats.render(report(*found), "text", Style(width=width, lines=45)).splitlines()
    assert len(lines) <= 45
    assert max(map(visible, lines)) <= width
    assert "go on." in " ".join(lines), "the consequence is not cut off"
    if count > 5:
        start = next(line for line in lines if line.startswith("start here"))
        rule, _, name = start.removeprefix("start here").strip().partition(" in ")
        assert any(name in line for line in lines if line.startswith("error"))
        assert rule in " ".join(line for line in lines if not line.startswith("start here"))


def test_a_screen_of_five_findings_of_a_real_run_fits_too() -> None:
    check = ("check", "--snapshot", recording("seeds/1-stuck"), "legacy-missing-*", "legacy-testweb")
    ran = run_argolint(*check, env={"COLUMNS": "80"})
    assert 0 < len(ran.out.splitlines()) <= 45
    assert all(len(line) <= 80 for line in ran.out.splitlines() if "--snapshot" not in line)  # a command is not broken


def test_long_names_show_their_two_ends_on_a_screen_and_are_whole_elsewhere() -> None:
    name = "a" + "b" * 251 + "z"
    made = report(
        finding(
            severity="error",
            app={**app(), "name": name, "namespace": "n" * 63},
            resource=resource(name=name),
            message=f"Deployment {name} is gone.",
        )
    )
    screen = formats.render(made, "text", Style(width=60, lines=45)).splitlines()
    assert max(map(visible, screen)) <= 60
    assert any("…" in line for line in screen)
    for form, style in (("text", Style(full=True)), ("lines", Style()), ("name", Style()), ("html", Style())):
        assert name in formats.render(made, form, style), form


def test_a_terminal_without_a_locale_gets_signs_that_it_knows(demo_files: Path) -> None:
    env = {"PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    ran = run_argolint("report", demo_files / "report.json", env=env, fresh=True)
    assert ran.code == 0
    assert "?" not in ran.out.replace("is there one, and is it running?", "")
    assert " - fixes both" in ran.out


def test_a_report_of_an_early_version_is_shown_in_every_form() -> None:
    old = written(*SEVERAL)
    old = {
        k: v
        for k, v in old.items()
        if k in ("schema_version", "tool", "started_at", "complete", "servers", "summary", "findings")
    }
    old["schema_version"] = "1.0"
    read = document.from_json(json.dumps(old).encode(), "old.json")
    for name in formats.FORMATS:
        if name not in ("prometheus", "openreports"):
            assert formats.render(read, name, Style()), name


def test_a_masked_command_is_not_printed_as_one(tmp_path: Path) -> None:
    command = {
        "title": "Write it again",
        "target": "live",
        "where": "the cluster",
        "edit": {"kind": "command", "content": "kubectl create secret generic db --from-literal=password=(masked)"},
    }
    made = report(finding(command, severity="error", fingerprint="d" * 16))
    for name, style in (
        ("text", Style(full=True)),
        ("text", Style(lines=45)),
        ("markdown", Style()),
        ("html", Style()),
    ):
        assert "--from-literal" not in formats.render(made, name, style), name
    saved = tmp_path / "r.json"
    saved.write_bytes(document.to_json(made))
    ran = run_argolint("fix", "--report", saved)
    assert "--from-literal" not in ran.out
    assert "by hand: " in ran.out


def test_fixes_come_in_the_order_of_worth(tmp_path: Path) -> None:
    fixes = [{**f, "fixes": [fragment("a: 1", title="Do it")]} for f in SEVERAL]
    saved = tmp_path / "r.json"
    saved.write_bytes(document.to_json(with_causes(report(*fixes))))
    out = run_argolint("fix", "--report", saved).out
    assert re.findall(r"^(\S+)  argocd", out, re.M) == ["hook-stuck", "not-synced", "live-edit"]


def test_advice_on_gitops_itself_is_shown_when_it_is_asked_for(tmp_path: Path) -> None:
    def rules(*options: str) -> set[str]:
        ran = run_argolint("check", "--snapshot", recording("seeds/1-stuck"), "-o", "json", *options, cwd=tmp_path)
        return {f["rule"] for f in json.loads(ran.out)["findings"]}

    assert "floating-revision" not in rules()
    assert "floating-revision" not in rules("--select", "nondeterminism")
    assert "floating-revision" in rules("--pedantic")
    assert rules("--select", "floating-revision") == {"floating-revision"}
    (tmp_path / ".argolint.yaml").write_text("pedantic: true\n")
    assert "floating-revision" in rules()
    ignored = "ignore:\n- {rule: floating-revision, reason: that is how we deploy}\n"
    (tmp_path / ".argolint.yaml").write_text(ignored)
    assert not {"suppression-unused", "floating-revision"} & rules()


def gate(**fields: tuple[str | None, str | None]) -> document.Gate:
    changed = tuple(document.GateField(pointer, *sides) for pointer, sides in fields.items())
    changes = (document.GateChange(document.ReportedResource(**resource()), "changed", changed),)
    touched = document.GateApp(document.ReportedApp(**app()), "changed", changes)
    return document.Gate("main", "feature", 2, 0, 5, (touched,), fails="it brings immutable-field")


def test_a_comment_on_two_findings_is_short_and_has_the_sentence_and_the_changed_field_first() -> None:
    steps = "\n".join(
        f"{n}. Do the step number {n}, and look at what it says before the next one." for n in range(1, 9)
    )
    advice = {
        "title": "Go step by step",
        "target": "live",
        "where": "the cluster",
        "edit": {"kind": "text", "content": steps},
    }
    many = [fragment("a: 1\n" * 30, title=f"Way {n}", caveat="It costs something. " * 10) for n in range(10)]
    evidence = [f"line {n} of what was seen: {'x' * 200}" for n in range(20)]
    found = [
        finding(advice, *many, rule=rule, severity="error", fingerprint=mark * 16, evidence=evidence)
        for rule, mark in (("immutable-field", "a"), ("invalid-spec", "b"))
    ]
    made = msgspec.structs.replace(
        report(*found),
        gate=gate(
            **{"/spec/replicas": ("3", "5"), **{f"/data/k{n}": ('"old"', f'"{"new " * 40}"') for n in range(60)}}
        ),
    )
    comment = formats.render(made, "markdown", Style())
    assert len(comment.encode()) < 6_000
    assert "## argolint: 2 new errors\n" in comment
    assert "Findings already on `main` are not shown." in comment
    assert "```diff\n  spec:\n-   replicas: 3\n+   replicas: 5\n```" in comment
    first = comment.index("<summary>")
    assert first < comment.index("it drifts</summary>") < comment.index("```diff") < comment.index("**Fix")
    assert "\n1. Do the step number 1, and look" in comment, "a list and no block"
    assert comment.count("<details open>") == 2


def test_the_fix_of_a_refused_change_is_the_change() -> None:
    beside = fragment("metadata: {annotations: {a: b}}", title="Add an annotation")
    refused = finding(beside, rule="immutable-field", family="sync", severity="error", pointer="/spec/replicas")
    made = msgspec.structs.replace(report(refused), gate=gate(**{"/spec/replicas": ("3", "5")}))
    (changed,) = undo_first(made).findings
    assert [fix.title for fix in changed.fixes] == ["Leave /spec/replicas as it is on the base", "Add an annotation"]
    assert changed.fixes[0].edit.content == [{"op": "replace", "path": "/spec/replicas", "value": 3}]
    elsewhere = msgspec.structs.replace(report(refused), gate=gate(**{"/spec/other": ("3", "5")}))
    assert undo_first(elsewhere).findings[0].fixes[0].title == "Add an annotation"
    own = finding(patch({"op": "replace", "path": "/spec/replicas", "value": 3}), family="sync", severity="error")
    kept = msgspec.structs.replace(report(own), gate=gate(**{"/spec/replicas": ("3", "5")}))
    assert len(undo_first(kept).findings[0].fixes) == 1, "it is the change already"


def test_the_fix_of_a_refused_spec_is_its_one_edit() -> None:
    refused = finding(
        fragment("a: 1"), rule="invalid-spec", family="sync", severity="error", pointer="/spec/destination"
    )
    refused = {**refused, "resource": None}
    own = document.ReportedResource(
        **{
            **resource(),
            "group": "argoproj.io",
            "kind": "Application",
            "namespace": app()["namespace"],
            "name": app()["name"],
        }
    )
    for edited, first in (({"/spec/project": ('"a"', '"b"')}, "Leave /spec/project as it is on the base"), ({}, "")):
        two = {"/spec/source/path": ('"a"', '"b"'), "/spec/destination/namespace": ('"a"', '"b"')}
        fields = tuple(document.GateField(pointer, *sides) for pointer, sides in (edited or two).items())
        touched = document.GateApp(
            document.ReportedApp(**app()), "changed", (document.GateChange(own, "changed", fields),)
        )
        made = msgspec.structs.replace(report(refused), gate=document.Gate("main", "feature", 1, 0, 0, (touched,)))
        (changed,) = undo_first(made).findings
        assert (changed.fixes[0].title == first) is bool(first)


def test_steps_above_an_edit_are_a_list_in_a_comment() -> None:
    content = "# 1. Guard the object:\n#    $ kubectl annotate cm x a=b\n# 2. Commit:\n#    - the *manifest* below\nkind: ConfigMap\n"
    comment = formats.render(report(finding(fragment(content), severity="error")), "markdown", Style())
    steps = (
        "1. Guard the object:\n\n   `kubectl annotate cm x a=b`\n\n2. Commit:\n   - the \\*manifest\\* below\n\n"
        "```yaml\nkind: ConfigMap\n```\n"
    )
    assert steps in comment
