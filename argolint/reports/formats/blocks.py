"""One block per cause for a screen: the applications, the fault, the findings that follow from it, and the first fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache

from argolint.reports.causes import affected, causes_of
from argolint.reports.document import Cause, Report, ReportedApp, ReportedFinding, is_of_several
from argolint.reports.formats import Style, app_name, line_of, resource_name
from argolint.reports.formats.fixes import fix_lines, is_masked
from argolint.reports.formats.frames import frame_lines
from argolint.reports.formats.layout import SEVERITY, cut, elided, number, paint, rule_name, visible, wrapped

_INDENT = "         "
_NAMES = 3
_HEADLINES = ("ownership", "nondeterminism", "secrets")
"""Families of faults that no other tool reports; they come first."""
_SENTENCE = 6
"""Most lines of a message on a screen: one of twenty-five words takes three."""
_FOLLOWING = 5
_PASTE_LINES = 12

Group = tuple[Cause, list[ReportedFinding]]


def screen(report: Report, style: Style, room: int = 0) -> tuple[list[str], list[Group]]:
    """The lines of one block per cause, and the causes that got one, in the report's order.

    `room`: the most lines, 0 for no limit. Then the worst cause gets a block first, next the first cause of each family, then the others.
    Lines that remain show the first blocks in full. Infos get a block only where there is nothing worse.
    """
    groups = causes_of(report)
    if room:
        groups = [group for group in groups if group[0].severity != "info"] or groups
    name = named(report)

    @cache
    def whole(place: int) -> list[str]:
        return list(cause_block(*groups[place], style, name, limit=_PASTE_LINES))

    @cache
    def brief(place: int) -> list[str]:
        return list(_brief(*groups[place], style, name))

    if not room:
        return [line for place in range(len(groups)) for line in (*whole(place), "")], groups
    kept = sorted(_fitting(groups, lambda place: _rows(brief(place), style) + 1, room))
    spare = room - sum(_rows(brief(place), style) + 1 for place in kept)
    lines: list[str] = []
    for place in kept:
        more = _rows(whole(place), style) - _rows(brief(place), style) if len(kept) == len(groups) else spare + 1
        if more <= spare:
            lines += [*whole(place), ""]
            spare -= more
        else:
            lines += [*brief(place), ""]
    return lines, [groups[place] for place in kept]


def _rows(block: Sequence[str], style: Style) -> int:
    """The rows of a block on the terminal: a line to paste may wrap onto several."""
    return sum(max(1, -(-visible(line) // max(1, style.width))) for line in block)


def named(report: Report) -> Callable[[ReportedApp], str]:
    """A function that names an application as commands accept it; it leaves out the namespace if all have the same."""
    if is_of_several(report):
        return app_name
    namespaces = {a.app.namespace for a in report.applications}
    return app_name if len(namespaces) != 1 else lambda app: app_name(app, namespace=False)


_LEAST = 4
"""The least lines of a block and its blank line: with less room, stop."""


_LOOKED = 100
"""Causes to try for the remaining room: later ones hardly fit better."""


def _fitting(groups: Sequence[Group], lines: Callable[[int], int], room: int) -> set[int]:
    """Positions of the causes that fit on the screen: the worst, the first of each family (the headline families first), then what still fits."""
    families = Counter(f.family for _, group in groups for f in group if f.severity == "error")
    firsts: dict[str, int] = {}
    for place, (_, group) in enumerate(groups):
        firsts.setdefault(group[0].family, place)
    ordered = sorted(firsts, key=lambda family: (family not in _HEADLINES, -families[family]))
    kept: set[int] = set()
    for place in (
        *range(min(1, len(groups))),
        *(firsts[family] for family in ordered),
        *range(min(len(groups), _LOOKED)),
    ):
        if room < _LEAST and kept:
            break
        if place not in kept and (lines(place) <= room or not kept):
            kept.add(place)
            room -= lines(place)
    return kept


def _brief(
    cause: Cause, findings: Sequence[ReportedFinding], style: Style, name: Callable[[ReportedApp], str]
) -> Iterator[str]:
    """A short block: the whole message, and the title of an error's first fix."""
    yield from cut(list(_head(cause, findings, style, name)), 2, style)
    yield from cut(list(_message(cause, findings, style)), _SENTENCE, style)
    yield from cut(list(_rules(findings, style, 1, brief=True)), 1, style)
    fix = next((fix for f in findings for fix in f.fixes[:1]), None)
    if fix is None or cause.severity != "error":
        return
    brief = replace(style, verbose=False)
    parts = list(fix_lines(fix, 1, 1, brief, _INDENT, 1))
    checked = paint("✓ ", style, fg="green") if fix.verified else ""
    title = wrapped(
        f"{paint('fix: ', style, fg='green')}{checked}{elided(fix.title, style)}", style, _INDENT, _INDENT + "  "
    )
    yield from cut(title, 2, style)
    if fix.caveat:  # a short block shows the command only if the fix has no caveat
        return
    if fix.edit.kind == "command" and "\n" not in str(fix.edit.content).strip() and not is_masked(fix):
        yield from (line for line in parts[-1:] if len(line) <= style.width)


def cause_block(
    cause: Cause,
    findings: Sequence[ReportedFinding],
    style: Style,
    name: Callable[[ReportedApp], str],
    *,
    limit: int | None = None,
) -> Iterator[str]:
    """The full block of a cause: its findings by message, its first fix, or every fix with -v."""
    yield from _head(cause, findings, style, name)
    yield from _message(cause, findings, style)
    yield from _rules(findings, style)
    first = findings[0]
    if where := line_of(first):
        yield from wrapped(f"at {where}", style, indent=_INDENT, hang=_INDENT + "  ")
    yield from frame_lines(first, style, _INDENT)
    following = [f for f in findings if f.message != cause.title]
    for finding in following if limit is None else following[:_FOLLOWING]:
        label = paint(rule_name(finding), style, bold=True)
        yield from wrapped(
            f"· {elided(name(finding.app), style)} {label}: {elided(finding.message, style)}",
            style,
            _INDENT,
            _INDENT + "  ",
        )
    if limit is not None and len(following) > _FOLLOWING:
        yield paint(f"{_INDENT}· and {len(following) - _FOLLOWING} more that follow from it", style, dim=True)
    fixes = next((f.fixes for f in findings if f.fixes), ())
    for place, fix in enumerate(fixes if style.verbose else fixes[:1], 1):
        yield from fix_lines(fix, place, len(fixes), style, _INDENT, limit)


def _head(
    cause: Cause, findings: Sequence[ReportedFinding], style: Style, name: Callable[[ReportedApp], str]
) -> Iterator[str]:
    """The applications, and how many of them the repair fixes."""
    names = list(dict.fromkeys(name(app) for f in findings for app in affected(f)))
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    parts = [paint(", ".join(elided(name, style) for name in names[:_NAMES]), style, bold=True) + more]
    if repaired := mended(cause, len(names)):
        parts.append(repaired)
    label = paint(f"{cause.severity:7}", style, fg=SEVERITY[cause.severity])
    yield from wrapped(f"{label}  {' · '.join(parts)}", style, hang=_INDENT)


def mended(cause: Cause, apps: int) -> str:
    """How many of a cause's applications its repair fixes: those without another finding as severe; empty for none."""
    if not cause.frees:
        return ""
    whole = "it" if apps == 1 else "both" if apps == 2 else "all"
    return f"fixes {whole if cause.frees >= apps else f'{cause.frees} of {apps}'}"


def _message(cause: Cause, findings: Sequence[ReportedFinding], style: Style) -> Iterator[str]:
    own = next((f for f in findings if f.message == cause.title), None)
    unsure = f" ({own.confidence})" if own is not None and own.confidence != "proven" else ""
    yield from wrapped(elided(cause.title, style) + unsure, style, indent=_INDENT)


def _rules(
    findings: Sequence[ReportedFinding], style: Style, rules: int = _NAMES, *, brief: bool = False
) -> Iterator[str]:
    """The rules and the number of findings; for a single finding its object and field."""
    ids = list(dict.fromkeys(rule_name(f) for f in findings))
    first = findings[0]
    parts = [", ".join(ids[:rules]) + (f" and {len(ids) - rules} more" if len(ids) > rules else "")]
    at = " ".join(filter(None, (resource_name(first.resource) if first.resource else "", first.pointer)))
    parts += (
        [number(len(findings), "finding")] if len(findings) > 1 else [elided(at, style)] if at and not brief else []
    )
    yield from (paint(text, style, dim=True) for text in wrapped(" · ".join(parts), style, indent=_INDENT))
