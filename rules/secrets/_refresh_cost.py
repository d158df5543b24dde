"""The cost of refreshes: calls to the provider by number, interval and kind of entries, their price, and the quota.

Counts are the operator's least; providers.yaml has the data of each provider.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from argolint import App, Fleet, Object, Resource
from argolint.values import dig, items, mapping
from argolint.values.knowledge import load

from . import _external_secret as es
from . import _stores as stores

MONTH = timedelta(days=30)


def cost_of(app: App, fleet: Fleet, obj: Object, namespace: str) -> Object:
    """The entry of providers.yaml for the first store of the ExternalSecret; `other` if the store is not visible."""
    table: dict[str, Object] = load(__package__, "providers.yaml")
    for ref in es.store_refs(obj):
        store = stores.find(app, fleet, ref, namespace)
        service = dig(store.resource.any if store.resource else None, "spec", "provider", "aws", "service")
        name = f"{store.provider}/{service}" if service else store.provider
        return table.get(name) or {**table["other"], **({"title": store.provider} if store.provider else {})}
    return table["other"]


def calls_per_refresh(obj: Object, cost: Object) -> int:
    """Calls that one refresh makes at least."""
    remotes = [mapping(entry, "remoteRef") for entry in items(obj, "spec", "data")]
    distinct = {(str(r.get("key")), str(r.get("version"))) for r in remotes}
    calls = len(distinct) if cost["data"] == "distinct" else len(remotes)
    for entry in items(obj, "spec", "dataFrom"):
        calls += int(cost["find"]) if dig(entry, "find") else 1
    return calls + int(cost.get("extra") or 0)


def calls_per_month(calls: int, every: timedelta) -> int:
    """Calls in 30 days."""
    return round(calls * (MONTH / every))


def is_seldom_read(app: App, store: es.StoreRef) -> bool:
    """Whether each ExternalSecret of the application that reads the store repeatedly waits an hour or longer."""
    readers = app.derive(_readers_by_store).get((store.kind, store.name), ())
    return bool(readers) and all(es.refresh_interval(r.any) >= es.ONE_HOUR for r in readers)


def price_text(calls: int, cost: Object) -> str:
    """` ($1.23)` by the list price, or empty if the provider does not charge by call."""
    return f" (${calls * cost['usd_per_10k'] / 10_000:,.2f})" if cost.get("usd_per_10k") else ""


def _readers_by_store(app: App) -> Mapping[tuple[str, str], Sequence[Resource]]:
    """The ExternalSecrets that read each store repeatedly."""
    found: dict[tuple[str, str], list[Resource]] = {}
    for resource in es.external_secrets(app):
        if es.refresh_policy(resource.any) == "Periodic" and es.refresh_interval(resource.any) > timedelta():
            for store in {(s.kind, s.name) for s in es.store_refs(resource.any)}:
                found.setdefault(store, []).append(resource)
    return found


def _store_calls_per_month(app: App, store: tuple[str, str], counted: tuple[tuple[str, Any], ...]) -> int:
    """Calls of all readers of a store in 30 days; `counted` is the counting method of a provider's entry."""
    cost = dict(counted)
    return sum(
        calls_per_month(calls_per_refresh(r.any, cost), es.refresh_interval(r.any))
        for r in app.derive(_readers_by_store)[store]
    )


def store_load_lines(app: App, fleet: Fleet, obj: Object, namespace: str) -> Iterator[str]:
    """The total load of all ExternalSecrets of the application with the same store, and the provider's quota."""
    cost = cost_of(app, fleet, obj, namespace)
    first = next(iter(es.store_refs(obj)), None)
    sharing = app.derive(_readers_by_store).get((first.kind, first.name), ()) if first else ()
    if first and len(sharing) > 1:
        counted = tuple((key, cost[key]) for key in ("data", "find", "extra") if key in cost)
        calls = app.derive(_store_calls_per_month, (first.kind, first.name), counted)
        yield f"{len(sharing)} ExternalSecrets of this application read the same store: {calls:,} calls a month{price_text(calls, cost)}"
    if cost.get("quota"):
        yield f"quota: {cost['quota']}"
