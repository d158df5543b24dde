"""The requested upgrades: their current versions, their rows, and the forecast of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from argolint.application.fleet import Fleet
from argolint.engine.load import controller
from argolint.engine.plan import Plan
from argolint.errors import UsageError
from argolint.forecast import charts, report, today, upgrade
from argolint.forecast.releases import Product, Step, products, step, written
from argolint.forecast.table import Row, rows
from argolint.forecast.world import ARGOCD, World
from argolint.model import Failure
from argolint.plugins import chart_changes, removed_apis, upgrade_tables
from argolint.reports.document import Forecast
from argolint.server import api
from argolint.server.transport import Transport
from argolint.values import text_at

OPERATOR = "external-secrets"


def every_row() -> Iterator[Row]:
    """The rows of all tables."""
    for table in upgrade_tables():
        yield from rows(table)
    yield from upgrade.removals(removed_apis())
    yield from charts.rows(chart_changes())


def upgrades(
    t: Transport,
    fleet: Fleet,
    unread: Sequence[Failure],
    wanted: Mapping[str, str],
    plan: Plan,
    cluster: str = "",
    charted: Sequence[str] = (),
) -> tuple[Forecast, upgrade.Upgrade]:
    """The forecast of upgrades, each a product's id and a version. UsageError for an invalid version, or one that is no upgrade.

    `charted`: charts, with or without a release (argolint.forecast.charts). `cluster`, a name or URL, limits products that run on clusters.
    `unread`: lists that could not be read.
    """
    known = products(upgrade_tables())
    for id_, version in wanted.items():
        written(version, known[id_])
    clusters = _clusters(fleet, cluster)
    runs = {id_: _today(t, fleet, id_, clusters) for id_ in wanted}
    stages = frozenset(f.stage for f in unread)
    steps = {id_: _step(known[id_], runs[id_], version, stages) for id_, version in wanted.items()}
    pinned = charts.pinned(fleet)
    ways = charts.steps(pinned, charted, chart_changes()) if charted else {}
    every = {**steps, **ways}
    world = World(fleet, every, stages, controller(t, fleet), clusters)
    failures = [*_uncertain(fleet, runs[OPERATOR], clusters)] if OPERATOR in wanted else []
    found = upgrade.upgrade(t, fleet, failures, upgrade.rows_between(every_row(), every), world, plan)
    forecast = Forecast(
        "upgrade",
        versions=(*report.versions(steps, runs), *charts.versions(ways, pinned)),
        causes=tuple(report.causes(found.rows, found.findings, every)),
        order=tuple(upgrade.order_sentences(steps, found.findings)),
        look=tuple(report.forecast_looks(found.look, every)),
        unknown=found.unknown,
    )
    return forecast, found


def _clusters(fleet: Fleet, cluster: str) -> frozenset[str]:
    if not cluster:
        return frozenset()
    found = frozenset(
        server for server, raw in fleet.clusters.items() if cluster.rstrip("/") in (server, text_at(raw, "name"))
    )
    if not found and fleet.clusters:
        names = ", ".join(sorted(text_at(raw, "name") or server for server, raw in fleet.clusters.items())[:10])
        raise UsageError(f"--cluster {cluster!r} is no cluster of this Argo CD", f"it knows {names}")
    return found


def _today(t: Transport, fleet: Fleet, product: str, clusters: frozenset[str]) -> str:
    """The version that runs; empty if unknown."""
    if product == ARGOCD:
        return fleet.version
    if product == "kubernetes":
        return today.oldest_cluster(fleet, clusters)
    if product == "helm":
        return api.helm_version(t)
    version, _ = today.oldest_operator(fleet, clusters)
    return "v" + ".".join(map(str, version)) if version else ""


def _step(product: Product, today: str, wanted: str, unread: frozenset[str]) -> Step:
    """The upgrade.

    If the current version on clusters is unknown, it starts at the oldest: each object shows whether a row applies, and the rest is listed
    as unknown.
    """
    hidden = product.id == OPERATOR or (product.id == "kubernetes" and "clusters" in unread)
    if today or not hidden:
        return step(product, today, wanted)
    return Step(product, (0, 0, 0), written(wanted, product))


def _uncertain(fleet: Fleet, least: str, clusters: frozenset[str]) -> Iterator[Failure]:
    if today.oldest_operator(fleet, clusters)[1]:
        return
    served = f"; by the API versions that are served it is {least} or later" if least else ""
    yield Failure(
        OPERATOR,
        f"no application that Argo CD shows runs its image, so which release runs is not known{served}",
        "findings on API versions are complete; some others may be about earlier upgrades",
    )
