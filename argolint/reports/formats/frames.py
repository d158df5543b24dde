"""The place in Git as compilers show it: the line with its neighbours, and carets under the value."""

from __future__ import annotations

from collections.abc import Iterator

from argolint.reports.document import ReportedFinding, ReportedSource
from argolint.reports.formats import Style
from argolint.reports.formats.layout import paint, visible
from argolint.values.patterns import regex

_KEY = regex(r"^(?:- )*[^\s:]+:\s+(?=\S)")
_MOST = 60
"""Most columns of the carets."""


def frame_lines(finding: ReportedFinding, style: Style, indent: str) -> Iterator[str]:
    """The lines with their numbers and carets under the value; nothing without a checkout."""
    if finding.source is not None:
        yield from source_lines(finding.source, style, indent)


def source_lines(source: ReportedSource, style: Style, indent: str) -> Iterator[str]:
    """The lines of a source with their numbers and carets."""
    if not source.excerpt or not source.line or not source.excerpt_from:
        return
    width = len(str(source.excerpt_from + len(source.excerpt) - 1))
    for number, text in enumerate(source.excerpt, source.excerpt_from):
        yield f"{indent}  {paint(f'{number:{width}} |', style, dim=True)} {text}".rstrip()
        if number == source.line:
            edge = " " * width + " |"
            yield f"{indent}  {paint(edge, style, dim=True)} {paint(mark(text), style, fg='red')}"


def mark(line: str) -> str:
    """Blanks and carets under the value of a line, or under the whole line if it has none."""
    text = line.lstrip()
    found = _KEY.match(text)
    start = len(line) - len(text) + (len(found[0]) if found else 0)
    return " " * visible(line[:start]) + "^" * max(1, min(visible(line[start:].rstrip()), _MOST))
