"""Formats for CI: valid, complete, and safe with text that a pull request chose."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from argolint import DOCS
from argolint.reports import assemble
from argolint.reports import document as r
from argolint.reports import formats as reporters
from argolint.reports.formats import Style, github, links, markdown
from tests.fits import require_fit

SCHEMAS = Path(__file__).parent / "schemas"
HOSTILE = (
    "</details></code><script>alert(1)</script> @everyone #12 !12 &12 http://evil.example //evil.example ![x](http://evil.example/p.png) "
    "```\n::error::owned\n## heading\r\n/close \x1b[31mred\x1b[0m \u202ereversed \x00\ufffe a|b `tick` $x$ %0A %12 ]]>"
)


def _app(name: str = "web") -> r.ReportedApp:
    return r.ReportedApp("https://argocd.example.com", "argocd", name, "default")


def _resource(name: str = "web") -> r.ReportedResource:
    return r.ReportedResource("apps", "v1", "Deployment", "prod", name, "https://kubernetes.default.svc")


def _finding(text: str = "replicas differ", **other: Any) -> r.ReportedFinding:
    fields: dict[str, Any] = {
        "rule": "my-fault",
        "family": "drift",
        "severity": "error",
        "confidence": "proven",
        "app": _app(),
        "message": text,
        "docs": f"{DOCS}rules/my-fault.md",
        "fingerprint": "0123456789abcdef",
        "resource": _resource(),
        "pointer": "/spec/replicas",
        "evidence": (text,),
        "related": (r.ReportedRelated(_app("other"), "owner", _resource("other")),),
        "fixes": (
            r.ReportedFix(
                text,
                "manifest",
                "deployment.yaml",
                r.ReportedEdit("json-patch", [{"op": "remove", "path": "/spec/replicas"}]),
            ),
            r.ReportedFix("Set it", "helm-values", text, r.ReportedEdit("yaml", f"key: |\n  {text}"), caveat=text),
        ),
    }
    return r.ReportedFinding(**{**fields, **other})


def _report(
    *findings: r.ReportedFinding, failures: tuple[r.ReportedFailure, ...] = (), gate: r.Gate | None = None
) -> r.Report:
    made = r.Report(
        "1.0",
        r.Tool("argolint", "0.1.0"),
        "2026-01-01T12:00:00Z",
        not failures,
        (r.Server("https://argocd.example.com", "v3.5.1", 7),),
        assemble.summarise(findings, len(failures), apps=7, resources=9),
        findings,
        failures,
    )
    return made if gate is None else r.Report(**{f: getattr(made, f) for f in made.__struct_fields__} | {"gate": gate})


FULL = _report(
    _finding(
        "replicas differ",
        source=r.ReportedSource("https://git.example.com/a.git", "1f0e" * 10, "web", "", "web/my app.yaml", 7, False),
    ),
    _finding(
        HOSTILE,
        severity="warning",
        rule="second",
        source=r.ReportedSource("https://git.example.com/a.git", "1f0e", "web"),
    ),
    _finding("only to know", severity="info", resource=None, pointer="", related=(), fixes=(), app=_app("z")),
    _finding("accepted", suppressed={"by": "annotation", "reason": HOSTILE}, app=_app("z")),
    failures=(r.ReportedFailure("manifests", HOSTILE, "try again", _app()),),
)
EMPTY = _report()
ODD = _report(_finding(rule=HOSTILE, cause=HOSTILE, docs=f"javascript:1) {HOSTILE}"))
"""Of a file that others wrote."""
ALL = pytest.mark.parametrize(
    "report", [FULL, EMPTY, ODD, _report(*(_finding(HOSTILE, app=_app(f"a{n}")) for n in range(300)))]
)


def _render(report: r.Report, name: str) -> str:
    return reporters.render(report, name, Style())


@ALL
@pytest.mark.parametrize("name", ["markdown", "sarif", "junit", "gitlab", "github"])
def test_no_format_lets_control_or_bidirectional_characters_through(report: r.Report, name: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", _render(report, name))


@ALL
def test_sarif_is_valid(report: r.Report) -> None:
    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    require_fit(json.loads(_render(report, "sarif")), schema)


def test_sarif_names_file_line_objects_rules_fingerprints_and_suppressions() -> None:
    run = json.loads(_render(FULL, "sarif"))["runs"][0]
    first, second, info, accepted = run["results"]
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "web/my%20app.yaml"},
        "region": {"startLine": 7},
    }
    assert [x["fullyQualifiedName"] for x in first["locations"][0]["logicalLocations"]] == [
        "argocd/web",
        "argocd/web/apps/Deployment/prod/web",
        "argocd/web/apps/Deployment/prod/web#/spec/replicas",
    ]
    assert first["relatedLocations"][0]["message"]["text"] == "owner"
    assert second["locations"][0]["physicalLocation"] == {"artifactLocation": {"uri": "web"}}
    assert "](" not in second["message"]["text"]
    assert info["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "applications/argocd/z"
    assert [x["level"] for x in run["results"]] == ["error", "warning", "note", "error"]
    assert accepted["suppressions"][0]["kind"] == "external"
    assert first["partialFingerprints"] == {"argolint/v1": "0123456789abcdef"}
    assert [run["tool"]["driver"]["rules"][x["ruleIndex"]]["id"] for x in run["results"]] == [
        "my-fault",
        "second",
        "my-fault",
        "my-fault",
    ]
    assert run["invocations"][0]["executionSuccessful"] is False
    assert "argocd/web: manifests: " in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    assert "baselineState" not in first


def test_sarif_rules_carry_the_page_of_an_installed_rule() -> None:
    run = json.loads(_render(_report(_finding(rule="unexplained-drift")), "sarif"))["runs"][0]
    rule = run["tool"]["driver"]["rules"][0]
    assert rule["help"]["markdown"].startswith(rule["shortDescription"]["text"])
    assert "How to fix" in rule["help"]["text"]


CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "error", "skipped", "system-out"},
    "failure": set(),
    "error": set(),
    "skipped": set(),
    "system-out": set(),
}
ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "skipped"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "timestamp"},
    "testcase": {"name", "classname"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
    "system-out": set(),
}


@ALL
def test_junit_is_well_formed_and_counts_what_it_holds(report: r.Report) -> None:
    root = ET.fromstring(_render(report, "junit"))
    assert root.tag == "testsuites"
    for element in root.iter():
        assert {child.tag for child in element} <= CHILDREN[element.tag]
        assert set(element.attrib) - {"file", "line"} == ATTRIBUTES[element.tag]
    for element in (root, *root.iter("testsuite")):
        for count, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(element.attrib[count]) == len(list(element.iter(tag)))
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", s.attrib["timestamp"]) for s in root)


def test_junit_tells_failed_passed_skipped_and_broken_apart() -> None:
    root = ET.fromstring(_render(FULL, "junit"))
    told = [(s.attrib["name"], c.attrib["classname"], [x.tag for x in c]) for s in root for c in s]
    assert told == [
        ("argocd/web", "my-fault", ["failure"]),
        ("argocd/web", "second", ["failure"]),
        ("argocd/z", "my-fault", ["system-out"]),
        ("argocd/z", "my-fault", ["skipped"]),
        ("argolint", "argolint", ["error"]),
    ]
    assert root[0][0].attrib["file"] == "web/my app.yaml"
    assert "Fix: replicas differ (deployment.yaml)" in (root[0][0][0].text or "")
    assert [c.attrib["name"] for c in ET.fromstring(_render(EMPTY, "junit")).iter("testcase")] == [
        "7 applications without findings"
    ]


@ALL
def test_gitlab_report_is_valid(report: r.Report) -> None:
    schema = json.loads((SCHEMAS / "gitlab-code-quality.json").read_text(encoding="utf-8"))
    require_fit(json.loads(_render(report, "gitlab")), schema)


def test_gitlab_leaves_suppressed_findings_out() -> None:
    issues = json.loads(_render(FULL, "gitlab"))
    assert [
        (i["check_name"], i["severity"], i["location"]["path"], i["location"]["lines"]["begin"]) for i in issues
    ] == [
        ("my-fault", "critical", "web/my app.yaml", 7),
        ("second", "major", "web", 1),
        ("my-fault", "info", "applications/argocd/z", 1),
        ("incomplete", "major", "applications/argocd/web", 1),
    ]
    assert issues[0]["description"] == (
        "argocd/web, Deployment prod/web: replicas differ (this line is outside of the change)"
    )


def _annotations(text: str) -> list[tuple[str, dict[str, str], str]]:
    """What a GitHub runner understands of an output: commands only at the start of a line (runner, ActionCommand.cs)."""
    found = []
    for line in text.splitlines():
        match = re.fullmatch(r"::([a-z]+) ([^:]*)::(.*)", line)
        assert match, line
        fields = dict(pair.split("=", 1) for pair in match[2].split(","))

        def back(value: str) -> str:
            for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
                value = value.replace(code, char)
            return value

        found.append((match[1], {k: back(v) for k, v in fields.items()}, back(match[3])))
    return found


def test_github_annotations_cannot_be_broken_out_of() -> None:
    found = _annotations(_render(FULL, "github"))
    assert [(name, fields["title"]) for name, fields, _ in found] == [
        ("error", "my-fault in argocd/web"),
        ("warning", "second in argocd/web"),
        ("notice", "my-fault in argocd/z"),
        ("warning", "argolint could not look at everything (manifests)"),
    ]
    assert (found[0][1]["file"], found[0][1]["line"]) == ("web/my app.yaml", "7")
    assert found[0][2].splitlines()[:3] == [
        "Deployment prod/web: replicas differ",
        "This line is outside of the change.",
        "Fix: replicas differ",
    ]
    assert "::error::owned" in found[1][2]


def test_github_tells_how_many_annotations_it_leaves_out() -> None:
    found = _annotations(_render(_report(*(_finding(app=_app(f"a{n:02}")) for n in range(12))), "github"))
    assert len(found) == github.SHOWN
    assert found[-1][1]["title"] == "argolint: 3 more"
    assert len(_annotations(_render(_report(*(_finding() for n in range(10))), "github"))) == 10


def _outside_code(comment: str) -> str:
    """A Markdown text without its code blocks and code spans."""
    without_blocks = re.sub(r"(?ms)^(`{3,})\w*\n.*?^\1$", "", comment)
    return re.sub(r"(?<![\\`])(`+)(?!`)(.*?)(?<!`)\1(?!`)", "", without_blocks)


@ALL
def test_markdown_keeps_untrusted_text_from_formatting_linking_and_mentioning(report: r.Report) -> None:
    comment = _render(report, "markdown")
    assert comment.startswith(markdown.MARKER + "\n")
    assert len(comment.encode()) <= markdown.LIMIT
    prose = _outside_code(comment)
    tags = set(re.findall(r"<[^>]*>", prose))
    assert tags <= {
        *("<details>", "<details open>", "</details>", "<summary>", "</summary>", "<code>", "</code>", "<b>", "</b>"),
        *("<br>", "<sub>", "</sub>", "<span>", "</span>", "<!-- -->", markdown.MARKER),
    }
    assert prose.count("<details") == prose.count("</details>")
    ours = (
        rf"{re.escape(DOCS.removeprefix('https://'))}rules|argocd\.example\.com/applications|git\.example\.com/a/blob"
    )
    own_links = re.sub(rf"\]\(https://({ours})/[\w./%#-]+\)", "", prose)
    assert not re.search(r"@\w|[#!%]\d|&amp;\d|//|(?<!\\)\]\(|(?m:^/)|(?m:^## heading)", own_links)


def test_markdown_of_an_incomplete_check_without_findings_does_not_look_like_a_clean_one() -> None:
    failure = r.ReportedFailure("rendered", "--rendered holds nothing of that name", "render it, too")
    assert _render(_report(), "markdown").startswith("<!-- argolint -->\n## argolint: nothing found ✅\n")
    assert _render(_report(failures=(failure,)), "markdown").startswith(
        "<!-- argolint -->\n## argolint: nothing found so far ⚠️\n"
    )


def test_markdown_tells_message_evidence_pointer_fix_and_caveat() -> None:
    comment = html.unescape(_render(FULL, "markdown"))
    assert "## argolint: 1 error, 1 warning, 1 info" in comment
    assert (
        "<details open><summary>🔴 <b>my-fault</b> · <code>argocd/web</code> · <code>Deployment prod/web</code>"
        in comment
    )
    assert "<br>replicas differ</summary>" in comment
    address = f"https://git.example.com/a/blob/{'1f0e' * 10}/web/my%20app.yaml#L7"
    assert f"at [`web/my app.yaml:7`]({address}), this line is outside of the change · `/spec/replicas`" in comment
    assert "[in Argo CD](https://argocd.example.com/applications/argocd/web)" in comment
    assert "<details><summary>Evidence</summary>\n\n- replicas differ\n- owner: `argocd/other`" in comment
    assert "argolint.dev/ignore.RULE: the reason" in comment
    assert "```yaml\nspec:\n  replicas:  # remove this key\n```" in comment
    assert "**Fix:** replicas differ in `deployment.yaml`" in comment
    assert "*But:* " in comment
    assert "⚠️ **Incomplete**" in comment
    assert "accepted" not in comment
    assert "1 suppressed" in comment


def test_markdown_draws_who_claims_what_without_words_that_mermaid_would_read() -> None:
    mine, odd = _resource("shared"), _app('a"]; click n0 "javascript:x')
    related = (r.ReportedRelated(odd, "owner", mine), r.ReportedRelated(_app("c"), "claimant", mine))
    shared = _finding(family="ownership", resource=mine, related=related)
    comment = _render(_report(shared, _finding()), "markdown")
    assert re.findall(r"(?s)```mermaid\n(.*?)```", comment) == [
        "flowchart LR\n"
        '  a0_0["argocd/a#34;#93;#59; click n0 #34;javascript:x"]\n'
        '  a0_1["argocd/c"]\n'
        '  a0_2["argocd/web"]\n'
        '  o0_0("Deployment prod/shared")\n'
        "  a0_0 ==>|owns| o0_0\n"
        "  a0_1 -.->|claims| o0_0\n"
        "  a0_2 -.->|claims| o0_0\n"
    ]
    assert "mermaid" not in _render(_report(_finding()), "markdown")


@pytest.mark.parametrize(
    ("repo", "address"),
    [
        (
            "https://me:secret@git.example.com:8443/a/b.git",
            "https://git.example.com:8443/a/b/blob/REV/x%20%231.yaml#L7",
        ),
        ("git@gitlab.example.com:a/b.git", "https://gitlab.example.com/a/b/-/blob/REV/x%20%231.yaml#L7"),
        ("ssh://git@git.example.com:22/a/b", "https://git.example.com/a/b/blob/REV/x%20%231.yaml#L7"),
        ("https://bitbucket.org/a/b", "https://bitbucket.org/a/b/src/REV/x%20%231.yaml#lines-7"),
        ("/srv/git/a", ""),
        ("file:///srv/a", ""),
        ("https://evil.example)[x](/a/b", ""),
        ("https://git.example.com:port/a/b", ""),
    ],
)
def test_a_line_has_the_address_that_its_forge_gives_it(repo: str, address: str) -> None:
    source = r.ReportedSource(repo, "ab12" * 10, "", "", "x #1.yaml", 7)
    assert links.of_line(source) == address.replace("REV", "ab12" * 10)
    assert links.of_line(r.ReportedSource(repo, "main", "", "", "x.yaml", 7)) == ""


def test_markdown_says_what_it_leaves_out() -> None:
    big = _report(*(_finding("x" * 400, app=_app(f"a{n:04}"), fingerprint=f"{n:016x}") for n in range(2000)))
    comment = _render(big, "markdown")
    told = len(re.findall("<summary>🔴", comment))
    listed = len(re.findall(r"(?m)^- 🔴", comment))
    missing = int(re.findall(r"Left out: (\d+) finding", comment)[0])
    assert told + listed + missing == 2000
    assert "This comment is kept short." in comment
    assert "The JSON report holds everything" in comment


def test_markdown_counts_what_it_does_not_name() -> None:
    many = tuple(_finding(app=_app(f"a{n}")) for n in range(1000))
    failures = tuple(r.ReportedFailure("manifests", HOSTILE * 50, HOSTILE * 50, _app(f"a{n}")) for n in range(1000))
    gate = r.Gate("main", "feature", 0, 1000, 0, (), "", many)
    comment = _render(_report(failures=failures, gate=gate), "markdown")
    assert len(comment.encode()) <= markdown.LIMIT
    assert comment.count("- and 980 more") == 2


def _change(name: str, *fields: r.GateField) -> r.GateChange:
    return r.GateChange(_resource(name), "changed", fields)


def test_markdown_of_a_gate_folds_what_changes_alike_in_many_objects() -> None:
    chart = r.GateField("/metadata/labels/helm.sh~1chart", '"web-1"', '"web-2"')
    changes = (
        *(_change(f"d{n}", chart) for n in range(3)),
        _change("d3", chart, r.GateField("/spec/replicas", "3", "5")),
        r.GateChange(_resource("new"), "added"),
        r.GateChange(_resource("old"), "removed"),
        _change("two", r.GateField("/spec/paused", None, "true")),
    )
    gate = r.Gate(
        "main", "feature", 0, 1, 31, (r.GateApp(_app(), "changed", changes, ("said once",)),), "", (_finding(),)
    )
    comment = _render(_report(gate=gate), "markdown")
    assert "## argolint: nothing new ✅" in comment
    assert "`main` → `feature` changes 1 application: 0 new findings, 1 fixed, 31 unchanged." in comment
    assert "- ✅ fixed: `my-fault` on Deployment prod/web in argocd/web" in comment
    assert "<summary><code>argocd/web</code> · 1 added, 1 removed, 5 changed</summary>" in comment
    assert "- said once" in comment
    block = re.findall(r"```diff\n(.*?)\n```", comment, re.DOTALL)[0].splitlines()
    assert block == [
        "@@ Deployment prod/d3 @@",
        "  spec:",
        "-   replicas: 3",
        "+   replicas: 5",
        "+ Deployment prod/new",
        "- Deployment prod/old",
        "@@ Deployment prod/two @@",
        "  spec:",
        "+   paused: true",
        "@@ alike in 4 objects @@",
        "  metadata:",
        "    labels:",
        "-     helm.sh/chart: web-1",
        "+     helm.sh/chart: web-2",
    ]


def test_markdown_of_a_gate_keeps_a_third_of_the_room_for_diffs() -> None:
    apps = tuple(
        r.GateApp(_app(f"a{n:03}"), "changed", (_change("web", r.GateField("/spec/replicas", "1", f'"{"y" * 200}"')),))
        for n in range(400)
    )
    findings = tuple(_finding("x" * 400, app=_app(f"a{n:04}"), fingerprint=f"{n:016x}") for n in range(400))
    comment = _render(_report(*findings, gate=r.Gate("main", "b", 400, 0, 0, apps)), "markdown")
    assert len(comment.encode()) <= markdown.LIMIT
    shown = comment.count("```diff")
    assert shown >= 40
    assert f"Left out: the changes of {400 - shown} applications." in comment


def test_gate_stands_in_the_json_report_only_when_there_is_one() -> None:
    gate = r.Gate("main", "feature", 0, 1, 31, (r.GateApp(_app(), "changed"),))
    made = _report(gate=gate)
    assert r.from_json(r.to_json(made), "here") == made
    assert json.loads(r.to_json(made))["gate"]["fixed"] == 1
    assert "gate" not in json.loads(r.to_json(EMPTY))
    schema = r.schema()
    for report in (made, EMPTY, FULL):
        require_fit(json.loads(r.to_json(report)), schema)


def test_sarif_of_a_gate_marks_its_results_as_new() -> None:
    made = _report(_finding(), gate=r.Gate("main", "feature", 1, 0, 0))
    run = json.loads(_render(made, "sarif"))["runs"][0]
    assert [x["baselineState"] for x in run["results"]] == ["new"]
