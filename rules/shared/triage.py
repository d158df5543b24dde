"""Which applications are worth a look at their manifests although Argo CD shows them as fine."""

from __future__ import annotations

from argolint import App, Fleet

SMALL = 200
"""Applications that are read one by one within seconds; a larger fleet is read where the list gives a reason, or with `--deep`."""


def worth_reading(app: App, fleet: Fleet, options: object = None) -> bool:
    """A rule's `reads` for faults that nothing in the list hints at: in a small fleet every application that manages something."""
    return fleet.derive(_is_small) and any(not row.hook for row in app.rows)


def _is_small(fleet: Fleet) -> bool:
    return len(fleet.apps) <= SMALL
