"""Metrics in Prometheus' text format: for the textfile collector (`-o prometheus=FILE`) and for `/metrics` of `argolint serve`.

Names and labels are a contract: users' alerts and dashboards rely on them. No message, object, pointer or fingerprint is a label, so the
number of series depends only on the applications with findings, and readers of metrics learn no details. Labels are not called `namespace`,
`cluster`, `service` or `pod`, since Prometheus' own target labels would turn these into `exported_*`.
"""

from __future__ import annotations

import platform
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from argolint.engine.config import metric_label
from argolint.model import SEVERITIES
from argolint.reports.document import Report, ReportedApp, ReportedFinding, is_of_several, rule_page
from argolint.reports.formats import NamedApp, Style
from argolint.values import parse_time, shorten
from argolint.values.patterns import regex

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily

PER_APP = "argolint_app_findings"
APP_LABELS = "argolint_app_labels"
LAST_COMPLETE = "argolint_last_complete_check_timestamp_seconds"
_MAX_LABEL = 300
"""Most characters: names in Kubernetes have at most 253, so only other texts are cut."""
_BY = {"configuration": "config"}
_CARRIED = regex(rf'^{LAST_COMPLETE}{{argocd="((?:[^"\\]|\\.)*)"}} ([0-9.e+]{{1,30}})$', re.MULTILINE)

Labels = tuple[str, ...]


def render(report: Report, style: Style) -> str:
    """All metrics of one report. Suppressed findings count as suppressed only.

    If this check is not complete, the time of the last complete check comes from the text that is replaced.
    """
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.registry import Collector

    class Of(Collector):
        def collect(self) -> Iterator[GaugeMetricFamily]:
            return families(report, style)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Of())
    return generate_latest(registry).decode()


def families(report: Report, style: Style) -> Iterator[GaugeMetricFamily]:
    """The metrics, in the order in which they are printed."""
    servers = [server.name or short_name(server.url) for server in report.servers] or [""]
    active = [f for f in report.findings if f.suppressed is None]
    rows, truncated = _per_app(report.findings, style)
    yield _gauge(
        PER_APP,
        "Findings of an application. No series means none. A finding of several applications counts for its first one.",
        ("argocd", "project", "app_namespace", "app", "dest_cluster", "rule", "severity"),
        rows,
    )
    labelled, labels_truncated = _app_labels(report, style)
    if style.metrics.app_labels:
        yield _gauge(
            APP_LABELS,
            "Labels of an application, as metrics.app-labels names them. Always 1.",
            ("argocd", "app_namespace", "app", *map(metric_label, dict.fromkeys(style.metrics.app_labels))),
            labelled,
        )
    sums: dict[Labels, float] = {(s, r.id, r.family, r.severity): 0 for s in servers for r in report.rules}
    sums.update(Counter((server_of(f.app), f.rule, f.family, f.severity) for f in active))
    yield _gauge(
        "argolint_findings",
        "Findings of the whole fleet. 0 for a rule that looked and found nothing.",
        ("argocd", "rule", "family", "severity"),
        sums,
    )
    yield _gauge(
        "argolint_findings_by_cause",
        "Findings of the whole fleet by their cause.",
        ("argocd", "rule", "cause"),
        Counter((server_of(f.app), f.rule, f.cause or "") for f in active),
    )
    yield _gauge(
        "argolint_suppressed_findings",
        "Findings that someone accepted: by an annotation, the configuration or the baseline.",
        ("argocd", "rule", "by"),
        Counter(
            (server_of(f.app), f.rule, _BY.get(by := f.suppressed.get("by", ""), by))
            for f in report.findings
            if f.suppressed is not None
        ),
    )
    yield from _of_the_check(report, style, servers)
    since: dict[Labels, float] = {}
    for f in active:
        if (at := _seconds(f.since)) is not None:
            labels = (server_of(f.app), f.rule, f.severity)
            since[labels] = min(at, since.get(labels, at))
    yield _gauge(
        "argolint_oldest_finding_timestamp_seconds",
        "When the oldest finding of a rule that is still there was first seen. Known with a state file only.",
        ("argocd", "rule", "severity"),
        since,
    )
    cut: dict[Labels, float] = {(PER_APP,): int(truncated)}
    if style.metrics.app_labels:
        cut[APP_LABELS,] = int(labels_truncated)
    yield _gauge(
        "argolint_metrics_truncated",
        "1 when series were left out because there would be more than max-series of them.",
        ("metric",),
        cut,
    )
    named: dict[Labels, float] = {(r.id, r.family, r.severity, rule_page(r.id)): 1 for r in report.rules}
    yield _gauge("argolint_rule_info", "A rule that was run.", ("rule", "family", "severity", "docs"), named)
    yield _gauge(
        "argolint_build_info",
        "The argolint that made this.",
        ("version", "python"),
        {(report.tool.version, platform.python_version()): 1},
    )
    versions: dict[Labels, float] = {(s.name or short_name(s.url), s.version): 1 for s in report.servers}
    yield _gauge("argolint_argocd_info", "The Argo CD that was looked at.", ("argocd", "version"), versions)


def server_of(app: ReportedApp) -> str:
    """The label of an application's server: the user's name for it, else its address."""
    return (app.server_name if isinstance(app, NamedApp) else "") or short_name(app.server)


def short_name(url: str) -> str:
    """A server as a label: its address without the scheme."""
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
    except ValueError:  # a snapshot or a foreign report may have any text here
        return url
    return f"{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"


def _of_the_check(report: Report, style: Style, servers: list[str]) -> Iterator[GaugeMetricFamily]:
    """Metrics of the run itself."""
    yield _gauge(
        "argolint_applications",
        "Applications that the last check looked at.",
        ("argocd", "project"),
        _applications(report),
    )
    whole = "" if is_of_several(report) else servers[0]
    failed: Counter[Labels] = Counter(
        (server_of(f.app) if f.app else f.server or whole, f.stage) for f in report.failures
    )
    incomplete = {labels[0] for labels in failed}
    servers = list(dict.fromkeys((*servers, *sorted(incomplete - {""})))) if is_of_several(report) else servers
    blind = not incomplete or whole in incomplete or len(servers) == 1
    """The failures belong to no single server: nothing was looked at yet, or the whole run failed in part."""
    complete = {s: report.complete or not (blind or s in incomplete) for s in servers}
    yield _gauge(
        "argolint_check_complete",
        "1 when the last check could look at everything.",
        ("argocd",),
        {(server,): int(whole) for server, whole in complete.items()},
    )
    yield _gauge(
        "argolint_check_failures",
        "What the last check could not look at, by the stage at which it failed.",
        ("argocd", "stage"),
        failed,
    )
    started = _seconds(report.started_at)
    ended: dict[Labels, float] = (
        {} if started is None else {(server,): started + report.stats.seconds for server in servers}
    )
    yield _gauge(
        "argolint_last_check_timestamp_seconds", "When the last check ended, whatever it found.", ("argocd",), ended
    )
    last = {labels: at for labels, at in _carried(style.replaces).items() if labels[0] in servers}
    last |= {labels: at for labels, at in ended.items() if complete[labels[0]]}
    yield _gauge(LAST_COMPLETE, "When a check that could look at everything last ended.", ("argocd",), last)
    stats = report.stats
    yield _gauge(
        "argolint_check_duration_seconds", "How long the last check took.", ("argocd",), {(whole,): stats.seconds}
    )
    yield _gauge("argolint_check_requests", "Requests of the last check.", ("argocd",), {(whole,): stats.requests})
    yield _gauge(
        "argolint_check_received_bytes", "Bytes that the last check received.", ("argocd",), {(whole,): stats.bytes}
    )


def _per_app(findings: Iterable[ReportedFinding], style: Style) -> tuple[Mapping[Labels, int], bool]:
    """The series of single applications, and whether some were left out: the least severe first, then the last in order."""
    wanted = style.metrics
    if not wanted.per_app:
        return {}, False
    clusters: dict[ReportedApp, str] = {}
    for f in findings:
        if f.resource is not None and f.resource.cluster:
            clusters.setdefault(f.app, f.resource.cluster)
    severe = SEVERITIES[SEVERITIES.index(wanted.min_severity) :]
    found = Counter(
        (
            server_of(f.app),
            f.app.project,
            f.app.namespace,
            f.app.name,
            clusters.get(f.app, ""),
            f.rule,
            f.severity,
        )
        for f in findings
        if f.suppressed is None and f.severity in severe
    )
    order = sorted(found, key=lambda labels: (-SEVERITIES.index(labels[-1]), labels))
    return {labels: found[labels] for labels in order[: wanted.max_series]}, len(order) > wanted.max_series


def _app_labels(report: Report, style: Style) -> tuple[Mapping[Labels, int], bool]:
    """One row per application with one of the labels, in order up to the limit; and whether some were left out."""
    keys = tuple(dict.fromkeys(style.metrics.app_labels))
    rows: dict[Labels, int] = {}
    for each in report.applications:
        found = each.labels or {}
        if any(key in found for key in keys):
            rows[server_of(each.app), each.app.namespace, each.app.name, *(found.get(key, "") for key in keys)] = 1
    return dict.fromkeys(sorted(rows)[: style.metrics.max_series], 1), len(rows) > style.metrics.max_series


def _applications(report: Report) -> Mapping[Labels, int]:
    """The number of applications by project; without a list in the report, by server."""
    listed = [getattr(a, "app", a) for a in getattr(report, "applications", ())]
    if listed:
        return Counter((server_of(a), a.project) for a in listed)
    return {(server.name or short_name(server.url), ""): server.apps for server in report.servers}


def _carried(text: str) -> Mapping[Labels, float]:
    """The times of the last complete checks in an earlier output of argolint."""
    found: dict[Labels, float] = {}
    for name, number in _CARRIED.findall(text):
        try:
            found[(name.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\"),)] = float(number)
        except ValueError:  # ignore a damaged file
            continue
    return found


def _label(text: str) -> str:
    return shorten(text, _MAX_LABEL)


def _seconds(time: str | None) -> float | None:
    parsed = parse_time(time) if time else None
    return parsed.timestamp() if parsed else None


def _gauge(name: str, about: str, labels: Labels, values: Mapping[Labels, float]) -> GaugeMetricFamily:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(name, about, labels=labels)
    cut: Counter[Labels] = Counter()
    for row, value in values.items():
        cut[tuple(map(_label, row))] += value  # type: ignore[assignment]  # floats are added as well
    for row in sorted(cut):
        family.add_metric(row, cut[row])
    return family
