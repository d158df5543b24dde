"""What argolint knows of messages: the files next to this one, by who writes the message. docs/messages.md says how an entry reads."""

from __future__ import annotations

from functools import cache

from argolint.messages import Catalogue


@cache
def catalogue() -> Catalogue:
    """All of it."""
    return Catalogue.of(__package__)
