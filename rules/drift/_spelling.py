"""One value in two spellings: shared by `quantity-normalised`, `duration-normalised` and `known-type-crd`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from argolint import App, Change, Finding, Resource
from argolint.application.applied import git_moved
from argolint.values import split_pointer
from argolint.values.quantities import amount

from ._fields import drifts
from ._grammar import is_same_quantity
from ._known_types import known_type_fields

_AMOUNTS = frozenset({"requests", "limits", "capacity", "hard", "minAllowed", "maxAllowed"})
"""Maps of quantities by Kubernetes' own conventions."""


def is_same_amount(change: Change) -> bool:
    """True for two spellings of one quantity; in a map of quantities plain numbers are not versions (`1.0` and `1`)."""
    if _AMOUNTS.intersection(split_pointer(change.pointer)[-2:-1]):
        return amount(change.desired) is not None and amount(change.desired) == amount(change.live)
    return is_same_quantity(change.desired, change.live)


def respelling_findings(
    app: App, same: Callable[[Change], bool], noun: str, title: str, kind: str
) -> Iterator[Finding]:
    """One finding for each object, with all its fields whose two texts mean the same `noun`; `kind` is its name in knownTypeFields."""

    def lasting(resource: Resource, change: Change) -> bool:
        return not change.masked and same(change) and not git_moved(app, resource, change)

    for drift in drifts(app, lasting):
        yield drift.finding(
            f"{drift.resource.id} stays OutOfSync over {drift.places()}: the same {noun} in another spelling.",
            fixes=(
                drift.write_live(title),
                known_type_fields(drift.resource, drift.pointers, kind),
            ),
        )
