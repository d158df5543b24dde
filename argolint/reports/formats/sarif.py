"""SARIF 2.1.0, for code scanning. https://docs.oasis-open.org/sarif/sarif/v2.1.0/

Argo CD's findings are about live objects, so the logical locations of a result are its application, object and field; file and line are
added if they are known.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from argolint import DOCS
from argolint.application.rule import Rule
from argolint.model import Severity
from argolint.plugins import load_rules
from argolint.reports.document import Report, ReportedApp, ReportedFailure, ReportedFinding, ReportedResource, rule_page
from argolint.reports.formats import OUTSIDE, Style, app_name, is_outside, mark_of, place, resource_name, subject_of
from argolint.reports.formats.edits import as_text

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVEL: Mapping[str, str] = {"error": "error", "warning": "warning", "info": "note"}
Sarif = dict[str, Any]


def render(report: Report, style: Style) -> str:
    """One SARIF run. A result has the finding's own fingerprint, so code scanning recognizes it after a rewording."""
    installed = load_rules()
    ids = sorted({f.rule for f in report.findings})
    run: Sarif = {
        "tool": {
            "driver": {
                "name": report.tool.name,
                "version": report.tool.version,
                "semanticVersion": report.tool.version,
                "informationUri": DOCS,
                "rules": [_rule(id_, installed.get(id_), report.findings) for id_ in ids],
            }
        },
        "automationDetails": {"id": "argolint/gate/" if report.gate else "argolint/check/"},
        "invocations": [
            {
                "executionSuccessful": report.complete,
                "toolExecutionNotifications": [
                    *(_notification(f) for f in report.failures),
                    *({"level": "note", "message": {"text": remark}} for remark in report.remarks),
                ],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [_result(f, ids.index(f.rule), in_gate=bool(report.gate)) for f in report.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False) + "\n"


def _rule(id_: str, rule: Rule | None, findings: Sequence[ReportedFinding]) -> Sarif:
    """The rule's entry; a report of another installation may name rules that are not installed here."""
    if rule is None:
        severity: Severity = max((f.severity for f in findings if f.rule == id_), key=list(_LEVEL)[::-1].index)
        text = {"text": id_}
        return {
            "id": id_,
            "shortDescription": text,
            "helpUri": rule_page(id_),
            "defaultConfiguration": {"level": _LEVEL[severity]},
        }
    page = inspect.cleandoc(rule.doc)
    return {
        "id": id_,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.title},
        "help": {"text": page, "markdown": page},
        "helpUri": rule_page(id_),
        "defaultConfiguration": {"level": _LEVEL[rule.severity]},
        "properties": {"tags": [rule.family, *rule.tags]},
    }


def _result(finding: ReportedFinding, index: int, *, in_gate: bool) -> Sarif:
    result: Sarif = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVEL[finding.severity],
        "message": {"text": _message(finding)},
        "locations": [_location(finding)],
        "partialFingerprints": {"argolint/v1": mark_of(finding)},
        "properties": {
            "confidence": finding.confidence,
            "cause": finding.cause,
            "evidence": list(finding.evidence),
            **(
                {"inChange": finding.source.in_change}
                if finding.source and finding.source.in_change is not None
                else {}
            ),
        },
    }
    if finding.related:
        result["relatedLocations"] = [
            {
                "id": number,
                "message": {"text": related.role},
                "physicalLocation": {"artifactLocation": {"uri": quote(f"applications/{app_name(related.app)}")}},
                "logicalLocations": _logical(related.app, related.resource, related.pointer),
            }
            for number, related in enumerate(finding.related)
        ]
    if finding.suppressed is not None:
        reason = finding.suppressed.get("reason") or "suppressed"
        result["suppressions"] = [{"kind": "external", "justification": reason}]
    if in_gate:
        result["baselineState"] = "new"
    return result


def _message(finding: ReportedFinding) -> str:
    """The message, then the fixes: SARIF's own `fixes` need byte offsets in a file, which a live object does not have."""
    lines = [finding.message, *([f"Note: {OUTSIDE}."] if is_outside(finding) else [])]
    for fix in finding.fixes:
        lines += [f"Fix: {fix.title} ({fix.where})", as_text(fix.edit)]
    return "\n".join(lines).replace("](", "] (")  # "[text](target)" would be a link, section 3.11.6


def _location(finding: ReportedFinding) -> Sarif:
    file, line = place(finding)
    artifact: Sarif = {"artifactLocation": {"uri": quote(file)}}
    if finding.source and finding.source.file:
        artifact["region"] = {"startLine": line}
    return {
        "physicalLocation": artifact,
        "logicalLocations": _logical(finding.app, finding.resource, finding.pointer),
    }


def _logical(app: ReportedApp, resource: ReportedResource | None, pointer: str) -> list[Sarif]:
    return [
        {"name": name, "fullyQualifiedName": full, "kind": kind} for kind, full, name in _names(app, resource, pointer)
    ]


def _names(app: ReportedApp, resource: ReportedResource | None, pointer: str) -> list[tuple[str, str, str]]:
    """(kind, fully qualified name, name) from the application inwards."""
    own = app_name(app)
    found = [("namespace", own, app.name)]
    if resource is not None:
        full = f"{own}/{resource.group or 'core'}/{resource_name(resource).replace(' ', '/')}"
        found.append(("object", full, resource_name(resource)))
        if pointer:
            found.append(("member", f"{full}#{pointer}", pointer))
    elif pointer:
        found.append(("member", f"{own}#{pointer}", pointer))
    return found


def _notification(failure: ReportedFailure) -> Sarif:
    return {
        "level": "error",
        "message": {"text": ": ".join(filter(None, (subject_of(failure), failure.stage, failure.error)))},
    }
