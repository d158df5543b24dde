"""JUnit XML: one suite per application, one case per finding. Jenkins, GitLab, GitHub and Azure all read this dialect.

https://github.com/testmoapp/junitxml
"""

from __future__ import annotations

from itertools import groupby
from xml.etree import ElementTree as ET

from argolint.reports.document import Report, ReportedFailure, ReportedFinding
from argolint.reports.formats import Style, app_name, line_of, resource_name, subject_of
from argolint.reports.formats.edits import as_text
from argolint.values.patterns import regex

_NOT_XML = regex("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow, even escaped."""


def render(report: Report, style: Style) -> str:
    """A warning or an error fails its case, a suppressed finding skips it, an info passes with its message."""
    root = ET.Element("testsuites", name="argolint")
    for name, findings in groupby(report.findings, key=lambda f: app_name(f.app)):
        suite = _suite(root, name, report)
        for finding in findings:
            _case(suite, finding)
    if report.failures:
        suite = _suite(root, "argolint", report)
        for failure in report.failures:
            _error(suite, failure)
    if report.remarks:
        suite = _suite(root, "argolint", report)
        case = ET.SubElement(suite, "testcase", classname="argolint", name="what to know of this run")
        ET.SubElement(case, "system-out").text = _text("\n".join(report.remarks))
    if not len(root):
        suite = _suite(root, "argolint", report)
        ET.SubElement(
            suite, "testcase", classname="argolint", name=f"{report.summary.apps} applications without findings"
        )
    for element in (root, *root):
        cases = list(element.iter("testcase"))
        element.set("tests", str(len(cases)))
        for count, child in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            element.set(count, str(sum(case.find(child) is not None for case in cases)))
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, name: str, report: Report) -> ET.Element:
    return ET.SubElement(root, "testsuite", name=_text(name), timestamp=report.started_at.removesuffix("Z"))


def _case(suite: ET.Element, finding: ReportedFinding) -> None:
    subject = resource_name(finding.resource) if finding.resource else app_name(finding.app)
    name = " ".join(part for part in (subject, finding.pointer) if part)
    case = ET.SubElement(suite, "testcase", classname=_text(finding.rule), name=_text(name))
    if finding.source and finding.source.file:
        case.set("file", _text(finding.source.file))
        if finding.source.line:
            case.set("line", str(finding.source.line))
    if finding.suppressed is not None:
        ET.SubElement(case, "skipped", message=_text(finding.suppressed.get("reason") or "suppressed"))
    elif finding.severity == "info":
        ET.SubElement(case, "system-out").text = _text(_details(finding))
    else:
        found = ET.SubElement(case, "failure", type=finding.severity, message=_text(finding.message))
        found.text = _text(_details(finding))


def _details(finding: ReportedFinding) -> str:
    where = line_of(finding)
    lines = [finding.message, *([f"at {where}"] if where else []), *finding.evidence]
    for fix in finding.fixes:
        lines += [f"Fix: {fix.title} ({fix.where})", as_text(fix.edit)]
    return "\n".join((*lines, finding.docs))


def _error(suite: ET.Element, failure: ReportedFailure) -> None:
    name = " ".join(filter(None, (subject_of(failure), failure.stage)))
    case = ET.SubElement(suite, "testcase", classname="argolint", name=_text(name))
    ET.SubElement(case, "error", type="incomplete", message=_text(failure.error)).text = _text(failure.hint)


def _text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
