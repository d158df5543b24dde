"""The output of `argolint fix`: text in groups, JSON, and commit messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import click

from argolint import __version__
from argolint.fixes.placement import Outcome
from argolint.fixes.site import Choice
from argolint.reports import document
from argolint.reports.document import ReportedFinding, ReportedFix
from argolint.reports.formats import Style, app_name, resource_name
from argolint.reports.formats.edits import as_text, effects_text, steps_before
from argolint.reports.formats.fixes import MASKED, is_masked, why_unverified
from argolint.values import plain, shorten

Group = Literal["placed", "by_hand", "commands", "unverified", "left"]
_TITLES: Mapping[Group, str] = {
    "placed": "Placed",
    "by_hand": "By hand",
    "commands": "Commands to run",
    "unverified": "Not verified, or with a step first, so not written (--unverified adds them: all, or by rule or fingerprint)",
    "left": "Left as it is",
}
SCHEMA_VERSION = "1.0"
_SUBJECT = 72


@dataclass(frozen=True)
class Entry:
    """One fix and its outcome; `many`: there are several checkouts, so files are named with their checkout."""

    group: Group
    outcome: Outcome
    many: bool = False


def group_of(outcome: Outcome) -> Group:
    """The group of an outcome."""
    if not outcome.why:
        return "placed"
    command = outcome.choice.fix.edit.kind == "command" and not is_masked(outcome.choice.fix)
    return "commands" if command else "by_hand"


def text(entries: Sequence[Entry], style: Style) -> str:
    """The non-empty groups, each with a heading and its count."""
    lines: list[str] = []
    for group, title in _TITLES.items():
        of_group = [t for t in entries if t.group == group]
        if of_group:
            lines += ["", click.style(f"{title}: {len(of_group)}", bold=style.color or None)]
            lines += [line for t in of_group for line in _lines(t)]
    return "".join(f"{line}\n" for line in lines[1:])


def _lines(entries: Entry) -> Iterator[str]:
    outcome = entries.outcome
    fix, finding = outcome.choice.fix, outcome.choice.finding
    yield f"  {finding.rule}  {subject(finding)}: {plain(fix.title)}"
    if entries.group == "placed":
        files = ", ".join(str(where.root / file) if entries.many else file for where, file in outcome.files)
        yield f"      → {plain(files)}"
        yield from (f"      first, before it is synced: {line}" for line in steps_before(fix))
        yield from (f"      {line}" for line in (*doubts(fix), *(plain(n) for n in outcome.notes)))
    elif entries.group == "commands":
        yield from (f"      {line}" for line in as_text(fix.edit).splitlines())
    elif entries.group == "by_hand" and is_masked(fix):
        yield f"      {MASKED}"
    elif entries.group in ("by_hand", "left"):
        yield f"      {plain(outcome.why)} → {plain(outcome.todo)}"
    else:
        yield from (f"      {line}" for line in (*doubts(fix), *([plain(outcome.todo)] if outcome.todo else [])))


def subject(finding: ReportedFinding) -> str:
    """Application, object and field on one line."""
    resource = resource_name(finding.resource) if finding.resource else ""
    return plain(" ".join(filter(None, (app_name(finding.app), resource, finding.pointer))))


def doubts(fix: ReportedFix) -> Iterator[str]:
    """Lines on a fix: whether it is verified or why not, its effects, and its caveat."""
    if fix.verified:
        how = "two renders with it no longer differ" if fix.proof == "rendered-twice" else "replayed in memory"
        first = " after its first step" if fix.before else ""
        yield f"verified: {how}{first}, the finding is gone"
    elif why := why_unverified(fix):
        yield f"not verified: {plain(why)}"
    if fix.effects:
        yield f"effects: {effects_text(fix)}"
    if fix.caveat:
        yield f"caveat: {plain(fix.caveat)}"


def as_json(
    entries: Iterable[Entry], *, findings: int, written: bool, branch: str = "", more: Mapping[str, Any] | None = None
) -> str:
    """One document with a list for each group."""
    groups: dict[str, list[dict[str, Any]]] = {group: [] for group in _TITLES}
    for one in entries:
        groups[one.group].append(_entry(one))
    made = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "argolint", "version": __version__},
        "findings": findings,
        "written": written,
        "branch": branch or None,
        **(more or {}),
        **groups,
    }
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def _entry(entries: Entry) -> dict[str, Any]:
    outcome = entries.outcome
    finding = document.plain_data(outcome.choice.finding)
    kept = ("rule", "cause", "severity", "fingerprint", "app", "resource", "pointer", "message")
    return {
        **{name: finding[name] for name in kept},
        "fix": document.plain_data(outcome.choice.fix),
        "number": outcome.choice.number,
        "files": [{"checkout": str(where.root), "file": file} for where, file in outcome.files],
        "notes": list(outcome.notes),
        "why": outcome.why,
        "todo": outcome.todo,
        "refused": outcome.refused,
    }


def message(outcomes: Sequence[Outcome]) -> str:
    """The message of a commit that holds the fixes of one cause."""
    first = outcomes[0].choice
    what = first.finding.rule + (f"/{first.finding.cause}" if first.finding.cause else "")
    lines = [shorten(plain(f"{what}: {first.fix.title}"), _SUBJECT), ""]
    for outcome in outcomes:
        finding, fix = outcome.choice.finding, outcome.choice.fix
        lines += [f"- {subject(finding)}: {plain(finding.message)}", f"  {plain(fix.title)}"]
        lines += [f"  {line}" for line in doubts(fix)]
    return "\n".join((*lines, "", plain(f"See {first.finding.docs}"), ""))


def by_cause(choices: Iterable[Choice]) -> tuple[tuple[Choice, ...], ...]:
    """The choices grouped by rule and cause, in the order of the first choice of each."""
    groups: dict[tuple[str, str | None], list[Choice]] = {}
    for choice in choices:
        groups.setdefault((choice.finding.rule, choice.finding.cause), []).append(choice)
    return tuple(map(tuple, groups.values()))
