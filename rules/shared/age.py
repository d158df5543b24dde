"""How long an object has been waiting, by its own times, and how long it may."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from argolint import App, Object, Resource
from argolint.values import annotations_of, dig, maps, number_at, parse_time
from argolint.values.kubernetes import containers, pod_spec


@dataclass(frozen=True)
class Patience:
    """minutes: how long an object may wait (Progressing, no status yet, a deletion) before it is reported."""

    minutes: int = 5

    @property
    def span(self) -> timedelta:
        return timedelta(minutes=self.minutes)


def waiting_since(resource: Resource) -> datetime | None:
    """The newest of: created, deleted, spec last written, a condition of its status last changed; None if nothing is known.

    So a rollout that began a minute ago is recent, even if its Deployment is old.
    """
    live = resource.live
    times = [resource.created_at, *_change_times(live)]
    return max((t for t in times if t is not None), default=None)


def _change_times(live: Object | None) -> Iterator[datetime | None]:
    yield parse_time(dig(live, "metadata", "creationTimestamp"))
    yield parse_time(dig(live, "metadata", "deletionTimestamp"))
    for entry in maps(live, "metadata", "managedFields"):
        if entry.get("subresource") != "status":
            yield parse_time(entry.get("time"))
    for condition in maps(live, "status", "conditions"):
        yield parse_time(condition.get("lastTransitionTime"))
        yield parse_time(condition.get("lastUpdateTime"))


def allowed_wait(resource: Resource, patience: timedelta) -> timedelta:
    """How long it may be Progressing: the option, or the object's own deadlines if they are longer.

    The times of its pods count as well: that of a startup probe, and that for the shutdown.
    """
    obj = resource.live or resource.desired
    deadlines = [dig(obj, "spec", field) for field in ("progressDeadlineSeconds", "minReadySeconds")]
    own = sum(seconds for seconds in deadlines if isinstance(seconds, int) and 0 < seconds < 2**31 - 1)
    starting = max((_startup_seconds(container) for _, container in containers(obj)), default=0)
    stopping = number_at(pod_spec(obj)[1], "terminationGracePeriodSeconds")
    return max(patience, timedelta(seconds=own), timedelta(seconds=starting), timedelta(seconds=stopping))


def _startup_seconds(container: Object) -> int:
    """Seconds of a container's startup probe (core/v1 Probe, with the defaults of the API server)."""
    if not dig(container, "startupProbe"):
        return 0
    period, failures, delay = (
        number_at(container, "startupProbe", field)
        for field in ("periodSeconds", "failureThreshold", "initialDelaySeconds")
    )
    return delay + (period or 10) * (failures or 3)


def is_overdue(app: App, since: datetime | None, allowance: timedelta) -> bool:
    """True if it has waited longer than it may, or if the time is unknown."""
    return since is None or app.observed_at - since > allowance


def is_health_counted(resource: Resource) -> bool:
    """False for an object whose annotation excludes its health from its application's (controller/health.go)."""
    return annotations_of(resource.live).get("argocd.argoproj.io/ignore-healthcheck") != "true"


def waited_time(app: App, since: datetime | None) -> timedelta | None:
    """How long it had waited when the server was read."""
    return app.observed_at - since if since else None
