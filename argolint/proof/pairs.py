"""An object before a fix, in both of its states, with what Argo CD shows of it and what the finding explains."""

from __future__ import annotations

from dataclasses import dataclass

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Resource
from argolint.model import Finding, Object
from argolint.proof.outcomes import CannotReplay
from argolint.proof.syncs import ApplicationCache, ShownDifferences, shown_differences
from argolint.values import at_and_above


@dataclass(frozen=True, slots=True)
class Pair:
    """One managed object before the fix."""

    resource: Resource
    live: Object
    desired: Object
    today: ShownDifferences
    claimed: frozenset[str]
    """The pointers whose differences the finding explains."""

    def claims(self, pointer: str) -> bool:
        """Whether the finding explains a difference at this pointer."""
        return not self.claimed.isdisjoint(at_and_above(pointer))


def pair_of(resource: Resource, finding: Finding, app: App, fleet: Fleet, cache: ApplicationCache) -> Pair:
    """The pair of an object with both states. CannotReplay if argolint's comparison does not show what Argo CD shows."""
    live, desired = resource.live, resource.desired
    assert live is not None
    assert desired is not None
    if resource.key not in cache.shown:
        cache.shown[resource.key] = shown_differences(resource, live, desired, app, fleet)
    found = cache.shown[resource.key]
    if found is None:
        raise CannotReplay(f"argolint's own comparison of {resource.id} does not agree with Argo CD's")
    claimed = tuple(symptom.detail for symptom in finding.explains if symptom.resource == resource.key)
    return Pair(resource, live, desired, found, frozenset(claimed))
