"""Objects of other applications that a rule asks for: the wants, and the states that they have after a change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from argolint import App, AppRef, Fleet, Object, Resource, ResourceId, ResourceKey, Want

Kinds = Iterable[tuple[str, str]]
"""Group and kind of each."""


def peer_wants(
    app: App, fleet: Fleet, kinds: Kinds, chosen: Callable[[ResourceKey], bool], most: int = 100
) -> Iterator[Want]:
    """Wants for the chosen objects of other applications of the cluster, one request each; at most `most`."""
    for key in islice(peer_keys(app, fleet, kinds, chosen), most):
        yield from peer_want(fleet, key.id)


def peer_want(fleet: Fleet, id_: ResourceId) -> tuple[Want, ...]:
    """The want for an object of the first application that lists it; none if no application does."""
    return tuple(Want("peer", id_, app=owner) for owner in fleet.owners(id_.key)[:1])


def peer_keys(app: App, fleet: Fleet, kinds: Kinds, chosen: Callable[[ResourceKey], bool]) -> Iterator[ResourceKey]:
    """The chosen objects of these kinds that only other applications of the cluster have."""
    for group, kind in kinds:
        for key in fleet.of_kind(app.cluster, group, kind):
            if chosen(key) and app.resource(key) is None:
                yield key


def peers(app: App, fleet: Fleet, *kinds: str) -> Iterator[tuple[AppRef, Resource]]:
    """The objects of these kinds that were read, each with its application; as a change in the gate leaves them, where it edits that application."""
    for owner, found in app.peers():
        if found.kind in kinds:
            ahead = fleet.resource(owner, found.key)
            yield owner, ahead if ahead is not None and ahead.desired_known else found


def after_sync(resource: Resource) -> Object | None:
    """The object as the sync of its application leaves it; the live one where the desired one is not known, or where there is none and it stays."""
    return None if resource.requires_pruning else resource.desired or resource.live
