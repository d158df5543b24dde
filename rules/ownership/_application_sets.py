"""What the rules on ApplicationSets read alike: what the controller says of names that are generated twice, and the generators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from argolint import Object
from argolint.values import maps
from argolint.values.patterns import regex

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
