"""Filters standard input for the Model Context Protocol: a line that is no message is answered here and not passed on.

The library drops what it cannot read, and an agent would wait for the answer forever. Source: JSON-RPC 2.0, section 5.1.
"""

from __future__ import annotations

import io
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, BinaryIO, cast

from argolint.values.patterns import regex

MOST_BYTES = 1 << 22
_NO_JSON, _NO_MESSAGE = -32700, -32600
_ID = regex(rb"""\s*\{[^{}\[\]]{0,1000}?"id"\s*:\s*(\d{1,18}|"[\w.-]{1,200}")\s*[,}]""")
"""The id of an unreadable message, if it comes before any nested value."""


@contextmanager
def standard_streams(is_message: Callable[[str], bool]) -> Iterator[None]:
    """In this block, the standard streams carry only messages; other output goes to standard error."""
    usual = sys.stdin, sys.stdout
    out = _Out(usual[1].buffer)
    sys.stdin = cast(Any, SimpleNamespace(buffer=_Messages(usual[0].buffer, out, is_message)))
    sys.stdout = cast(Any, SimpleNamespace(buffer=out, write=sys.stderr.write, flush=sys.stderr.flush))
    try:
        yield
    finally:
        sys.stdin, sys.stdout = usual


class _Out(io.BufferedIOBase):
    """Writes whole lines from any thread."""

    def __init__(self, to: BinaryIO) -> None:
        self._to, self._lock = to, threading.Lock()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        with self._lock:
            self._to.write(data)
            self._to.flush()
        return len(data)


class _Messages(io.BufferedIOBase):
    """Yields the lines that are messages."""

    def __init__(self, given: BinaryIO, out: _Out, is_message: Callable[[str], bool]) -> None:
        self._given, self._out, self._is_message = given, out, is_message
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read1(self, size: int | None = -1) -> bytes:
        while not self._rest:
            line = self._given.readline(MOST_BYTES)
            if not line:
                return b""
            if len(line) == MOST_BYTES:
                while (more := self._given.readline(MOST_BYTES)) and not more.endswith(b"\n"):
                    pass
                self._refuse(_found_id(line), _NO_MESSAGE, f"the message is larger than {MOST_BYTES:,} bytes")
            elif self._is_message(line.decode("utf-8", "replace")):
                self._rest = line
            elif line.strip():
                self._refuse(*_fault(line))
        size = len(self._rest) if size is None or size < 0 else size
        part, self._rest = self._rest[:size], self._rest[size:]
        return part

    read = read1

    def _refuse(self, id_: int | str | None, code: int, why: str) -> None:
        error = {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": why}}
        self._out.write(json.dumps(error).encode() + b"\n")


def _fault(line: bytes) -> tuple[int | str | None, int, str]:
    """The id of an invalid message, and its fault."""
    try:
        found = json.loads(line.decode("utf-8", "replace"))
    except RecursionError:
        return _found_id(line), _NO_MESSAGE, "the message is nested too deeply"
    except ValueError:
        return _found_id(line), _NO_JSON, "the message is no JSON"
    id_ = found.get("id") if isinstance(found, dict) else None
    return (
        id_ if isinstance(id_, int | str) else None,
        _NO_MESSAGE,
        "the message is no request, is nested too deeply or holds half a character (a lone surrogate)",
    )


def _found_id(line: bytes) -> int | str | None:
    found = _ID.match(line)
    return json.loads(found[1]) if found else None
