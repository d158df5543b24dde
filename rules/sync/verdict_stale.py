"""What Argo CD shows is old

What it finds: a `cluster` none of whose applications Argo CD has compared for hours while it compares those of others (a controller shard that is
down, a cluster cache that hangs); a `controller` that has compared nothing for a day; an `application` that is left behind by a
day while the others of its cluster are compared. Reported once for each cluster, and in `stale` of the JSON report.

Why it hurts: Synced and Healthy are of then, not of now. Whatever else is found of these applications rests on it.

How to fix: look at the application controller: its shards, its logs, its memory, its queue.

Example: three shards, of which one is evicted; the applications of its clusters stay Synced.

Sources: status.reconciledAt (controller/appcontroller.go); timeout.reconciliation (3 minutes unless set; 0 leaves only webhooks and changes of the cluster, so a
quiet day of few applications is no sign). What is being deleted or skipped on purpose is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from argolint import App, AppRef, Edit, Fact, Finding, Fix, Fleet, Location, Related, Rule
from argolint.values import age_text, annotations_of, parse_time

_HOURS, _DAY, _FRESH = timedelta(hours=6), timedelta(hours=24), timedelta(minutes=30)
_ENOUGH = 3
"""Applications by which a cluster is judged."""


@dataclass(frozen=True, slots=True)
class _Behind:
    """How old what is shown of an application is, what it shares that with, and when the newest was compared."""

    cause: str
    key: str
    newest: datetime


def _compared(app: App) -> datetime | None:
    """None for what Argo CD leaves alone on purpose, or never compared."""
    if app.deleting or "argocd.argoproj.io/skip-reconcile" in annotations_of(app.raw):
        return None
    return parse_time(app.status.get("reconciledAt"))


def _behind(fleet: Fleet) -> Mapping[AppRef, _Behind]:
    """The applications whose status is old."""
    by_cluster: dict[str, list[tuple[datetime, App]]] = defaultdict(list)
    for app in fleet.apps:
        if (at := _compared(app)) is not None:
            by_cluster[app.cluster].append((at, app))
    now = max((app.observed_at for app in fleet.apps), default=None)
    newest = {cluster: max(at for at, _ in seen) for cluster, seen in by_cluster.items()}
    if now is None or not newest:
        return {}
    found: dict[AppRef, _Behind] = {}
    fresh = now - max(newest.values()) <= _FRESH
    everything = sum(len(seen) for seen in by_cluster.values()) >= _ENOUGH and now - max(newest.values()) > _DAY
    for cluster, seen in by_cluster.items():
        if everything:
            told = _Behind("controller", "controller", max(newest.values()))
            found.update((app.ref, told) for _, app in seen)
        elif fresh and len(seen) >= _ENOUGH and now - newest[cluster] > _HOURS:
            told = _Behind("cluster", cluster, newest[cluster])
            found.update((app.ref, told) for _, app in seen)
        elif sum(now - at <= _FRESH for at, _ in seen) >= _ENOUGH:
            late = ((at, app) for at, app in seen if now - at > _DAY)
            found.update((app.ref, _Behind("application", str(app.ref), at)) for at, app in late)
    return found


def collect(app: App, fleet: Fleet, options: object) -> Iterator[Fact]:
    """One fact an application that is behind."""
    behind = fleet.derive(_behind).get(app.ref)
    if behind is not None:
        data = {
            "cause": behind.cause,
            "cluster": app.cluster,
            "newest": behind.newest.isoformat(),
            "seen": app.observed_at.isoformat(),
        }
        yield Fact(f"{behind.cause} {behind.key}", app.ref, data)


def join(key: str, facts: Sequence[Fact], options: object) -> Iterator[Finding]:
    """One finding for all that is behind together."""
    data, count = facts[0].data, len({fact.app for fact in facts})
    newest, seen = parse_time(data["newest"]), parse_time(data["seen"])
    if newest is None or seen is None:
        return
    age, cause = age_text(seen - newest), str(data["cause"])
    subject = {
        "controller": f"Argo CD has compared no application for {age}",
        "cluster": f"Argo CD has compared no application of cluster {data['cluster']} for {age}",
        "application": f"Argo CD has not compared application {facts[0].app} for {age}",
    }[cause]
    those = "its" if cause == "application" else f"the shown states of {count} applications"
    what = "its shown state is" if cause == "application" else f"{those} are"
    yield Finding(
        message=f"{subject}, so {what} of {newest:%Y-%m-%d %H:%M} UTC.",
        at=Location(facts[0].app),
        cause=cause,
        confidence="likely",
        evidence=(
            f"the newest status.reconciledAt is {newest:%Y-%m-%d %H:%M} UTC; the list was read at {seen:%Y-%m-%d %H:%M} UTC",
        ),
        related=tuple(Related(fact.app) for fact in facts[1:20]),
        fixes=(
            Fix(
                "Look at the application controller: its shards, logs, memory and queue",
                "argocd-settings",
                "the application controller",
                Edit(
                    "command",
                    "kubectl -n argocd get pods -l app.kubernetes.io/name=argocd-application-controller\n"
                    "kubectl -n argocd logs statefulset/argocd-application-controller --tail=100",
                ),
            ),
        ),
    )


RULE = Rule(
    id="verdict-stale",
    family="sync",
    severity="error",
    doc=__doc__,
    collect=collect,
    join=join,
    causes=("cluster", "controller", "application"),
    standing=True,
)
