"""Merges several saved reports of one Argo CD: the newest, with the age of its findings and the counts over time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from argolint.errors import UsageError
from argolint.model.fingerprint import Identity
from argolint.reports.causes import identity
from argolint.reports.document import Point, Report, ReportedApp, ReportedFinding, is_of_several


def joined(reports: Sequence[tuple[str, Report]]) -> Report:
    """The newest of the named reports, its findings with `since`; `trend` has a point for each report if there are several.

    A finding exists since the first report of an unbroken series that has it. A report that could not look at its place does not break the
    series. UsageError if the reports are of different servers.
    """
    ordered = sorted(reports, key=lambda named: named[1].started_at)
    last_name, last = ordered[-1]
    if len(ordered) == 1:
        return last
    since: Mapping[Identity, str] = {}
    points: list[Point] = []
    seen: dict[Identity, ReportedFinding] = {}
    before: set[Identity] = set()
    for name, report in ordered:
        if not _have_same_servers(report, last):
            raise UsageError(
                f"{name} is of {_servers(report)}, {last_name} of {_servers(last)}",
                "a trend is about one Argo CD, or about several that were read together: pass their reports only",
            )
        seen |= {identity(f): f for f in report.findings}
        since = since_by_identity(since, report, seen)
        present = {identity(f): f for f in report.findings}
        active = {i for i, f in present.items() if f.suppressed is None}
        unknown = {i for i in before - present.keys() if i in since}
        points.append(
            Point(
                report.started_at,
                report.complete,
                report.summary.findings,
                len(active - before) if points else 0,
                len(before - active - unknown),
            )
        )
        before = active | unknown
    findings = tuple(msgspec.structs.replace(f, since=since[identity(f)]) for f in last.findings)
    return msgspec.structs.replace(last, findings=findings, trend=tuple(points))


def since_by_identity(
    since: Mapping[Identity, str], report: Report, seen: Mapping[Identity, ReportedFinding]
) -> dict[Identity, str]:
    """Since when each finding of the report exists; findings whose place it could not look at keep their time."""
    now = {identity(f): f.since or since.get(identity(f), report.started_at) for f in report.findings}
    kept = {
        i: at for i, at in since.items() if i not in now and not is_looked_at(seen[i].rule, apps_of(seen[i]), report)
    }
    return {**kept, **now}


def apps_of(f: ReportedFinding) -> frozenset[ReportedApp]:
    """All applications that the finding names."""
    return frozenset((f.app, *(related.app for related in f.related)))


def is_looked_at(rule: str, apps: Collection[ReportedApp], report: Report) -> bool:
    """False if the report would miss a finding of this rule and these applications even if the fault existed.

    It has a failure at one of them or at its Argo CD, did not read one, or did not run the rule.
    """
    if report.rules and rule not in {r.id for r in report.rules}:
        return False
    urls = {server.name: server.url for server in report.servers if server.name}
    servers = {app.server for app in apps if app.server}
    if urls and not servers <= set(urls.values()):
        return False
    return not any(
        (failure.app in apps if failure.app is not None else not failure.server or urls.get(failure.server) in servers)
        and failure.rule in (None, rule)
        for failure in report.failures
    )


def _have_same_servers(one: Report, other: Report) -> bool:
    """True for reports of one Argo CD, or of the same several; some of these may be missing at times."""
    if is_of_several(one) and is_of_several(other):
        return bool({server.url for server in one.servers} & {server.url for server in other.servers})
    return _servers(one) == _servers(other)


def _servers(report: Report) -> str:
    return ", ".join(sorted(server.url for server in report.servers)) or "no server"
