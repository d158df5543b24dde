"""A forecast for a terminal: deletions and breakages first, then cosmetic changes; by cause, with the steps to take first.

The summary is at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from argolint.reports.document import (
    Forecast,
    ForecastCause,
    ForecastStep,
    Report,
    ReportedFinding,
)
from argolint.reports.formats import Style, app_name, resource_name
from argolint.reports.formats.edits import as_text
from argolint.reports.formats.layout import SEVERITY, number, paint, wrapped

HEADS: Mapping[str, str] = {
    "refuses": "Cannot be done",
    "deletes": "Is deleted",
    "breaks": "Breaks",
    "hangs": "Hangs",
    "stays": "Stays",
    "looks-different": "Only looks different",
}
_PLACES = 6
"""Places to show for one cause, unless all are requested."""


def render(report: Report, style: Style) -> str:
    """The whole forecast; with -q only its last line."""
    forecast = report.forecast
    assert forecast
    if style.quiet:
        return summary(report) + "\n"
    lines = [
        *_head(forecast, style),
        *_order(forecast, style),
        *_findings(report, forecast, style),
        *_steps(forecast, style),
        *_look(forecast, style),
        *_unknown(report, forecast, style),
        *wrapped(paint(summary(report), style, bold=True), style),
    ]
    return "\n".join(lines) + "\n"


def title(forecast: Forecast) -> str:
    """The title for the first line: what the forecast is about."""
    if forecast.kind == "upgrade":
        return "Upgrade: " + ", ".join(f"{v.product} {v.today} → {v.then}" for v in forecast.versions)
    what = {"delete": "Deletion of", "prune": "Prune of", "move": "Move of"}[forecast.kind]
    return f"{what} {', '.join(forecast.about)}"


def _head(forecast: Forecast, style: Style) -> Iterator[str]:
    yield from wrapped(paint(title(forecast), style, bold=True), style)
    yield ""


def _order(forecast: Forecast, style: Style) -> Iterator[str]:
    for index, line in enumerate(forecast.order, start=1):
        if index == 1:
            yield paint("In this order", style, bold=True)
        yield from wrapped(line, style, f"  {index}. ", "     ")
    if forecast.order:
        yield ""


def groups(report: Report, forecast: Forecast) -> Iterator[tuple[ForecastCause, Sequence[ReportedFinding]]]:
    """The findings by cause, in the order of the forecast."""
    for cause in forecast.causes:
        yield cause, [f for f in report.findings if f.cause == cause.cause]


def _findings(report: Report, forecast: Forecast, style: Style) -> Iterator[str]:
    effect = ""
    for cause, found in groups(report, forecast):
        if cause.effect != effect:
            effect = cause.effect
            yield paint(HEADS[effect], style, bold=True)
        worst = found[0].severity if found else "info"
        since = f" since {cause.product} {cause.since}" if cause.since else ""
        places = f"{number(cause.findings, 'place')} in {number(cause.apps, 'application')}"
        yield from wrapped(f"{paint(cause.cause, style, fg=SEVERITY[worst])}{since}: {places}", style, "  ", "    ")
        limit = len(found) if style.full or style.verbose else _PLACES
        for f in found[:limit]:
            yield from wrapped(f"{_place(f)}{f.message}", style, "    ", "      ")
            for line in f.evidence if style.verbose else ():
                yield from wrapped(line, style, "      ", "      ")
        if len(found) > limit:
            yield f"    … and {len(found) - limit} more (--full)"
        yield from _first(found, style)
        yield ""


def _place(f: ReportedFinding) -> str:
    """The application or object, if the message does not name it."""
    return "" if f.app.name in f.message else f"{app_name(f.app)}: "


def _first(found: Sequence[ReportedFinding], style: Style) -> Iterator[str]:
    """The step to take first, written once: findings of one cause share it."""
    for fix in found[0].fixes[: None if style.verbose else 1] if found else ():
        yield from wrapped(f"→ first: {fix.title}", style, "    ", "      ")
        yield from wrapped(fix.where, style, "      ", "      ")
        for line in as_text(fix.edit).splitlines()[:12]:
            yield f"        {line}"
        if fix.caveat:
            yield from wrapped(f"mind: {fix.caveat}", style, "      ", "      ")


def _steps(forecast: Forecast, style: Style) -> Iterator[str]:
    if not forecast.steps:
        return
    yield paint("Steps" if forecast.kind == "move" else "In this order", style, bold=True)
    if forecast.kind == "move":
        for index, step in enumerate(forecast.steps, start=1):
            yield from _step(index, step, style)
    else:
        for line in turns(forecast.steps, whole=style.full or style.verbose):
            yield from wrapped(line, style, "  ", "     ")
    yield ""


def _step(index: int, step: ForecastStep, style: Style) -> Iterator[str]:
    yield from wrapped(step.what, style, f"  {index}. ", "     ")
    for line in step.command.splitlines():
        yield f"       {line}"
    if step.check:
        yield "     check:"
        for line in step.check.splitlines():
            yield f"       {line}"


def turns(steps: Sequence[ForecastStep], *, whole: bool) -> Iterator[str]:
    """One line per turn and application: what is deleted together. Long lists are cut unless `whole`."""
    together: dict[tuple[int, str, str], list[str]] = {}
    for step in steps:
        of = (step.turn, app_name(step.app) if step.app else "", step.what)
        together.setdefault(of, []).append(resource_name(step.resource) if step.resource else "")
    for (turn, app, what), names in together.items():
        shown = names if whole else names[:_PLACES]
        more = f" and {len(names) - len(shown)} more" if names[len(shown) :] else ""
        yield f"{turn}. {app}, {what}: {', '.join(shown)}{more}"


def _look(forecast: Forecast, style: Style) -> Iterator[str]:
    if not forecast.look:
        return
    yield paint("No API shows this; look yourself", style, bold=True)
    for look in forecast.look:
        yield from wrapped(f"{look.says} ({look.product} {look.since})", style, "  ", "    ")
        yield f"      {look.look}"
    yield ""


def _unknown(report: Report, forecast: Forecast, style: Style) -> Iterator[str]:
    texts = [
        *forecast.unknown,
        *(f"{f.stage}{f' of {app_name(f.app)}' if f.app else ''}: {f.error}" for f in report.failures),
    ]
    if not texts:
        return
    yield paint("Not known", style, bold=True)
    for line in texts:
        yield from wrapped(line, style, "  ", "    ")
    yield ""


def summary(report: Report) -> str:
    """One line: the number of places and applications for each effect."""
    forecast = report.forecast
    assert forecast
    counts: dict[str, int] = {}
    for cause in forecast.causes:
        counts[cause.effect] = counts.get(cause.effect, 0) + cause.findings
    if forecast.kind in ("delete", "prune"):
        counts.pop("deletes", None)
        gone = [f"{number(len(forecast.steps), 'object')} deleted"] if forecast.steps else ["nothing is deleted"]
    else:
        gone = [number(len(forecast.steps), "step")] if forecast.steps else []
    shown = [(n, _SUMMED[effect][n == 1]) for effect in HEADS if (n := counts.get(effect))]
    parts = [*gone, *(f"{n if at else number(n, 'place')} {verb}" for at, (n, verb) in enumerate(shown))]
    open_ = [*(["something could not be known"] if not report.complete else [])]
    said = ", ".join([*parts, *open_]) or "nothing changes"
    return f"{number(report.summary.apps, 'application')}: {said}" if report.summary.apps else said


_SUMMED = {
    "breaks": ("break", "breaks"),
    "deletes": ("are deleted", "is deleted"),
    "looks-different": ("only look different", "only looks different"),
    "stays": ("stay", "stays"),
    "hangs": ("hang", "hangs"),
    "refuses": ("forbid it", "forbids it"),
}
"""The plural and the singular of each effect."""
