"""Argo CD's SharedResourceWarning taken apart (CompareAppState in controller/state.go)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from argolint.app import App
from argolint.operation import Condition


@dataclass(frozen=True)
class SharedWarning:
    """A SharedResourceWarning taken apart; it names neither group nor namespace of the object."""

    condition: Condition
    kind: str
    name: str
    owner: str


_SHARED = re.compile(
    r"(?<![^/\s])(?P<kind>[^/\s]+)/(?P<name>.{1,300}?) is part of applications (?P<this>\S+) and (?P<owner>.+)"
)


def shared_warnings(app: App) -> Iterator[SharedWarning]:
    """`<Kind>/<name> is part of applications <this> and <owner>`: the owner is `name`, or `<namespace>/<name>`."""
    for condition in app.conditions:
        found = _SHARED.fullmatch(condition.message) if condition.type == "SharedResourceWarning" else None
        if found:
            yield SharedWarning(condition, found["kind"], found["name"], found["owner"].strip())
