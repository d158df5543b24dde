"""Selects applications whose manifests are worth reading although Argo CD shows no fault."""

from __future__ import annotations

from argolint import App, Fleet

SMALL = 200
"""Most applications that are read one by one, within seconds; in a larger fleet the list must give a reason, or `--deep` is set."""


def worth_reading(app: App, fleet: Fleet, options: object = None) -> bool:
    """A rule's `reads` for faults without any hint in the list: in a small fleet every application that manages something."""
    return fleet.derive(_is_small) and any(not row.hook for row in app.rows)


def _is_small(fleet: Fleet) -> bool:
    return len(fleet.apps) <= SMALL
