"""One block per cause for people: the applications, the fault, the findings that follow from it, and the first fix."""

from __future__ import annotations

from argolint.reports.document import Report
from argolint.reports.formats import Style
from argolint.reports.formats.text import text


def render(report: Report, style: Style) -> str:
    """Every cause, and the summary."""
    return text(report, style, concise=True)
