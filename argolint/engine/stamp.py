"""Completes a finding: adds its rule, severity and source."""

from __future__ import annotations

from dataclasses import replace

from argolint.application.app import App
from argolint.engine.plan import ChosenRule
from argolint.model import Finding, Source


def stamp(finding: Finding, chosen: ChosenRule, app: App | None, key: str = "") -> Finding:
    rule = chosen.rule
    return replace(
        finding,
        rule=rule.id,
        family=rule.family,
        severity=chosen.severity or finding.severity or rule.severity,
        source=finding.source or (source_of(app) if app and app.ref == finding.at.app else None),
        key=key,
    )


def source_of(app: App) -> Source | None:
    """The source of the application's manifests: its only one, or the first one that renders something."""
    for index, source in enumerate(app.sources):
        if source.get("ref") and not source.get("path") and not source.get("chart"):
            continue
        revision = app.revisions[index] if index < len(app.revisions) else str(source.get("targetRevision") or "")
        return Source(
            str(source.get("repoURL") or ""), revision, str(source.get("path") or ""), str(source.get("chart") or "")
        )
    return None
