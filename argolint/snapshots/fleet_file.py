"""Reads the fleet from a file, for many jobs that check one server: the list is requested only once.

The file is a snapshot, of which only data outside of single applications is used: settings, projects, clusters, the list. Everything else
comes from the server. Application entries with masked values are read from the server again, so that a report is identical to one without
the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from argolint import __version__
from argolint.errors import ArgolintError, NotRecorded, SnapshotError, UsageError
from argolint.model import AppRef, Object
from argolint.redaction.masks import MASK
from argolint.server import api
from argolint.server.transport import Answer, Query, Transport
from argolint.snapshots.mask import without_people
from argolint.snapshots.narrow import APPLICATIONS
from argolint.snapshots.reader import SnapshotTransport
from argolint.values import age_text, mapping, text_at
from argolint.values.decoding import decoder, json_value

OLD = timedelta(minutes=15)
"""From this age on, current states may not match the list; the user gets a warning."""
TOO_OLD = timedelta(days=1)
_WRITE = "write a new one: `argolint snapshot --fleet-only -o FILE`"


class FleetTransport:
    """Answers about the fleet from the file, all others from the server behind `inner`. `now`: when the file was written.

    Raises UsageError for a file of another server or argolint version, or an old one; SnapshotError for an unreadable one.
    """

    offline = False

    def __init__(self, path: Path, inner: Transport) -> None:
        self._path, self._inner, self._file = path, inner, SnapshotTransport([path])
        self.server, self.stats = inner.server, inner.stats
        self.project: str = getattr(inner, "project", "")
        written = self._file.written_by
        if written != __version__:
            who = f"argolint {written}" if written else "an argolint that does not say its version"
            raise UsageError(f"{path} was written by {who}, and this is {__version__}", "use one version for all jobs")
        try:
            self._file.get(APPLICATIONS)
        except NotRecorded:
            raise UsageError(f"{path} does not hold the list of applications", _WRITE) from None
        theirs = _url(api.settings(self._file), self._file.server)
        ours = _url(api.settings(inner), inner.server)
        if theirs != ours:
            raise UsageError(f"{path} holds the fleet of {theirs}, and this is {ours}", "name the file of this server")
        self.age = max(inner.now() - self.now(), timedelta())
        if self.now() - inner.now() > OLD:
            raise UsageError(f"the fleet in {path} is of {self.now():%Y-%m-%d %H:%M} UTC, which is yet to come", _WRITE)
        if self.age > TOO_OLD:
            raise UsageError(f"the fleet in {path} was read {age_text(self.age)} ago", _WRITE)

    def now(self) -> datetime:
        return self._file.now()

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        if path.startswith(APPLICATIONS + "/"):
            return self._inner.get(path, query, anonymous=anonymous)
        try:
            answer = self._file.get(path, query, anonymous=anonymous)
        except NotRecorded:
            return self._inner.get(path, query, anonymous=anonymous)
        if path == APPLICATIONS and answer.status == 200 and b"masked-" in answer.body:
            return Answer(answer.status, answer.content_type, self._unmasked(answer.body))
        return answer

    def _unmasked(self, body: bytes) -> bytes:
        """The list, with entries read again that have masks other than those of who started an operation."""
        try:
            found = _list(body)
        except msgspec.MsgspecError as error:
            raise SnapshotError(f"{self._path} holds a list that cannot be read: {error}", _WRITE) from None
        return msgspec.json.encode({"items": [*self._entries(found.items or [])]})

    def _entries(self, items: list[msgspec.Raw]) -> Iterator[object]:
        for raw in items:
            yield self._again(json_value(bytes(raw)), raw) if b"masked-" in bytes(raw) else raw

    def _again(self, entry: Object, raw: msgspec.Raw) -> object:
        kept = msgspec.json.encode(without_people(entry)).decode("utf-8", "replace")
        if not MASK.search(kept):
            return raw
        name, namespace = text_at(entry, "metadata", "name"), text_at(entry, "metadata", "namespace")
        try:
            return api.application(self._inner, AppRef(namespace, name, text_at(mapping(entry, "spec"), "project")))
        except ArgolintError:
            return raw  # it was deleted or is forbidden: the next request about it says so


class _List(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


_list = decoder(_List)


def _url(settings: Object, server: str) -> str:
    return (text_at(settings, "url") or server).rstrip("/")
