"""The catalogue of messages: the files in this folder, by the program that writes them. docs/messages.md describes an entry."""

from __future__ import annotations

from functools import cache

from argolint.messages import Catalogue


@cache
def catalogue() -> Catalogue:
    """The whole catalogue."""
    return Catalogue.of(__package__)
