"""Turns a forecast into a report: its findings in the usual form, plus its own facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec

from argolint import DOCS, __version__
from argolint.application.fleet import Fleet
from argolint.forecast.releases import Step, shown
from argolint.forecast.table import Row
from argolint.model import AppRef, Failure, Finding
from argolint.model.results import Outcome, ServerRead, finding_order
from argolint.model.stats import Stats
from argolint.redaction import without_secrets
from argolint.reports import assemble
from argolint.reports.document import (
    Forecast,
    ForecastCause,
    ForecastLook,
    ForecastVersion,
    Report,
)

PAGE = f"{DOCS}forecast.md"


def report(
    forecast: Forecast,
    findings: Sequence[Finding],
    failures: Sequence[Failure],
    fleet: Fleet,
    *,
    apps: Sequence[AppRef],
    resources: int,
    started_at: str,
    stats: Stats,
    remarks: tuple[str, ...] = (),
) -> Report:
    """The report of a forecast; it is incomplete if something was not known."""
    apart = (replace(f, key=f.key or _mark(f)) for f in findings)
    outcome = Outcome(tuple(sorted(apart, key=finding_order)), tuple(failures), tuple(apps), resources)
    built = assemble.build(
        outcome,
        servers=[ServerRead(fleet.server, fleet.version)],
        started_at=started_at,
        stats=stats,
        tool_version=__version__,
        remarks=remarks,
    )
    complete = built.complete and not forecast.unknown
    found = tuple(msgspec.structs.replace(f, docs=PAGE) for f in built.findings)
    return msgspec.structs.replace(built, findings=found, complete=complete, forecast=forecast)


def _mark(f: Finding) -> str:
    """The part of the fingerprint that distinguishes causes at the same place."""
    key = f.at.resource.key if f.at.resource else ()
    return "/".join(("forecast", f.cause or "", str(f.at.app), *key, f.at.pointer))


def versions(steps: Mapping[str, Step], today: Mapping[str, str]) -> tuple[ForecastVersion, ...]:
    return tuple(
        ForecastVersion(way.product.name, without_secrets(today[product] or "an unknown version"), shown(way.to))
        for product, way in steps.items()
    )


def causes(rows: Iterable[Row], findings: Iterable[Finding], steps: Mapping[str, Step]) -> Iterator[ForecastCause]:
    """The rows that have findings, worst effect first."""
    about: dict[str, list[Finding]] = {}
    for f in findings:
        about.setdefault(f.cause or "", []).append(f)
    for row in sorted(rows, key=lambda r: (_EFFECTS.index(r.effect), _SEVERITIES.index(r.severity))):
        if own := about.get(row.id):
            apps = {f.at.app for f in own}
            name = steps[row.product].product.name
            yield ForecastCause(
                row.id, row.effect, len(own), len(apps), name, _releases_with_change(row, steps), row.source
            )


_EFFECTS = ("deletes", "breaks", "looks-different")
_SEVERITIES = ("error", "warning", "info")


def _releases_with_change(row: Row, steps: Mapping[str, Step]) -> str:
    way = steps[row.product]
    crossed = [since for since in row.since if way.crosses([since])] or row.since[-1:]
    return " or ".join(map(shown, crossed))


def forecast_looks(rows: Iterable[Row], steps: Mapping[str, Step]) -> Iterator[ForecastLook]:
    for row in sorted(rows, key=lambda r: _EFFECTS.index(r.effect)):
        name = steps[row.product].product.name
        yield ForecastLook(row.id, row.says, row.look, name, _releases_with_change(row, steps), row.source)
