"""What an object needs to become healthy, so that a sync that waits for it goes on (the table waits.yaml)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

from argolint.application.fleet import Fleet
from argolint.model import Json, Object
from argolint.relations.references import Reference, namespaced, references
from argolint.values import get, text_at
from argolint.values.knowledge import load

_OF_PODS = frozenset(
    "ConfigMap PersistentVolumeClaim PriorityClass Secret SecretProviderClass ServiceAccount StorageClass".split()
)


@dataclass(frozen=True)
class Wait:
    """An entry of waits.yaml."""

    pods: bool
    needs: frozenset[str]
    at: tuple[str, ...]
    idle: Mapping[str, Sequence[Json]]
    suspended: str
    since: tuple[int, int] | None
    well: bool
    likely: bool
    says: str


@cache
def _waits() -> Mapping[tuple[str, str], Wait]:
    found = {}
    for entry in load(__package__, "waits.yaml"):
        one = Wait(
            entry.get("pods", False),
            frozenset(entry.get("needs", ())),
            tuple(entry.get("at", ())),
            entry.get("idle", {}),
            entry.get("suspended", ""),
            tuple(entry["since"]) if "since" in entry else None,
            entry.get("well", False),
            entry.get("likely", False),
            entry["says"],
        )
        for by in entry["by"]:
            group, _, kind = by.partition("/")
            found[group, kind] = one
    return found


def wait_of(group: str, kind: str, fleet: Fleet) -> Wait | None:
    """What an object of this kind waits for; None if this Argo CD calls it healthy at once, as far as is known."""
    found = _waits().get((group, kind))
    if found is None or (found.since and not fleet.at_least(*found.since)):
        return None
    return None if fleet.derive(has_own_check, group, kind) else found  # the needs of the user's own check are unknown


def own_check(fleet: Fleet, group: str, kind: str) -> tuple[str, Object]:
    """The key and the entry of this Argo CD's settings with a health check for the kind (util/lua/lua.go: a key by name, or with wildcards); empty without one."""
    name = f"{group}/{kind}" if group else kind
    for key, entry in fleet.overrides.items():
        if fnmatchcase(name, key) and any(text_at(entry, field) for field in ("healthLua", "health.lua")):
            return key, entry
    return "", {}


def has_own_check(fleet: Fleet, group: str, kind: str) -> bool:
    """True if this Argo CD's settings have a health check for the kind."""
    return bool(own_check(fleet, group, kind)[0])


def is_idle(manifest: Object, wait: Wait) -> bool:
    """True if the object waits for nothing, for example because it has no replicas."""
    return any(get(manifest, pointer, None) in values for pointer, values in wait.idle.items())


def needs(manifest: Object, wait: Wait) -> Iterator[Reference]:
    """The objects that it needs to become healthy. If a kind has one object per namespace, a reference without a name means that one."""
    for reference in references(manifest):
        of_pods = wait.pods and reference.kind in _OF_PODS and reference.pointer.startswith("/spec/")
        if of_pods and ("/imagePullSecrets/" in reference.pointer or _is_given(reference)):
            continue  # a pod starts without them if its image is public
        others = reference.kind in wait.needs and (not wait.at or reference.pointer.startswith(wait.at))
        if of_pods or others:
            yield reference


def _is_given(reference: Reference) -> bool:
    """True for the service account that every namespace has."""
    return (reference.kind, reference.name) == ("ServiceAccount", "default")


def place_in(reference: Reference, namespace: str) -> tuple[str, str, str, str]:
    """The identity of the referenced object, for an object of this namespace."""
    where = reference.namespace or namespace
    return reference.group, reference.kind, where if reference.kind in namespaced() else "", reference.name


def claims_of(manifest: Object) -> Iterator[Reference]:
    """The claims that the pods of this object mount."""
    return (r for r in references(manifest) if r.kind == "PersistentVolumeClaim")


@cache
def late_binding() -> frozenset[str]:
    """Storage classes of providers that bind at the first consumer."""
    return frozenset(load(__package__, "storage_classes.yaml"))
