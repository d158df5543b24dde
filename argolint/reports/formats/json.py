"""The JSON document: the contract with other programs."""

from __future__ import annotations

from argolint.reports.document import Report, to_json
from argolint.reports.formats import Style


def render(report: Report, style: Style) -> str:
    """One document, indented."""
    return to_json(report).decode()
