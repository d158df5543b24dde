"""What the rules on ApplicationSets read alike: the controller's words on names that are generated twice, the generators and their clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from argolint import Fleet, Object
from argolint.application.fleet import IN_CLUSTER
from argolint.values import mapping, maps, text_at
from argolint.values.patterns import regex

from ..shared.labels import label_selector, labels_at

NAMED_TWICE = regex(r"contains applications with duplicate name: (\S*[^\s,;)])")
OWNED_TWICE = regex(r"Object (\S+)/(\S+) is already owned by another ApplicationSet controller ([^\s\"]+)")

_DEPTH = 3
"""Levels of generators that are read; Argo CD allows a combination in a combination."""


def innermost_generators(raw: Object) -> Iterator[tuple[str, Object]]:
    """(pointer, generator) of the set's generators that are no combination (matrix, merge) of others."""
    return _innermost(maps(raw, "spec", "generators"), "/spec/generators", _DEPTH)


def _innermost(generators: Sequence[Object], pointer: str, depth: int) -> Iterator[tuple[str, Object]]:
    for index, generator in enumerate(generators):
        at = f"{pointer}/{index}"
        kind = next((kind for kind in ("matrix", "merge") if generator.get(kind)), "")
        if not kind:
            yield at, generator
        elif depth > 1:
            yield from _innermost(maps(generator, kind, "generators"), f"{at}/{kind}/generators", depth - 1)


def selected_clusters(fleet: Fleet, body: Object) -> Iterator[tuple[str, Object]]:
    """The parameters of the clusters that the generator selects; the local cluster may lack a Secret to select it by, which no API shows."""
    selector = label_selector(mapping(body, "selector"))
    for server, raw in fleet.clusters.items():
        parts = {part: mapping(raw, part) for part in ("labels", "annotations") if mapping(raw, part)}
        labels = {**labels_at(raw), "argocd.argoproj.io/secret-type": "cluster"}
        if selector and (selector.empty or (selector.matches(labels) and (parts or server != IN_CLUSTER))):
            metadata = {"metadata": parts} if parts or server != IN_CLUSTER else {}
            name = text_at(raw, "name") or server
            yield name, {"name": name, "server": server, **metadata, "values": mapping(body, "values")}


def element_name(element: Object, number: int) -> str:
    """The name of a list's element for a sentence; its number if it has none."""
    named = (text_at(element, key) for key in ("name", "cluster", "env", "namespace"))
    return next(filter(None, named), str(number))
