"""An ExternalSecret silently stopped refreshing

What it finds: a periodic ExternalSecret that is Ready=True although its last successful sync is older than twice the refresh interval plus ten
minutes. The age counts up to Argo CD's last comparison, so that a server which ignores status updates causes no finding. An immutable target
keeps its first value in any case, and is not reported.

Why it hurts: Argo CD shows Healthy, the condition says `secret synced`, and the Secret keeps a value that the provider may have
rotated long ago. A skipped reconcile does not touch the condition, so nothing turns red.

How to fix: check whether the operator runs and keeps up (its log, `--concurrent`, its work queue); v2.0.1 to v2.1.0 stop in big fleets and need
v2.2.0. Then force a sync. A shorter interval changes nothing: the reconciles do not happen at all.

Example:

    ExternalSecret shop/db has not refreshed for 3 days, so its Secret "db" no longer follows the provider.

Sources: external-secrets pkg/controllers/externalsecret/externalsecret_controller.go (shouldRefresh, refreshTime), issue 6053.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from argolint import App, Edit, Finding, Fix, Fleet, Location, Resource, Rule
from argolint.comparison import writer
from argolint.relations.operator_version import OperatorVersion, version_of
from argolint.values import age_text, dig, parse_time
from argolint.values.kubernetes import is_deleting

from ..shared.operators import external_secrets_upgrade
from . import _external_secret as es

ANSWERED = timedelta(minutes=2)
"""The time within which a running operator reacts to an edit of the interval."""


@dataclass(frozen=True)
class Options:
    """An ExternalSecret is stale after `intervals` refresh intervals and `grace_minutes` more."""

    intervals: int = 2
    grace_minutes: int = 10


def check(app: App, fleet: Fleet, options: Options) -> Iterator[Finding]:
    """One finding for each ExternalSecret whose refresh is overdue."""
    for resource in es.external_secrets(app):
        last = parse_time(dig(resource.live, "status", "refreshTime"))
        if last is not None and _is_refreshed(resource) and _is_overdue(app, resource, last, options):
            yield _finding(app, resource, last, version_of(app, fleet))


def _is_refreshed(resource: Resource) -> bool:
    """Whether the operator refreshes it at an interval, and says that it has done so."""
    live, ready = resource.live, es.ready_condition(resource.live)
    return (
        ready.get("status") == "True"
        and not str(ready.get("reason")).endswith("Deleted")  # before v0.11 such a sync does not change the time
        and es.refresh_policy(live) == "Periodic"
        and es.refresh_interval(live) > timedelta()
        and not es.spec_of(live).get("syncWindows")
        and not is_deleting(resource.live)
        and not es.keeps_first_value(live)
    )


def _is_overdue(app: App, resource: Resource, last: datetime, options: Options) -> bool:
    """Whether the refresh is overdue by an interval that was in place long enough for the operator to notice it."""
    most = options.intervals * es.refresh_interval(resource.live) + timedelta(minutes=options.grace_minutes)
    return es.seen_at(app) - last > most and not _is_interval_recent(app, resource)


def _finding(app: App, resource: Resource, last: datetime, version: OperatorVersion) -> Finding:
    interval = es.spec_of(resource.live).get("refreshInterval") or "1h"
    return Finding(
        message=f"{resource.id} has not refreshed for {age_text(es.seen_at(app) - last)}, so its {es.target_text(resource.live)} no longer follows the provider.",
        at=Location(app.ref, resource.id, "/spec/refreshInterval"),
        evidence=(
            f"status.refreshTime {last:%Y-%m-%dT%H:%M:%SZ}, Ready=True; refreshInterval {interval}",
            f"the operator is {version}",
        ),
        fixes=tuple(_fixes(resource, version)),
    )


def _fixes(resource: Resource, version: OperatorVersion) -> Iterator[Fix]:
    if version.at_least("v2.0.1") and version.at_least("v2.2.0") is False:
        to = "v2.2.0 or later: v2.0.1 to v2.1.0 stop in big fleets"
        yield external_secrets_upgrade(to, "external-secrets issue 6053")
    log = "kubectl -n OPERATOR_NAMESPACE logs deployment/external-secrets --since=15m"
    yield Fix(
        "See whether the operator runs and keeps up, and start it again",
        "operator",
        "Deployment of External Secrets",
        Edit("command", f"{log}\nkubectl -n OPERATOR_NAMESPACE rollout restart deployment external-secrets"),
    )
    yield Fix(
        "Force a sync now",
        "live",
        str(resource.id),
        Edit("command", es.force_sync(es.FULL_NAME, resource.namespace, resource.name)),
        "helps only while the operator reconciles",
        safe=True,
    )


def _is_interval_recent(app: App, resource: Resource) -> bool:
    """True if the interval may have been longer until a moment ago."""
    last = writer(resource.live or {}, "/spec/refreshInterval")
    return last is not None and last.time is not None and es.seen_at(app) - last.time < ANSWERED


RULE = Rule(**Rule.page(__name__), severity="error", check=check, reads=es.holds_external_secrets, options=Options)
