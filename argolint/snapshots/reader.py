"""Reads snapshots of a server's answers from a directory, a .tar.gz or a .zip.

Opening a snapshot reads only its index; a body is read on demand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

import msgspec

from argolint.errors import NotRecorded, SnapshotError
from argolint.server.transport import Answer, Query, Stats
from argolint.snapshots.archive import open_files
from argolint.snapshots.index import Recorded, key, named_application, read_header, read_index, scoped_key
from argolint.snapshots.narrow import APPLICATIONS, narrow, split
from argolint.values.decoding import decoder


class SnapshotTransport:
    """Answers from one snapshot, or from several layers: later ones provide what earlier ones lack.

    The first one gives `server` and `now`. Raises SnapshotError if a snapshot is missing, truncated or foreign.
    """

    offline = True

    def __init__(self, paths: Sequence[Path]) -> None:
        if not paths:
            raise SnapshotError("no snapshot is named", "pass --snapshot PATH")
        self._layers = [_Layer(path) for path in paths]
        self.server = self._layers[0].header.server
        self.version = self._layers[0].header.version
        self.written_by = self._layers[0].header.argolint
        self.stats = Stats()

    def now(self) -> datetime:
        return self._layers[0].header.taken_at

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        for layer in self._layers:
            if (answer := layer.answer(unquote(path), query, anonymous)) is not None:
                self.stats.count(len(answer.body))
                return answer
        for layer in self._layers:
            if (answer := layer.refusal(unquote(path), query, anonymous)) is not None:
                self.stats.count(len(answer.body))
                return answer
        wanted = path + ("?" + "&".join(f"{k}={v}" for k, v in query) if query else "")
        where = ", ".join(str(layer.path) for layer in self._layers)
        raise NotRecorded(
            f"the snapshot {where} lacks the answer to {wanted}",
            "lay a snapshot that holds it over this one with another --snapshot, or check the server itself",
        )


class _Layer:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._files = open_files(path)
        self.header = read_header(path, self._files)
        self._index = read_index(path, self._files)
        self._control_plane = self._find_control_plane()

    def answer(self, path: str, query: Query, anonymous: bool) -> Answer | None:
        """The recorded answer, or one that follows from it; None if the snapshot does not have it."""
        if found := self._direct(path, query, anonymous):
            return self._read(found)
        for other in _same_render(query):
            if found := self._direct(path, other, anonymous):
                return self._read(found)
        asked, narrowing = split(path, query)
        if narrowing and (found := self._direct(path, asked, anonymous)):
            whole = self._read(found)
            if whole.status != 200:
                return whole
            try:
                return Answer(whole.status, whole.content_type, narrow(path, narrowing, whole.body))
            except msgspec.MsgspecError as error:
                raise SnapshotError(
                    f"the snapshot {self.path}: {found.body} is no readable JSON: {error}", "take the snapshot again"
                ) from None
        return None

    def refusal(self, path: str, query: Query, anonymous: bool) -> Answer | None:
        """Argo CD's answer about an application that is not in the (complete) recorded list, or not in that project.

        Without `project` missing and forbidden are both 403; with it, 404 for missing or another project's
        (server/application/application.go, getApplicationEnforceRBAC).
        """
        name, namespace, project = named_application(path, query, self._control_plane)
        if not name or anonymous:
            return None
        listed = self._project_of
        if listed is None or (listed.get((namespace, name)) is not None and project in ("", listed[namespace, name])):
            return None
        if not project:
            return refused(403, 7, "permission denied")
        return refused(404, 5, f'applications.argoproj.io "{name}" not found')

    def _direct(self, path: str, query: Query, anonymous: bool) -> Recorded | None:
        name, namespace, project = named_application(path, query, self._control_plane)
        if name:
            found = self._index.get(scoped_key(path, query, namespace))
            if found is not None and not anonymous and project in ("", found.project):
                return found
        return self._index.get(key(path, query, anonymous))

    def _read(self, found: Recorded) -> Answer:
        try:
            return Answer(found.status, found.content_type, self._files.read(found.body, found.crc32))
        except FileNotFoundError:
            raise SnapshotError(
                f"the snapshot {self.path} is incomplete: {found.body} is missing",
                "copy the whole snapshot, or take it again",
            ) from None

    def _find_control_plane(self) -> str:
        """The namespace for a missing `appNamespace`; the settings have it for logged-in users."""
        if found := self._index.get(key("/api/v1/settings", (), anonymous=False)):
            try:
                return _settings(self._read(found).body).controllerNamespace
            except msgspec.MsgspecError:
                pass
        return _Settings().controllerNamespace

    @cached_property
    def _project_of(self) -> dict[tuple[str, str], str] | None:
        """(namespace, name) -> project of every application, or None if the full list was not recorded."""
        found = self._index.get(key(APPLICATIONS, (), anonymous=False))
        if found is None or found.status != 200:
            return None
        try:
            listed = _list(self._read(found).body).items or []
        except msgspec.MsgspecError:
            return None
        return {(a.metadata.namespace, a.metadata.name): a.spec.project for a in listed}


class _Settings(msgspec.Struct):
    controllerNamespace: str = "argocd"  # noqa: N815  # the answer's own name; Argo CD's default namespace


class _Metadata(msgspec.Struct):
    name: str
    namespace: str = ""


class _Spec(msgspec.Struct):
    project: str = ""


class _App(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec


class _List(msgspec.Struct):
    items: list[_App] | None = None


_settings = decoder(_Settings)
_list = decoder(_List)


def _same_render(query: Query) -> Iterable[Query]:
    """Queries for the same render: a first uncached one has `render=1` or no name; a second one is a separate render, never the first again."""
    rest = [p for p in query if p[0] != "render"]
    if ("noCache", "true") in query and [p[1] for p in query if p[0] == "render"] in ([], ["1"]):
        yield rest
        yield [*rest, ("render", "1")]


def refused(status: int, code: int, message: str) -> Answer:
    """Argo CD's answer for a refusal; `code` is gRPC's."""
    return Answer(status, "application/json", msgspec.json.encode({"error": message, "code": code, "message": message}))
