"""One finding a line, for grep, sort and editors: `severity rule app object: message`, the worst first."""

from __future__ import annotations

from argolint.reports.causes import with_causes, worst_first
from argolint.reports.document import Report, ReportedFailure, ReportedFinding, ReportedResource
from argolint.reports.formats import Style, app_name, subject_of
from argolint.values import plain

NOTHING = "-"
"""An object or application that a line does not name, so that every line has its four words."""


def render(report: Report, style: Style) -> str:
    """A line a finding, and one for each thing that could not be looked at."""
    lines = [*map(_line, worst_first(with_causes(report))), *map(_failure, report.failures)]
    return "".join(f"{line}\n" for line in lines)


def _line(f: ReportedFinding) -> str:
    return f"{f.severity} {f.rule} {_word(app_name(f.app))} {_word(object_word(f.resource, f.pointer))}: {plain(f.message)}"


def _failure(f: ReportedFailure) -> str:
    return plain(f"incomplete {_word(f.rule or f.stage)} {_word(subject_of(f))} {NOTHING}: {f.error}")


def object_word(resource: ReportedResource | None, pointer: str = "") -> str:
    """`Kind/namespace/name`, as `argolint owners` and `why` take it, and the field: one word."""
    if resource is None:
        return pointer
    return "/".join(filter(None, (resource.kind, resource.namespace, resource.name))) + pointer


def _word(text: str) -> str:
    return plain(text).replace(" ", "_") or NOTHING
