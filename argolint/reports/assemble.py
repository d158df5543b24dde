"""Builds the report document from the outcome of a run; `argolint.reports.document` defines its types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict

import msgspec

from argolint import model
from argolint.model.fingerprint import Identity, fingerprint
from argolint.model.results import Outcome, ServerRead
from argolint.model.stats import Stats
from argolint.redaction import without_secrets
from argolint.redaction.findings import guarded, guarded_failure
from argolint.reports import causes
from argolint.reports.document import (
    SCHEMA_VERSION,
    STALE,
    Application,
    Counts,
    Knowledge,
    Report,
    ReportedApp,
    ReportedEdit,
    ReportedFailure,
    ReportedFinding,
    ReportedFix,
    ReportedRelated,
    ReportedRelation,
    ReportedResource,
    ReportedSource,
    Server,
    Stale,
    Summary,
    Tool,
    counted,
    page,
    rule_page,
)
from argolint.values.knowledge import about


def build(
    outcome: Outcome,
    *,
    servers: Sequence[ServerRead],
    started_at: str,
    stats: Stats,
    tool_version: str,
    remarks: tuple[str, ...] = (),
) -> Report:
    """The report of a run. Of findings with the same server and fingerprint, it keeps the first."""
    parent = {_shown(mark): _shown(cause) for mark, cause in outcome.causes.parent.items()}
    titles = {_shown(mark): without_secrets(title) for mark, title in outcome.causes.title.items()}
    made = [finding(f) for f in outcome.findings]
    findings = tuple({causes.identity(f): f for f in reversed(made)}.values())[::-1]
    findings = causes.with_shown_causes(findings, parent, titles)
    apps = Counter(ref.server for ref in outcome.apps)
    return Report(
        SCHEMA_VERSION,
        Tool("argolint", tool_version),
        started_at,
        not outcome.failures,
        tuple(
            Server(without_secrets(s.url), without_secrets(s.version), apps[s.url], s.name or msgspec.UNSET)
            for s in servers
        ),
        summarise(
            findings,
            len(outcome.failures),
            apps=len(outcome.apps),
            resources=outcome.resources,
            unread=sum(looked.unread for looked in outcome.looked),
        ),
        findings,
        tuple(_failure(f) for f in outcome.failures),
        stats,
        tuple(map(without_secrets, remarks)),
        causes=causes.causes(findings, titles),
        applications=tuple(_applications(outcome, findings)),
        stale=tuple(_stale(findings)) or msgspec.UNSET,
        knowledge=Knowledge(**asdict(about())),
    )


def _stale(findings: Iterable[ReportedFinding]) -> Iterator[Stale]:
    """The entries for the top of the report: Argo CD's own status is outdated."""
    for found in findings:
        if found.rule == STALE and found.suppressed is None:
            yield Stale(found.app.server, found.cause or "", found.message, found.fingerprint)


def _shown(mark: Identity) -> Identity:
    """The identity with the server's URL masked, as the report's findings have it."""
    return without_secrets(mark[0]), mark[1]


def _applications(outcome: Outcome, findings: Iterable[ReportedFinding]) -> Iterator[Application]:
    """The applications that were looked at. A finding about the fleet counts for the application that it names."""
    own: dict[ReportedApp, list[ReportedFinding]] = {}
    for found in findings:
        own.setdefault(found.app, []).append(found)
    wanted = frozenset(outcome.apps)
    for looked in outcome.looked:
        if looked.ref in wanted:
            of = app(looked.ref)
            about = own.get(of, [])
            active = [f for f in about if f.suppressed is None]
            yield Application(
                of,
                looked.sync,
                looked.health,
                looked.resources,
                counted(active),
                len(about) - len(active),
                page(of),
                {key: without_secrets(value) for key, value in looked.labels} or msgspec.UNSET,
            )


def summarise(
    findings: Sequence[ReportedFinding], failures: int, *, apps: int, resources: int, unread: int = 0
) -> Summary:
    """Counts of the findings that are not suppressed."""
    active = [f for f in findings if f.suppressed is None]
    root = causes.roots(findings)
    return Summary(
        apps,
        resources,
        counted(active),
        len(findings) - len(active),
        failures,
        _counted_by(active, lambda f: f.rule),
        _counted_by(active, lambda f: f.family),
        _counted_by(active, lambda f: f.app.project),
        _counted_by(active, lambda f: root[causes.identity(f)][1]),
        unread or msgspec.UNSET,
    )


def _counted_by(findings: Iterable[ReportedFinding], key: Callable[[ReportedFinding], str]) -> dict[str, Counts]:
    groups: dict[str, list[ReportedFinding]] = {}
    for found in findings:
        groups.setdefault(key(found), []).append(found)
    return {name: counted(groups[name]) for name in sorted(groups)}


def app(ref: model.AppRef) -> ReportedApp:
    """The application's identity, without secrets."""
    return ReportedApp(without_secrets(ref.server), ref.namespace, ref.name, ref.project)


def _resource(found: model.ResourceId | None) -> ReportedResource | None:
    return resource(found) if found else None


def resource(found: model.ResourceId) -> ReportedResource:
    """The object's identity."""
    return ReportedResource(
        found.group, found.version, found.kind, found.namespace, found.name, without_secrets(found.cluster)
    )


def finding(f: model.Finding) -> ReportedFinding:
    """The report's form of a finding, without secrets, whichever rule made it."""
    f = guarded(f)
    return ReportedFinding(
        rule=f.rule,
        family=f.family,
        severity=f.severity or "warning",
        confidence=f.confidence,
        app=app(f.at.app),
        message=" ".join(f.message.splitlines()),  # a value from Git may contain line breaks; a message is one line
        docs=rule_page(f.rule),
        fingerprint=fingerprint(f),
        cause=f.cause,
        resource=_resource(f.at.resource),
        pointer=f.at.pointer,
        evidence=f.evidence,
        related=tuple(ReportedRelated(app(r.app), r.role, _resource(r.resource), r.pointer) for r in f.related),
        fixes=tuple(
            ReportedFix(
                x.title,
                x.target,
                x.where,
                ReportedEdit(x.edit.kind, x.edit.content),
                x.verified,
                x.unverified,
                x.caveat,
                x.safe,
                _resource(x.resource),
                x.proof if x.verified else None,
                x.effects,
                x.before,
            )
            for x in f.fixes
        ),
        source=ReportedSource(
            f.source.repo, f.source.revision, f.source.path, f.source.chart, f.source.file, f.source.line
        )
        if f.source
        else None,
        suppressed=dict(f.suppressed) if f.suppressed is not None else None,
        relation=ReportedRelation(f.relation.kind, app(f.relation.app), _resource(f.relation.resource))
        if f.relation
        else msgspec.UNSET,
    )


def _failure(f: model.Failure) -> ReportedFailure:
    f = guarded_failure(f)
    return ReportedFailure(f.stage, f.error, f.hint, app(f.app) if f.app else None, f.rule, f.server or msgspec.UNSET)
