"""What the proof of a fix ends with."""

from __future__ import annotations

from dataclasses import dataclass

from argolint.model import Effect, Proof
from argolint.resource import Resource


@dataclass(frozen=True, slots=True)
class Proven:
    """It works: how that was seen, and what it does besides."""

    proof: Proof
    effects: frozenset[Effect] = frozenset()


class CannotReplay(Exception):
    """Why a fix can be neither proven nor contradicted here."""


class Contradicted(Exception):
    """Why a fix does not work."""


class Loses(CannotReplay):
    """The next sync takes these fields of the manifest away from the cluster, where another writer has set them."""

    def __init__(self, resource: Resource, pointers: tuple[str, ...]) -> None:
        super().__init__(
            f"the next sync takes {pointers[0]} of {resource.id} away from the cluster: it was applied before"
        )
        self.resource, self.pointers = resource, pointers
