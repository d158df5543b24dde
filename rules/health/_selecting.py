"""The objects that select others by labels, the selected objects, and the nearest object for a selector without a match."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Literal

from argolint import App, Fleet, Object, Resource, ResourceKey, Severity, Want
from argolint.quick.records import dataclass
from argolint.values import dig, get, items, text_at
from argolint.values.knowledge import load

from ..shared.labels import Selector, alike, label_selector, plain_selector
from ._surroundings import Member, affordable, known, live_pods, peers, pods, services, shown


@dataclass(frozen=True)
class Kind:
    """An entry of traffic.yaml."""

    at: str
    form: str
    to: Literal["pods", "services"]
    noun: str
    so: str
    severity: Severity
    namespaces: str = ""


@cache
def kinds() -> dict[tuple[str, str], Kind]:
    """The kinds that select, by group and kind."""
    found = {}
    for entry in load(__package__, "traffic.yaml")["selectors"]:
        group, _, kind = entry["by"].partition("/")
        found[group, kind] = Kind(**{key: value for key, value in entry.items() if key != "by"})
    return found


@dataclass(frozen=True, slots=True)
class Selecting:
    """An object that selects, with the namespaces of its selector."""

    resource: Resource
    kind: Kind
    selector: Selector
    namespaces: tuple[str, ...]


def selecting(app: App) -> Sequence[Selecting]:
    """The application's objects with a selector, without Services that have no cluster address (headless, ExternalName)."""
    return app.derive(_selecting)


def _selecting(app: App) -> Sequence[Selecting]:
    return () if app.deleting or not app.desired_known else tuple(_all(app))


def _all(app: App) -> Iterator[Selecting]:
    for (group, name), kind in kinds().items():
        for resource in app.of_kind(name, group):
            obj = shown(resource)
            if not obj or resource.requires_pruning or _aside(obj, kind):
                continue
            found = get(obj, kind.at, None)
            selector = plain_selector(found) if kind.form == "labels" else label_selector(found)
            if selector is None or selector.empty:
                continue
            if namespaces := _namespaces(obj, resource, kind):
                yield Selecting(resource, kind, selector, namespaces)


def _aside(obj: Object, kind: Kind) -> bool:
    """Whether it is a Service whose clients do not use its address."""
    spec = obj.get("spec")
    return kind.form == "labels" and (dig(spec, "clusterIP") == "None" or text_at(spec, "type") == "ExternalName")


def _namespaces(obj: Object, resource: Resource, kind: Kind) -> tuple[str, ...]:
    """The namespaces of the selector; empty for all namespaces of the cluster."""
    chosen = get(obj, kind.namespaces, None) if kind.namespaces else None
    if dig(chosen, "any"):
        return ()
    named = tuple(n for n in items(chosen, "matchNames") if isinstance(n, str) and n)
    return named or ((resource.namespace,) if resource.namespace else ())


def members(app: App, namespace: str, to: str) -> Sequence[Member]:
    """The objects that can be selected."""
    return pods(app, namespace) if to == "pods" else services(app, namespace)


def selected(app: App, one: Selecting) -> Sequence[Member]:
    """The objects that it selects among the known ones."""
    return app.derive(_selected, one.resource.key)


def _selected(app: App, key: object) -> Sequence[Member]:
    one = app.derive(_by_key)[key]
    pair = next(iter(one.selector.equal.items()), None)
    found: list[Member] = []
    for namespace in one.namespaces:
        near = (
            app.derive(by_label, namespace, one.kind.to).get(pair, ()) if pair else members(app, namespace, one.kind.to)
        )
        found += (m for m in near if one.selector.matches(m.labels))
    return found


def _by_key(app: App) -> Mapping[object, Selecting]:
    return {one.resource.key: one for one in selecting(app)}


def by_label(app: App, namespace: str, to: str) -> Mapping[tuple[str, str], Sequence[Member]]:
    """By label: the objects with it, so that a thousand Services and a thousand workloads are not compared pair by pair."""
    found: dict[tuple[str, str], list[Member]] = defaultdict(list)
    for member in members(app, namespace, to):
        for pair in member.labels.items():
            found[pair].append(member)
    return found


def _taken(app: App) -> frozenset[tuple[ResourceKey, Kind]]:
    """The objects that are selected, each with the selecting kind."""
    return frozenset((m.id.key, one.kind) for one in selecting(app) for m in selected(app, one))


def alone(app: App) -> Sequence[Selecting]:
    """The objects that select none of the known templates and live pods."""
    return app.derive(_alone)


def _alone(app: App) -> Sequence[Selecting]:
    return tuple(one for one in selecting(app) if not selected(app, one) and not _selects_live(app, one))


def _selects_live(app: App, one: Selecting) -> bool:
    return one.kind.to == "pods" and any(
        one.selector.matches(node.labels) for namespace in one.namespaces for node in live_pods(app, namespace)
    )


def wanted(app: App, fleet: Fleet) -> Iterator[Want]:
    """The objects of other applications in the namespaces of selectors without a match in their own application."""
    for one in selecting(app):
        if not selected(app, one) and not _selects_live(app, one):
            for namespace in one.namespaces:
                yield from affordable(peers(app, fleet, namespace, one.kind.to))


def sure(app: App, fleet: Fleet, one: Selecting) -> bool:
    """Whether all objects that it could select are known."""
    return all(known(app, fleet, namespace, one.kind.to) for namespace in one.namespaces)


@dataclass(frozen=True, slots=True)
class Near:
    """The nearest object, and the labels that differ: each (key, wanted, present); `present` is empty if the label is missing."""

    member: Member
    differs: tuple[tuple[str, str, str], ...]
    seen: bool


_TRIED = 300
"""Most objects of one namespace that are compared with a selector without a match."""


def nearest(app: App, one: Selecting) -> Near | None:
    """The object that the selector probably means: with the same name, or with labels that differ by a probable typing error; None if there is none."""
    found = []
    for namespace in one.namespaces:
        for member in members(app, namespace, one.kind.to)[:_TRIED]:
            if (near := _near(app, one, member)) is not None:
                found.append(near)
    return min(found, key=lambda n: (len(n.differs), n.member.id), default=None)


def _near(app: App, one: Selecting, member: Member) -> Near | None:
    wishes = Selector({}, one.selector.others)
    if not one.selector.equal or not wishes.matches(member.labels):
        return None
    differs = tuple(
        (k, v, member.labels.get(k, "")) for k, v in sorted(one.selector.equal.items()) if member.labels.get(k) != v
    )
    namesakes = alike(one.resource.name, member.id.name)
    free = (member.id.key, one.kind) not in app.derive(_taken)
    seen = any(_is_of(app, node.id.name, member) for node in live_pods(app, member.id.namespace))
    for _, asked, there in differs:
        if not there:
            if asked not in member.labels.values() and not (
                seen and namesakes and len(differs) < len(one.selector.equal)
            ):
                return None  # a program may set it on its pods, as Patroni and Vault do
        elif not (namesakes or alike(asked, there, within=free)):
            return None
    return Near(member, differs, seen)


def _is_of(app: App, pod: str, member: Member) -> bool:
    return pod.startswith(f"{member.id.name}-") or pod == member.id.name
