"""The outcomes of verifying a fix."""

from __future__ import annotations

from dataclasses import dataclass

from argolint.application.resource import Resource
from argolint.model import Effect, Proof


@dataclass(frozen=True, slots=True)
class Proven:
    """It works: how that was verified, and its side effects."""

    proof: Proof
    effects: frozenset[Effect] = frozenset()


class CannotReplay(Exception):
    """The fix can be neither verified nor contradicted here; the text says why."""


class NotRendered(CannotReplay):
    """The application cannot be rendered here, with any values."""


class Contradicted(Exception):
    """The fix does not work; the text says why."""


class Loses(CannotReplay):
    """The next sync removes these fields of the manifest from the cluster, though another writer has set them."""

    def __init__(self, resource: Resource, pointers: tuple[str, ...]) -> None:
        super().__init__(
            f"the next sync removes {pointers[0]} of {resource.id} from the cluster: it was applied before"
        )
        self.resource, self.pointers = resource, pointers


class TakesTwoSyncs(CannotReplay):
    """The first sync leaves this field different, the second one does not: a merge by key deletes more than the edit removed."""

    def __init__(self, resource: Resource, pointer: str) -> None:
        super().__init__(f"it takes two syncs: after the first one {pointer} of {resource.id} differs")
        self.resource, self.pointer = resource, pointer


class HidesRemovals(CannotReplay):
    """Argo CD would compare server-side but sync client-side: the API server then does not see the fields that Argo CD removes."""

    def __init__(self) -> None:
        super().__init__("a later commit that takes a field out of Git would show no difference: syncs are client-side")


class SyncFails(CannotReplay):
    """The change in Git does not reach the cluster while the application's syncs fail."""

    def __init__(self) -> None:
        super().__init__(
            "the last sync of the application failed, and nothing of Git is sure to arrive before that ends"
        )
