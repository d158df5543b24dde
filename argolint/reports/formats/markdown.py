"""A comment on a pull request: new findings first, then the changes of each application, folded.

All text from manifests is untrusted: it is escaped so that it cannot format, link, mention anyone or close a fold. GitHub refuses a comment
of more than 65,536 characters; if something does not fit, its number is given.
"""

from __future__ import annotations

import html
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import takewhile

from argolint.model import DESTINATION
from argolint.reports.causes import causes_of, with_causes
from argolint.reports.document import (
    Gate,
    GateApp,
    GateChange,
    GateField,
    Report,
    ReportedApp,
    ReportedFailure,
    ReportedFinding,
    ReportedFix,
    docs_link,
    page,
)
from argolint.reports.formats import OUTSIDE, Style, app_name, is_outside, resource_name, subject_of
from argolint.reports.formats.edits import as_text, effects_text, proof_text, steps_before
from argolint.reports.formats.fixes import MASKED, is_masked
from argolint.reports.formats.hunks import hunk
from argolint.reports.formats.layout import unanswered
from argolint.reports.formats.links import of_line
from argolint.reports.ownership.diagrams import MERMAID_NODES, mermaid
from argolint.reports.ownership.findings import held
from argolint.reports.ownership.graph import parts, picture
from argolint.values import shorten
from argolint.values.patterns import regex

MARKER = "<!-- argolint -->"
"""First line of the comment; the next run finds the comment by it."""
LIMIT = 65_000
"""Most bytes of UTF-8; the forge counts characters, which are never more."""
_RESERVE = 1_800
_BLOCK_LINES = 40
_VALUE = 300
_NAMED = 20
_SAME = 3
"""A field that changes in the same way in this many objects is shown once."""
_MARK = {"error": "🔴", "warning": "🟠", "info": "🔵"}


def render(report: Report, style: Style) -> str:
    """The comment. Findings get at least two thirds of the bytes, diffs the rest; with few findings it is short."""
    if report.forecast:
        from argolint.reports.formats import forecast_markdown

        return forecast_markdown.render(report, style)
    report = with_causes(report)
    groups = [group for _, group in causes_of(report)]
    findings = [f for group in groups for f in group]
    gate = report.gate or None
    head = "\n".join(_head(report, findings, gate))
    room = LIMIT - _RESERVE - _size(head)
    diffs = [_app(app) for app in gate.apps if app.changes or app.notes or app.what != "changed"] if gate else []
    reserved = min(room // 3, sum(map(_size, diffs)))
    whole, short = [_cause(group, gate) for group in groups], ["".join(map(_short, group)) for group in groups]
    spare = max(room - reserved - sum(map(_size, short)), (room - reserved) // 3)
    written = _longer(whole, short, spare)
    room -= sum(map(_size, written))
    lines, unlisted = _fit(short[len(written) :], room - reserved)
    room -= sum(map(_size, lines))
    if groups:  # with findings, the diffs get little room
        room = min(
            room, max(_DIFFS, _EACH * max(2, len(groups)) - _size(head) - sum(map(_size, written)) - _size(_ACCEPT))
        )
    shown, hidden = _fit(diffs, room)
    listed = sum(len(group) for group in groups[len(written) : len(written) + len(lines)])
    left_out = sum(len(group) for group in groups[len(groups) - unlisted :]) if unlisted else 0
    cuts = [
        *([f"Listed in one line each: {_count(listed, 'finding')}."] if listed else []),
        *([f"Left out: {_count(left_out, 'finding')}."] if left_out else []),
        *([f"Left out: the changes of {_count(hidden, 'application')}."] if hidden else []),
    ]
    if cuts:
        cuts = [f"\n✂️ This comment is kept short. {' '.join(cuts)} The JSON report holds everything.\n"]
    heading = ["\n### What changes\n\n"] if shown else []
    pictures = _pictures(findings, room - sum(map(_size, shown)))
    accept = [_ACCEPT] if findings else []
    return "".join((head, "\n", *written, *lines, *pictures, *heading, *shown, *cuts, *accept, "\n", _foot(report)))


_EACH = 3_000
"""Bytes for each cause, at least for two: no one reads longer comments."""
_DIFFS = 700
"""Bytes that diffs get in any case."""
_BLOCK = 1_900
"""Most bytes of one cause: what is not needed to act is left out first."""
_PICTURES = 5
"""Most conflicts with a picture of their own."""


def _pictures(findings: Sequence[ReportedFinding], room: int) -> list[str]:
    """The picture of who claims what, if it fits."""
    pictures = [picture(part, MERMAID_NODES) for part in parts(held(findings))[:_PICTURES]]
    text_ = f"\n### Who claims what\n\n```mermaid\n{mermaid(pictures)}```\n"
    return [text_] if pictures and _size(text_) <= room else []


_ACCEPT = """
<details><summary>How to accept a finding</summary>

A change cannot excuse itself: what accepts a finding counts once it is on the base branch.

- one object or application: the annotation `argolint.dev/ignore.RULE: the reason`
- more than one: an entry under `ignore:` in `.argolint.yaml`
- all that is there today: `argolint baseline -o FILE`, and `--baseline FILE` here

</details>
"""


def problem(message: str, hint: str) -> str:
    """The comment of a gate that could not start; it replaces the comment of an earlier run."""
    written = [f"**Could not judge this change:** {text(_cut(' '.join(message.split())))}"]
    if hint:
        written.append(f"→ {text(_cut(' '.join(hint.split())))}")
    return (
        "\n\n".join((f"{MARKER}\n## argolint: no verdict ⚠️", *written, "What an earlier run said no longer counts."))
        + "\n"
    )


def _longer(whole: Sequence[str], short: Sequence[str], spare: int) -> list[str]:
    """The first findings in full, as long as `spare` bytes cover what they take beyond their one line."""
    kept: list[str] = []
    for block, line in zip(whole, short, strict=True):
        spare -= _size(block) - _size(line)
        if spare < 0:
            break
        kept.append(block)
    return kept


def _fit(blocks: Sequence[str], room: int) -> tuple[list[str], int]:
    """The first blocks that fit, and the number of the others."""
    kept: list[str] = []
    for block in blocks:
        room -= _size(block)
        if room < 0:
            break
        kept.append(block)
    return kept, len(blocks) - len(kept)


def _size(text: str) -> int:
    return len(text.encode())


def _head(report: Report, findings: Sequence[ReportedFinding], gate: Gate | None) -> Iterable[str]:
    counts = Counter[str](f.severity for f in findings)
    new = "new " if gate else ""
    written = [
        f"{counts[s]} {new if n == 0 else ''}{s}{'s' if counts[s] > 1 and s != 'info' else ''}"
        for n, s in enumerate(s for s in _MARK if counts[s])
    ]
    yield MARKER
    unknown = any(app.is_unknown for app in gate.apps) if gate else False
    sure = "✅" if report.complete and not unknown else "so far ⚠️"
    yield (
        f"## argolint: {', '.join(written)}"
        if findings
        else f"## argolint: nothing {'new' if gate else 'found'} {sure}"
    )
    yield ""
    if gate:
        yield f"**Fails** because {text(_cut(gate.fails))}." if gate.fails else "**Passes.**"
        yield ""
    if gate:
        touched = len({a.app for a in gate.apps})
        yield (
            f"{code(gate.base)} → {code(gate.head)} changes {_count(touched, 'application')}: "
            f"{_count(gate.new, 'new finding')}, {gate.fixed} fixed, {gate.unchanged} unchanged. "
            f"Findings already on {code(gate.base)} are not shown."
        )
    else:
        yield f"{_count(report.summary.apps, 'application')} looked at."
    for line in (gate.deletes or ()) if gate else ():
        yield f"- 🗑️ {text(line)}"
    gone = gate.gone if gate else ()
    for finding in gone[:_NAMED]:
        where = f"{resource_name(finding.resource)} in " if finding.resource else ""
        yield f"- ✅ fixed: {code(finding.rule)} on {text(where + app_name(finding.app))}"
    if gone[_NAMED:]:
        yield f"- and {len(gone) - _NAMED} more"
    if report.remarks:
        yield from ("", *(f"- {text(remark)}" for remark in report.remarks))
    if gate and (gate.unchecked or gate.unlisted):
        yield ""
        yield from (f"- not checked: {text(line)}" for line in gate.unchecked or ())
        yield from (f"- left out: {text(line)}" for line in gate.unlisted)
    if not report.complete:
        failures = [f for f in report.failures if f.stage != DESTINATION]
        yield from (
            "",
            "⚠️ **Incomplete**, some things could not be looked at:",
            *(_cut(f"- {text(said[:_VALUE])}") + f" → {text(hint[:_VALUE])}" for said, hint in unanswered(report)),
            *map(_failure, failures[:_NAMED]),
        )
        if failures[_NAMED:]:
            yield f"- and {len(failures) - _NAMED} more"
    yield ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _failure(failure: ReportedFailure) -> str:
    about = f"{code(subject)} " if (subject := subject_of(failure)) else ""
    hint = f" → {text(failure.hint[:_VALUE])}" if failure.hint else ""
    return _cut(f"- {about}{text(failure.stage)}: {text(failure.error[:_VALUE])}") + hint


def _subject(app: ReportedApp, finding: ReportedFinding) -> str:
    names = [app_name(app), *([resource_name(finding.resource)] if finding.resource else [])]
    return " · ".join(f"<code>{html.escape(name)}</code>" for name in names)


def _cause(group: Sequence[ReportedFinding], gate: Gate | None) -> str:
    """One cause: the message, which is seen before it is opened, the changed field, the first fix; folded: what follows, other fixes and evidence, as far as they fit."""
    first = group[0]
    opened = " open" if any(f.severity == "error" for f in group) else ""
    cause = f" ({_in_html(first.cause)})" if first.cause else ""
    lines = [
        f"<details{opened}><summary>{_MARK[first.severity]} <b>{_in_html(first.rule)}</b>{cause} · "
        f"{_subject(first.app, first)}<br>{_in_html(' '.join(first.message.split()))}</summary>",
        "",
        *_changed(first, gate),
        *_where(first),
    ]
    fixes = next((f.fixes for f in group if f.fixes), ())
    lines += [line for fix in fixes[:1] for line in _fix(fix)]
    about = " · ".join((_about(first), *_in_argocd(first.app), first.confidence))
    end = [about, "", "</details>", ""]
    more = [
        _folded("What follows from it", [_short(f).rstrip() for f in group[1:_NAMED]] + _more(group[_NAMED:])),
        _folded(
            f"{len(fixes) - 1} more {'fix' if len(fixes) == 2 else 'fixes'}",
            [line for fix in fixes[1:] for line in _fix(fix)],
        ),
        list(_evidence(first)),
    ]
    left = 0
    for part in more:
        if part and _size("\n".join((*lines, *part, *end))) <= _BLOCK:
            lines += part
        elif part:
            left += 1
    if left:
        lines += ["<sub>More fixes or evidence are in the JSON report.</sub>", ""]
    return "\n".join((*lines, *end)) + "\n"


def _more(others: Sequence[ReportedFinding]) -> list[str]:
    return [f"- and {len(others)} more"] if others else []


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    return [f"<details><summary>{title}</summary>", "", *lines, "", "</details>", ""] if lines else []


def _changed(finding: ReportedFinding, gate: Gate | None) -> Iterable[str]:
    """The change of the finding's field, else of its object; without a change, the line in Git."""
    for app in gate.apps if gate else ():
        for change in app.changes if app.app == finding.app else ():
            if change.resource == finding.resource and change.fields:
                near = [f for f in change.fields if _related(f.pointer, finding.pointer)]
                yield from block("diff", list(hunk((near or change.fields)[:_FIELDS])))
                return
    source = finding.source
    if source is not None and source.excerpt and source.excerpt_from and source.line:
        yield from block("yaml", "\n".join(source.excerpt).rstrip().split("\n"))


_FIELDS = 5


def _related(one: str, other: str) -> bool:
    return one == other or (bool(one and other) and (one.startswith(f"{other}/") or other.startswith(f"{one}/")))


def _where(finding: ReportedFinding) -> Iterable[str]:
    """The line in Git, with a link if the forge has a page for it, and the field."""
    source = finding.source
    parts = []
    if source is not None and source.file:
        address, name = of_line(source), code(f"{source.file}:{source.line or 1}")
        outside = f", {OUTSIDE}" if is_outside(finding) else ""
        parts.append((f"[{name}]({address})" if address and "]" not in name else name) + outside)
    if finding.pointer:
        parts.append(code(finding.pointer))
    return (f"at {' · '.join(parts)}", "") if parts else ()


def _about(finding: ReportedFinding) -> str:
    """The rule, with a link to its page."""
    address, name = docs_link(finding), text(finding.rule)
    return f"[{name}]({address})" if address else name


def _in_argocd(app: ReportedApp) -> Iterable[str]:
    address = page(app)
    return (f"[in Argo CD]({address})",) if address else ()


def _evidence(finding: ReportedFinding) -> Iterable[str]:
    lines = [
        *(f"- {text(line)}" for line in finding.evidence),
        *(
            f"- {related.role}: {code(app_name(related.app))}"
            + (f" {code(resource_name(related.resource))}" if related.resource else "")
            for related in finding.related[:10]
        ),
        *([f"- and {len(finding.related) - 10} more"] if finding.related[10:] else []),
    ]
    return ("<details><summary>Evidence</summary>", "", *lines, "", "</details>", "") if lines else ()


def _short(finding: ReportedFinding) -> str:
    where = f" {code(resource_name(finding.resource))}" if finding.resource else ""
    return _cut(f"- {_MARK[finding.severity]} {code(finding.rule)} {code(app_name(finding.app))}{where}") + "\n"


def _fix(fix: ReportedFix) -> Iterable[str]:
    """What to do, what it costs, and the text to paste. Advice is text, not a code block: a block scrolls sideways."""
    proof = f" ({proof_text(fix)})" if fix.verified else ""
    yield f"**Fix{proof}:** {text(fix.title)}" + (f" in {code(fix.where)}" if fix.where else "")
    yield ""
    if but := "; ".join(filter(None, (effects_text(fix), fix.caveat))):
        yield f"*But:* {text(but)}"
        yield ""
    if is_masked(fix):
        yield text(f"By hand: {MASKED}.")
        yield ""
        return
    if fix.before:
        yield "First:"
        yield ""
        yield from block("sh", steps_before(fix))
    lines = as_text(fix.edit).splitlines()
    if fix.edit.kind == "text":
        yield from _prose(lines)
        return
    steps, rest = _steps(lines)
    yield from steps
    if rest:
        yield from block({"json-patch": "yaml", "yaml": "yaml", "command": "sh"}[fix.edit.kind], rest)


def _steps(lines: Sequence[str]) -> tuple[list[str], Sequence[str]]:
    """The numbered steps from the comment above an edit, and the rest of the edit; no steps if the comment has none."""
    above = list(takewhile(lambda line: line.startswith("#"), lines))
    if not any(_STEP.match(line[1:]) for line in above):
        return [], lines
    made: list[str] = []
    for line in above[:_BLOCK_LINES]:
        body = line[1:].strip()
        if found := _STEP.match(line[1:]):
            made.append(f"{found[1]}. {text(_cut(line[1 + found.end() :], _LONG))}")
        elif body.startswith("$ "):
            made += ["", f"   {code(_cut(body[2:], _LONG))}", ""]
        elif body.startswith("- "):
            made.append(f"   - {text(_cut(body[2:], _LONG))}")
        elif body:
            made.append(f"   {text(_cut(body, _LONG))}")
    return [*made, ""], lines[len(above) :]


_STEP = regex(r"\s*(\d{1,2})[.)]\s+(?=\S)")


def _prose(lines: Sequence[str]) -> Iterable[str]:
    """Advice: numbered steps as a list, other lines as paragraphs, indented lines and templates as code blocks."""
    steps = [line for line in lines if line.strip()]
    if any("{{" in line or line.startswith("  ") for line in steps):
        yield from block("text", lines)
        return
    for line in steps[:_BLOCK_LINES]:
        found = _STEP.match(line)
        yield f"{found[1]}. {text(_cut(line[found.end() :], _LONG))}" if found else text(_cut(line, _LONG))
        if not found:
            yield ""
    yield ""


_LONG = 600


def block(language: str, lines: Sequence[str]) -> Iterable[str]:
    """A code block with a fence longer than any run of backticks inside; a cut is marked."""
    shown = [_cut(line, _VALUE) for line in lines[:_BLOCK_LINES]]
    if lines[_BLOCK_LINES:]:
        shown.append(f"… {len(lines) - _BLOCK_LINES} more lines in the JSON report")
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", "\n".join(shown))), default=0))
    yield from (fence + language, *shown, fence, "")


def _cut(line: str, limit: int = 2_000) -> str:
    return shorten(line, limit)


def _app(app: GateApp) -> str:
    counts = Counter(change.what for change in app.changes)
    written = ", ".join(f"{counts[what]} {what}" for what in ("added", "removed", "changed") if counts[what])
    state = {"added": "new application", "removed": "application removed", "failed": "does not render"}.get(app.what)
    summary = " · ".join(part for part in (f"<code>{html.escape(app_name(app.app))}</code>", state, written) if part)
    lines = [f"<details><summary>{summary}</summary>", "", *(f"- {text(note)}" for note in app.notes)]
    if app.notes:
        lines.append("")
    if app.changes:
        lines += block("diff", list(_diff(app.changes)))
    return "\n".join((*lines, "</details>", "", ""))


def _diff(changes: Sequence[GateChange]) -> Iterable[str]:
    """The individual changes of each object first; changes that many objects share are folded at the end."""
    alike: dict[GateField, list[str]] = defaultdict(list)
    for change in changes:
        for field in change.fields:
            alike[field].append(resource_name(change.resource))
    for change in changes:
        sign = {"added": "+ ", "removed": "- ", "changed": "@@ "}[change.what]
        own = [field for field in change.fields if len(alike[field]) < _SAME]
        if own or change.what != "changed":
            yield f"{sign}{resource_name(change.resource)}{' @@' if change.what == 'changed' else ''}"
        yield from (_cut(line, _VALUE) for line in hunk(own))
    for field, names in alike.items():
        if len(names) >= _SAME:
            yield f"@@ alike in {len(names)} objects @@"
            yield from (_cut(line, _VALUE) for line in hunk((field,)))


def _foot(report: Report) -> str:
    suppressed = f" · {report.summary.suppressed} suppressed" if report.summary.suppressed else ""
    servers = ", ".join(
        f"{code(_cut(server.name or server.url, _VALUE))} ({text(_cut(server.version, _VALUE))})"
        for server in report.servers
    )
    unread = f" · {report.summary.unread} that look fine were not read" if report.summary.unread else ""
    return f"<sub>argolint {text(report.tool.version)} · {servers}{suppressed}{unread}</sub>\n"


_MARKUP = regex(r"[\\`*_\[\]~|]|^[#>+=/-]")
"""Characters of inline formatting anywhere; at the start of a line also headings, quotes, lists and GitLab's quick actions."""
_LIVE = regex(r"@|(?:[#!%]|&amp;)(?=\d)|/(?=/)|(?<=www)\.|(?<=GH)-", re.IGNORECASE)
"""Text that a forge turns into links and mentions: users, issues, GitLab's merge requests (`!1`), milestones (`%1`) and epics (`&1`), addresses."""


def text(untrusted: str) -> str:
    """Text in a line of Markdown: without markup, HTML, mentions or links."""
    marked = _MARKUP.sub(lambda m: f"\\{m.group()}", untrusted.strip())
    escaped = html.escape(marked, quote=False).replace("$", "<span>$</span>")
    return _inert(escaped)


def _in_html(untrusted: str) -> str:
    """Text between HTML tags, where a forge still makes mentions and links."""
    return _inert(html.escape(untrusted).replace("]", "&#93;").replace("$", "<span>$</span>"))


def _inert(escaped: str) -> str:
    return _LIVE.sub(lambda m: f"{m.group()}<!-- -->", escaped)


def code(untrusted: str) -> str:
    """Text as inline code, with a fence longer than any run of backticks inside."""
    inner = untrusted or " "
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", inner)), default=0))
    pad = " " if inner[0] in "` " or inner[-1] in "` " else ""
    return f"{fence}{pad}{inner}{pad}{fence}"
