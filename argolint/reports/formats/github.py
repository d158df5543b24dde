"""Workflow commands that GitHub shows as annotations on a run and, if file and line are known, on the diff.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions; escaping as in actions/toolkit, command.ts.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint.reports.document import Report, ReportedFinding
from argolint.reports.formats import OUTSIDE, Style, app_name, is_outside, resource_name, subject_of

_COMMAND = {"error": "error", "warning": "warning", "info": "notice"}
SHOWN = 10
"""GitHub shows this many annotations of each kind per step and silently drops the others."""


def render(report: Report, style: Style) -> str:
    """One line per annotation; the last line says how many GitHub will not show."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: Report) -> Iterator[str]:
    findings = [f for f in report.findings if f.suppressed is None]
    for severity, command in _COMMAND.items():
        mine = [f for f in findings if f.severity == severity]
        room = SHOWN if len(mine) <= SHOWN else SHOWN - 1
        for finding in mine[:room]:
            yield _command(command, _message(finding), _title(finding), *_place(finding))
        if mine[room:]:
            yield _command(
                command,
                f"{len(mine) - room} more of this severity are left out here: GitHub shows {SHOWN} a step. "
                "The other reports hold all of them.",
                f"argolint: {len(mine) - room} more",
            )
    for remark in report.remarks:
        yield _command("notice", remark, "argolint")
    for failure in report.failures:
        about = f"{subject}: " if (subject := subject_of(failure)) else ""
        yield _command("warning", f"{about}{failure.error}", f"argolint could not look at everything ({failure.stage})")


def _title(finding: ReportedFinding) -> str:
    return f"{finding.rule} in {app_name(finding.app)}"


def _message(finding: ReportedFinding) -> str:
    subject = f"{resource_name(finding.resource)}: " if finding.resource else ""
    first = f"\nFix: {finding.fixes[0].title}" if finding.fixes else ""
    outside = f"\n{OUTSIDE.capitalize()}." if is_outside(finding) else ""
    return f"{subject}{finding.message}{outside}{first}\n{finding.docs}"


def _place(finding: ReportedFinding) -> tuple[str, int | None]:
    source = finding.source
    return (source.file, source.line) if source and source.file else ("", None)


def _command(name: str, message: str, title: str, file: str = "", line: int | None = None) -> str:
    fields = {"file": file, "line": str(line or ""), "title": title}
    properties = ",".join(f"{key}={_property(value)}" for key, value in fields.items() if value)
    return f"::{name} {properties}::{_data(message)}"


def _data(text: str) -> str:
    """The text escaped so that no line of it can start a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
