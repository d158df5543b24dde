"""Groups a report's findings by cause: what each follows from, how many follow from each cause, and what to repair first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from argolint.model.fingerprint import Identity
from argolint.reports.document import Cause, Report, ReportedApp, ReportedFinding

WORST_FIRST: tuple[Literal["error", "warning", "info"], ...] = ("error", "warning", "info")
_AFFECTED = frozenset({"owner", "claimant", "dependent", "symptom", "other"})


def identity(f: ReportedFinding) -> Identity:
    """The key of a finding: server and fingerprint, since two Argo CDs may have an Application of the same name."""
    return f.app.server, f.fingerprint


def with_shown_causes(
    findings: Sequence[ReportedFinding], parent: Mapping[Identity, Identity], title: Mapping[Identity, str]
) -> tuple[ReportedFinding, ...]:
    """The findings with `caused_by`. If the report does not show a cause, the nearest shown cause above it takes its place."""
    shown = {identity(f) for f in findings}

    def cause(mark: Identity) -> str | None:
        found = parent.get(mark)
        while found is not None and found not in shown and found in parent:
            found = parent[found]
        return found[1] if found is not None and (found in shown or found in title) else None

    return tuple(
        msgspec.structs.replace(f, caused_by=cause(identity(f))) if identity(f) in parent else f for f in findings
    )


def roots(findings: Iterable[ReportedFinding]) -> dict[Identity, Identity]:
    """The cause at the end of each finding's chain; a finding without a cause maps to itself."""
    every = tuple(findings)
    parent = {identity(f): _cause(f) for f in every}
    elsewhere = {f.fingerprint: identity(f) for f in every if f.related}
    for mark, cause in parent.items():  # a cause that two Argo CDs share is a finding of only one of them
        if cause is not None and cause not in parent:
            parent[mark] = elsewhere.get(cause[1], cause)
    found: dict[Identity, Identity] = {}
    for mark in parent:
        path = [mark]
        while path[-1] not in found and (above := parent.get(path[-1])) and above not in path:
            path.append(above)
        end = found.get(path[-1], path[-1])
        found |= dict.fromkeys(path, end)
    return found


def _cause(f: ReportedFinding) -> Identity | None:
    return (f.app.server, f.caused_by) if f.caused_by else None


def grouped(findings: Iterable[ReportedFinding]) -> dict[Identity, list[ReportedFinding]]:
    """The unsuppressed findings by their root cause. Each group has the cause first, then the worst findings."""
    every = tuple(findings)
    root = roots(every)
    groups: dict[Identity, list[ReportedFinding]] = defaultdict(list)
    for finding in every:
        if finding.suppressed is None:
            groups[root[identity(finding)]].append(finding)
    for mark, group in groups.items():
        group.sort(key=lambda f: (identity(f) != mark, WORST_FIRST.index(f.severity)))
    return dict(groups)


def causes_of(report: Report) -> list[tuple[Cause, list[ReportedFinding]]]:
    """Each cause of a report with the findings behind it, in the report's order."""
    groups = grouped(report.findings)
    by_fingerprint = {mark: group for (_, mark), group in groups.items()}
    found = (
        (c, by_fingerprint.get(c.fingerprint) if c.server is msgspec.UNSET else groups.get((c.server, c.fingerprint)))
        for c in report.causes
    )
    return [(cause, group) for cause, group in found if group]


def worst_first(report: Report) -> tuple[ReportedFinding, ...]:
    """The unsuppressed findings in the order of every output: by cause, in the order of `causes`, with the cause first."""
    found = [f for _, group in causes_of(with_causes(report)) for f in group]
    listed = {identity(f) for f in found}
    others = (f for f in report.findings if f.suppressed is None and identity(f) not in listed)
    return (*found, *sorted(others, key=lambda f: WORST_FIRST.index(f.severity)))


def with_causes(report: Report) -> Report:
    """The report with causes; they are added here if an older argolint wrote the report."""
    return report if report.causes else msgspec.structs.replace(report, causes=causes(report.findings, {}))


def causes(findings: Sequence[ReportedFinding], titles: Mapping[Identity, str]) -> tuple[Cause, ...]:
    """The causes of these findings, the worst first, then those that repair most applications.

    `titles`: of causes that are not among the findings.
    """
    messages = {identity(f): f.message for f in findings}
    groups = grouped(findings)
    frees = _freed_by_cause(groups)
    several = len({f.app.server for f in findings if f.app.server}) > 1
    made = [
        Cause(
            mark[1],
            messages.get(mark) or titles.get(mark, ""),
            min((f.severity for f in group), key=WORST_FIRST.index),
            len(group),
            len({f.resource for f in group if f.resource is not None}),
            len({app for f in group for app in affected(f)}),
            frees.get(mark, 0),
            mark[0] if several else msgspec.UNSET,
        )
        for mark, group in groups.items()
    ]
    return tuple(sorted(made, key=cause_order))


def cause_order(cause: Cause) -> tuple[int, int, int, int]:
    """The sort key of causes: the worst first, then those that repair most applications, then those with most applications and findings."""
    return WORST_FIRST.index(cause.severity), -cause.frees, -cause.apps, -cause.findings


def affected(finding: ReportedFinding) -> Iterator[ReportedApp]:
    """The application of a finding, and the applications that it names as affected."""
    yield finding.app
    yield from (r.app for r in finding.related if r.role in _AFFECTED)


def _freed_by_cause(groups: Mapping[Identity, Sequence[ReportedFinding]]) -> dict[Identity, int]:
    """By cause: the number of applications that have no other finding as severe once it is repaired. Info findings do not count."""
    worst: dict[ReportedApp, tuple[int, set[Identity]]] = {}
    for mark, group in groups.items():
        for finding in group:
            level = WORST_FIRST.index(finding.severity)
            for app in affected(finding):
                known = worst.get(app)
                if known is None or level < known[0]:
                    worst[app] = (level, {mark})
                elif level == known[0]:
                    known[1].add(mark)
    found: dict[Identity, int] = defaultdict(int)
    for level, marks in worst.values():
        if len(marks) == 1 and level < WORST_FIRST.index("info"):
            found[next(iter(marks))] += 1
    return found
