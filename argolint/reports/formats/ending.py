"""The end of a report for people: how many applications are fine, the causes behind the errors, where to start, what to type next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from argolint.reports.causes import affected, causes_of, identity, roots
from argolint.reports.document import Counts, Report, ReportedFinding, counted, is_of_several, of_server
from argolint.reports.formats import Style
from argolint.reports.formats.layout import cut, number, paint, rule_name, visible, wrapped

_STARTS = 3
_WORTH_A_SUMMARY = 6
"""Findings; fewer need no guide."""


def ending(report: Report, style: Style) -> Iterator[str]:
    """The summary, and last the line with all counts."""
    shown = [f for f in report.findings if f.suppressed is None]
    if len(shown) >= _WORTH_A_SUMMARY and report.causes and not report.gate:
        yield from wrapped(_fine(report, shown), style)
        yield from wrapped(f"families    {_families(shown)}", style, hang=" " * 12)
        for place, cause in enumerate(report.causes[:_STARTS]):
            lead = f"{paint('start here', style, bold=True)}  " if place == 0 else " " * 12
            frees = f"frees {number(cause.frees, 'application')}: " if cause.frees else ""
            yield from cut(wrapped(f"{frees}{cause.title}", style, lead, " " * 12), 1, style)
        first = next((group[0] for _, group in causes_of(report)), shown[0])
        yield from _next(first, style)
    yield from _servers(report, style)
    yield from wrapped(one_line(report, style), style)


def _servers(report: Report, style: Style) -> Iterator[str]:
    """A line an Argo CD, where the report is about several; one that could not be read has no applications."""
    if not is_of_several(report):
        return
    rows = {str(s.name): counts_text(counted(of_server(report, s.url))) or "nothing found" for s in report.servers}
    apps = {str(s.name): number(s.apps, "application") for s in report.servers}
    rows |= {str(f.server): "not read" for f in report.failures if f.server and f.server not in rows}
    width = max(map(visible, rows))
    for name, told in sorted(rows.items()):
        pad = " " * (width - visible(name))
        yield f"{paint(name, style, bold=True)}{pad}  " + (f"{apps[name]}: {told}" if name in apps else told)


def one_line(report: Report, style: Style) -> str:
    """All counts, and what the run cost."""
    s, stats = report.summary, report.stats
    told = counts_text(s.findings) or "nothing found"
    bad = "red" if s.findings.error else "yellow" if s.findings.warning else "green"
    parts = [
        f"{number(s.apps, 'application')}, {number(s.resources, 'resource')}: {paint(told, style, fg=bad, bold=True)}"
        + (f" ({s.suppressed} suppressed)" if s.suppressed else "")
    ]
    if not report.complete:
        parts.append(
            paint(f"incomplete: {number(len(report.failures), 'check')} could not be completed", style, fg="magenta")
        )
    if s.unread:
        parts.append(
            f"{s.unread} that look fine were not read (--deep reads them, two requests each, for what only their manifests show)"
        )
    slowed = f", slowed down {number(stats.slowed, 'time')}" if stats.slowed else ""
    parts.append(f"{number(stats.requests, 'request')}, {stats.bytes / 1e6:.1f} MB, {stats.seconds:.1f} s{slowed}")
    return " · ".join(parts)


def counts_text(counts: Counts) -> str:
    """`2 errors, 1 warning, 3 info`."""
    told = [number(n, word) for n, word in ((counts.error, "error"), (counts.warning, "warning")) if n]
    return ", ".join([*told, *([f"{counts.info} info"] if counts.info else [])])


def statistics(findings: Sequence[ReportedFinding], style: Style) -> Iterator[str]:
    """A line a rule: how many findings of each severity, in how many applications; the most frequent first."""
    groups: dict[str, list[ReportedFinding]] = defaultdict(list)
    for finding in findings:
        groups[finding.rule].append(finding)
    width = max(map(visible, groups))
    yield paint(f"{'rule':{width}}  errors  warnings  info  applications", style, bold=True)
    for rule in sorted(groups, key=lambda r: (-len(groups[r]), r)):
        group = groups[rule]
        errors, warnings, infos = (
            sum(f.severity == severity for f in group) for severity in ("error", "warning", "info")
        )
        apps = len({app for f in group for app in affected(f)})
        yield f"{rule:{width}}  {errors:6}  {warnings:8}  {infos:4}  {apps:12}"


def _fine(report: Report, findings: Sequence[ReportedFinding]) -> str:
    ill = {app for f in findings if f.severity != "info" for app in affected(f)}
    fine = max(0, report.summary.apps - len(ill))
    errors = [f for f in findings if f.severity == "error"]
    root = roots(report.findings)
    causes = len({root[identity(f)] for f in errors})
    behind = f"; {number(causes, 'cause')} behind {number(len(errors), 'error')}" if errors else ""
    return f"{fine:,} of {number(report.summary.apps, 'application')} are fine{behind}"


def _families(findings: Sequence[ReportedFinding]) -> str:
    counts: dict[str, tuple[int, int]] = {}
    for finding in findings:
        errors, others = counts.get(finding.family, (0, 0))
        bad = finding.severity == "error"
        counts[finding.family] = (errors + bad, others + (not bad))
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1][0], -entry[1][1], entry[0]))
    return ", ".join(
        f"{family} {number(errors, 'error') if errors else number(others, 'remark')}"
        for family, (errors, others) in ordered
    )


def _next(first: ReportedFinding, style: Style) -> Iterator[str]:
    """What to go on with; no command is wrapped."""
    again = f"{style.again} " if style.again else "add "
    steps = [
        (f"{again}-o concise", "every cause"),
        (f"{again}--full", "every finding"),
        (f"argolint explain {rule_name(first)}", "why, what to do"),
    ]
    if style.again:
        steps.append(("argolint check", "your own Argo CD"))
    width = max(len(command) for command, _ in steps)
    room = style.width - width - 14
    for place, (command, what) in enumerate(steps):
        lead = paint("next", style, bold=True) + " " * 8 if place == 0 else " " * 12
        yield f"{lead}{command:{width}}  {paint(what, style, dim=True) if len(what) <= room else ''}".rstrip()
