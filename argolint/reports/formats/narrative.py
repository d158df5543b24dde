"""`argolint why` for people: from Git to the cluster, then each fault with its reason and fix."""

from __future__ import annotations

from collections.abc import Iterator

from argolint.reports.chain import FieldState, Link, Origin, Why, Wrote
from argolint.reports.document import ReportedFinding
from argolint.reports.formats import Style, app_name, for_people, line_of, resource_name
from argolint.reports.formats.fixes import fix_lines
from argolint.reports.formats.frames import source_lines
from argolint.reports.formats.layout import paint, wrapped

_OBJECTS = 4  # objects of a step to name
_WIDTH = 10  # of the labels: `desired`, `because`, `involved`


def render(why: Why, style: Style) -> str:
    """The narrative; with -v every fix and all evidence."""
    why = for_people(why)
    lines = [
        f"{paint(app_name(why.app), style, bold=True)}  {why.sync or 'no sync status'}, {why.health or 'no health'}  {paint(f'({why.automation})', style, dim=True)}",
        *(line for origin in why.desired_from for line in _origin(origin, style)),
        *_text_lines("live on", why.cluster, style),
        *_text_lines("last sync", why.last_sync, style),
    ]
    for number, links in enumerate(_by_reason(why.chain), 1):
        lines += ["", *_links(links, number, style)]
    if not why.chain:
        lines += ["", "Argo CD shows nothing wrong with it." if why.also else "Nothing is wrong with it."]
    if why.steps:
        lines += ["", paint("Order of a sync", style, bold=True), *_steps(why, style)]
    if why.also:
        lines += ["", paint("Also found", style, bold=True)]
        shown: set[tuple[str, str]] = set()
        for finding in why.also:
            lines += [*_finding("", finding, style), *_fixes(finding, style, shown)]
    return "\n".join(lines) + "\n"


def _text_lines(word: str, text: str, style: Style) -> Iterator[str]:
    label = f"  {word:{_WIDTH}}"
    yield from wrapped(f"{label}{text}", style, hang=" " * len(label))


def _steps(why: Why, style: Style) -> Iterator[str]:
    names = [f"{'' if step.phase == 'Sync' else f'{step.phase} '}wave {step.wave}" for step in why.steps]
    width = max(map(len, names))
    for name, step in zip(names, why.steps, strict=True):
        objects = step.objects if style.verbose else step.objects[:_OBJECTS]
        more = [f"{len(step.objects) - len(objects)} more"] if len(step.objects) > len(objects) else []
        hooks = f" ({step.hooks} {'hook' if step.hooks == 1 else 'hooks'})" if step.hooks else ""
        label = f"  {name:{width}}  "
        text = f"{label}{', '.join([*map(resource_name, objects), *more])}{hooks}"
        yield from wrapped(text, style, hang=" " * len(label))
        for line in step.waits:
            yield from wrapped(f"{' ' * len(label)}> {line}", style, hang=" " * (len(label) + 2))


def _origin(origin: Origin, style: Style) -> Iterator[str]:
    what = " ".join(filter(None, (origin.chart and f"chart {origin.chart}", origin.path and f"path {origin.path}")))
    at = f"{origin.revision[:12]} ({origin.target})" if origin.revision else f"{origin.target}, not resolved"
    yield from _text_lines("desired", f"{origin.repo} {what} at {at}".replace("  ", " "), style)
    if origin.author or origin.message:
        yield from _text_lines("", f"{origin.author}, {origin.date}: {origin.message}", style)


def _by_reason(chain: tuple[Link, ...]) -> list[list[Link]]:
    """Links grouped by explanation, in the chain's order: each fault is reported once."""
    groups: dict[tuple[object, ...], list[Link]] = {}
    for index, link in enumerate(chain):
        reason = tuple(f.fingerprint for f in link.because) or (index,)
        groups.setdefault(reason, []).append(link)
    return list(groups.values())


def _links(links: list[Link], number: int, style: Style) -> Iterator[str]:
    for index, link in enumerate(links):
        lead = "   " if index else f"{number}. "
        yield from wrapped(f"{lead}{paint(link.fact, style, bold=True)}", style, hang="   ")
        for field in link.fields:
            yield from _field(field, style)
    first = links[0]
    for finding in first.because:
        yield from _finding("because", finding, style)
    for finding in {f.fingerprint: f for link in links for f in link.also}.values():
        yield from _finding("also", finding, style)
    if not first.because and first.kind not in ("field", "comment"):
        yield from _text_lines("because", "no rule explains it", style)
    for other in dict.fromkeys(i for link in links for i in link.involved):
        subject = f" {resource_name(other.resource)}" if other.resource else ""
        yield from _text_lines("involved", f"{app_name(other.app)}{subject} ({other.role})", style)
    shown: set[tuple[str, str]] = set()
    for finding in first.because or first.also:
        yield from _fixes(finding, style, shown)


def _fixes(finding: ReportedFinding, style: Style, shown: set[tuple[str, str]]) -> Iterator[str]:
    """The first fix, with -v every one; none that is in `shown`, since several findings may share one."""
    for index, fix in enumerate(finding.fixes if style.verbose else finding.fixes[:1], 1):
        if (fix.title, fix.where) not in shown:
            shown.add((fix.title, fix.where))
            yield from fix_lines(fix, index, len(finding.fixes), style)


def _field(field: FieldState, style: Style) -> Iterator[str]:
    yield from _text_lines("field", field.pointer, style)
    at = field.source
    where = f"  at {at.file}:{at.line}" if at is not None and at.file else ""
    yield from _text_lines("  Git", (field.desired if field.desired is not None else "not known") + where, style)
    if at is not None:
        yield from source_lines(at, style, " " * (_WIDTH + 2))
    by = ", ".join(_written(w) for w in field.writers)
    live = field.live if field.live is not None else "not known"
    yield from _text_lines("  live", live + (f"  written by {by}" if by else ""), style)


def _written(writer: Wrote) -> str:
    how = ", ".join(filter(None, (writer.operation, writer.subresource)))
    when = f" at {writer.time}" if writer.time else ""
    return f"{writer.manager} ({how}){when}" if how else writer.manager + when


def _finding(word: str, finding: ReportedFinding, style: Style) -> Iterator[str]:
    rule = finding.rule + (f"/{finding.cause}" if finding.cause else "")
    unsure = "" if finding.confidence == "proven" else f" ({finding.confidence})"
    yield from _text_lines(word, f"{rule}: {finding.message}{unsure}", style)
    if where := line_of(finding):
        yield from _text_lines("", f"at {where}", style)
    if style.verbose:
        for line in finding.evidence:
            yield from _text_lines("", f"· {line}", style)
