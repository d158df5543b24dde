"""Reads changed applications from Argo CD's event stream: hints, not reliable data.

The parser is our own: available ones keep a line of any length in memory, log its content, stop at text that is not UTF-8, and skip the
comments with which the server shows that it lives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import msgspec

from argolint.errors import AuthError, ConnectError
from argolint.redaction import excerpt
from argolint.serve.times import Times
from argolint.server import api
from argolint.server.http import HttpTransport
from argolint.values import shorten
from argolint.values.decoding import decoder

PATH = "/api/v1/stream/applications"
_APPLICATION = (
    *("metadata.name", "metadata.namespace", "metadata.deletionTimestamp"),
    *("spec.project", "spec.destination", "spec.syncPolicy", "spec.ignoreDifferences"),
    *("status.sync.status", "status.sync.revision", "status.sync.revisions", "status.health.status"),
    *("status.conditions.type", "status.conditions.message"),
    *("status.operationState.phase", "status.operationState.finishedAt"),
    *("status.resources.status", "status.resources.health.status"),
)
FIELDS = ",".join(("result.type", *(f"result.application.{field}" for field in _APPLICATION)))
"""Without resourceVersion and reconciledAt, so that a mere reconcile is no event (the server skips events equal to the last)."""
MAX_EVENT_BYTES = 1 << 20
_MAX_NAME = 253  # Kubernetes' limit


@dataclass(frozen=True)
class Changed:
    """An application that was added, modified or deleted, according to the stream."""

    namespace: str
    name: str
    project: str


Sign = Changed | Literal["alive", "unreadable"]
"""An item of the stream: a change, a sign of life, or an unusable event."""


@contextmanager
def opened(t: HttpTransport, times: Times, projects: Sequence[str] = ()) -> Iterator[Iterator[Sign]]:
    """The stream from now on, of all applications or those of some projects.

    Raises AuthError (401), ApiError for another refusal, ConnectError if there is no stream or it breaks.
    """
    query = [("resourceVersion", "0"), ("fields", FIELDS), *(("projects", name) for name in projects)]
    with t.stream(PATH, query, idle_s=times.idle_s, whole_s=times.stream_s, max_bytes=times.stream_bytes) as streamed:
        answer = streamed.answer
        if answer.status >= 400:
            raise api.refusal(t, PATH, answer)
        if "text/event-stream" not in answer.content_type:
            what = excerpt(answer.content_type, 60) or "no content type"
            raise ConnectError(
                f"{t.server} answered {PATH} with {what}, and no event stream", "a proxy may be altering responses"
            )
        yield signs(streamed.chunks, t.server, streamed.safe)


def signs(chunks: Iterable[bytes], server: str, safe: Callable[[str], str] = excerpt) -> Iterator[Sign]:
    """The signs in server-sent events; `safe` removes secrets from the server's text. Raises ApiError if the server ends the stream with an error."""
    for data in events(chunks):
        if data is None:
            yield "alive"
            continue
        try:
            event = _event(data)
        except msgspec.MsgspecError:
            yield "unreadable"
            continue
        if event.error is not None:
            reason = shorten(safe(event.error.message), 200)
            if event.error.grpc_code == _UNAUTHENTICATED:
                raise AuthError(
                    f"{server} no longer accepts the token: {reason}", "log in again, or pass a fresh token"
                )
            raise ConnectError(f"{server} ended its stream: {reason}", "it is opened again")
        app = event.result.application if event.result else None
        if app is None or not 0 < len(app.metadata.name) <= _MAX_NAME or len(app.metadata.namespace) > _MAX_NAME:
            yield "unreadable"
        else:
            yield Changed(
                app.metadata.namespace,
                app.metadata.name,
                app.spec.project if len(app.spec.project) <= _MAX_NAME else "",
            )


def events(chunks: Iterable[bytes]) -> Iterator[bytes | None]:
    """The data of each event, and None for any other line: a comment shows that the server lives.

    An event over MAX_EVENT_BYTES has empty data, and is never held in memory.
    """
    data: list[bytes] = []
    size = 0
    for line in _lines(chunks):
        size += MAX_EVENT_BYTES + 1 if line is None else len(line) + 1
        if size > MAX_EVENT_BYTES:
            data.clear()
        if line is not None and line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif line == b"" and (data or size > MAX_EVENT_BYTES):
            yield b"" if size > MAX_EVENT_BYTES else b"\n".join(data)
            data.clear()
            size = 0
        elif line is not None:
            yield None
            size = size if data or size > MAX_EVENT_BYTES else 0


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes | None]:
    """The lines of a text that arrives in chunks; None for one that is too long."""
    line = bytearray()
    too_long = False
    for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            yield None if too_long or len(line) + len(part) > MAX_EVENT_BYTES else bytes(line + part).rstrip(b"\r")
            line.clear()
            too_long = False
        too_long = too_long or len(line) + len(rest) > MAX_EVENT_BYTES
        if too_long:
            line.clear()
        else:
            line += rest


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class _Spec(msgspec.Struct):
    project: str = ""


class _Application(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec = msgspec.field(default_factory=_Spec)


class _Result(msgspec.Struct):
    application: _Application | None = None


class _Error(msgspec.Struct):
    message: str = ""
    grpc_code: int = 0


class _Event(msgspec.Struct):
    result: _Result | None = None
    error: _Error | None = None


_UNAUTHENTICATED = 16
_event = decoder(_Event)
