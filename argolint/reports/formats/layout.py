"""Lines for a terminal: colours, and wrapping by visible columns instead of characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import click

from argolint.model import DESTINATION
from argolint.reports.document import Report, ReportedFinding
from argolint.reports.formats import Style, subject_of
from argolint.values.patterns import regex

_COLOUR = regex(r"\x1b\[[0-9;]*m")
_TOKENS = regex(r"\s+|\S+")
_NARROWEST = 40
SEVERITY = {"error": "red", "warning": "yellow", "info": "cyan"}
"""The colour of each severity."""


def paint(text: str, style: Style, *, fg: str | None = None, bold: bool = False, dim: bool = False) -> str:
    """The text in a colour, if the style has colours."""
    return click.style(text, fg=fg, bold=bold or None, dim=dim or None) if style.color and text else text


def visible(text: str) -> int:
    """Columns of a text: none for colour codes and combining characters, two for wide characters."""
    if text.isascii() and "\x1b" not in text:
        return len(text)
    return sum(_columns(character) for character in _COLOUR.sub("", text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def wrapped(text: str, style: Style, indent: str = "", hang: str | None = None) -> list[str]:
    """The text in lines of the style's width, broken at blanks only; later lines begin with `hang`."""
    width = max(_NARROWEST, style.width)
    lines: list[str] = []
    words = text.lstrip()
    line = indent + text[: len(text) - len(words)]
    used, gap, empty = visible(line), "", True
    for token in _TOKENS.findall(words.rstrip()):
        if token.isspace():
            gap = token
            continue
        if not empty and used + len(gap) + visible(token) > width:
            lines.append(line)
            line = indent if hang is None else hang
            used, gap, empty = visible(line), "", True
        line += gap + token
        used += len(gap) + visible(token)
        gap, empty = "", False
    return [*lines, line.rstrip()]


def cut(lines: list[str], limit: int, style: Style) -> list[str]:
    """The first lines; the last one shows that lines were left out."""
    if len(lines) <= limit:
        return lines
    last = lines[limit - 1]
    while visible(last) + 2 > max(_NARROWEST, style.width) and " " in last.strip():
        last = last.rpartition(" ")[0].rstrip()
    return [*lines[: limit - 1], last.rstrip(" ,;:.·") + " …" + ("\x1b[0m" if "\x1b" in last else "")]


def elided(text: str, style: Style) -> str:
    """The text for a screen: words longer than a line keep only their two ends. Without a screen (no `lines`) it is whole."""
    if not style.lines:
        return text
    most = max(_NARROWEST, style.width) - 20
    if visible(text) <= most:
        return text
    return _TOKENS.sub(lambda found: _ends(found[0], most), text)


def _ends(word: str, most: int) -> str:
    if visible(word) <= most or word.isspace():
        return word
    half = (most - 1) // (2 if word.isascii() else 4)
    return f"{word[:half]}…{word[-half:]}"


def rule_name(finding: ReportedFinding) -> str:
    """`rule/cause`, as `argolint explain` accepts it."""
    return finding.rule + (f"/{finding.cause}" if finding.cause else "")


def number(n: int, noun: str) -> str:
    """`1 application`, `12 applications`."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def unanswered(report: Report) -> Iterator[tuple[str, str]]:
    """Each cluster that does not answer, with the applications that could not be judged fully; and what to do."""
    alike: dict[tuple[str, str], list[str]] = {}
    for failure in report.failures:
        if failure.stage == DESTINATION:
            alike.setdefault((failure.error, failure.hint), []).append(subject_of(failure))
    for (error, hint), names in alike.items():
        who = number(len(names), "application")
        shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        yield f"{error[:1].upper()}{error[1:]}, so {who} could not be judged to the end: {shown}", hint
