"""The causes behind a report's findings: what follows from what, how much hangs on each, and what to repair first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from argolint.reports.document import App, Finding

WORST_FIRST: tuple[Literal["error", "warning", "info"], ...] = ("error", "warning", "info")
_AFFECTED = frozenset({"owner", "claimant", "dependent", "symptom", "other"})


class Cause(msgspec.Struct, frozen=True):
    """What findings follow from: a finding of that fingerprint, or what has none of its own, such as a missing operator.

    A finding that follows from nothing is its own cause. `severity` is the worst of its `findings`, which touch that many
    `objects` and `apps`; `frees` counts the applications whose worst findings have this cause alone.
    """

    fingerprint: str
    title: str
    severity: Literal["info", "warning", "error"]
    findings: int
    objects: int
    apps: int
    frees: int = 0


def linked(findings: Sequence[Finding], parent: Mapping[str, str], title: Mapping[str, str]) -> tuple[Finding, ...]:
    """The findings with `caused_by`. A cause that is not shown is replaced by what it follows from itself, as far as that is."""
    shown = {f.fingerprint for f in findings}

    def cause(mark: str) -> str | None:
        found = parent.get(mark)
        while found is not None and found not in shown and found in parent:
            found = parent[found]
        return found if found in shown or found in title else None

    return tuple(
        msgspec.structs.replace(f, caused_by=cause(f.fingerprint)) if f.fingerprint in parent else f for f in findings
    )


def roots(findings: Iterable[Finding]) -> dict[str, str]:
    """By fingerprint: the cause at the end of each finding's chain, itself where it has none."""
    parent = {f.fingerprint: f.caused_by for f in findings}
    found: dict[str, str] = {}
    for mark in parent:
        path = [mark]
        while path[-1] not in found and (above := parent.get(path[-1])) and above not in path:
            path.append(above)
        end = found.get(path[-1], path[-1])
        found |= dict.fromkeys(path, end)
    return found


def grouped(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """The findings that are not suppressed by the cause behind them, worst first in each group, the cause itself in front."""
    every = tuple(findings)
    root = roots(every)
    groups: dict[str, list[Finding]] = defaultdict(list)
    for finding in every:
        if finding.suppressed is None:
            groups[root[finding.fingerprint]].append(finding)
    for mark, group in groups.items():
        group.sort(key=lambda f: (f.fingerprint != mark, WORST_FIRST.index(f.severity)))
    return dict(groups)


def causes(findings: Sequence[Finding], titles: Mapping[str, str]) -> tuple[Cause, ...]:
    """The causes of these findings, first what is worst and frees most. `titles` are those of causes that no finding shows."""
    messages = {f.fingerprint: f.message for f in findings}
    groups = grouped(findings)
    frees = _freed(groups)
    made = [
        Cause(
            mark,
            messages.get(mark) or titles.get(mark, ""),
            min((f.severity for f in group), key=WORST_FIRST.index),
            len(group),
            len({f.resource for f in group if f.resource is not None}),
            len({app for f in group for app in affected(f)}),
            frees.get(mark, 0),
        )
        for mark, group in groups.items()
    ]
    return tuple(sorted(made, key=lambda c: (WORST_FIRST.index(c.severity), -c.frees, -c.apps, -c.findings)))


def affected(finding: Finding) -> Iterator[App]:
    """The application of a finding, and those that it names as affected."""
    yield finding.app
    yield from (r.app for r in finding.related if r.role in _AFFECTED)


def _freed(groups: Mapping[str, Sequence[Finding]]) -> dict[str, int]:
    """By cause: how many applications have no finding as bad as its own left once it is repaired. What only informs counts not."""
    worst: dict[App, tuple[int, set[str]]] = {}
    for mark, group in groups.items():
        for finding in group:
            level = WORST_FIRST.index(finding.severity)
            for app in affected(finding):
                known = worst.get(app)
                if known is None or level < known[0]:
                    worst[app] = (level, {mark})
                elif level == known[0]:
                    known[1].add(mark)
    found: dict[str, int] = defaultdict(int)
    for level, marks in worst.values():
        if len(marks) == 1 and level < WORST_FIRST.index("info"):
            found[next(iter(marks))] += 1
    return found
