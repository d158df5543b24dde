"""Which Applications an ApplicationSet made, and which set made one of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from argolint import App, Fleet, Object
from argolint.values import owner_references, text_at


def made(fleet: Fleet, name: str) -> Sequence[App]:
    """The Applications that a set of this name owns, in the order of the fleet."""
    return fleet.derive(_by_set).get(name, ())


def maker(app: App, fleet: Fleet) -> Object | None:
    """The set that owns this Application, of its namespace or of one that the list does not say; None where no such set is known."""
    names = {str(o.get("name")) for o in owner_references(app.brief) if o.get("kind") == "ApplicationSet"}
    known = (each for name in names for each in fleet.derive(_by_name).get(name, ()))
    own = (each for each in known if text_at(each[1], "metadata", "namespace") in ("", app.ref.namespace))
    found = min(own, key=lambda each: each[0], default=None)
    return found[1] if found else None


def _by_name(fleet: Fleet) -> Mapping[str, Sequence[tuple[int, Object]]]:
    """The sets of each name, with their place in the list."""
    found: dict[str, list[tuple[int, Object]]] = defaultdict(list)
    for number, raw in enumerate(fleet.application_sets):
        found[text_at(raw, "metadata", "name")].append((number, raw))
    return found


def _by_set(fleet: Fleet) -> Mapping[str, Sequence[App]]:
    found: dict[str, list[App]] = defaultdict(list)
    for app in fleet.apps:
        owners = owner_references(app.brief)
        for name in {str(o.get("name")) for o in owners if o.get("kind") == "ApplicationSet"}:
            found[name].append(app)
    return found
