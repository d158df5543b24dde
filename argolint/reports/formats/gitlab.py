"""GitLab code quality: a list of issues that a merge request shows beside its diff.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import json

from argolint.reports.document import Finding, Report
from argolint.reports.formats import Style, app_name, place, resource_name

_SEVERITY = {"error": "critical", "warning": "major", "info": "info"}


def render(report: Report, style: Style) -> str:
    """A JSON array. GitLab tells new issues from old ones by fingerprint, and wants a file and a line for each."""
    issues = [_issue(f) for f in report.findings if f.suppressed is None]
    return json.dumps(issues, indent=1, ensure_ascii=False) + "\n"


def _issue(finding: Finding) -> dict[str, object]:
    subject = (
        f"{app_name(finding.app)}, {resource_name(finding.resource)}" if finding.resource else app_name(finding.app)
    )
    file, line = place(finding)
    return {
        "description": f"{subject}: {finding.message}",
        "check_name": finding.rule,
        "fingerprint": finding.fingerprint,
        "severity": _SEVERITY[finding.severity],
        "location": {"path": file, "lines": {"begin": line}},
    }
