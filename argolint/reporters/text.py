"""For people."""

from __future__ import annotations

from argolint.report import Report
from argolint.reporters import Style


def render(report: Report, style: Style) -> str:
    """A line a finding."""
    return (
        "".join(
            f"{f.severity} {f.app.namespace}/{f.app.name} {f.rule}[{f.cause}] {f.resource.kind + '/' + f.resource.name if f.resource else ''} {f.pointer} {f.message}\n"
            for f in report.findings
        )
        + f"{report.summary} {report.failures}\n"
    )
