"""The cost of a run, for its report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple

import msgspec

Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""A count that every JSON reader and gauge can represent; a foreign file cannot exceed it."""
Seconds = Annotated[float, msgspec.Meta(ge=-1e12, le=1e12)]


class Spent(msgspec.Struct, frozen=True):
    """Seconds of one stage: processor time and elapsed time, summed over parallel threads."""

    cpu: Seconds
    seconds: Seconds


class Stats(msgspec.Struct, frozen=True):
    """The cost of a run. `slowed`: how often the number of parallel requests was lowered, since the server refused some or became slow.
    With --timings: `stages` has processor and elapsed seconds of each stage; `rules` has processor seconds of each rule by its function
    (`reads`, `wants`, `check`, `collect`, `verify`, `join`).
    """

    requests: Number = 0
    bytes: Number = 0
    seconds: Seconds = 0.0
    slowed: Number | msgspec.UnsetType = msgspec.UNSET
    stages: Mapping[str, Spent] | msgspec.UnsetType = msgspec.UNSET
    rules: Mapping[str, Mapping[str, Seconds]] | msgspec.UnsetType = msgspec.UNSET


class Cost(NamedTuple):
    """Seconds of one stage, and of a rule in it: processor time, and elapsed time including waits."""

    stage: str
    rule: str
    cpu_s: float
    seconds: float
