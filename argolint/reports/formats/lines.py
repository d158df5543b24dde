"""One finding per line, for grep, sort and editors: `severity rule app object: message`, the worst first."""

from __future__ import annotations

from argolint.reports.causes import with_causes, worst_first
from argolint.reports.document import Report, ReportedFailure, ReportedFinding, ReportedResource
from argolint.reports.formats import Style, app_name, subject_of
from argolint.values import plain

NOTHING = "-"
"""The placeholder for a missing object or application, so that each line has four words."""


def render(report: Report, style: Style) -> str:
    """One line per finding, and one per failure."""
    lines = [*map(_line, worst_first(with_causes(report))), *map(_failure, report.failures)]
    return "".join(f"{line}\n" for line in lines)


def _line(f: ReportedFinding) -> str:
    return f"{f.severity} {f.rule} {_word(app_name(f.app))} {_word(object_word(f.resource, f.pointer))}: {plain(f.message)}"


def _failure(f: ReportedFailure) -> str:
    return plain(f"incomplete {_word(f.rule or f.stage)} {_word(subject_of(f))} {NOTHING}: {f.error}")


def object_word(resource: ReportedResource | None, pointer: str = "") -> str:
    """`Kind/namespace/name`, as `argolint owners` and `why` accept it, and the field: one word."""
    if resource is None:
        return pointer
    return "/".join(filter(None, (resource.kind, resource.namespace, resource.name))) + pointer


def _word(text: str) -> str:
    return plain(text).replace(" ", "_") or NOTHING
