"""Limits of requests to an Argo CD: `limits:` of the user's settings, and of an entry of a servers file.

Options can ask for less, but never exceed a limit. Only the user sets limits, like the target of a token: files of a checkout are not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from argolint.server.pace import PER_CLUSTER

MOST_WORKERS = 64
_Count = Annotated[int, msgspec.Meta(ge=1, le=MOST_WORKERS)]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """
    workers       requests in flight to one Argo CD
    per-cluster   those of them that make it read one cluster
    rate          requests that may begin per second or minute: `5/s`, `30/m`
    """

    workers: _Count | None = None
    per_cluster: _Count | None = None
    rate: str = ""


NONE = Limits()


class Pacing(msgspec.Struct, frozen=True):
    """Requests in flight, those of them for one cluster, and requests per second (None: unlimited)."""

    workers: int
    per_cluster: int = PER_CLUSTER
    rate: float | None = None

    def within(self, *limits: Limits) -> Pacing:
        """The strictest of these limits. Raises ValueError for an invalid rate."""
        rates = [rate for rate in (self.rate, *(parse_rate(own.rate) for own in limits if own.rate)) if rate]
        return Pacing(
            min(_given(self.workers, (own.workers for own in limits))),
            min(_given(self.per_cluster, (own.per_cluster for own in limits))),
            min(rates, default=None),
        )

    def shared_by(self, count: int) -> int:
        """The most processes or machines, up to `count`, that can share these limits: each of them needs one request in flight, and one for
        each cluster.

        A limit for a cluster that the user has not set is no obstacle: each gets one request anyway.
        """
        limited = self.per_cluster if self.per_cluster < PER_CLUSTER else count
        return min(count, self.workers, limited)

    def part(self, workers: int) -> Pacing:
        """The share of one of several workers with that many requests in flight; at least one for each cluster."""
        share = workers / self.workers
        return Pacing(workers, max(1, int(self.per_cluster * share)), self.rate and self.rate * share)


def _given(own: int, others: Iterator[int | None]) -> list[int]:
    return [own, *(other for other in others if other)]


def parse_rate(text: str) -> float:
    """`5`, `5/s` and `300/m` as requests per second. Raises ValueError for any other text."""
    count, slash, unit = text.partition("/")
    try:
        rate = float(count) / {"s": 1, "m": 60}[unit.strip() if slash else "s"]
    except (ValueError, KeyError):
        rate = 0.0
    if not 1 / 60 <= rate <= 10_000:
        raise ValueError(f"{text!r} is no rate such as 5/s or 30/m, from one a minute to 10000/s")
    return rate
