"""The names of applications with findings, one per line, for other commands: the worst first."""

from __future__ import annotations

from argolint.reports.causes import affected, with_causes, worst_first
from argolint.reports.document import Report
from argolint.reports.formats import Style, app_name


def render(report: Report, style: Style) -> str:
    """`namespace/name` of each, as commands accept it."""
    names = dict.fromkeys(app_name(app) for f in worst_first(with_causes(report)) for app in affected(f) if app.name)
    return "".join(f"{name}\n" for name in names)
