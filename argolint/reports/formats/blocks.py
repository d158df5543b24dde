"""One cause a block, as a screen shows many findings: what is wrong, where it shows, whom it frees, and the first fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from argolint.reports.causes import affected, causes_of
from argolint.reports.document import Cause, Report, ReportedApp, ReportedFinding
from argolint.reports.formats import Style, app_name
from argolint.reports.formats.fixes import fix_lines
from argolint.reports.formats.layout import SEVERITY, cut, number, paint, rule_name, wrapped

_INDENT = "         "
_NAMES = 3
_HEADLINES = ("ownership", "nondeterminism", "secrets")
"""Families that no other tool looks at."""
_PASTE_LINES = 3


def blocks(report: Report, style: Style, room: int = 0) -> Iterator[str]:
    """A block a cause. Where there is `room` for that many lines only, the first of each family and then the others."""
    groups = causes_of(report)
    name = named(report)
    found = [list(_block(cause, group, style, name, screen=room > 0)) for cause, group in groups]
    kept = _fitting(groups, [len(block) + 1 for block in found], room) if room else range(len(found))
    for place, block in enumerate(found):
        if place in kept:
            yield from block
            yield ""


def named(report: Report) -> Callable[[ReportedApp], str]:
    """How an application is called: without its namespace where all of them have the same."""
    namespaces = {a.app.namespace for a in report.applications}
    return app_name if len(namespaces) != 1 else lambda app: app_name(app, namespace=False)


def _fitting(groups: Sequence[tuple[Cause, Sequence[ReportedFinding]]], lines: Sequence[int], room: int) -> set[int]:
    """What a screen shows: of each family its first cause, the headlines and then families of most errors first, then what else fits."""
    families = Counter(f.family for _, group in groups for f in group if f.severity == "error")
    firsts: dict[str, int] = {}
    for place, (_, group) in enumerate(groups):
        firsts.setdefault(group[0].family, place)
    ordered = sorted(firsts, key=lambda family: (family not in _HEADLINES, -families[family]))
    kept: set[int] = set()
    for place in (*(firsts[family] for family in ordered), *range(len(groups))):
        if place not in kept and (lines[place] <= room or not kept):
            kept.add(place)
            room -= lines[place]
    return kept


def _block(
    cause: Cause, findings: Sequence[ReportedFinding], style: Style, name: Callable[[ReportedApp], str], *, screen: bool
) -> Iterator[str]:
    """What fits in few lines: on a screen the sentence is cut, and only an error has its fix here."""
    head = list(_head(cause, style))
    yield from cut(head, 2, style) if screen else head
    yield from cut(list(_where(cause, findings, style, name, 1)), 2, style)
    fix = next((fix for f in findings for fix in f.fixes[:1]), None)
    if fix is None or cause.severity != "error":
        return
    brief = replace(style, verbose=False)
    if not screen:
        yield from fix_lines(fix, 1, 1, brief, _INDENT, _PASTE_LINES)
        return
    told = list(fix_lines(fix, 1, 1, brief, _INDENT, _PASTE_LINES))
    title = wrapped(f"{paint('fix: ', style, fg='green')}{fix.title}", style, indent=_INDENT, hang=_INDENT + "  ")
    yield from cut(title, 1, style)
    if fix.caveat:  # what is to be pasted stands where there is room for what it costs
        yield from cut(wrapped("caveat: " + fix.caveat, style, indent=_INDENT + "  "), 1, style)
    elif fix.edit.kind == "command" and "\n" not in str(fix.edit.content).strip():
        yield told[-1]


def cause_block(
    cause: Cause, findings: Sequence[ReportedFinding], style: Style, name: Callable[[ReportedApp], str]
) -> Iterator[str]:
    """One cause with all that is known of it: every finding behind it by its message, every fix with -v."""
    yield from _head(cause, style)
    yield from _where(cause, findings, style, name)
    for finding in findings:
        if finding.message != cause.title:
            label = paint(rule_name(finding), style, bold=True)
            yield from wrapped(f"· {label} {name(finding.app)}: {finding.message}", style, _INDENT, _INDENT + "  ")
    fixes = next((f.fixes for f in findings if f.fixes), ())
    for place, fix in enumerate(fixes if style.verbose else fixes[:1], 1):
        yield from fix_lines(fix, place, len(fixes), style, _INDENT)


def _head(cause: Cause, style: Style) -> Iterator[str]:
    label = paint(f"{cause.severity:7}", style, fg=SEVERITY[cause.severity])
    yield from wrapped(f"{label}  {cause.title}", style, hang=_INDENT)


def _where(
    cause: Cause,
    findings: Sequence[ReportedFinding],
    style: Style,
    name: Callable[[ReportedApp], str],
    rules: int = _NAMES,
) -> Iterator[str]:
    """The applications, those that are freed, how many findings, and the rules."""
    names = list(dict.fromkeys(name(app) for f in findings for app in affected(f)))
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    told = [f"in {', '.join(names[:_NAMES])}{more}"]
    if cause.frees:
        whole = "it" if len(names) == 1 else "both" if len(names) == 2 else "all"
        told.append(f"frees {whole if cause.frees >= len(names) else f'{cause.frees} of {len(names)}'}")
    if len(findings) > 1:
        told.append(number(len(findings), "finding"))
    ids = list(dict.fromkeys(rule_name(f) for f in findings))
    told.append(", ".join(ids[:rules]) + (f" and {len(ids) - rules} more" if len(ids) > rules else ""))
    yield from (paint(text, style, dim=True) for text in wrapped(" · ".join(told), style, indent=_INDENT))
