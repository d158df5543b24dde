"""OpenReports: one `Report` per Application with findings, as YAML. This module writes nothing to a cluster.

Policy Reporter and others read them. Source: openreports/reports-api, crd openreports.io_reports.yaml (v1alpha1).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from argolint.reports.document import Report, ReportedApp, ReportedFailure, ReportedFinding
from argolint.reports.formats import Style, server_name
from argolint.values import parse_time, shorten

API_VERSION = "openreports.io/v1alpha1"
LABEL = "argolint.dev/report"
"""The label of each Report that argolint writes."""
MOST = 50
"""Most results of one Report; the last one counts the others. A Report must stay far below etcd's 1.5 MB."""
_MESSAGE = 1000
_PROPERTY = 500
_NAME = 253
_SEVERITY = {"error": "high", "warning": "medium", "info": "low"}
_STATES = ("pass", "fail", "warn", "error", "skip")


def render(report: Report, style: Style) -> str:
    """One YAML document per Report; a comment if there is none."""
    import yaml

    made = list(reports(report))
    if not made:
        return "# no application has findings\n"
    dumped = (yaml.safe_dump(one, sort_keys=False, allow_unicode=True, width=2**31) for one in made)
    return "---\n".join(dumped)


def reports(report: Report) -> Iterator[dict[str, Any]]:
    """One Report per Application that has findings or could not be looked at."""
    findings = sorted((f for f in report.findings if f.app.name), key=lambda f: _place(f.app))
    of_app = {key: tuple(group) for key, group in groupby(findings, key=lambda f: _place(f.app))}
    failed: dict[tuple[str, str, str], list[ReportedFailure]] = {}
    for failure in report.failures:
        if failure.app is not None and failure.app.name:
            failed.setdefault(_place(failure.app), []).append(failure)
    for key in sorted(of_app.keys() | failed.keys()):
        yield _report(key, of_app.get(key, ()), failed.get(key, ()))


def _place(app: ReportedApp) -> tuple[str, str, str]:
    return app.server, app.namespace, app.name


def _report(
    key: tuple[str, str, str], findings: Sequence[ReportedFinding], failures: Sequence[ReportedFailure]
) -> dict[str, Any]:
    server, namespace, name = key
    found = [*map(_failure, failures), *map(_result, findings)]
    left_out = found[MOST:]
    results = found[:MOST]
    if left_out:
        results.append(
            {
                "policy": "argolint",
                "category": "summary",
                "result": "skip",
                "severity": "info",
                "message": f"{len(left_out)} more results are not in this Report; argolint's own report has them",
            }
        )
    return {
        "apiVersion": API_VERSION,
        "kind": "Report",
        "metadata": {
            "name": name_of(server, name),
            "namespace": namespace,
            "labels": {LABEL: "true", "app.kubernetes.io/managed-by": "argolint"},
        },
        "source": "argolint",
        "scope": {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "namespace": namespace, "name": name},
        "summary": {state: sum(r["result"] == state for r in found) for state in _STATES},
        "results": results,
    }


def name_of(server: str, application: str) -> str:
    """The Report's name; it includes the server, since two may have an Application of the same name."""
    digest = hashlib.sha256(f"{server}\n{application}".encode()).hexdigest()[:8]
    return f"argolint-{application[: _NAME - 18].rstrip('.-')}-{digest}"


def _result(finding: ReportedFinding) -> dict[str, Any]:
    first = finding.fixes[0] if finding.fixes else None
    properties = {
        "argocd": server_name(finding.app),
        "fingerprint": finding.fingerprint,
        "confidence": finding.confidence,
        "pointer": finding.pointer,
        "cluster": finding.resource.cluster if finding.resource else "",
        "docs": finding.docs,
        "fix": first.title if first else "",
        "suppressed": (finding.suppressed or {}).get("reason", "") or ("yes" if finding.suppressed else ""),
    }
    made: dict[str, Any] = {
        "policy": finding.rule,
        "category": finding.family,
        "severity": _SEVERITY[finding.severity],
        "result": "skip" if finding.suppressed else "fail" if finding.severity == "error" else "warn",
        "message": shorten(finding.message, _MESSAGE),
        "properties": {key: shorten(value, _PROPERTY) for key, value in properties.items() if value},
    }
    if finding.cause:
        made["rule"] = finding.cause
    if finding.resource:
        own = finding.resource
        made["resources"] = [
            {
                "apiVersion": f"{own.group}/{own.version}" if own.group else own.version or "v1",
                "kind": own.kind,
                "name": own.name,
                **({"namespace": own.namespace} if own.namespace else {}),
            }
        ]
    if since := parse_time(finding.since):
        made["timestamp"] = {"seconds": int(since.timestamp()), "nanos": 0}
    return made


def _failure(failure: ReportedFailure) -> dict[str, Any]:
    argocd = server_name(failure.app) if failure.app else ""
    return {
        "policy": failure.rule or "argolint",
        "category": "failure",
        "severity": "info",
        "result": "error",
        "message": shorten(f"not looked at ({failure.stage}): {failure.error}", _MESSAGE),
        **({"properties": {"argocd": argocd}} if argocd else {}),
    }
