"""The status that Argo CD shows is old

What it finds: a status that Argo CD has not updated. `cluster`: none of its applications was compared for hours while those of others were (a
controller shard that is down, a cluster cache that hangs). `controller`: it has compared nothing for a day. `application`: it is a day behind
the others of its cluster. `unread`: the cluster's cache has failed. `shard`: no controller has reported on the cluster while those of others do.
Reported once for each cluster, and in `stale` of the JSON report.

Why it hurts: Synced and Healthy describe the past. All other findings on these applications depend on that old status.

How to fix: check the application controller: its shards, its logs, its memory, its queue.

Example: three shards, of which one is evicted; the applications of its clusters stay Synced.

Sources: status.reconciledAt (controller/appcontroller.go); timeout.reconciliation (3 minutes by default; 0 leaves only webhooks and changes of
the cluster, so a quiet day of few applications is no sign); controller/clusterinfoupdater.go (every 10 seconds; kept for 10 minutes).
Applications that are being deleted, or skipped on purpose, are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from argolint import App, AppRef, Edit, Fact, Finding, Fix, Fleet, Location, Object, Related, Rule
from argolint.redaction import excerpt
from argolint.values import age_text, annotations_of, mapping, parse_time, sh, text_at
from argolint.values.kubernetes import SKIP_RECONCILE

_HOURS, _DAY, _FRESH = timedelta(hours=6), timedelta(hours=24), timedelta(minutes=30)
_ENOUGH = 3
"""Least number of applications for a judgement on a cluster."""


@dataclass(frozen=True, slots=True)
class _OldStatus:
    """The age of an application's status, the key of its common cause, and the time of the newest comparison."""

    cause: str
    key: str
    newest: datetime
    sentence: str = ""


def _compared_at(app: App) -> datetime | None:
    """The time of the last comparison; None if Argo CD skips the application on purpose, or never compared it."""
    if app.deleting or SKIP_RECONCILE in annotations_of(app.brief):
        return None
    return parse_time(text_at(app.brief, "status", "reconciledAt"))


def _old_statuses(fleet: Fleet) -> Mapping[AppRef, _OldStatus]:
    by_cluster: dict[str, list[tuple[datetime, App]]] = defaultdict(list)
    for app in fleet.apps:
        if (at := _compared_at(app)) is not None:
            by_cluster[app.cluster].append((at, app))
    now = max((app.observed_at for app in fleet.apps), default=None)
    newest = {cluster: max(at for at, _ in seen) for cluster, seen in by_cluster.items()}
    if now is None or not newest:
        return {}
    found = dict(_unread_clusters(fleet, by_cluster, now))
    fresh = now - max(newest.values()) <= _FRESH
    everything = sum(len(seen) for seen in by_cluster.values()) >= _ENOUGH and now - max(newest.values()) > _DAY
    for cluster, seen in by_cluster.items():
        if everything:
            fault = _OldStatus("controller", "controller", max(newest.values()))
            found.update((app.ref, fault) for _, app in seen)
        elif fresh and len(seen) >= _ENOUGH and now - newest[cluster] > _HOURS:
            fault = _OldStatus("cluster", cluster, newest[cluster])
            found.update((app.ref, fault) for _, app in seen)
        elif sum(now - at <= _FRESH for at, _ in seen) >= _ENOUGH:
            late = ((at, app) for at, app in seen if now - at > _DAY)
            found.update((app.ref, _OldStatus("application", str(app.ref), at)) for at, app in late)
    return found


def _unread_clusters(
    fleet: Fleet, compared: Mapping[str, Sequence[tuple[datetime, App]]], now: datetime
) -> Iterator[tuple[AppRef, _OldStatus]]:
    """The applications of clusters that Argo CD cannot read, or that no controller reports on, unless they show that themselves."""
    fault = {
        server: (fleet.connection(server), mapping(raw, "info", "cacheInfo")) for server, raw in fleet.clusters.items()
    }
    attempted = {server: parse_time(state.get("attemptedAt")) for server, (state, _) in fault.items()}
    fresh = any(at is not None and now - at <= _SILENT for at in attempted.values())
    for cluster, own in compared.items():
        state, cache = fault.get(cluster, ({}, {}))
        last = attempted.get(cluster)
        newest = parse_time(cache.get("lastCacheSyncTime")) or max(at for at, _ in own)
        if state.get("status") == "Failed":
            cause, sentence = "unread", excerpt(text_at(state, "message"), 300)
        elif (
            cluster in fault
            and fresh
            and _is_controller_silent(own, last, now)
            and not _is_skipped(fleet.clusters[cluster])
        ):
            cause, sentence = "shard", ""
            newest = last or max(at for at, _ in own)
        else:
            continue
        yield from (
            (app.ref, _OldStatus(cause, cluster, newest, sentence))
            for _, app in own
            if app.sync_status != "Unknown" and app.desired_known
        )


def _is_controller_silent(own: Sequence[tuple[datetime, App]], last: datetime | None, now: datetime) -> bool:
    """Whether neither a report on the cluster nor a comparison of one of its applications is recent."""
    return len(own) >= _ENOUGH and all(now - at > _SILENT for at in (*(at for at, _ in own), *filter(None, [last])))


def _is_skipped(cluster: Object) -> bool:
    return SKIP_RECONCILE in mapping(cluster, "annotations")


_SILENT = timedelta(minutes=15)
"""The age of a report that is too old: a controller reports every few seconds, and a report expires after ten minutes."""


def collect(app: App, fleet: Fleet, options: object) -> Iterator[Fact]:
    """One fact for each application with an old status."""
    behind = fleet.derive(_old_statuses).get(app.ref)
    if behind is not None:
        data = {
            "cause": behind.cause,
            "cluster": app.cluster,
            "newest": behind.newest.isoformat(),
            "seen": app.observed_at.isoformat(),
            "said": behind.sentence,
        }
        yield Fact(f"{behind.cause} {behind.key}", app.ref, data)


def join(key: str, facts: Sequence[Fact], options: object) -> Iterator[Finding]:
    """One finding for all applications with one cause."""
    data, count = facts[0].data, len({fact.app for fact in facts})
    newest, seen = parse_time(data["newest"]), parse_time(data["seen"])
    if newest is None or seen is None:
        return
    age, cause = age_text(seen - newest), str(data["cause"])
    subject = {
        "controller": f"Argo CD has compared no application for {age}",
        "cluster": f"Argo CD has compared no application of cluster {data['cluster']} for {age}",
        "application": f"Argo CD has not compared application {facts[0].app} for {age}",
        "unread": f"Argo CD cannot read cluster {data['cluster']}",
        "shard": f"No application controller has reported on cluster {data['cluster']} for more than {age_text(_SILENT)}",
    }[cause]
    states = "its" if cause == "application" else f"the shown states of {count} applications"
    what = "its shown state is" if cause == "application" else f"{states} are"
    if count == 1 and cause != "application":
        what = "the shown state of 1 application is"
    consequence = (
        f"{what} from {newest:%Y-%m-%d %H:%M} UTC"
        if cause in ("controller", "cluster", "application")
        else f"{what} old"
    )
    compared = f"the newest status.reconciledAt is {newest:%Y-%m-%d %H:%M} UTC"
    known = {
        "unread": f"its cache was last whole at {newest:%Y-%m-%d %H:%M} UTC",
        "shard": f"what is known of it is from {newest:%Y-%m-%d %H:%M} UTC; those of other clusters are reported on",
    }.get(cause, compared)
    yield Finding(
        message=f"{subject}, so {consequence}.",
        at=Location(facts[0].app),
        cause=cause,
        confidence="likely",
        evidence=(
            *((f"connectionState Failed: {data['said']}",) if data["said"] else ()),
            f"{known}; the list was read at {seen:%Y-%m-%d %H:%M} UTC",
        ),
        related=tuple(Related(fact.app) for fact in facts[1:20]),
        fixes=(
            Fix(
                "Look at the application controller: its shards, logs, memory and queue",
                "argocd-settings",
                "the application controller",
                Edit(
                    "command",
                    (f"argocd cluster get {sh(str(data['cluster']))}\n" if cause in ("unread", "shard") else "")
                    + "kubectl -n argocd get pods -l app.kubernetes.io/name=argocd-application-controller\n"
                    "kubectl -n argocd logs statefulset/argocd-application-controller --tail=100",
                ),
            ),
        ),
    )


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    collect=collect,
    join=join,
    causes=("cluster", "controller", "application", "unread", "shard"),
    standing=True,
)
