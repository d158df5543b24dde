"""What happens to the objects of some applications in a deletion: the result type, and its findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Resource
from argolint.edits import live_command
from argolint.model import AppRef, Finding, Fix, Location, ResourceId, ResourceKey, Severity
from argolint.values.kubernetes import SYNC_OPTIONS, kubectl_name

Way = Literal["delete", "prune"]
FAMILY = "forecast"
Effect = Literal["breaks", "deletes", "looks-different", "stays", "hangs", "refuses"]

EFFECT: Mapping[str, Effect] = {
    "volume-deleted": "deletes",
    "namespace-with-content": "deletes",
    "instances-deleted": "deletes",
    "child-application": "deletes",
    "objects-deleted": "deletes",
    "still-referenced": "breaks",
    "controller-first": "hangs",
    "hook-first": "hangs",
    "hook-after-all": "hangs",
    "waits-for-confirmation": "hangs",
    "already-deleting": "hangs",
    "no-cluster": "stays",
    "not-cascading": "stays",
    "set-preserves": "stays",
    "kept": "stays",
    "other-owner": "stays",
    "claims-of-sets": "stays",
}
"""The effect of each cause of these findings."""
_SEVERITY: Mapping[str, Severity] = {"deletes": "error", "breaks": "error", "hangs": "warning", "stays": "info"}
_OWN: Mapping[str, Severity] = {"objects-deleted": "info", "hook-first": "info", "no-cluster": "warning"}


@dataclass(frozen=True)
class DeletedObject:
    """One object that is deleted, and when: `turn` is the number of its group; groups are deleted one after the other."""

    app: App
    resource: Resource
    turn: int
    note: str = ""


@dataclass(frozen=True, eq=False)
class DeletionForecast:
    """What happens to the objects of some applications. `refs`: applications that are deleted as a whole."""

    way: Way
    fleet: Fleet
    deleted: tuple[DeletedObject, ...]
    findings: tuple[Finding, ...]
    refs: frozenset[AppRef] = frozenset()

    @cached_property
    def keys(self) -> Mapping[ResourceKey, DeletedObject]:
        return {taken.resource.key: taken for taken in self.deleted}


def deletion_finding(
    way: Way, cause: str, app: App, r: ResourceId | None, message: str, pointer: str = "", **more: Any
) -> Finding:
    """A finding of this deletion or prune; `more`: further fields of it."""
    severity = _OWN.get(cause, _SEVERITY[EFFECT[cause]])
    at = Location(app.ref, r, pointer)
    return Finding(message, at, cause=cause, severity=severity, rule=f"forecast-{way}", family=FAMILY, **more)


def keep_fix(id_: ResourceId) -> Fix:
    command = f"kubectl annotate {kubectl_name(id_)} --overwrite {SYNC_OPTIONS}=Prune=false,Delete=false\n"
    return live_command(id_, "Keep it, if this is not intended", command)
