"""Differences between recordings of one company under several versions of Argo CD, for a comparison with forecasts.

Counted are an object that turns OutOfSync or Synced, an application that is no longer Missing or newly Degraded, and the warnings and refusals
that an upgrade adds or ends. Differences with another reason are left out: values that are random at each render, objects that several
applications render (the last sync wins) and an application that could not be compared at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.engine.load import read_fleet
from argolint.errors import ArgolintError
from argolint.server import api as argocd
from argolint.snapshots.reader import SnapshotTransport

Change = tuple[str, str, str]
"""Application, object (`Kind/name`, empty for the application itself), and the change."""

_OF_CAUSE = {
    "difference-comes": "differs",
    "difference-goes": "no longer differs",
    "missing-in-part": "health",
    "autoscaler-health": "degraded",
    "cron-job-health": "degraded",
    "crd-health": "judged",
    "route-health": "judged",
    "gateway-health": "judged",
    "rabbitmq-health": "judged",
    "kyverno-policy-health": "judged",
    "scaled-job-health": "judged",
    "cluster-policy-health": "judged",
    "pdb-health": "judged",
    "backend-tls-health": "judged",
    "gateway-class-health": "judged",
    "excluded-by-default": "excluded",
    "comparison-returns": "comparison",
}
IN_PLACE = frozenset(
    {
        "annotation-tracking",
        "orphaned-by-tracking",
        "instance-label-returns",
        "apply-out-of-sync-only",
        "copied-label-forgotten",
        "shared-unseen",
    }
)
"""Causes that only an upgrade in place shows: the recorded companies were installed newly, with tracking by annotation from the start."""


@dataclass(frozen=True)
class Score:
    hits: frozenset[Change]
    missed: frozenset[Change]
    false: frozenset[Change]

    @property
    def recall(self) -> float:
        return len(self.hits) / max(1, len(self.hits) + len(self.missed))


def score(report: dict[str, Any], before: Path, after: Path, truth: Path) -> Score:
    expected = frozenset((*_changes(_fleet(before), _fleet(after), _random(truth)), *_judged(before, after)))
    forecast_of = frozenset(_forecast(report))
    return Score(expected & forecast_of, expected - forecast_of, forecast_of - expected)


def _judged(before: Path, after: Path) -> Iterator[Change]:
    """Objects that had no health and now have one that is not Healthy: their kind got a health check."""
    old, new = _healths(before), _healths(after)
    for (app, kind, name), health in new.items():
        if old.get((app, kind, name)) == "" and health not in ("", "Healthy", "Missing"):
            yield app, f"{kind}/{name}", "judged"


@cache
def _healths(phase: Path) -> dict[tuple[str, str, str], str]:
    """The health of every live object that an application lists, by the resource trees."""
    t = SnapshotTransport([phase])
    found = {}
    for app in read_fleet(t)[0].apps:
        try:
            tree = argocd.resource_tree(t, app.ref)
        except ArgolintError:
            continue
        listed = {(row.kind, row.name) for row in app.rows}
        for node in tree.nodes or ():
            if node.uid and (node.kind, node.name) in listed:
                found[app.name, node.kind, node.name] = node.health.status if node.health else ""
    return found


def _fleet(phase: Path) -> Fleet:
    return read_fleet(SnapshotTransport([phase]))[0]


def _random(truth: Path) -> frozenset[tuple[str, str]]:
    """Objects that differ by chance: (kind, name)."""
    faults = yaml.safe_load(truth.read_text())["faults"]
    chance = ("nondeterministic-", "shared-resource")
    return frozenset(
        (f["resource"]["kind"], f["resource"]["name"])
        for f in faults
        if f["fault"].startswith(chance) and f.get("resource")
    )


def _changes(before: Fleet, after: Fleet, random: frozenset[tuple[str, str]]) -> Iterator[Change]:
    then = {(a.ref.namespace, a.name): a for a in after.apps}
    for app in before.apps:
        later = then.get((app.ref.namespace, app.name))
        if later is None:
            continue
        if app.sync_status != "Unknown":
            yield from _objects(app, later, random)
        if app.health.status == "Missing" and later.health.status != "Missing":
            yield app.name, "", "health"
        old, new = ({c.type for c in a.conditions} for a in (app, later))
        if "ComparisonError" in old - new:
            yield app.name, "", "comparison"
        if later.health.status == "Degraded" and app.health.status != "Degraded":
            yield app.name, "", "degraded"
        for condition in later.conditions if "ExcludedResourceWarning" in new - old else ():
            if condition.type == "ExcludedResourceWarning":
                kind, name = condition.message.split()[1:3]
                yield app.name, f"{kind.rpartition('/')[2]}/{name}", "excluded"


def _objects(app: App, later: App, random: frozenset[tuple[str, str]]) -> Iterator[Change]:
    status = {r.id.key: r.status for r in later.resources}
    for r in app.resources:
        pair = (r.status, status.get(r.key))
        if (r.kind, r.name) in random or pair not in (("Synced", "OutOfSync"), ("OutOfSync", "Synced")):
            continue
        yield app.name, f"{r.kind}/{r.name}", "differs" if pair[1] == "OutOfSync" else "no longer differs"


def _forecast(report: dict[str, Any]) -> Iterator[Change]:
    for found in report["findings"]:
        cause = found["cause"]
        if cause in IN_PLACE:
            continue
        what, of = _OF_CAUSE.get(cause, cause), found.get("resource")
        if cause.startswith("health-checks-"):
            for one in (of, *(related["resource"] for related in found.get("related", ()))):
                yield found["app"]["name"], f"{one['kind']}/{one['name']}", "judged"
            continue
        whole = what == "degraded" or not of
        yield found["app"]["name"], "" if whole else f"{of['kind']}/{of['name']}", what


def forecast_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found
