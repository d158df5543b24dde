"""Decompresses bytes within limits: of one file or answer, and of all data that several threads hold at the same time."""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

_gzip: Any = zlib
try:
    from isal import isal_zlib

    _gzip = isal_zlib  # a quarter of zlib's time; decompression took a third of a check
except ImportError:
    pass  # no wheel for this machine

_MAX_PARTS = 100  # of one gzip file; each costs a copy of all data after it
SMALL_BYTES = 32 << 20
"""Bytes that one thread may hold while others read; for more, it waits for its turn."""


Aside = Callable[[], AbstractContextManager[None]]
"""A context in which a thread waits for others: it gives up what they may need."""


class TooLargeError(EOFError):
    """A file or an answer is over its size limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"it is larger than {limit >> 20} MB")


def inflate(data: bytes, limit: int) -> bytes:
    """The bytes of a gzip file. Raises EOFError if it is truncated or damaged, TooLargeError over `limit` bytes."""
    parts: list[bytes] = []
    left = limit
    while data or not parts:  # a gzip file may have several members
        if len(parts) == _MAX_PARTS:
            raise EOFError(f"it is made of more than {_MAX_PARTS} gzip files")
        unpacker = _gzip.decompressobj(31)
        try:
            parts.append(unpacker.decompress(data, left + 1))
        except _gzip.error as error:
            raise EOFError(f"it is no gzip data: {error}") from None
        left -= len(parts[-1])
        if left < 0:
            raise TooLargeError(limit)
        if not unpacker.eof:
            raise EOFError("it ends too early")
        data = unpacker.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


class _Held:
    """The data that one thread has read and not released."""

    def __init__(self) -> None:
        self.bytes = 0
        self.turn: threading.Lock | None = None  # the one to release


_HELD: ContextVar[_Held | None] = ContextVar("held", default=None)


@contextmanager
def held_together() -> Iterator[None]:
    """Data read in this block counts as held until its end: an application's answers during its check."""
    held = _Held()
    token = _HELD.set(held)
    try:
        yield
    finally:
        _HELD.reset(token)
        if held.turn is not None:
            held.turn.release()


class Room:
    """Limits the data that all threads hold together: `limit` bytes in one of them, SMALL_BYTES in each of the others."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._small = min(SMALL_BYTES, limit)
        self._turn = threading.Lock()

    def read(self, chunks: Iterable[bytes], *, gzipped: bool, until: float, aside: Aside = nullcontext) -> bytes:
        """The chunks joined, and decompressed if they are gzipped.

        Raises EOFError for truncated or damaged data, TooLargeError over the limit, TimeoutError if others hold the turn for longer than
        `until` (of time.monotonic).
        """
        held = _HELD.get()
        if held is None:
            with held_together():
                return self.read(chunks, gzipped=gzipped, until=until, aside=aside)
        parts, total = [], 0
        for chunk in chunks:
            parts.append(chunk)
            total += len(chunk)
            self._admit(held, total, until, aside)
        found = b"".join(parts)
        if gzipped and found:
            found = self._inflated(found, held, until, aside)
        held.bytes += len(found)
        return found

    def _inflated(self, data: bytes, held: _Held, until: float, aside: Aside) -> bytes:
        if held.turn is None:
            try:
                return inflate(data, self._small - held.bytes)
            except TooLargeError:
                self._admit(held, self._small - held.bytes + 1, until, aside)
        try:
            return inflate(data, self.limit - held.bytes)
        except TooLargeError:
            raise TooLargeError(self.limit) from None

    def _admit(self, held: _Held, more: int, until: float, aside: Aside) -> None:
        """Return when the thread may hold that many more bytes."""
        if held.bytes + more > self.limit:
            raise TooLargeError(self.limit)
        if held.bytes + more > self._small and held.turn is None:
            with aside():
                taken = self._turn.acquire(timeout=max(until - time.monotonic(), 0.0))
            if not taken:
                raise TimeoutError("large answers are read one at a time, and others took all of its time")
            held.turn = self._turn
