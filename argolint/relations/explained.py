"""What one kind of relation has to say: data that `resolve` puts into a finding."""

from __future__ import annotations

from dataclasses import dataclass

from argolint.model import AppRef, Fix, Follows, RelationKind, ResourceId


@dataclass(frozen=True, slots=True)
class Explained:
    """A relation that decides.

    app, resource  the other object; `resource` is None for an Application itself
    message        one sentence: who complains, how it stands to the other object, and what comes of it
    evidence       what was seen, one line each
    fixes          what ends it, the root first
    pointer        the field of the complaining object, where one decides
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
