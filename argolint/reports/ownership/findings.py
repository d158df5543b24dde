"""Ownership from the findings of a report: which applications share an object."""

from __future__ import annotations

from collections.abc import Iterable

from argolint.model import ResourceKey
from argolint.reports.document import ReportedFinding
from argolint.reports.formats import app_name
from argolint.reports.ownership.graph import Claim, Held, Role


def held(findings: Iterable[ReportedFinding]) -> tuple[Held, ...]:
    """The objects of unsuppressed ownership findings that name owners or claimants."""
    claims: dict[ResourceKey, dict[str, Claim]] = {}
    for f in findings:
        if f.family != "ownership" or f.suppressed is not None or f.resource is None:
            continue
        roles = [r.role for r in f.related if r.role in ("owner", "claimant")]
        if not roles:
            continue
        at = f.resource
        own = claims.setdefault(ResourceKey(at.cluster, at.group, at.kind, at.namespace, at.name), {})
        own.setdefault(app_name(f.app), Claim(app_name(f.app), "claimant", f.app.project))
        for related in f.related:
            other = related.resource
            if related.role in ("owner", "claimant") and other is not None and other.name == at.name:
                role: Role = "owner" if related.role == "owner" else "claimant"
                if related.app != f.app:
                    own[app_name(related.app)] = Claim(app_name(related.app), role, related.app.project)
    return tuple(Held(key, tuple(sorted(own.values()))) for key, own in sorted(claims.items()) if len(own) > 1)
