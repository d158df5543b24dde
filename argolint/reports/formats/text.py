"""For people in a terminal: what is wrong, worst first, with the first thing to paste; the summary comes last, where one lands.

A report of up to some thirty findings is shown whole, by application. A longer one is shown by cause (`concise`), unless --full or
--group-by ask for another form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from urllib.parse import quote

import msgspec

from argolint.model import DESTINATION
from argolint.reports.causes import WORST_FIRST, causes, causes_of
from argolint.reports.document import Gate, Report, ReportedFailure, ReportedFinding, counted, page
from argolint.reports.formats import Style, app_name, line_of, resource_name, subject_of
from argolint.reports.formats.blocks import blocks, cause_block, named
from argolint.reports.formats.ending import counts_text, ending, one_line, statistics
from argolint.reports.formats.fixes import fix_lines
from argolint.reports.formats.layout import SEVERITY, number, paint, rule_name, unanswered, wrapped

CONCISE_ABOVE = 30
"""Findings; what is more is shown by cause."""


def render(report: Report, style: Style) -> str:
    """The findings (one line with -q), what could not be looked at, and the summary."""
    return text(report, style, concise=False)


def text(report: Report, style: Style, *, concise: bool) -> str:
    """The report; by cause where that is wanted, or where there is much to show."""
    if style.quiet:
        return " · ".join([*([_gate_line(report.gate)] if report.gate else []), one_line(report, style)]) + "\n"
    report = report if report.causes else msgspec.structs.replace(report, causes=causes(report.findings, {}))
    shown = [f for f in report.findings if f.suppressed is None]
    many = len(shown) > CONCISE_ABOVE and not (style.full or style.verbose or style.group_by)
    tail = list(_tail(report, style))
    end = list(ending(report, style))
    if style.statistics:
        lines = [*statistics(shown, style), ""] if shown else []
    elif concise or many:
        room = style.lines - len(tail) - len(end) if style.lines and not (concise or style.group_by) else 0
        lines = [*blocks(report, style, room)]
    else:
        lines = [line for section in _sections(report, shown, style) for line in (*section, "")]
    return "\n".join((*_unanswered(report, style), *_stale(report, style), *lines, *tail, *end)) + "\n"


def _unanswered(report: Report, style: Style) -> Iterator[str]:
    """Clusters that are down: much of what follows may come of that."""
    for said, hint in (found := list(unanswered(report))):
        yield from wrapped(f"{paint('not looked at', style, fg='magenta')}  {said}", style, hang="  ")
        yield from wrapped(f"→ {hint}", style, indent="  ", hang="    ")
    if found:
        yield ""


def _stale(report: Report, style: Style) -> Iterator[str]:
    """What every other finding rests on comes first."""
    for old in report.stale or ():
        yield from wrapped(f"What is shown is old: {old.message}", style)
    if report.stale:
        yield ""


def _tail(report: Report, style: Style) -> Iterator[str]:
    """What could not be looked at, remarks, and what the gate says next to its findings."""
    alike: dict[tuple[str, str, str | None], list[ReportedFailure]] = {}
    for failure in (f for f in report.failures if f.stage != DESTINATION):
        alike.setdefault((failure.stage, _nameless(failure), failure.rule), []).append(failure)
    for failures in alike.values():
        yield from _failure(failures, style)
    if alike:
        yield ""
    for remark in report.remarks:
        yield from wrapped(remark, style)
    if report.gate:
        yield from _gate(report.gate, style)


def _nameless(failure: ReportedFailure) -> str:
    """The error without the application's own name, so that what fails alike in many is one line."""
    name = failure.app.name if failure.app else ""
    return failure.error.replace(f"/{quote(name)}", "/*").replace(f"/{name}", "/*") if name else failure.error


def _sections(report: Report, findings: Sequence[ReportedFinding], style: Style) -> Iterator[Iterable[str]]:
    if style.group_by == "cause":
        for cause, group in causes_of(report):
            yield cause_block(cause, group, style, named(report))
    elif style.group_by in _GROUPS and style.group_by != "app":
        for name, group in _by(findings, _GROUPS[style.group_by]):
            yield _listed(name, group, style)
    else:
        for name, group in _by(findings, _GROUPS["app"]):
            yield _application(name, group, style)


_GROUPS: dict[str, Callable[[ReportedFinding], str]] = {
    "app": lambda f: app_name(f.app),
    "rule": lambda f: f.rule,
    "project": lambda f: f"project {f.app.project}",
}


def _by(
    findings: Sequence[ReportedFinding], key: Callable[[ReportedFinding], str]
) -> list[tuple[str, list[ReportedFinding]]]:
    """Groups with the most severe findings first, then by how many, then by name."""
    groups: dict[str, list[ReportedFinding]] = {}
    for finding in findings:
        groups.setdefault(key(finding), []).append(finding)
    for group in groups.values():
        group.sort(key=lambda f: WORST_FIRST.index(f.severity))
    worst = {name: group[0].severity for name, group in groups.items()}
    return sorted(
        groups.items(),
        key=lambda g: (WORST_FIRST.index(worst[g[0]]), -sum(f.severity == worst[g[0]] for f in g[1]), g[0]),
    )


def _heading(name: str, findings: Sequence[ReportedFinding], style: Style) -> Iterator[str]:
    yield from wrapped(
        f"{paint(name, style, bold=True)}  {paint(counts_text(counted(findings)), style, dim=True)}", style, hang="  "
    )


def _application(name: str, findings: Sequence[ReportedFinding], style: Style) -> Iterator[str]:
    yield from _heading(name, findings, style)
    if style.verbose and (url := page(findings[0].app)):
        yield paint(f"  {url}", style, dim=True)
    for finding in findings:
        yield from _finding(finding, style)


def _listed(name: str, findings: Sequence[ReportedFinding], style: Style) -> Iterator[str]:
    """Whole findings with --full or -v; else where each is, and the message."""
    yield from _heading(name, findings, style)
    for finding in findings:
        if style.full or style.verbose:
            yield from _finding(finding, style, app_name(finding.app))
        else:
            label = f"{paint(f'{finding.severity:7}', style, fg=SEVERITY[finding.severity])}  "
            said = f"{app_name(finding.app)}  {rule_name(finding)}: {finding.message}"
            yield from wrapped(label + said, style, indent="  ", hang="           ")


def _finding(f: ReportedFinding, style: Style, app: str = "") -> Iterator[str]:
    subject = " ".join(filter(None, (app, resource_name(f.resource) if f.resource else "", f.pointer)))
    yield from wrapped(
        f"{paint(f'{f.severity:7}', style, fg=SEVERITY[f.severity])}  {paint(rule_name(f), style, bold=True)}  {subject}",
        style,
        indent="  ",
        hang="             ",
    )
    unsure = "" if f.confidence == "proven" else f" ({f.confidence})"
    yield from wrapped(f.message + unsure, style, indent="           ")
    if where := line_of(f):
        yield from wrapped(f"at {where}", style, indent="           ", hang="             ")
    if style.verbose:
        for line in f.evidence:
            yield from wrapped("· " + line, style, indent="           ", hang="             ")
        for related in f.related:
            where = " ".join(
                filter(None, (resource_name(related.resource) if related.resource else "", related.pointer))
            )
            said = f"· {related.role}: {app_name(related.app)} {where}"
            yield from wrapped(said, style, indent="           ", hang="             ")
        yield from wrapped(f"· {f.docs}", style, indent="           ", hang="             ")
    for place, fix in enumerate(f.fixes if style.verbose else f.fixes[:1], 1):
        yield from fix_lines(fix, place, len(f.fixes), style)


def _failure(alike: Sequence[ReportedFailure], style: Style) -> Iterator[str]:
    """What could not be looked at; the same thing in many applications is reported once, with their names."""
    first = alike[0]
    names = [name for f in alike if (name := subject_of(f))]
    if len(alike) > 1:
        more = ", …" if len(names) > 5 else ""
        told = f"{_nameless(first)} from {first.stage}: {number(len(alike), 'application' if first.app else 'server')} ({', '.join(names[:5])}{more})"
    else:
        told = f"{names[0]}: {first.stage}: {first.error}" if names else f"{first.stage}: {first.error}"
    yield from wrapped(f"{paint('not looked at', style, fg='magenta')}  {told}", style, hang="  ")
    if first.hint:
        yield from wrapped(f"→ {first.hint}", style, indent="  ", hang="    ")


def _gate(gate: Gate, style: Style) -> Iterator[str]:
    """What the change does, next to its findings."""
    for gone in gate.gone:
        subject = " ".join(filter(None, (app_name(gone.app), resource_name(gone.resource) if gone.resource else "")))
        yield f"{paint('fixed', style, fg='green')}  {paint(gone.rule, style, bold=True)}  {subject}"
    if style.verbose:
        for line in gate.unlisted:
            yield from wrapped(f"left out  {line}", style, hang="          ")
    yield _gate_line(gate)
    if gate.fails:
        yield from wrapped(f"fails because {gate.fails}", style, hang="  ")


def _gate_line(gate: Gate) -> str:
    return (
        f"{gate.base} → {gate.head} touches {number(len(gate.apps), 'application')}: "
        f"{gate.new} new, {gate.fixed} fixed, {gate.unchanged} unchanged"
    )
