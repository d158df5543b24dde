"""Entries of the configuration that accept findings."""

from __future__ import annotations

import datetime as dt

import msgspec

from argolint.quick.records import dataclass


class Ignore(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Findings to suppress, and why. All given fields must match.

    rule      a rule id, or a glob of ids
    cause     exact
    server    glob of the Argo CD's URL, or of its name in a run of several
    app       glob of `name` or `namespace/name`
    resource  glob of `Kind/name` or `Kind/namespace/name`
    pointer   exact, or a parent's pointer
    reason    why, for future readers
    expires   the first day on which it has no effect
    """

    rule: str
    reason: str
    cause: str | None = None
    app: str | None = None
    resource: str | None = None
    pointer: str | None = None
    expires: dt.date | None = None
    server: str | None = None


@dataclass(frozen=True)
class Entry:
    """An entry with its file and line."""

    ignore: Ignore
    file: str
    line: int

    @property
    def place(self) -> str:
        """`FILE:LINE`."""
        return f"{self.file}:{self.line}"
