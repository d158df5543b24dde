"""What stands behind a field manager: a person's tool, a webhook, an autoscaler (knowledge in writers.yaml)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from argolint import Writer
from argolint.knowledge import load


@dataclass(frozen=True)
class Known:
    """sort: person, mutator, injector, autoscaler or crossplane. tool: how people call it."""

    sort: str
    tool: str


@cache
def _table() -> tuple[tuple[re.Pattern[str], str, str], ...]:
    return tuple(
        (re.compile(entry["match"], re.IGNORECASE), entry["sort"], entry.get("tool", ""))
        for entry in load(__package__, "writers.yaml")["writers"]
    )


def known(writer: Writer | None) -> Known | None:
    """What writers.yaml says of the manager; None for no writer or an unknown one. Scaling by kubectl is a person's."""
    if writer is None:
        return None
    for pattern, sort, tool in _table():
        found = pattern.fullmatch(writer.manager)
        if found:
            return Known(sort, tool.format(*found.groups()) or writer.manager)
    return Known("autoscaler", writer.manager) if writer.subresource == "scale" else None


def is_sort(writer: Writer | None, sort: str) -> bool:
    """True when the manager is known to be of this sort."""
    found = known(writer)
    return found is not None and found.sort == sort
