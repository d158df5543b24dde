"""The JSON document: the contract with other programs."""

from __future__ import annotations

from collections.abc import Iterator

from argolint.reports.document import Report, json_parts
from argolint.reports.formats import Style


def render(report: Report, style: Style) -> Iterator[str]:
    """One document, indented, in parts of whole lines."""
    return (part.decode() for part in json_parts(report))
