"""Argo CD's data other than the objects: conditions, events, and the last or running sync."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from argolint.model import Object, ResourceId, Symptom
from argolint.redaction import without_secrets
from argolint.values import dig, mapping, maps, number_at, text_at, texts
from argolint.values.patterns import regex


@dataclass(frozen=True, slots=True)
class Condition:
    type: str
    message: str
    since: datetime | None = None

    @property
    def is_error(self) -> bool:
        return self.type.endswith("Error")

    @property
    def of_health(self) -> bool:
        """True for a ComparisonError from a failed health check, which Argo CD reports after the comparison (controller/state.go)."""
        return self.type == "ComparisonError" and self.message.startswith("error setting app health: ")

    def judges(self, resource: ResourceId) -> bool:
        """True if it is the failed health check of this object (controller/health.go)."""
        return self.of_health and f'for "{resource.kind}" with name "{resource.name}"' in self.message

    @property
    def symptom(self) -> Symptom:
        """The symptom for a finding's claim, without secrets, since shard files contain it."""
        return Symptom.condition(self.type, without_secrets(self.message))


@dataclass(frozen=True, slots=True)
class Event:
    """A Kubernetes Event, which the cluster keeps for about an hour."""

    type: str
    reason: str
    message: str
    count: int = 1
    first: datetime | None = None
    last: datetime | None = None


@dataclass(frozen=True, slots=True)
class Awaited:
    """The object that a running operation waits for. `reason`: healthy state of, completion of hook, deletion of, pruning confirmation of."""

    reason: str
    group: str
    kind: str
    name: str
    others: int = 0

    def is_(self, resource: ResourceId) -> bool:
        """True for an object of this group, kind and name; the message has no namespace."""
        return (resource.group, resource.kind, resource.name) == (self.group, self.kind, self.name)


_AWAITED = regex(
    r"waiting for (healthy state of|completion of hook|deletion of|pruning confirmation of)(?: hook)? ([^/\s]*)/([^/\s]+)/(\S+)"
    r"(?: and (\d{1,9}) more)?"
)


def _turned_degraded(result: Object) -> bool:
    return result.get("hookPhase") == "Failed" and not result.get("hookType") and result.get("status") != "SyncFailed"


@dataclass(frozen=True)
class Operation:
    """status.operationState: the last or running sync."""

    phase: str
    message: str
    started_at: datetime | None
    finished_at: datetime | None
    retry_count: int
    raw: Object

    @property
    def revisions(self) -> tuple[str, ...]:
        """The revisions in the sync result, else the requested ones."""
        result, sync = mapping(self.raw, "syncResult"), mapping(self.raw, "operation", "sync")
        one = text_at(result, "revision") or text_at(sync, "revision")
        return texts(result, "revisions") or texts(sync, "revisions") or ((one,) if one else ())

    @cached_property
    def results(self) -> tuple[Object, ...]:
        """syncResult.resources: group, version, kind, namespace, name, status, message, hookType, hookPhase, syncPhase."""
        return maps(self.raw, "syncResult", "resources")

    @cached_property
    def _by_object(self) -> Mapping[tuple[str, str, str], Sequence[Object]]:
        found: dict[tuple[str, str, str], list[Object]] = {}
        for row in self.results:
            found.setdefault((text_at(row, "group"), text_at(row, "kind"), text_at(row, "name")), []).append(row)
        return found

    def results_of(self, resource: ResourceId) -> tuple[Object, ...]:
        """The results of one object. For a cluster-scoped one, the destination's namespace is in them (gitops-engine pkg/sync/sync_context.go)."""
        rows = self._by_object.get((resource.group, resource.kind, resource.name), ())
        return tuple(row for row in rows if resource.namespace in ("", text_at(row, "namespace")))

    def applied(self, resource: ResourceId) -> bool:
        """True if the sync has applied the object, according to its result."""
        return any(row.get("status") == "Synced" for row in self.results_of(resource))

    @cached_property
    def hook_failed(self) -> bool:
        """True if a hook of this operation failed."""
        return any(r.get("hookType") and r.get("hookPhase") in ("Failed", "Error") for r in self.results)

    @cached_property
    def turned_degraded(self) -> tuple[Object, ...]:
        """Results of objects, without hooks, that became Degraded after they were applied; this also fails a sync.

        gitops-engine/pkg/sync/sync_context.go, Sync: `status` stays Synced, `hookPhase` is Failed, `message` has the health.
        """
        return tuple(filter(_turned_degraded, self.results))

    def degraded(self, resource: ResourceId) -> bool:
        """True if the object is among `turned_degraded`."""
        return any(map(_turned_degraded, self.results_of(resource)))

    @property
    def automated(self) -> bool:
        return bool(dig(self.raw, "operation", "initiatedBy", "automated"))

    @property
    def self_heal_attempts(self) -> int:
        return number_at(self.raw, "operation", "sync", "autoHealAttemptsCount")

    @property
    def waiting_to_retry(self) -> bool:
        """Running with finishedAt set means the controller waits before the next attempt (controller/appcontroller.go)."""
        return self.phase == "Running" and self.finished_at is not None

    @property
    def failed(self) -> bool:
        """The last attempt failed, whether or not a retry is planned."""
        return self.phase in ("Failed", "Error") or self.waiting_to_retry

    @property
    def awaited(self) -> Awaited | None:
        """What the running operation waits for, according to its message (gitops-engine/pkg/sync/sync_context.go)."""
        found = _AWAITED.search(self.message) if self.phase == "Running" and not self.waiting_to_retry else None
        return Awaited(found[1], found[2], found[3], found[4], int(found[5] or 0)) if found else None
