"""The composite resource of a Crossplane claim, and the Compositions of its type that its selector leaves out (crossplane, internal/controller/apiextensions)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from argolint import App, Fleet, Object, Resource, Want
from argolint.values import dig, mapping, text_at

from ..shared.labels import Selector, label_selector, labels_at

NO_COMPOSITE: Mapping[str, str] = {
    "composite": "",
    "composite_kind": "",
    "unfit": "",
    "asked": "",
}
_ASKED = 20
"""Most Compositions of other applications that are read for one claim."""


def composition_wants(app: App, fleet: Fleet, resource: Resource) -> Iterator[Want]:
    """The Compositions of other applications, for an ill claim with a selector that has found none."""
    if _searched(resource) is not None:
        yield from (want for _, want in _compositions(app, fleet) if want is not None)


def composite_facts(app: App, fleet: Fleet, resource: Resource) -> Mapping[str, str]:
    """The facts of advice on a claim, whose composite resource Argo CD does not show: an object of the cluster has no owner in a namespace.

    composite   the composite resource, as kind and name; `composite_kind` as kubectl takes its kind
    asked       the labels that its selector asks for, if no Composition of its type in the fleet has them all
    unfit       those Compositions with their labels
    """
    version, kind, name = _composite(resource)
    if not name:
        return NO_COMPOSITE
    group = version.partition("/")[0]
    own = {
        **NO_COMPOSITE,
        "composite": f"{kind} {name}",
        "composite_kind": f"{kind.lower()}.{group}",
    }
    selector = _searched(resource)
    if selector is None:
        return own
    seen = [found or (app.evidence.get(want) if want else None) for found, want in _compositions(app, fleet)]
    type_ref = {"apiVersion": version, "kind": kind}
    read = [c.live for c in seen if isinstance(c, Resource) and c.live is not None]
    of_type = [c for c in read if dict(mapping(c, "spec", "compositeTypeRef")) == type_ref]
    if len(read) < len(seen) or not of_type or any(selector.matches(_labels(c)) for c in of_type):
        return own
    unfit = "; ".join(sorted(f"{dig(c, 'metadata', 'name')}: {_pairs(_labels(c)) or 'no labels'}" for c in of_type))
    return {**own, "asked": _pairs(selector.equal), "unfit": unfit}


def _composite(resource: Resource) -> tuple[str, str, str]:
    """API version, kind and name of the composite resource that a claim names; empty texts for any other object."""
    ref = mapping(resource.live, "spec", "resourceRef")
    version, kind, name = (text_at(ref, field) for field in ("apiVersion", "kind", "name"))
    return (version, kind, name) if resource.namespace and "." in version.partition("/")[0] and kind else ("", "", "")


def _searched(resource: Resource) -> Selector | None:
    """The selector of a claim whose Composition is not found yet."""
    if not _composite(resource)[2] or text_at(resource.live, "spec", "compositionRef", "name"):
        return None
    selector = label_selector(dig(resource.live, "spec", "compositionSelector"))
    return None if selector is None or selector.empty or selector.others else selector


def _compositions(app: App, fleet: Fleet) -> list[tuple[Resource | None, Want | None]]:
    """Every Composition of the cluster's applications: an own one, or what to ask for; neither for what is not asked."""
    found: list[tuple[Resource | None, Want | None]] = []
    for key in fleet.of_kind(app.cluster, "apiextensions.crossplane.io", "Composition"):
        own, owner = app.resource(key), fleet.owners(key)[0]
        listed = fleet.resource(owner, key)
        asks = own is None and listed is not None and len(found) < _ASKED
        found.append((own, Want("peer", listed.id, app=owner) if asks and listed is not None else None))
    return found


def _labels(composition: Object) -> Mapping[str, str]:
    return labels_at(mapping(composition, "metadata"))


def _pairs(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))
