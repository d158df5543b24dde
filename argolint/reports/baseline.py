"""Makes a baseline from a report."""

from __future__ import annotations

import msgspec

from argolint.reports.document import Report, is_of_several
from argolint.suppression.baseline import BASELINE_VERSION, Accepted, Baseline


def baseline_of(report: Report) -> Baseline:
    """A baseline that accepts today's findings, except suppressed findings and complaints about suppressions."""
    several = is_of_several(report)
    rows = [
        Accepted(
            f.fingerprint,
            f.rule,
            f"{f.app.namespace}/{f.app.name}",
            f"{f.resource.kind}/{f.resource.namespace}/{f.resource.name}" if f.resource else "",
            f.pointer,
            f.app.server if several else msgspec.UNSET,
        )
        for f in report.findings
        if f.suppressed is None and f.family != "suppression"
    ]
    server = report.servers[0].url if report.servers and not several else ""
    return Baseline(BASELINE_VERSION, server, report.started_at, tuple(rows))
