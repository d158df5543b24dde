"""An ExternalSecret refreshes very often

What it finds: a `refreshInterval` under five minutes, with the calls a month that it makes, what they cost and the provider's
quota, against the same at one hour.

Why it hurts: each refresh calls the provider for every key (Vault: a login and a revoke besides), whether anything changed or
not. That costs money, eats the quota that all clusters share, and keeps the operator busy.

How to fix: use the longest interval that a rotation can bear, fetch one key with `dataFrom.extract` in place of many entries,
and force a sync when something was rotated on purpose. A short interval is no remedy for expired tokens or failing syncs, as is
sometimes advised: failed syncs follow their own back-off, whatever the interval, and credentials are renewed apart from it.

Example:

    ExternalSecret shop/db refreshes every 1m0s: about 43,200 calls a month to AWS Secrets Manager ($0.22), where 1h would make 720.

Sources: external-secrets pkg/controllers/externalsecret/externalsecret_controller.go, providers/v1; issue 5259; vendors' price lists.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from argolint import App, Edit, Finding, Fix, Fleet, Location, Object, Resource, Rule, Want
from argolint.knowledge import load
from argolint.values import dig, items

from . import external_secret as es
from . import stores

MONTH = timedelta(days=30)


@dataclass(frozen=True)
class Options:
    """`below_minutes`: intervals shorter than this are told."""

    below_minutes: int = 5


def _hot(app: App, options: Options) -> Iterator[Resource]:
    for resource in es.external_secrets(app):
        every = es.interval(resource.any)
        periodic = es.refresh_policy(resource.any) == "Periodic"
        if resource.any and periodic and timedelta() < every < timedelta(minutes=options.below_minutes):
            yield resource


def wants(app: App, fleet: Fleet, options: Options) -> Iterator[Want]:
    """The stores of hot ExternalSecrets, where another application manages them: they name the provider."""
    for resource in _hot(app, options):
        yield from stores.wants_of(app, fleet, resource.any, resource.namespace)


def check(app: App, fleet: Fleet, options: Options) -> Iterator[Finding]:
    """One finding for each ExternalSecret that refreshes more often than the option allows."""
    for resource in _hot(app, options):
        cost = _cost(app, fleet, resource)
        calls = calls_per_refresh(resource.any, cost)
        now, hourly = _monthly(calls, es.interval(resource.any)), _monthly(calls, es.ONE_HOUR)
        price = f" (${now * cost['usd_per_10k'] / 10_000:,.2f})" if cost.get("usd_per_10k") else ""
        quota = (f"quota: {cost['quota']}",) if cost.get("quota") else ()
        yield Finding(
            message=f"{resource.id} refreshes every {es.spec_of(resource.any).get('refreshInterval')}: about {now:,} calls a "
            f"month to {cost['title']}{price}, where 1h would make {hourly:,}.",
            at=Location(app.ref, resource.id, "/spec/refreshInterval"),
            evidence=(f"{calls} calls a refresh", *quota),
            fixes=(
                Fix(
                    f"Refresh every hour: {hourly:,} calls a month",
                    "manifest",
                    f"ExternalSecret {resource.namespace}/{resource.name}",
                    Edit("json-patch", es.set_field(resource.any, "/spec/refreshInterval", "1h0m0s")),
                    "a rotation arrives up to an hour later; force a sync when it was done on purpose",
                    safe=True,
                ),
            ),
        )


def _cost(app: App, fleet: Fleet, resource: Resource) -> Object:
    table: dict[str, Object] = load(__package__, "providers.yaml")
    for ref in es.store_refs(resource.any):
        store = stores.find(app, fleet, ref, resource.namespace)
        service = dig(store.resource.any if store.resource else None, "spec", "provider", "aws", "service")
        name = f"{store.provider}/{service}" if service else store.provider
        return table.get(name) or {**table["other"], **({"title": store.provider} if store.provider else {})}
    return table["other"]


def calls_per_refresh(obj: Object, cost: Object) -> int:
    """Calls that one refresh makes at least: see providers.yaml."""
    remotes = [dig(entry, "remoteRef") or {} for entry in items(obj, "spec", "data")]
    distinct = {(r.get("key"), r.get("version")) for r in remotes}
    calls = len(distinct) if cost["data"] == "distinct" else len(remotes)
    for entry in items(obj, "spec", "dataFrom"):
        calls += int(cost["find"]) if dig(entry, "find") else 1
    return calls + int(cost.get("extra") or 0)


def _monthly(calls: int, every: timedelta) -> int:
    return round(calls * (MONTH / every))


RULE = Rule(
    id="external-secret-hot-interval",
    family="secrets",
    severity="info",
    doc=__doc__,
    check=check,
    wants=wants,
    reads=es.holds_external_secrets,
    options=Options,
)
