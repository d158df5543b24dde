"""The report for a terminal: the worst findings first, with the first fix to paste; the summary is at the end.

A screen shows as many causes as fit, each with the findings that follow from it (`blocks`). --full, -v and --group-by show every finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from urllib.parse import quote

from argolint.model import DESTINATION
from argolint.reports.causes import causes_of, with_causes, worst_first
from argolint.reports.document import UNKNOWN, Gate, Report, ReportedFailure, ReportedFinding, counted, page
from argolint.reports.formats import Style, app_name, forecast_text, line_of, resource_name, subject_of
from argolint.reports.formats.blocks import Group, cause_block, named, screen
from argolint.reports.formats.ending import counts_text, ending, one_line, statistics
from argolint.reports.formats.fixes import fix_lines
from argolint.reports.formats.frames import frame_lines
from argolint.reports.formats.layout import SEVERITY, number, paint, rule_name, unanswered, wrapped


def render(report: Report, style: Style) -> str:
    """The findings, the failures and the summary; with -q one line in all."""
    if report.forecast:
        return forecast_text.render(report, style)
    return text(report, style, concise=False)


def text(report: Report, style: Style, *, concise: bool) -> str:
    """The report by cause, as many as fit on a screen; with --full or -v every finding, in the order of causes."""
    if style.quiet:
        return " · ".join([*([_gate_line(report.gate)] if report.gate else []), one_line(report, style)]) + "\n"
    report = with_causes(report)
    style = replace(style, lines=0) if concise or style.full or style.verbose or style.group_by else style
    head = [*_deletes(report, style), *_unanswered(report, style), *_stale(report, style)]
    tail = [*_short(list(_tail(report, style)), style), *_verdict(report, style)]
    groups: list[Group] = []
    if style.statistics:
        shown = worst_first(report)
        lines = [*statistics(shown, style), ""] if shown else []
    elif style.full or style.verbose or style.group_by:
        lines = [line for section in _sections(report, style) for line in (*section, "")]
        groups = causes_of(report)
    else:
        every = causes_of(report)
        longest = max(len(list(ending(report, style, part))) for part in (every, every[:1], every[:3]))
        taken = len(head) + len(tail) + longest
        lines, groups = screen(report, style, max(_LEAST, style.lines - taken) if style.lines else 0)
    return "\n".join((*head, *lines, *tail, *ending(report, style, groups))) + "\n"


_LEAST = 8
"""Lines that causes get on a screen in any case."""
_TAIL = 12


def _short(lines: list[str], style: Style) -> list[str]:
    """At most `_TAIL` of the lines that are not findings."""
    if not style.lines or len(lines) <= _TAIL:
        return lines
    return [*lines[: _TAIL - 2], f"… {len(lines) - _TAIL + 2} more lines with --full", ""]


def _unanswered(report: Report, style: Style) -> Iterator[str]:
    """Clusters that do not answer: they may be the reason for many findings below."""
    for reason, hint in (found := list(unanswered(report))):
        yield from wrapped(f"{paint('not looked at', style, fg='magenta')}  {reason}", style, hang="  ")
        yield from wrapped(f"→ {hint}", style, indent="  ", hang="    ")
    if found:
        yield ""


def _stale(report: Report, style: Style) -> Iterator[str]:
    """Notes on outdated status, on which all other findings depend."""
    for old in report.stale or ():
        yield from wrapped(f"What is shown is old: {old.message}", style)
    if report.stale:
        yield ""


def _deletes(report: Report, style: Style) -> Iterator[str]:
    """What a change deletes; it comes before what the change breaks."""
    for line in (report.gate.deletes or ()) if report.gate else ():
        yield from wrapped(f"{paint('deletes', style, fg='red')}  {line}", style, hang="         ")
    if report.gate and report.gate.deletes:
        yield ""


def _tail(report: Report, style: Style) -> Iterator[str]:
    """Failures, remarks of the run, and what the gate adds to its findings."""
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
    """The error without the application's name, so that the same error in many applications is one line."""
    name = failure.app.name if failure.app else ""
    return failure.error.replace(f"/{quote(name)}", "/*").replace(f"/{name}", "/*") if name else failure.error


def _sections(report: Report, style: Style) -> Iterator[Iterable[str]]:
    findings = worst_first(report)
    if style.group_by == "cause":
        for cause, group in causes_of(report):
            yield cause_block(cause, group, style, named(report))
    elif style.group_by in _GROUPS and style.group_by != "app":
        for name, group in _by(findings, _GROUPS[style.group_by]):
            yield _listed(name, group, style)
    else:
        groups = _by(findings, _GROUPS["app"])
        first = _first_with_fix(f for _, group in groups for f in group)
        for name, group in groups:
            yield _application(name, group, style, first)


_GROUPS: dict[str, Callable[[ReportedFinding], str]] = {
    "app": lambda f: app_name(f.app),
    "rule": lambda f: f.rule,
    "project": lambda f: f"project {f.app.project}",
}


def _by(
    findings: Sequence[ReportedFinding], key: Callable[[ReportedFinding], str]
) -> list[tuple[str, list[ReportedFinding]]]:
    """Groups, ordered by their first, worst finding."""
    groups: dict[str, list[ReportedFinding]] = {}
    for finding in findings:
        groups.setdefault(key(finding), []).append(finding)
    return list(groups.items())


def _heading(name: str, findings: Sequence[ReportedFinding], style: Style) -> Iterator[str]:
    yield from wrapped(
        f"{paint(name, style, bold=True)}  {paint(counts_text(counted(findings)), style, dim=True)}", style, hang="  "
    )


def _first_with_fix(findings: Iterable[ReportedFinding]) -> Mapping[str, ReportedFinding]:
    """The finding that shows each first fix before all others."""
    found: dict[str, ReportedFinding] = {}
    for finding in findings:
        for fix in finding.fixes[:1]:
            found.setdefault(repr(fix), finding)
    return found


def _application(
    name: str, findings: Sequence[ReportedFinding], style: Style, first: Mapping[str, ReportedFinding]
) -> Iterator[str]:
    yield from _heading(name, findings, style)
    if style.verbose and (url := page(findings[0].app)):
        yield paint(f"  {url}", style, dim=True)
    for finding in findings:
        yield from _finding(finding, style, first=first)


def _listed(name: str, findings: Sequence[ReportedFinding], style: Style) -> Iterator[str]:
    """Whole findings with --full or -v; else application, rule and message."""
    yield from _heading(name, findings, style)
    for finding in findings:
        if style.full or style.verbose:
            yield from _finding(finding, style, app_name(finding.app))
        else:
            label = f"{paint(f'{finding.severity:7}', style, fg=SEVERITY[finding.severity])}  "
            line = f"{app_name(finding.app)}  {rule_name(finding)}: {finding.message}"
            yield from wrapped(label + line, style, indent="  ", hang="           ")


def _finding(
    f: ReportedFinding, style: Style, app: str = "", first: Mapping[str, ReportedFinding] | None = None
) -> Iterator[str]:
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
    yield from frame_lines(f, style, "           ")
    if style.verbose:
        for line in f.evidence:
            yield from wrapped("· " + line, style, indent="           ", hang="             ")
        for related in f.related:
            where = " ".join(
                filter(None, (resource_name(related.resource) if related.resource else "", related.pointer))
            )
            related_line = f"· {related.role}: {app_name(related.app)} {where}"
            yield from wrapped(related_line, style, indent="           ", hang="             ")
        yield from wrapped(f"· {f.docs}", style, indent="           ", hang="             ")
    for place, fix in enumerate(f.fixes if style.verbose else f.fixes[:1], 1):
        shown = (first or {}).get(repr(fix), f)
        above = "" if shown is f else f"{rule_name(shown)} in {app_name(shown.app)}"
        yield from fix_lines(fix, place, len(f.fixes), style, above=above)


def _failure(alike: Sequence[ReportedFailure], style: Style) -> Iterator[str]:
    """A failure; the same failure of many applications is reported once, with their names."""
    first = alike[0]
    names = [name for f in alike if (name := subject_of(f))]
    if len(alike) > 1:
        more = ", …" if len(names) > 5 else ""
        sentence = f"{_nameless(first)} from {first.stage}: {number(len(alike), 'application' if first.app else 'server')} ({', '.join(names[:5])}{more})"
    else:
        sentence = f"{names[0]}: {first.stage}: {first.error}" if names else f"{first.stage}: {first.error}"
    yield from wrapped(f"{paint('not looked at', style, fg='magenta')}  {sentence}", style, hang="  ")
    if first.hint:
        yield from wrapped(f"→ {first.hint}", style, indent="  ", hang="    ")


def _gate(gate: Gate, style: Style) -> Iterator[str]:
    """What the change does, in addition to its findings."""
    for gone in gate.gone:
        subject = " ".join(filter(None, (app_name(gone.app), resource_name(gone.resource) if gone.resource else "")))
        yield f"{paint('fixed', style, fg='green')}  {paint(gone.rule, style, bold=True)}  {subject}"
    for line in gate.unchecked or ():
        yield from wrapped(f"{paint('not checked', style, fg='magenta')}  {line}", style, hang="  ")
    for app in gate.apps:
        if app.is_unknown and not style.verbose:
            why = next(note for note in app.notes if note.endswith(UNKNOWN))
            yield from wrapped(f"not judged  {app_name(app.app)}: {why}", style, hang="  ")
    if style.verbose:
        for line in gate.unlisted:
            yield from wrapped(f"left out  {line}", style, hang="          ")


def _verdict(report: Report, style: Style) -> Iterator[str]:
    """What the gate says in all; it is never cut."""
    if report.gate:
        yield _gate_line(report.gate)
        if report.gate.fails:
            yield from wrapped(f"fails because {report.gate.fails}", style, hang="  ")


def _gate_line(gate: Gate) -> str:
    return (
        f"{gate.base} → {gate.head} touches {number(len(gate.apps), 'application')}: "
        f"{gate.new} new, {gate.fixed} fixed, {gate.unchanged} unchanged"
    )
