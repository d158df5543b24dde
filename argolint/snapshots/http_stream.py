"""The event stream of a replay server, with the faults of a bad network or a busy server.

Sources: server/application/application.go (Watch), util/grpc and util/http of Argo CD: server-sent events, a comment every 15 s, a
projection by `fields`, and no event that looks like the last one about the same application.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from argolint.model import Object
from argolint.snapshots.narrow import Pairs, project
from argolint.values import text_at

KEEPALIVE_S = 15.0


@dataclass(frozen=True)
class StreamFaults:
    """Shares of the events that are lost, sent twice, or sent after the next one; `cut_after`: events after which a stream ends."""

    drop: float = 0.0
    repeat: float = 0.0
    swap: float = 0.0
    cut_after: int = 0
    seed: int = 0


class Stream:
    """Sends events to every open stream. Safe to share among threads."""

    def __init__(self, faults: StreamFaults | None = None, keepalive_s: float = KEEPALIVE_S) -> None:
        self.faults = faults or StreamFaults()
        self.keepalive_s = keepalive_s
        self._turn = threading.Condition()
        self._open: list[_Open] = []

    @property
    def open(self) -> int:
        """The number of readers."""
        with self._turn:
            return len(self._open)

    def publish(self, kind: str, app: Object) -> None:
        """Send a change."""
        self.say({"result": {"type": kind, "application": app}})

    def say(self, document: Object) -> None:
        """Send any document as an event."""
        with self._turn:
            for each in self._open:
                each.add(document)
            self._turn.notify_all()

    def send_raw(self, data: bytes) -> None:
        """Send any bytes."""
        with self._turn:
            for each in self._open:
                each.raw.append(data)
            self._turn.notify_all()

    def cut(self) -> None:
        """End every stream."""
        with self._turn:
            for each in self._open:
                each.ended = True
            self._turn.notify_all()

    def events(self, query: Pairs, known: Sequence[Object]) -> Iterator[bytes]:
        """The bytes of one stream. Without a resourceVersion it begins with all `known` applications."""
        given = dict(query)
        stream = _Open(self.faults, random.Random(self.faults.seed), given.get("fields", ""))  # noqa: S311  # faults to repeat, no secret
        projects = {value for name, value in query if name in ("projects", "project") and value}
        stream.wants = lambda app: not projects or text_at(app, "spec", "project") in projects
        if "resourceVersion" not in given:
            for app in known:
                stream.add({"result": {"type": "ADDED", "application": app}})
        with self._turn:
            self._open.append(stream)
        yield b":\n\n"
        try:
            while not stream.ended:
                with self._turn:
                    if not (stream.raw or stream.ended or self._turn.wait(self.keepalive_s)):
                        stream.raw.append(b":\n\n")
                    sent, stream.raw = stream.raw, []
                yield from sent
        finally:
            with self._turn:
                self._open.remove(stream)


class _Open:
    """One reader's stream."""

    def __init__(self, faults: StreamFaults, draw: random.Random, fields: str) -> None:
        self.raw: list[bytes] = []
        self.ended = False
        self.wants: Callable[[Object], bool] = lambda app: True
        self._faults = faults
        self._draw = draw
        self._fields = fields
        self._last: dict[tuple[str, str], bytes] = {}
        self._held: list[bytes] = []
        self._count = 0

    def add(self, document: Any) -> None:
        app = (document.get("result") or {}).get("application") or {}
        if app and not self.wants(app):
            return
        data = msgspec.json.encode(project(document, self._fields) if self._fields else document)
        place = text_at(app, "metadata", "namespace"), text_at(app, "metadata", "name")
        if app and self._last.get(place) == data:
            return
        self._last[place] = data
        line = b"data: " + data + b"\n\n"
        faults = self._faults
        if self._draw.random() < faults.drop:
            return
        if self._draw.random() < faults.swap and not self._held:
            self._held.append(line)
            return
        self.raw += [line, *([line] if self._draw.random() < faults.repeat else []), *self._held]
        self._held.clear()
        self._count += 1
        if faults.cut_after and self._count >= faults.cut_after:
            self.ended = True
