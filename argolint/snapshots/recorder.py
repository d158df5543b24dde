"""Writes snapshots: masks every answer that passes through, and writes the whole snapshot at once or not at all."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import threading
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

import msgspec

from argolint import __version__
from argolint.errors import UsageError
from argolint.host.temporary import temporary_folder
from argolint.redaction import without_secrets
from argolint.server.transport import Answer, Query, Transport
from argolint.snapshots.index import FORMAT, Header, Line
from argolint.snapshots.mask import KEPT, Masker
from argolint.sources.files import own_path
from argolint.values.decoding import json_value

ARCHIVES = (".tar.gz", ".tgz", ".zip")
"""File name suffixes of snapshots in one file."""


class RecordingTransport:
    """Passes answers on unchanged and saves a masked copy of each in `folder`. It never sees a token."""

    def __init__(self, inner: Transport, folder: Path) -> None:
        self.server = inner.server
        self.offline = inner.offline
        self.stats = inner.stats
        self._inner = inner
        self._folder = folder
        self._mask = Masker()
        self._lock = threading.Lock()
        self._lines: dict[tuple[str, Query, bool], Line] = {}
        self._version = ""

    @property
    def masked(self) -> int:
        """The number of different masked values so far."""
        return self._mask.hidden

    def now(self) -> datetime:
        return self._inner.now()

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        started = time.monotonic()
        answer = self._inner.get(path, query, anonymous=anonymous)
        seconds = round(time.monotonic() - started, 3)
        masked = self._mask(answer.body, path)
        name = f"bodies/{hashlib.sha256(masked).hexdigest()[:32]}.json.gz"
        sorted_query = tuple(sorted(query))
        crc = zlib.crc32(masked)
        line = Line(path, sorted_query, anonymous, answer.status, answer.content_type, seconds, name, crc)
        packed = gzip.compress(masked, 6, mtime=0)
        with self._lock:
            self._lines[path, sorted_query, anonymous] = line
            if path == "/api/version" and answer.status == 200:
                self._version = _version(masked)
            body = self._folder / name
            if not body.exists():
                body.write_bytes(packed)
        return answer

    def finish(self) -> None:
        """Write the index and the header."""
        lines = sorted(self._lines.values(), key=lambda line: (line.path, line.query, line.anonymous))
        index = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        self._folder.joinpath("requests.jsonl").write_bytes(index)
        header = Header(FORMAT, self.now(), without_secrets(self.server), self._version, self.masked, KEPT, __version__)
        self._folder.joinpath("snapshot.json").write_bytes(msgspec.json.encode(header) + b"\n")


@contextmanager
def record(inner: Transport, target: Path) -> Iterator[RecordingTransport]:
    """A transport whose answers become the snapshot `target` at the end: a directory, or a .tar.gz, .tgz or .zip file.

    If the block raises, `target` is not created. Raises UsageError if it exists or cannot be written.
    """
    with written_whole(target) as (whole, work):
        folder = work / "snapshot"
        (folder / "bodies").mkdir(parents=True)
        recorder = RecordingTransport(inner, folder)
        yield recorder
        recorder.finish()
        if whole.name.endswith((".tar.gz", ".tgz")):
            folder = pack(folder, work / "packed", int(recorder.now().timestamp()))
        elif whole.name.endswith(".zip"):
            folder = _zip(folder, work / "packed")
        folder.replace(whole)


@contextmanager
def written_whole(target: Path) -> Iterator[tuple[Path, Path]]:
    """The absolute path of the future `target`, and a temporary folder next to it.

    UsageError if it exists or cannot be written.
    """
    target = own_path(target)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise UsageError(f"{target} exists already", "name a new directory or file; two snapshots are never mixed")
    with ExitStack() as made:
        try:
            work = made.enter_context(temporary_folder(f".{target.name}.", target.parent))
        except OSError as error:
            raise UsageError(
                f"cannot write {target}: {error.strerror}", "name a path in a directory that you may write to"
            ) from None
        yield target, work


def pack(folder: Path, target: Path, mtime_s: int) -> Path:
    """Pack a snapshot's directory as .tar.gz. The same files give the same bytes."""
    with (
        target.open("wb") as file,
        gzip.GzipFile("", "wb", 6, file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name in _files(folder):
            data = (folder / name).read_bytes()
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.mode = len(data), mtime_s, 0o644
            archive.addfile(member, io.BytesIO(data))
    return target


def _zip(folder: Path, target: Path) -> Path:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in _files(folder):
            archive.writestr(zipfile.ZipInfo(name), (folder / name).read_bytes())
    return target


def _files(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def _version(body: bytes) -> str:
    try:
        found = json_value(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ""
    return str(found.get("Version") or "") if isinstance(found, dict) else ""
