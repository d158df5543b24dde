"""Finds the Applications that an ApplicationSet made, and its controller's messages on names that are generated twice."""

from __future__ import annotations

from collections.abc import Sequence

from argolint import Object
from argolint.values import owner_references
from argolint.values.patterns import regex

NAMED_TWICE = regex(r"contains applications with duplicate name: (\S*[^\s,;)])")
OWNED_TWICE = regex(r"Object (\S+)/(\S+) is already owned by another ApplicationSet controller ([^\s\"]+)")


def is_made_by(app: Object, sets: Sequence[str]) -> bool:
    """True for an Application with one of these sets as its owner."""
    return any(o.get("kind") == "ApplicationSet" and o.get("name") in sets for o in owner_references(app))
