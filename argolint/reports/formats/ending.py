"""The end of a report for people: how many applications are healthy, the causes of the errors, where to start, and the next command."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from argolint.reports.causes import affected, identity, roots, worst_first
from argolint.reports.document import (
    Counts,
    Report,
    ReportedApp,
    ReportedFinding,
    counted,
    is_of_several,
    of_server,
)
from argolint.reports.formats import Style, app_name
from argolint.reports.formats.blocks import Group, named
from argolint.reports.formats.layout import cut, elided, number, paint, rule_name, visible, wrapped
from argolint.values import sh

_STARTS = 3
_WORTH_A_SUMMARY = 6
"""The number of findings from which a report has a summary."""
_MOST_SERVERS = 12


def ending(report: Report, style: Style, on_screen: Sequence[Group]) -> Iterator[str]:
    """The summary, then the line with all counts. `on_screen`: the causes shown above it."""
    shown = [f for f in report.findings if f.suppressed is None]
    if len(shown) >= _WORTH_A_SUMMARY and report.causes and not report.gate:
        yield from wrapped(_fine_text(report, shown, on_screen), style)
        yield from wrapped(f"families    {_families(shown)}", style, hang=" " * 12)
        name = named(report)
        for place, (_, group) in enumerate(on_screen[:_STARTS]):
            lead = f"{paint('start here', style, bold=True)}  " if place == 0 else " " * 12
            yield from cut(wrapped(_start(group, name, style), style, lead, " " * 12), 1, style)
        first = on_screen[0][1][0] if on_screen else worst_first(report)[0]
        yield from _next_steps(first, style)
    elif infos := _off_screen_infos(shown, on_screen):
        yield from wrapped(paint(f"Without {infos} info: --full shows all.", style, dim=True), style)
    if any(fix.verified is not True for _, group in on_screen for f in group for fix in f.fixes[:1]):
        yield from wrapped(paint(UNVERIFIED, style, dim=True), style)
    if not style.verbose and any(len(f.fixes) > 1 for _, group in on_screen for f in group):
        yield from wrapped(paint(MORE_FIXES, style, dim=True), style)
    yield from _servers(report, style)
    if style.since:
        yield from cut(wrapped(style.since, style), 1, style)
    yield from wrapped(one_line(report, style), style)


def _off_screen_infos(shown: Sequence[ReportedFinding], on_screen: Sequence[Group]) -> int:
    """The number of infos without a block, on a screen that has blocks."""
    blocks = {identity(f) for _, group in on_screen for f in group}
    return sum(f.severity == "info" and identity(f) not in blocks for f in shown) if blocks else 0


UNVERIFIED = "✓ verified: replayed in memory, the finding was gone. No ✓: not verified."
"""This note comes once at the end, instead of at each fix."""
MORE_FIXES = "Some findings have another fix: -v shows it."


def _start(group: Sequence[ReportedFinding], name: Callable[[ReportedApp], str], style: Style) -> str:
    """The name of a cause as in its block: the rule and the application."""
    return f"{rule_name(group[0])} in {elided(name(group[0].app), style)}"


def _servers(report: Report, style: Style) -> Iterator[str]:
    """One line per Argo CD, in a report of several; one that could not be read has no applications."""
    if not is_of_several(report):
        return
    rows = {str(s.name): counts_text(counted(of_server(report, s.url))) or "nothing found" for s in report.servers}
    apps = {str(s.name): number(s.apps, "application") for s in report.servers}
    rows |= {str(f.server): "not read" for f in report.failures if f.server and f.server not in rows}
    width = max(map(visible, rows))
    most = _MOST_SERVERS if style.lines else len(rows)
    for name, words in sorted(rows.items())[:most]:
        pad = " " * (width - visible(name))
        yield f"{paint(name, style, bold=True)}{pad}  " + (f"{apps[name]}: {words}" if name in apps else words)
    if len(rows) > most:
        yield f"and {len(rows) - most} more servers, with --full"


def one_line(report: Report, style: Style) -> str:
    """All counts and the cost of the run in one line."""
    s, stats = report.summary, report.stats
    words = counts_text(s.findings) or "nothing found"
    bad = "red" if s.findings.error else "yellow" if s.findings.warning else "green"
    parts = [
        f"{number(s.apps, 'application')}, {number(s.resources, 'resource')}: {paint(words, style, fg=bad, bold=True)}"
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
    words = [number(n, word) for n, word in ((counts.error, "error"), (counts.warning, "warning")) if n]
    return ", ".join([*words, *([f"{counts.info} info"] if counts.info else [])])


def statistics(findings: Sequence[ReportedFinding], style: Style) -> Iterator[str]:
    """One line per rule, the most frequent first: findings by severity, and the number of applications."""
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


def _fine_text(report: Report, findings: Sequence[ReportedFinding], on_screen: Sequence[Group]) -> str:
    errors = [f for f in findings if f.severity == "error"]
    root = roots(report.findings)
    causes = len({root[identity(f)] for f in errors})
    behind = f"; {number(causes, 'cause')} behind {number(len(errors), 'error')}" if errors else ""
    every = len({root[identity(f)] for f in findings})
    part = f"; {len(on_screen)} of {number(every, 'cause')} shown" if 0 < len(on_screen) < every else ""
    return f"{fine(report):,} of {number(report.summary.apps, 'application')} are fine{behind}{part}"


def fine(report: Report) -> int:
    """The number of applications without an error or a warning that no finding names as affected."""
    ill = {app for f in report.findings if f.suppressed is None and f.severity != "info" for app in affected(f)}
    return max(0, report.summary.apps - len(ill))


def _families(findings: Sequence[ReportedFinding]) -> str:
    """Each family with the number of findings of its worst severity."""
    counts: dict[str, dict[str, int]] = {}
    for finding in findings:
        own = counts.setdefault(finding.family, {"error": 0, "warning": 0, "info": 0})
        own[finding.severity] += 1
    ordered = sorted(counts.items(), key=lambda entry: (*(-n for n in entry[1].values()), entry[0]))
    words = []
    for family, (error, warning, info) in ((family, own.values()) for family, own in ordered):
        most = number(error, "error") if error else number(warning, "warning") if warning else f"{info} info"
        words.append(f"{family} {most}")
    return ", ".join(words)


def _next_steps(first: ReportedFinding, style: Style) -> Iterator[str]:
    """The commands to go on with; they are not wrapped."""
    again = f"{style.again} " if style.again else "add "
    read = "".join(f" --snapshot {sh(path)}" for path in style.snapshots)
    steps = [
        (f"argolint why {sh(app_name(first.app))}{read}", "from Git to the cluster, and what is wrong"),
        (f"argolint explain {rule_name(first)}", "why, what to do"),
        (f"{again}-o concise", "every cause"),
        (f"{again}--full", "every finding"),
    ]
    if style.again:
        steps = [*steps[1:], ("argolint check", "your own Argo CD")]
    width = max(len(command) for command, _ in steps if not read or read not in command)
    for place, (command, what) in enumerate(steps):
        room = style.width - max(width, len(command)) - 14
        lead = paint("next", style, bold=True) + " " * 8 if place == 0 else " " * 12
        yield f"{lead}{command:{width}}  {paint(what, style, dim=True) if len(what) <= room else ''}".rstrip()
