"""Upgrades: every row between two versions is checked against the fleet and its applications.

Applications are read one by one, and dropped after the rows have looked at them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.engine.load import read_application
from argolint.engine.plan import Plan
from argolint.errors import AuthError
from argolint.forecast.conditions import CONDITIONS
from argolint.forecast.releases import Step, has, shown
from argolint.forecast.table import FirstStep, Row, TableError
from argolint.forecast.world import Hit, World
from argolint.model import AppRef, Edit, Failure, Finding, Fix, Location
from argolint.server.transport import Transport
from argolint.values import parse_version

RULE = "forecast-upgrade"
FAMILY = "forecast"
_OF_REMOVALS = {"Kubernetes": "kubernetes", "External Secrets": "external-secrets"}


@dataclass(frozen=True)
class Upgrade:
    """The effect of an upgrade. `rows`: those between the versions; `look`: those of them whose condition no API shows."""

    findings: tuple[Finding, ...]
    failures: tuple[Failure, ...]
    rows: tuple[Row, ...]
    apps: tuple[AppRef, ...]
    resources: int
    unknown: tuple[str, ...] = ()
    steps: Mapping[str, Step] = field(default_factory=dict)

    @cached_property
    def look(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if not row.condition)


def removals(tables: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Rows for API versions that a product stops serving."""
    for table in tables:
        product = _OF_REMOVALS.get(table["product"])
        for entry in table["versions"] if product else ():
            since = parse_version(entry["removed_in"])
            assert since is not None
            api = f"{entry['group']}/{entry['version']}"
            replacement, bridge = entry.get("replacement") or "", entry.get("bridge") or ""
            yield Row(
                str(product),
                f"removed-api-{entry['group'] or 'core'}-{entry['version']}",
                ((*since, 0, 0)[:3],),
                "breaks",
                "error",
                "{object} of {app} {verb} written for {api}, which "
                + f"{table['product']} {entry['removed_in'].lstrip('v')} no longer serves, so no sync succeeds.",
                f"table of removed API versions: {table['product']} {entry['removed_in']}",
                "api",
                {
                    "group": entry["group"],
                    "version": entry["version"],
                    "kinds": entry.get("kinds") or [],
                    "removed": str(entry["removed_in"]),
                    "replacement": replacement,
                },
                (
                    FirstStep(
                        f"Write it for {replacement} and sync before the upgrade" if replacement else "Remove it",
                        "manifest",
                        "{object} of application {app}",
                        "text",
                        f"apiVersion: {replacement}\n" if replacement else f"{api} has no successor.\n",
                        f"a release that serves both lies on the way: {bridge}" if bridge else "",
                    ),
                ),
            )


def rows_between(rows: Iterable[Row], steps: Mapping[str, Step]) -> tuple[Row, ...]:
    """The rows between the current and the next versions. TableError for an unknown condition."""
    found = []
    for row in rows:
        if row.condition and row.condition not in CONDITIONS:
            raise TableError(f"{row.product}/{row.id}: there is no condition {row.condition!r}")
        way = steps.get(row.product)
        if way is not None and _is_crossed(way, row):
            found.append(row)
    return tuple(found)


_AGAIN = frozenset({"difference"})
"""Conditions that depend on the compared version: each release of a row may bring the change, so each is checked."""


def _is_crossed(way: Step, row: Row) -> bool:
    if row.until and has(way.to, row.until):
        return False
    if row.condition in _AGAIN or row.condition == "schema-refusal":
        return any(way.crosses([since]) for since in row.since)
    return way.crosses(row.since)


def upgrade(
    t: Transport, fleet: Fleet, failures: Sequence[Failure], rows: Sequence[Row], world: World, plan: Plan
) -> Upgrade:
    """The rows applied to the fleet. AuthError escapes; any other failed read is a failure."""
    unreported = {row.id: missing for row in rows if (missing := _unseen_lists(row, world))}
    conditional = [row for row in rows if row.condition and row.id not in unreported]
    apps = [app for app in fleet.apps if plan.wanted(app, fleet)]
    wanted = {app.ref for app in apps}
    found = [
        (row, hit)
        for row in conditional
        if (of := CONDITIONS[row.condition].of_fleet) is not None
        for hit in of(world, row.args)
        if hit.app in wanted or any(r.app in wanted for r in hit.related) or (hit.key and len(apps) == len(fleet.apps))
    ]
    unread: list[Failure] = [*failures]
    resources = 0

    def one(app: App) -> tuple[list[tuple[Row, Hit]], tuple[Failure, ...], int]:
        looking = [
            row
            for row in conditional
            if CONDITIONS[row.condition].of_app is not None and world.reaches(app, row.product, row.since)
        ]
        app = replace(app, resources=tuple(app.resources))
        missing: tuple[Failure, ...] = ()
        if any(CONDITIONS[row.condition].reads(app, world, row.args) for row in looking):
            app, missing = read_application(t, app, fleet, replace(plan, rules=()), states=True)
        hits = [
            (row, hit)
            for row in looking
            if (of := CONDITIONS[row.condition].of_app) is not None
            for hit in of(app, world, row.args)
        ]
        return hits, missing, len(app.resources)

    for hits, missing, count in _each(one, apps, plan.workers):
        found += hits
        unread += missing
        resources += count
    findings = sorted((_finding(row, hit) for row, hit in found), key=lambda f: (f.at.app, f.cause or "", str(f.at)))
    return Upgrade(
        tuple(findings),
        tuple(dict.fromkeys(unread)),
        tuple(rows),
        tuple(sorted(wanted)),
        resources,
        tuple(_unknown_texts(unreported, rows)),
        world.steps,
    )


def _each(one: Any, apps: Sequence[App], workers: int) -> Iterator[Any]:
    """The results in order, with some applications in flight."""
    if workers <= 1:
        yield from map(one, apps)
        return
    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="argolint")
    try:
        yield from pool.map(one, apps)
    except AuthError:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    finally:
        pool.shutdown(wait=True)


def _unseen_lists(row: Row, world: World) -> tuple[str, ...]:
    """The lists that the row's condition needs and the account cannot see."""
    if not row.condition:
        return ()
    return tuple(need for need in CONDITIONS[row.condition].needs if need in world.unread)


def _unknown_texts(unreported: Mapping[str, tuple[str, ...]], rows: Sequence[Row]) -> Iterator[str]:
    by_need: dict[str, list[str]] = {}
    for row in rows:
        for need in unreported.get(row.id, ()):
            by_need.setdefault(need, []).append(row.id)
    for need, ids in by_need.items():
        yield f"{', '.join(dict.fromkeys(ids))}: not known, because the account may not see {need} (`{need}, get`)"


def _finding(row: Row, hit: Hit) -> Finding:
    return Finding(
        message=row.says.format_map(hit.fields),
        at=Location(hit.app, hit.resource, hit.pointer),
        cause=row.id,
        severity=hit.severity or row.severity,
        confidence="likely" if row.likely else "proven",
        evidence=(*hit.evidence, f"source: {row.source}"),
        related=hit.related,
        fixes=tuple(_fix(first, hit) for first in row.first),
        rule=RULE,
        family=FAMILY,
        key=hit.key and f"{row.id}/{hit.key}",
    )


def _fix(first: FirstStep, hit: Hit) -> Fix:
    return Fix(
        title=first.title.format_map(hit.fields),
        target=first.target,
        where=first.where.format_map(hit.fields),
        edit=Edit(first.kind, _filled(first, hit)),
        caveat=first.caveat.format_map(hit.fields),
    )


def _filled(first: FirstStep, hit: Hit) -> str:
    """A command or a text with the hit's fields filled in; YAML to paste has no fields."""
    return first.content if first.kind == "yaml" else first.content.format_map(hit.fields)


def order_sentences(steps: Mapping[str, Step], findings: Sequence[Finding]) -> Iterator[str]:
    """Sentences on the order of upgrades."""
    causes = {str(f.cause) for f in findings}
    operators = {c for c in causes if c.startswith("removed-api-external-secrets.io")}
    argocd, kubernetes, operator = (steps.get(p) for p in ("argocd", "kubernetes", "external-secrets"))
    if argocd and kubernetes:
        yield (
            "Argo CD before Kubernetes: an Argo CD that is older than its cluster does not know new fields of built-in kinds, "
            "and where it compares by structured merge it then cannot compare."
        )
    if operator:
        if "removed-api-external-secrets.io-v1alpha1" in causes:
            yield (
                "External Secrets 0.5 to 0.15 first: they serve v1alpha1 and v1beta1. Write v1alpha1 manifests for v1beta1 and "
                "sync them there."
            )
        if operator.of < (0, 17) <= operator.to and operators:
            yield (
                f"External Secrets 0.16 next: it serves v1beta1 and v1. Write every manifest for external-secrets.io/v1 and sync it there, "
                f"then go on to {shown(operator.to)}."
            )
        yield "The CRDs of External Secrets before its operator: an operator that meets older CRDs misses its fields."
    if kubernetes and any(c.startswith("removed-api") for c in causes - operators):
        yield "The manifests before Kubernetes: what is written for an API version that is removed must be synced in the new one first."
