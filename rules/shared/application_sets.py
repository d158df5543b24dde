"""Which Applications an ApplicationSet made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from argolint import App, Fleet
from argolint.values import owner_references


def made(fleet: Fleet, name: str) -> Sequence[App]:
    """The Applications that a set of this name owns, in the order of the fleet."""
    return fleet.derive(_by_set).get(name, ())


def _by_set(fleet: Fleet) -> Mapping[str, Sequence[App]]:
    found: dict[str, list[App]] = defaultdict(list)
    for app in fleet.apps:
        owners = owner_references(app.raw)
        for name in {str(o.get("name")) for o in owners if o.get("kind") == "ApplicationSet"}:
            found[name].append(app)
    return found
