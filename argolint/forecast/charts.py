"""Charts that the fleet renders, as products of a forecast: their rows, and the releases between two versions.

The label `helm.sh/chart` of an object names the release that rendered it, so subcharts are found, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from argolint.application.fleet import Fleet
from argolint.errors import UsageError
from argolint.forecast.releases import LATEST, Product, Step, Version, shown
from argolint.forecast.table import FirstStep, Row
from argolint.reports.document import ForecastVersion
from argolint.values import parse_version
from argolint.values.patterns import regex

ALL = "all"
Pinned = Mapping[str, Sequence[Version]]
"""The releases of each chart that Applications name."""
_WRITTEN = regex(r"v?[0-9]{1,6}(\.[0-9]{1,6}){0,2}", re.ASCII)


def product(chart: str) -> str:
    return f"chart {chart}"


def rows(table: Mapping[str, Any]) -> Iterator[Row]:
    """Two rows per chart and release: fields that Kubernetes refuses to change, and objects that are no longer rendered."""
    for chart in table["charts"]:
        releases: dict[tuple[str, bool], list[Mapping[str, Any]]] = {}
        for change in chart["changes"]:
            releases.setdefault((change["in"], "gone" in change), []).append(change)
        for (version, gone), changes in releases.items():
            yield _row(chart, version, changes, gone=gone)


def _row(chart: Mapping[str, Any], version: str, changes: Sequence[Mapping[str, Any]], *, gone: bool) -> Row:
    name, since = chart["chart"], parse_version(version)
    assert since is not None
    return Row(
        product(name),
        f"chart-{name}-{version}{'-gone' if gone else ''}",
        (since,),
        "deletes" if gone else "breaks",
        "warning" if gone else "error",
        f"Chart {name} {version} {_GONE if gone else _REFUSED}",
        f"{chart['repository']}, {name} {changes[0]['after']} and {version}, rendered and compared",
        "chart",
        {"chart": name, "in": since, "changes": changes},
        (_KEEP if gone else _DELETE,),
    )


_REFUSED = (
    "gives {object} of {app} another {what}, which Kubernetes refuses: no sync succeeds until that object is deleted."
)
_GONE = "{what} {object} of {app}: {then}."
_DELETE = FirstStep(
    "Delete it right before the sync that applies the new release",
    "live",
    "{object}",
    "command",
    "{delete}\n",
    "its pods stop until that sync; claims of a StatefulSet stay, unless persistentVolumeClaimRetentionPolicy says Delete",
)
_KEEP = FirstStep(
    "Keep it, and move its data before the new release",
    "live",
    "{object}",
    "command",
    "{keep}\n",
    "what replaces it begins without its data",
)


def steps(pinned: Pinned, wanted: Sequence[str], table: Mapping[str, Any]) -> Mapping[str, Step]:
    """The upgrades of the named charts, each `NAME` or `NAME=RELEASE`, or of all charts; without a release, to the newest known one."""
    newest = {chart["chart"]: parse_version(chart["newest"]) or () for chart in table["charts"]}
    found = {}
    for text in sorted(newest) if ALL in wanted else wanted:
        name, _, release = text.partition("=")
        if name not in newest:
            raise UsageError(
                f"--chart {name}: nothing is known of this chart", f"known are {', '.join(sorted(newest))}; or {ALL}"
            )
        to = _release(name, release) if release else newest[name]
        least = min(pinned.get(name, ()), default=None)
        if ALL not in wanted and least is not None and least >= to:
            raise UsageError(
                f"--chart {text} is no upgrade: {shown(least)} is the oldest that runs", "name a later release"
            )
        found[product(name)] = Step(Product(name, product(name), (shown(newest[name]),)), (0, 0, 0), to)
    return found


def versions(ways: Mapping[str, Step], pinned: Pinned) -> Iterator[ForecastVersion]:
    """The requested upgrades, shortened if they are all charts."""
    if len(ways) > _NAMED:
        yield ForecastVersion(f"{len(ways)} charts", "as they are pinned", "their newest releases")
        return
    for way in ways.values():
        least = min(pinned.get(way.product.id, ()), default=None)
        yield ForecastVersion(way.product.name, shown(least) if least else "as pinned", shown(way.to))


_NAMED = 5


def _release(name: str, text: str) -> Version:
    found = parse_version(text) if _WRITTEN.fullmatch(text) else None
    if found is None and _WRITTEN.fullmatch(text):
        found = (int(text.lstrip("v")),)
    if found is None:
        raise UsageError(f"--chart {name}={text}: {text!r} is no version", "write it as 14, 14.2 or 14.2.1")
    return (*found, *(LATEST,) * (3 - len(found)))


def pinned(fleet: Fleet) -> Pinned:
    """The releases that Applications name, or that Argo CD chose for a range."""
    found: dict[str, list[Version]] = {}
    for app in fleet.apps:
        for index, source in enumerate(app.sources):
            taken = app.revisions[index] if index < len(app.revisions) else ""
            version = parse_version(taken) or parse_version(source.get("targetRevision"))
            if source.get("chart") and version is not None:
                found.setdefault(str(source["chart"]).rpartition("/")[2], []).append(version)
    return found
