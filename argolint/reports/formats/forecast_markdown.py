"""A forecast as Markdown for an issue or a pull request: deletions and breakages first.

All text from manifests is untrusted and escaped as in the comment on a pull request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from argolint.reports.document import Report, ReportedFinding
from argolint.reports.formats import Style, app_name
from argolint.reports.formats.edits import as_text
from argolint.reports.formats.forecast_text import HEADS, groups, summary, title, turns
from argolint.reports.formats.markdown import LIMIT, MARKER, block, code, text

_PLACES = 20
_MARKS = {"refuses": "⛔", "deletes": "🗑️", "breaks": "🔴", "hangs": "⏳", "stays": "📌", "looks-different": "🔵"}


def render(report: Report, style: Style) -> str:
    """The whole forecast; if something does not fit into a comment, its number is given."""
    forecast = report.forecast
    assert forecast
    lines = [MARKER, f"## argolint forecast: {text(title(forecast))}", "", f"**{text(summary(report))}**", ""]
    lines += [f"{index}. {text(line)}" for index, line in enumerate(forecast.order, start=1)]
    lines += [""] if forecast.order else []
    lines += _findings(report)
    lines += _steps(report)
    if forecast.look:
        lines += ["### No API shows this; look yourself", ""]
        lines += [f"- {text(look.says)} {code(look.look)}" for look in forecast.look]
        lines += [""]
    unknown = [*forecast.unknown, *(f"{f.stage}: {f.error}" for f in report.failures)]
    if unknown:
        lines += ["### Not known", "", *(f"- {text(line)}" for line in unknown), ""]
    return _fitting(lines)


def _findings(report: Report) -> Iterator[str]:
    assert report.forecast
    effect = ""
    for cause, found in groups(report, report.forecast):
        if cause.effect != effect:
            effect = cause.effect
            yield f"### {_MARKS[effect]} {HEADS[effect]}"
            yield ""
        since = f", since {text(cause.product)} {text(cause.since)}" if cause.since else ""
        yield f"**{text(cause.cause)}**{since}"
        yield ""
        yield from (f"- {_place(f)}{text(f.message)}" for f in found[:_PLACES])
        if found[_PLACES:]:
            yield f"- and {len(found) - _PLACES} more; the JSON report has all of them"
        yield ""
        yield from _first(found)


def _place(f: ReportedFinding) -> str:
    return "" if f.app.name in f.message else f"{code(app_name(f.app))}: "


def _first(found: Sequence[ReportedFinding]) -> Iterator[str]:
    for fix in found[0].fixes[:1]:
        yield f"First: {text(fix.title)} in {code(fix.where)}"
        yield ""
        language = {"json-patch": "yaml", "yaml": "yaml", "command": "sh", "text": "text"}[fix.edit.kind]
        yield from block(language, as_text(fix.edit).splitlines())
        if fix.caveat:
            yield f"*But:* {text(fix.caveat)}"
            yield ""


def _steps(report: Report) -> Iterator[str]:
    assert report.forecast
    steps = report.forecast.steps
    if not steps:
        return
    yield "### In this order"
    yield ""
    if report.forecast.kind != "move":
        yield from (f"- {text(line)}" for line in turns(steps, whole=False))
        yield ""
        return
    for index, step in enumerate(steps, start=1):
        yield f"{index}. {text(step.what)}"
        if step.command:
            yield ""
            yield from block("sh", step.command.splitlines())
        if step.check:
            yield "   Check:"
            yield ""
            yield from block("sh", step.check.splitlines())
    yield ""


def _fitting(lines: Sequence[str]) -> str:
    kept: list[str] = []
    room = LIMIT
    for index, line in enumerate(lines):
        room -= len(line.encode()) + 1
        if room < 0:
            return "\n".join((*kept, f"✂️ {len(lines) - index} more lines are in the JSON report.")) + "\n"
        kept.append(line)
    return "\n".join(kept).rstrip() + "\n"
