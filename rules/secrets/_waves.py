"""The fix for an object that a sync applies too late for the one that reads it."""

from __future__ import annotations

from argolint import Edit, Fix, Resource
from argolint.edits import annotate
from argolint.values.kubernetes import SYNC_WAVE


def earlier_wave_fix(late: Resource, early: Resource, what: str, least: int | None = None) -> Fix:
    """The edit that puts `late` before the object that waits for it. `least`: a wave that it needs itself, if one is possible at all."""
    wave = early.wave - 1
    if least is not None and least <= early.wave:
        wave = max(wave, least)
    edit = Edit("json-patch", annotate(late.desired, {SYNC_WAVE: str(wave)}))
    return Fix(f"Put {what} into an earlier wave", "manifest", str(late.id), edit, safe=True, resource=late.id)
