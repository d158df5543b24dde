"""What a run cost, as the report says it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Spent(msgspec.Struct, frozen=True):
    """Seconds of one stage: of the processor, and in all. Of several threads at once both are added up."""

    cpu: float
    seconds: float


class Stats(msgspec.Struct, frozen=True):
    """`slowed` says how often fewer requests were sent at a time since the server refused some or turned slow, where it did.
    `stages` and `rules` are there with --timings: processor seconds, and in all, of each stage; processor seconds of each rule
    by what was asked of it (`reads`, `wants`, `check`, `collect`, `verify`, `join`)."""

    requests: int = 0
    bytes: int = 0
    seconds: float = 0.0
    slowed: int | msgspec.UnsetType = msgspec.UNSET
    stages: Mapping[str, Spent] | msgspec.UnsetType = msgspec.UNSET
    rules: Mapping[str, Mapping[str, float]] | msgspec.UnsetType = msgspec.UNSET
