"""GitLab code quality: a list of issues that a merge request shows next to its diff.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import hashlib
import json

from argolint.reports.document import Report, ReportedFailure, ReportedFinding
from argolint.reports.formats import OUTSIDE, Style, app_name, is_outside, mark_of, place, resource_name, subject_of

_SEVERITY = {"error": "critical", "warning": "major", "info": "info"}


def render(report: Report, style: Style) -> str:
    """A JSON array. GitLab recognizes issues by fingerprint, and needs a file and a line for each.

    A failure is an issue, too: the format has no other place for it.
    """
    issues = [_issue(f) for f in report.findings if f.suppressed is None]
    failures = {issue["fingerprint"]: issue for issue in map(_unfinished, report.failures)}
    return json.dumps([*issues, *failures.values()], indent=1, ensure_ascii=False) + "\n"


def _issue(finding: ReportedFinding) -> dict[str, object]:
    subject = (
        f"{app_name(finding.app)}, {resource_name(finding.resource)}" if finding.resource else app_name(finding.app)
    )
    file, line = place(finding)
    return {
        "description": f"{subject}: {finding.message}{f' ({OUTSIDE})' if is_outside(finding) else ''}",
        "check_name": finding.rule,
        "fingerprint": mark_of(finding),
        "severity": _SEVERITY[finding.severity],
        "location": {"path": file, "lines": {"begin": line}},
    }


def _unfinished(failure: ReportedFailure) -> dict[str, object]:
    description = ": ".join(filter(None, (subject_of(failure), failure.stage, failure.error)))
    return {
        "description": description,
        "check_name": "incomplete",
        "fingerprint": hashlib.sha256(description.encode("utf-8", "replace")).hexdigest()[:32],
        "severity": "major",
        "location": {
            "path": f"applications/{app_name(failure.app)}" if failure.app else "argolint",
            "lines": {"begin": 1},
        },
    }
