"""The interface for GETs: a live Argo CD (`http`), a snapshot (`snapshot`), or a recorder around one (`record`)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from argolint.quick.records import dataclass

Query = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer of any status; `body` is already decompressed."""

    status: int
    content_type: str
    body: bytes


class Stats:
    """Requests sent, retries included, and bytes of decompressed bodies received. Safe to share among threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests = 0
        self.bytes = 0
        self.slowed = 0
        """How often the number of parallel requests was lowered, since the server refused some or became slow."""

    def count(self, body_bytes: int) -> None:
        """Count one request and the size of its answer, 0 if there was none."""
        self.count_all(1, body_bytes)

    def count_all(self, requests: int, body_bytes: int, slowed: int = 0) -> None:
        """Add a worker's requests, and how often it was slowed down."""
        with self._lock:
            self.requests += requests
            self.bytes += body_bytes
            self.slowed += slowed


class Transport(Protocol):
    """Reads of one Argo CD. Safe to share among threads.

    `server`: the address of the connection, scheme included; `offline`: answers cost the server nothing.
    """

    server: str
    offline: bool
    stats: Stats

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        """The answer to GET `path`; `anonymous` withholds the token.

        Never raises for an HTTP status; an ArgolintError says that there is no answer at all.
        """
        ...

    def now(self) -> datetime:
        """The current time of a check, aware UTC, by the clock of the answers' timestamps."""
        ...
