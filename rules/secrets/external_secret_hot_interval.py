"""An ExternalSecret refreshes very often

What it finds: a `refreshInterval` under five minutes (also in the template of a ClusterExternalSecret, where it counts for each namespace). The
finding has its calls a month, their cost and the provider's quota, and the same at one hour.

Why it hurts: each refresh calls the provider for every key (Vault: also a login and a revoke), even without a change. That costs money, uses up
the quota that all clusters share, and loads the operator.

How to fix: use the longest interval that rotations permit, fetch one key with `dataFrom.extract` in place of many entries, and force a sync
after a deliberate rotation. A short interval does not help against expired tokens or failing syncs, although that is common advice: failed syncs
have their own back-off, at any interval, and credentials are renewed independently.

Example:

    ExternalSecret shop/db refreshes every 1m0s: about 43,200 calls a month to AWS Secrets Manager ($0.22), where 1h would make 720.

Sources: external-secrets pkg/controllers/externalsecret/externalsecret_controller.go, providers/v1; issue 5259; vendors' price lists.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from argolint import App, Edit, Finding, Fix, Fleet, Location, Rule, Want

from . import _external_secret as es
from . import _stores as stores
from ._refresh_cost import calls_per_month, calls_per_refresh, cost_of, price_text, store_load_lines


@dataclass(frozen=True)
class Options:
    """`below_minutes`: intervals shorter than this are reported."""

    below_minutes: int = 5


def _frequent_external_secrets(app: App, options: Options) -> Iterator[es.Declared]:
    for found in es.declared(app):
        every = es.refresh_interval(found.manifest)
        periodic = es.refresh_policy(found.manifest) == "Periodic"
        if periodic and timedelta() < every < timedelta(minutes=options.below_minutes):
            yield found


def wants(app: App, fleet: Fleet, options: Options) -> Iterator[Want]:
    """The stores of such ExternalSecrets, if another application manages them: they name the provider."""
    for found in _frequent_external_secrets(app, options):
        yield from stores.store_wants(app, fleet, found.manifest, found.resource.namespace)


def check(app: App, fleet: Fleet, options: Options) -> Iterator[Finding]:
    """One finding for each ExternalSecret that refreshes more often than the option allows."""
    for found in _frequent_external_secrets(app, options):
        resource, manifest = found.resource, found.manifest
        cost = cost_of(app, fleet, manifest, resource.namespace)
        if cost.get("free"):
            continue
        each = calls_per_refresh(manifest, cost)
        calls = each * found.copies
        now, hourly = calls_per_month(calls, es.refresh_interval(manifest)), calls_per_month(calls, es.ONE_HOUR)
        yield Finding(
            message=f"{resource.id} refreshes every {es.spec_of(manifest).get('refreshInterval')}: about {now:,} calls a "
            f"month to {cost['title']}{price_text(now, cost)}, where 1h would make {hourly:,}.",
            at=Location(app.ref, resource.id, found.pointer("/spec/refreshInterval")),
            evidence=(
                f"{each} calls a refresh",
                *((f"in {found.copies} namespaces",) if found.copies > 1 else ()),
                *store_load_lines(app, fleet, manifest, resource.namespace),
            ),
            fixes=(
                Fix(
                    f"Refresh every hour: {hourly:,} calls a month",
                    "manifest",
                    str(resource.id),
                    Edit("json-patch", found.set("/spec/refreshInterval", "1h0m0s")),
                    "a rotation arrives up to an hour later; force a sync when it was done on purpose",
                    safe=True,
                ),
            ),
        )


RULE = Rule(
    **Rule.page(__name__), severity="info", check=check, wants=wants, reads=es.holds_external_secrets, options=Options
)
