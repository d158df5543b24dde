"""The files of a snapshot and the index of its requests.

    snapshot.json    {"format": 1, "taken_at": "2026-11-20T23:45:05Z", "server": "https://...", "version": "v3.5.1"}
    requests.jsonl   one line per request: {path, query, anonymous, status, content_type, seconds, body}
    bodies/...       the answers; a name that ends in .gz is gzipped

The order of parameters does not matter, and the `project` of a request about one application is ignored.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

import msgspec

from argolint.errors import SnapshotError
from argolint.server.transport import Query
from argolint.snapshots.archive import Files
from argolint.snapshots.narrow import APPLICATIONS
from argolint.values.decoding import decoder

FORMAT = 1
_EARLIEST, _LATEST = datetime(1000, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
"""In this range every rule can calculate before and after `taken_at`; a time outside of it comes from a broken clock."""


class Header(msgspec.Struct, frozen=True):
    """snapshot.json; `taken_at` is the current time of a check on the snapshot.

    `masked`: the number of different masked values; `kept`: what was not masked; `argolint`: the version that wrote it.
    """

    format: int
    taken_at: datetime
    server: str
    version: str = ""
    masked: int = 0
    kept: tuple[str, ...] = ()
    argolint: str = ""


class Line(msgspec.Struct, frozen=True):
    """One line of requests.jsonl; `body`: a path within the snapshot, `crc32`: of its bytes."""

    path: str
    query: tuple[tuple[str, str], ...]
    anonymous: bool
    status: int
    content_type: str
    seconds: float
    body: str
    crc32: int | None = None


class Recorded(msgspec.Struct, frozen=True, gc=False):
    """The place of an answer; `project` is set for a request about one application, else empty."""

    status: int
    content_type: str
    body: str
    project: str
    crc32: int | None = None


_header = decoder(Header)
_line = decoder(Line)


def read_header(path: Path, files: Files) -> Header:
    try:
        header = _header(files.read("snapshot.json"))
    except FileNotFoundError:
        inside = [name.removesuffix("/snapshot.json") for name in files.names() if name.endswith("/snapshot.json")]
        hint = (
            f"it holds {', '.join(inside)}; name one of them"
            if inside
            else "name what `argolint snapshot -o PATH` wrote"
        )
        raise SnapshotError(f"{path} is not a snapshot: it has no snapshot.json", hint) from None
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise SnapshotError(f"{path}: snapshot.json cannot be read: {error}", "take the snapshot again") from None
    if header.format != FORMAT:
        raise SnapshotError(
            f"{path} has snapshot format {header.format}, and this argolint reads {FORMAT}",
            "use the argolint that wrote it, or a newer one",
        )
    taken_at = header.taken_at if header.taken_at.tzinfo else header.taken_at.replace(tzinfo=UTC)
    try:
        taken_at = min(max(taken_at.astimezone(UTC), _EARLIEST), _LATEST)
    except OverflowError:
        raise SnapshotError(
            f"{path}: snapshot.json cannot be read: {taken_at} is no time of UTC", "take the snapshot again"
        ) from None
    return msgspec.structs.replace(header, taken_at=taken_at)


def read_index(path: Path, files: Files) -> dict[str, Recorded]:
    try:
        lines = files.read("requests.jsonl").splitlines()
    except FileNotFoundError:
        raise SnapshotError(
            f"{path} is incomplete: it has no requests.jsonl", "copy the whole snapshot, or take it again"
        ) from None
    index: dict[str, Recorded] = {}
    content_types: dict[str, str] = {}
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            line = _line(text)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise SnapshotError(
                f"{path}: line {number} of requests.jsonl is cut or damaged: {error}",
                "copy the whole snapshot, or take it again",
            ) from None
        name, namespace, project = named_application(line.path, line.query, "")
        scoped = name and namespace and project and not line.anonymous
        entry = scoped_key(line.path, line.query, namespace) if scoped else key(line.path, line.query, line.anonymous)
        content_type = content_types.setdefault(line.content_type, line.content_type)
        found = Recorded(line.status, content_type, line.body, project if scoped else "", line.crc32)
        index.setdefault(entry, found)
    return index


def named_application(path: str, query: Query, control_plane: str) -> tuple[str, str, str]:
    """(name, namespace, project) of a request about one application; empty strings for any other request."""
    if not path.startswith(APPLICATIONS + "/"):
        return "", "", ""
    namespace, project = control_plane, ""
    for parameter, value in query:
        if parameter == "appNamespace":
            namespace = value or control_plane
        elif parameter == "project":
            project = value
    return path.removeprefix(APPLICATIONS + "/").split("/", 1)[0], namespace, project


def scoped_key(path: str, query: Query, namespace: str) -> str:
    """The key of a request about one application without its project, which affects whether the request is answered, not the answer."""
    rest = [p for p in query if p[0] not in ("appNamespace", "project")]
    return f"{namespace} {key(path, rest, anonymous=False)}"


def key(path: str, query: Iterable[tuple[str, str]], anonymous: bool) -> str:
    """The key of a request; order and repetition of parameters do not matter."""
    return "\0".join(("-" if anonymous else "+", unquote(path), *(f"{k}={v}" for k, v in sorted(set(query)))))
