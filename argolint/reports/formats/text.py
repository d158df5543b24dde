"""For people in a terminal: grouped by application, worst first, each finding with the first thing to paste."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

import click

from argolint.reports.document import Counts, Failure, Finding, Fix, Gate, Report
from argolint.reports.formats import Style, app_name, resource_name
from argolint.reports.formats.edits import as_text, steps_before, told_effects, told_proof

_ORDER = {"error": 0, "warning": 1, "info": 2}
_COLOR = {"error": "red", "warning": "yellow", "info": "cyan"}
_PASTE_LINES = 12


def render(report: Report, style: Style) -> str:
    """The findings (unless quiet), what could not be looked at, and one summary line."""
    lines: list[str] = []
    if not style.quiet:
        shown = [f for f in report.findings if f.suppressed is None]
        for app, findings in _by_app(shown):
            lines += [*_application(app, findings, style), ""]
    alike: dict[tuple[str, str, str | None], list[Failure]] = {}
    for failure in report.failures:
        alike.setdefault((failure.stage, failure.error, failure.rule), []).append(failure)
    for failures in alike.values():
        lines += _failure(failures, style)
    if report.failures:
        lines.append("")
    for remark in report.remarks:
        lines += wrapped(remark, style)
    if report.gate:
        lines += _gate(report.gate, style)
    lines.append(_summary(report, style))
    return "\n".join(lines) + "\n"


def _by_app(findings: Sequence[Finding]) -> list[tuple[str, list[Finding]]]:
    """Applications with the most severe findings first, then by how many, then by name."""
    groups = [
        (name, sorted(group, key=lambda f: _ORDER[f.severity]))
        for name, group in groupby(findings, key=lambda f: app_name(f.app))
    ]
    return sorted(
        groups, key=lambda g: (_ORDER[g[1][0].severity], -sum(f.severity == g[1][0].severity for f in g[1]), g[0])
    )


def _application(name: str, findings: Sequence[Finding], style: Style) -> Iterator[str]:
    counts = ", ".join(
        f"{n} {word}{'s' if n > 1 and word != 'info' else ''}"
        for word in _ORDER
        if (n := sum(f.severity == word for f in findings))
    )
    yield f"{paint(name, style, bold=True)}  {paint(counts, style, dim=True)}"
    for finding in findings:
        yield from _finding(finding, style)


def _finding(f: Finding, style: Style) -> Iterator[str]:
    rule = f.rule + (f"/{f.cause}" if f.cause else "")
    subject = " ".join(filter(None, (resource_name(f.resource) if f.resource else "", f.pointer)))
    yield from wrapped(
        f"{paint(f'{f.severity:7}', style, fg=_COLOR[f.severity])}  {paint(rule, style, bold=True)}  {subject}".rstrip(),
        style,
        indent="  ",
        hang="             ",
        extra=invisible(style),
    )
    unsure = "" if f.confidence == "proven" else f" ({f.confidence})"
    yield from wrapped(f.message + unsure, style, indent="           ")
    if style.verbose:
        for line in f.evidence:
            yield from wrapped(line, style, indent="           · ", hang="             ")
        for related in f.related:
            where = " ".join(
                filter(None, (resource_name(related.resource) if related.resource else "", related.pointer))
            )
            yield from wrapped(
                f"{related.role}: {app_name(related.app)} {where}".rstrip(),
                style,
                indent="           · ",
                hang="             ",
            )
    for number, fix in enumerate(f.fixes if style.verbose else f.fixes[:1], 1):
        yield from fix_lines(fix, number, len(f.fixes), style)


def fix_lines(fix: Fix, number: int, of: int, style: Style) -> Iterator[str]:
    which = f"fix {number}: " if style.verbose and of > 1 else "fix: "
    checked = paint(f" ✓ {told_proof(fix)}", style, fg="green") if fix.verified else ""
    where = f" [{fix.where}]" if fix.where else ""
    yield from wrapped(
        paint(which, style, fg="green") + fix.title + where + checked,
        style,
        indent="           ",
        hang="             ",
        extra=invisible(style) * 2,
    )
    for line in steps_before(fix):
        yield f"               first: {line}"
    paste = [line for text in as_text(fix.edit).splitlines() for line in _pasted(text, fix.edit.kind, style)]
    limit = len(paste) if style.verbose else _PASTE_LINES
    yield from paste[:limit]
    if len(paste) > limit:
        yield paint(f"               … {len(paste) - limit} more lines with -v or -o json", style, dim=True)
    if fix.effects:
        yield from wrapped("note: " + told_effects(fix), style, indent="             ", hang="               ")
    if fix.caveat and style.verbose:
        yield from wrapped("caveat: " + fix.caveat, style, indent="             ", hang="               ")
    if fix.unverified and style.verbose and fix.verified is None:
        yield from wrapped("not verified: " + fix.unverified, style, indent="             ", hang="               ")


def _pasted(line: str, kind: str, style: Style) -> list[str]:
    """A sentence is wrapped; what is there to be pasted, template code in advice as well, stays on its line."""
    indent = "               "
    return wrapped(line, style, indent=indent) if kind == "text" and "{{" not in line else [indent + line]


def _failure(alike: Sequence[Failure], style: Style) -> Iterator[str]:
    """What could not be looked at; the same thing in many applications is told once."""
    first = alike[0]
    who = f"{app_name(first.app)}: " if first.app else ""
    more = f" (and in {_number(len(alike) - 1, 'more application')})" if len(alike) > 1 else ""
    yield from wrapped(
        f"{paint('not looked at', style, fg='magenta')}  {who}{first.stage}: {first.error}{more}",
        style,
        hang="  ",
        extra=invisible(style),
    )
    if first.hint:
        yield from wrapped(f"→ {first.hint}", style, indent="  ", hang="    ")


def _gate(gate: Gate, style: Style) -> Iterator[str]:
    """What the change does, beside its findings."""
    if not style.quiet:
        for gone in gate.gone:
            subject = " ".join(
                filter(None, (app_name(gone.app), resource_name(gone.resource) if gone.resource else ""))
            )
            yield f"{paint('fixed', style, fg='green')}  {paint(gone.rule, style, bold=True)}  {subject}"
        if style.verbose:
            for line in gate.unlisted:
                yield from wrapped(f"left out  {line}", style, hang="          ")
    yield (
        f"{gate.base} → {gate.head} touches {_number(len(gate.apps), 'application')}: "
        f"{gate.new} new, {gate.fixed} fixed, {gate.unchanged} unchanged"
    )


def _summary(report: Report, style: Style) -> str:
    s, stats = report.summary, report.stats
    told = _counted(s.findings) or "nothing found"
    bad = "red" if s.findings.error else "yellow" if s.findings.warning else "green"
    parts = [
        f"{_number(s.apps, 'application')}, {_number(s.resources, 'resource')}: {paint(told, style, fg=bad, bold=True)}"
        + (f" ({s.suppressed} suppressed)" if s.suppressed else "")
    ]
    if not report.complete:
        parts.append(paint(f"incomplete: {_number(len(report.failures), 'look')} failed", style, fg="magenta"))
    parts.append(f"{_number(stats.requests, 'request')}, {stats.bytes / 1e6:.1f} MB, {stats.seconds:.1f} s")
    return " · ".join(parts)


def _counted(counts: Counts) -> str:
    words = ((counts.error, "error"), (counts.warning, "warning"))
    told = [_number(n, word) for n, word in words if n]
    return ", ".join([*told, *([f"{counts.info} info"] if counts.info else [])])


def _number(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def paint(text: str, style: Style, *, fg: str | None = None, bold: bool = False, dim: bool = False) -> str:
    return click.style(text, fg=fg, bold=bold or None, dim=dim or None) if style.color and text else text


def invisible(style: Style) -> int:
    """Room for the colour codes of a painted line, which take none on the screen."""
    return 18 if style.color else 0


def wrapped(text: str, style: Style, indent: str = "", hang: str | None = None, extra: int = 0) -> list[str]:
    return textwrap.wrap(
        text,
        max(40, style.width) + extra,
        initial_indent=indent,
        subsequent_indent=indent if hang is None else hang,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [indent]
