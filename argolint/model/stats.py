"""What a run cost, as the report says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple

import msgspec

Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""Of things that were counted: what any reader of JSON and any gauge can hold, and a file of others cannot exceed."""
Seconds = Annotated[float, msgspec.Meta(ge=-1e12, le=1e12)]


class Spent(msgspec.Struct, frozen=True):
    """Seconds of one stage: of the processor, and in all. Of several threads at once both are added up."""

    cpu: Seconds
    seconds: Seconds


class Stats(msgspec.Struct, frozen=True):
    """`slowed` says how often fewer requests were sent at a time since the server refused some or turned slow, where it did.
    `stages` and `rules` are there with --timings: processor seconds, and in all, of each stage; processor seconds of each rule
    by what was asked of it (`reads`, `wants`, `check`, `collect`, `verify`, `join`)."""

    requests: Number = 0
    bytes: Number = 0
    seconds: Seconds = 0.0
    slowed: Number | msgspec.UnsetType = msgspec.UNSET
    stages: Mapping[str, Spent] | msgspec.UnsetType = msgspec.UNSET
    rules: Mapping[str, Mapping[str, Seconds]] | msgspec.UnsetType = msgspec.UNSET


class Cost(NamedTuple):
    """Seconds of one stage, and of a rule in it: of the processor, and in all, waiting included."""

    stage: str
    rule: str
    cpu_s: float
    seconds: float
