"""Hooks that a sync has left: the server lists them, but not their states among those of the managed objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from argolint import Resource, Want

_MOST = 10
"""Most hooks of one application that a rule reads."""


def live_hook_wants(chosen: Iterable[Resource]) -> Iterator[Want]:
    """Wants for the live objects of the hooks among these that exist; `App.as_read` gives the object with it."""
    return (Want("live", hook.id) for hook in islice((r for r in chosen if r.hook and r.uid), _MOST))
