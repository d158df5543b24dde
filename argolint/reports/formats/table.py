"""One line per application: its states as Argo CD shows them, the findings, and the rule of the worst finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from argolint.reports.causes import affected, with_causes, worst_first
from argolint.reports.document import Report, ReportedApp, ReportedFinding
from argolint.reports.formats import Style, app_name
from argolint.reports.formats.ending import one_line
from argolint.reports.formats.layout import SEVERITY, elided, paint, rule_name, visible

_HEAD = ("application", "sync", "health", "errors", "warnings", "info", "worst")


@dataclass
class Row:
    """An application with the findings that are about it or name it as affected, the worst first."""

    app: ReportedApp
    sync: str = ""
    health: str = ""
    url: str = ""
    findings: list[ReportedFinding] = field(default_factory=list)

    def count(self, severity: str) -> int:
        return sum(f.severity == severity for f in self.findings)


def render(report: Report, style: Style) -> str:
    """The table and all counts; applications with the worst findings come first."""
    rows = rows_of(report)
    cells = [_HEAD, *(_cells(row, style) for row in rows)]
    widths = [max(visible(row[n]) for row in cells) for n in range(len(_HEAD) - 1)]
    lines = list(_lines(cells, rows, widths, style)) if rows else []
    failures = [f"not looked at: {f.stage}: {f.error}" for f in report.failures]
    return "\n".join((*lines, *failures, one_line(report, style))) + "\n"


def rows_of(report: Report) -> list[Row]:
    """All applications that were looked at, healthy ones too: by worst finding, then by name."""
    rows = {one.app: Row(one.app, one.sync, one.health, one.url) for one in report.applications}
    place: dict[ReportedApp, int] = {}
    for number, finding in enumerate(worst_first(with_causes(report))):
        for app in dict.fromkeys(affected(finding)):
            if app.name and (app in rows or not report.applications):
                rows.setdefault(app, Row(app)).findings.append(finding)
                place.setdefault(app, number)
    return sorted(
        rows.values(), key=lambda row: (place.get(row.app, len(rows) + len(report.findings)), app_name(row.app))
    )


def _cells(row: Row, style: Style) -> tuple[str, ...]:
    counts = (str(row.count(severity) or "-") for severity in ("error", "warning", "info"))
    worst = rule_name(row.findings[0]) if row.findings else ""
    return (elided(app_name(row.app), style), row.sync or "-", row.health or "-", *counts, worst)


def _lines(cells: Sequence[Sequence[str]], rows: Sequence[Row], widths: Sequence[int], style: Style) -> Iterator[str]:
    for number, row in enumerate(cells):
        padded = []
        for place, (text, width) in enumerate(zip(row, widths, strict=False)):
            pad = " " * (width - visible(text))
            padded.append(pad + text if 3 <= place <= 5 else text + pad)
        line = "  ".join((*padded, row[-1])).rstrip()
        if number == 0:
            yield paint(line, style, bold=True)
        else:
            found = rows[number - 1].findings
            yield paint(line, style, fg=SEVERITY[found[0].severity]) if found else line
