"""What a LimitRange writes into pods and refuses, and what a ResourceQuota demands of them, played on a pod spec.

The words are the API server's. Source: k8s.io/kubernetes plugin/pkg/admission/limitranger/admission.go, pkg/apis/core/v1/defaults.go
(SetDefaults_Pod, SetDefaults_LimitRangeItem), pkg/quota/v1/evaluator/core/pods.go (Constraints, PodUsageFunc).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from argolint import App, Fleet, Json, Object, Resource
from argolint.values import dig, join_pointer, mapping, maps, text_at
from argolint.values.quantities import countable

from ..shared.peers import after_sync, peers

Amounts = Mapping[str, Json]
BOUNDS = ("LimitRange", "ResourceQuota")
LEAST_MEMORY = Decimal(2**20)
"""Bytes: no container starts with less (opencontainers/runc), so that a smaller number is a slip."""


def bounding(app: App, fleet: Fleet, namespace: str) -> Iterator[Resource]:
    """The LimitRanges and ResourceQuotas of a namespace, of this application and of others that were read."""
    for kind in BOUNDS:
        yield from (r for r in app.of_kind(kind, "") if r.namespace == namespace)
    yield from (peer for _, peer in peers(app, fleet, *BOUNDS) if peer.namespace == namespace)


def states_of(bounds: Sequence[Resource], kind: str, *, live: bool) -> list[Object]:
    """The states of one kind today, or after the sync."""
    states = (r.live if live else after_sync(r) for r in bounds if r.kind == kind)
    return [state for state in states if state]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the pods are refused, in the API server's words, and the field in the pod spec; `wants`: its right value, where there is one."""

    by: str
    says: str
    pointer: str
    wants: Json = None

    @property
    def mark(self) -> tuple[str, str]:
        """What it has in common with itself before a change."""
        return self.says.partition(", but ")[0], self.pointer


@dataclass(frozen=True, slots=True)
class Container:
    """A container with the amounts that it has once admission has filled them in. `at`: its pointer in the pod spec."""

    at: str
    name: str
    requests: Amounts
    limits: Amounts
    starts: bool
    """An init container that ends before the others start."""
    own: Amounts
    """The limits that the manifest itself has."""


def admitted(spec: Object, ranges: Sequence[Object]) -> tuple[Container, ...]:
    """The containers of a pod spec after the defaults of the API server and of these LimitRanges."""
    found = []
    for field in ("initContainers", "containers"):
        for number, container in enumerate(maps(spec, field)):
            own = mapping(container, "resources", "limits")
            limits = dict(own)
            requests = {**limits, **mapping(container, "resources", "requests")}
            for item in _items(ranges, "Container"):
                default, asked = _defaults(item)
                limits = {**default, **limits}
                requests = {**asked, **requests}
            starts = field == "initContainers" and container.get("restartPolicy") != "Always"
            found.append(Container(f"/{field}/{number}", text_at(container, "name"), requests, limits, starts, own))
    return tuple(found)


def _items(ranges: Sequence[Object], kind: str) -> Iterator[Object]:
    for one in ranges:
        yield from (item for item in maps(one, "spec", "limits") if item.get("type") == kind)


def _defaults(item: Object) -> tuple[Amounts, Amounts]:
    """The limits and requests that an entry of a LimitRange writes: `max` is a default limit, `default` and `min` are default requests."""
    default = {**mapping(item, "max"), **mapping(item, "default")}
    return default, {**mapping(item, "min"), **default, **mapping(item, "defaultRequest")}


def refusals(spec: Object, ranges: Sequence[Object], quotas: Sequence[Object]) -> tuple[Refusal, ...]:
    """Why the API server refuses pods of this spec; nothing for pods with resources of their own (`spec.resources`), which count otherwise."""
    if mapping(spec, "resources"):
        return ()
    found = admitted(spec, ranges)
    return (
        *(refusal for one in found for refusal in _beyond_own_limit(one)),
        *(refusal for one in ranges for refusal in _range_refusals(one, found)),
        *(refusal for one in quotas for refusal in _quota_refusals(one, found)),
    )


def _beyond_own_limit(container: Container) -> Iterator[Refusal]:
    """A request above the limit that a LimitRange writes: the pod itself is then invalid."""
    for name, value in container.requests.items():
        asked, most = countable(value), countable(container.limits.get(name))
        if name not in container.own and asked is not None and most is not None and asked > most:
            says = f"{name} limit by default is {container.limits[name]}, but request of {container.name} is {value}"
            yield Refusal("LimitRange", says, f"{container.at}/resources/limits{join_pointer(name)}", value)


def _range_refusals(one: Object, containers: Sequence[Container]) -> Iterator[Refusal]:
    for item in maps(one, "spec", "limits"):
        if item.get("type") == "Container":
            for container in containers:
                yield from _bounds(item, "Container", container.requests, container.limits, container.at)
        elif item.get("type") == "Pod":
            yield from _bounds(item, "Pod", total(containers, "requests"), total(containers, "limits"), "")


def _bounds(item: Object, kind: str, requests: Amounts, limits: Amounts, at: str) -> Iterator[Refusal]:
    for name, least in mapping(item, "min").items():
        for side, values in (("request", requests), ("limit", limits)):
            if _is_less(values.get(name), least):
                says = f"minimum {name} usage per {kind} is {least}, but {side} is {values[name]}"
                yield _refusal(says, at, f"{side}s", name, least)
    for name, most in mapping(item, "max").items():
        if name not in limits:
            says = f"maximum {name} usage per {kind} is {most}. No limit is specified"
            yield _refusal(says, at, "limits", name, None)
        own = () if requests.get(name) == limits.get(name) else (("request", requests),)  # else it is the limit's
        for side, values in (("limit", limits), *own):
            if _is_less(most, values.get(name)):
                says = f"maximum {name} usage per {kind} is {most}, but {side} is {values[name]}"
                yield _refusal(says, at, f"{side}s", name, most)
    for name, most in mapping(item, "maxLimitRequestRatio").items():
        asked, limit, ratio = countable(requests.get(name)), countable(limits.get(name)), countable(most)
        if asked and limit and ratio and limit / asked > ratio:
            says = f"{name} max limit to request ratio per {kind} is {most}, but provided ratio is {limit / asked:.6f}"
            yield _refusal(says, at, "requests", name, None)


def _refusal(says: str, at: str, side: str, name: str, wants: Json) -> Refusal:
    pointer = f"{at}/resources/{side}{join_pointer(name)}" if at else ""
    return Refusal("LimitRange", says, pointer, wants if at else None)


def _is_less(one: Json, other: Json) -> bool:
    few, many = countable(one), countable(other)
    return few is not None and many is not None and few < many


def total(containers: Sequence[Container], side: str) -> Amounts:
    """The amounts of the whole pod: those that run together, or the largest that starts before them; without what a container lacks."""
    together = [getattr(one, side) for one in containers if not one.starts]
    before = [getattr(one, side) for one in containers if one.starts]
    names = {name for values in (*together, *before) for name in values}
    made: dict[str, Json] = {}
    for name in names:
        if all(name in values for values in together):
            sums = sum((countable(values[name]) or Decimal() for values in together), Decimal())
            made[name] = str(max(sums, *(countable(v.get(name)) or Decimal() for v in before), Decimal()))
    return made


_COMPUTE = ("cpu", "memory", "ephemeral-storage")


def _quota_refusals(one: Object, containers: Sequence[Container]) -> Iterator[Refusal]:
    """What a quota for all pods demands: amounts of each container, and no pod that is larger than all of it."""
    if dig(one, "spec", "scopes") or dig(one, "spec", "scopeSelector"):
        return
    name = text_at(one, "metadata", "name")
    for resource, most in mapping(one, "spec", "hard").items():
        side, _, what = (
            resource.rpartition(".") if resource.startswith(("requests.", "limits.")) else ("", "", resource)
        )
        side = side or "requests"
        if what not in _COMPUTE:
            continue
        lacking = [c for c in containers if what not in getattr(c, side)]
        for container in lacking:
            says = f"failed quota: {name}: must specify {resource} for: {container.name}"
            yield Refusal("ResourceQuota", says, f"{container.at}/resources/{side}{join_pointer(what)}")
        asked = total(containers, side).get(what)
        if not lacking and _is_less(most, asked):
            says = f"exceeded quota: {name}, requested: {resource}={asked}, limited: {resource}={most}"
            yield Refusal("ResourceQuota", says, "")
