"""The objects that select others by labels, the selected objects, and the nearest object for a selector without a match."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from argolint import App, Fleet, Object, Resource, ResourceKey, Severity, Want
from argolint.values import dig, get, items, text_at
from argolint.values.knowledge import load

from ..shared.labels import Selector, is_similar_name, label_selector, plain_selector
from ._surroundings import (
    Member,
    are_members_known,
    live_pods,
    peer_wants,
    pod_templates,
    services,
    shown_object,
    within_request_limit,
)


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


def selecting_objects(app: App) -> Sequence[Selecting]:
    """The application's objects with a selector, without Services that have no cluster address (headless, ExternalName)."""
    return app.derive(_selecting_objects)


def _selecting_objects(app: App) -> Sequence[Selecting]:
    return () if app.deleting or not app.desired_known else tuple(_objects_with_selector(app))


def _objects_with_selector(app: App) -> Iterator[Selecting]:
    for resource, _ in app.of_kinds(kinds()):
        if (found := resource.derive(_selector)) is not None:
            yield Selecting(resource, *found)


def _selector(resource: Resource) -> tuple[Kind, Selector, tuple[str, ...]] | None:
    """The kind of an object, its selector and the selector's namespaces; None without one."""
    kind, obj = kinds()[resource.group, resource.kind], shown_object(resource)
    if not obj or resource.requires_pruning or _has_no_cluster_address(obj, kind):
        return None
    found = get(obj, kind.at, None)
    selector = plain_selector(found) if kind.form == "labels" else label_selector(found)
    if selector is None or selector.empty:
        return None
    namespaces = _namespaces(obj, resource, kind)
    return (kind, selector, namespaces) if namespaces else None


def _has_no_cluster_address(obj: Object, kind: Kind) -> bool:
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
    return pod_templates(app, namespace) if to == "pods" else services(app, namespace)


def selected_members(app: App, one: Selecting) -> Sequence[Member]:
    """The objects that it selects among the known ones."""
    return app.derive(_selected_members, one.resource.key)


def _selected_members(app: App, key: object) -> Sequence[Member]:
    one = app.derive(_selecting_by_key)[key]
    pair = next(iter(one.selector.equal.items()), None)
    found: list[Member] = []
    for namespace in one.namespaces:
        near = (
            app.derive(members_by_label, namespace, one.kind.to).get(pair, ())
            if pair
            else members(app, namespace, one.kind.to)
        )
        found += (m for m in near if one.selector.matches(m.labels))
    return found


def _selecting_by_key(app: App) -> Mapping[object, Selecting]:
    return {one.resource.key: one for one in selecting_objects(app)}


def members_by_label(app: App, namespace: str, to: str) -> Mapping[tuple[str, str], Sequence[Member]]:
    """By label: the objects with it, so that a thousand Services and a thousand workloads are not compared pair by pair."""
    found: dict[tuple[str, str], list[Member]] = defaultdict(list)
    for member in members(app, namespace, to):
        for pair in member.labels.items():
            found[pair].append(member)
    return found


def _selected_keys(app: App) -> frozenset[tuple[ResourceKey, Kind]]:
    """The objects that are selected, each with the selecting kind."""
    return frozenset((m.id.key, one.kind) for one in selecting_objects(app) for m in selected_members(app, one))


def unmatched_objects(app: App) -> Sequence[Selecting]:
    """The objects that select none of the known templates and live pods."""
    return app.derive(_unmatched_objects)


def _unmatched_objects(app: App) -> Sequence[Selecting]:
    return tuple(
        one for one in selecting_objects(app) if not selected_members(app, one) and not _selects_live_pods(app, one)
    )


def _selects_live_pods(app: App, one: Selecting) -> bool:
    """Whether a pod that stays has the labels: those of a template whose labels a sync changes go with it."""
    if one.kind.to != "pods":
        return False
    for namespace in one.namespaces:
        going = [member for member in members(app, namespace, "pods") if member.was]
        for node in live_pods(app, namespace):
            if one.selector.matches(node.labels) and not any(_is_pod_of(node.id.name, member) for member in going):
                return True
    return False


def unmatched_peer_wants(app: App, fleet: Fleet) -> Iterator[Want]:
    """The objects of other applications in the namespaces of selectors without a match in their own application."""
    for one in selecting_objects(app):
        if not selected_members(app, one) and not _selects_live_pods(app, one):
            for namespace in one.namespaces:
                yield from within_request_limit(peer_wants(app, fleet, namespace, one.kind.to))


def are_candidates_known(app: App, fleet: Fleet, one: Selecting) -> bool:
    """Whether all objects that it could select are known."""
    return all(are_members_known(app, fleet, namespace, one.kind.to) for namespace in one.namespaces)


@dataclass(frozen=True, slots=True)
class NearMember:
    """The nearest object, and the labels that differ: each (key, wanted, present); `present` is empty if the label is missing."""

    member: Member
    differs: tuple[tuple[str, str, str], ...]
    has_live_pods: bool


_MOST_TRIED = 300
"""Most objects of one namespace that are compared with a selector without a match."""


def nearest_member(app: App, one: Selecting) -> NearMember | None:
    """The object that the selector probably means: with the same name, or with labels that differ by a probable typing error; None if there is none."""
    found = []
    for namespace in one.namespaces:
        for member in members(app, namespace, one.kind.to)[:_MOST_TRIED]:
            if (near := _near_member(app, one, member)) is not None:
                found.append(near)
    return min(found, key=lambda n: (len(n.differs), n.member.id), default=None)


def _near_member(app: App, one: Selecting, member: Member) -> NearMember | None:
    wishes = Selector({}, one.selector.others)
    if not one.selector.equal or not wishes.matches(member.labels):
        return None
    differs = tuple(
        (k, v, member.labels.get(k, "")) for k, v in sorted(one.selector.equal.items()) if member.labels.get(k) != v
    )
    namesakes = is_similar_name(one.resource.name, member.id.name)
    free = (member.id.key, one.kind) not in app.derive(_selected_keys)
    has_pods = any(_is_pod_of(node.id.name, member) for node in live_pods(app, member.id.namespace))
    for key, wanted, present in differs:
        if not present:
            if (
                member.was.get(key) != wanted
                and wanted not in member.labels.values()
                and not (has_pods and namesakes and len(differs) < len(one.selector.equal))
            ):
                return None  # a program may set it on its pods, as Patroni and Vault do
        elif not (namesakes or is_similar_name(wanted, present, within=free)):
            return None
    return NearMember(member, differs, has_pods)


def _is_pod_of(pod: str, member: Member) -> bool:
    return pod.startswith(f"{member.id.name}-") or pod == member.id.name
