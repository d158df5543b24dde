"""The result of one kind of relation: data that `resolve` puts into a finding."""

from __future__ import annotations

from dataclasses import dataclass

from argolint.model import AppRef, Fix, Follows, RelationKind, ResourceId


@dataclass(frozen=True, slots=True)
class Explained:
    """A relation that decides.

    app, resource  the other object; `resource` is None for an Application itself
    message        one sentence: the complaining object, its relation to the other one, and the consequence
    evidence       what was seen, one line each
    fixes          fixes, the root cause first
    pointer        the decisive field of the complaining object, if any
    cause          what the relation shows to be the cause; empty if that of the finding holds
    """

    kind: RelationKind
    app: AppRef
    resource: ResourceId | None
    message: str
    evidence: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()
    follows: tuple[Follows, ...] = ()
    pointer: str = ""
    likely: bool = False
    cause: str = ""
