"""Files of a directory, a .tar.gz or a .zip, read by name, bounded in size and never unpacked onto the disk."""

from __future__ import annotations

import gzip
import os
import tarfile
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from argolint.errors import SnapshotError
from argolint.inflate import TooLargeError, inflate

MAX_FILE_BYTES = 2 << 30  # one answer, inflated; Argo CD itself answers at most 200 MB unless told otherwise
MAX_ARCHIVE_BYTES = 32 << 30  # all files of an archive together
_CHUNK = 1 << 20


class Files(Protocol):
    """A closed set of files. Safe to share among threads."""

    def read(self, name: str) -> bytes:
        """The bytes of a file, inflated if the name ends in `.gz`. Raises FileNotFoundError, SnapshotError."""
        ...

    def names(self) -> Iterable[str]:
        """The files near the root, enough to say what this is."""
        ...


def open_files(path: Path) -> Files:
    """The files at `path`, told by content and not by name. Raises SnapshotError."""
    try:
        if path.is_dir():
            return _Directory(path)
        with path.open("rb") as file:
            magic = file.read(4)
        if magic.startswith(b"\x1f\x8b"):
            return _Tar(path)
        if magic.startswith(b"PK"):
            return _Zip(path)
    except FileNotFoundError:
        raise SnapshotError(f"there is no snapshot at {path}", "write one with `argolint snapshot -o PATH`") from None
    except OSError as error:
        raise SnapshotError(
            f"cannot read the snapshot {path}: {error.strerror or error}", "check the path and its rights"
        ) from None
    raise SnapshotError(f"{path} is not a snapshot: neither a directory nor a .tar.gz or .zip of one", _HINT)


_HINT = "name what `argolint snapshot -o PATH` wrote"


class _Directory:
    def __init__(self, root: Path) -> None:
        self._path = root
        self._real_root = os.path.realpath(root) + os.sep

    def names(self) -> Iterable[str]:
        return sorted(
            [p.name for p in self._path.iterdir()]
            + [str(p.relative_to(self._path)) for p in self._path.glob("*/snapshot.json")]
        )

    def read(self, name: str) -> bytes:
        path = os.path.realpath(self._path / _inside(name, self._path))
        if not path.startswith(self._real_root):  # a link that leads out of the snapshot
            raise SnapshotError(f"the snapshot {self._path} names a file outside of itself: {name}", _HINT)
        try:
            with open(path, "rb") as file:  # noqa: PTH123  # one open a request: Path's detour is measurable
                return _unpacked(_read(file, os.fstat(file.fileno()).st_size), name)
        except (FileNotFoundError, IsADirectoryError):
            raise FileNotFoundError(name) from None
        except (OSError, EOFError) as error:
            raise _damaged(self._path, name, error) from None


class _Tar:
    """Inflated once into an unnamed temporary file, so that any member can be read by its offset."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as this object
        try:
            with gzip.open(path) as packed:
                _copy_bounded(packed, self._file, path)
            self._file.seek(0)
            with tarfile.open(fileobj=self._file, mode="r:") as archive:
                self._members = {_plain(m.name): (m.offset_data, m.size) for m in archive if m.isreg()}
        except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
            raise _damaged(path, "", error) from None
        self._prefix = _prefix(self._members)

    def names(self) -> Iterable[str]:
        return sorted(self._members)

    def read(self, name: str) -> bytes:
        try:
            offset, size = self._members[self._prefix + _inside(name, self._path)]
        except KeyError:
            raise FileNotFoundError(name) from None
        try:
            with self._lock:
                self._file.seek(offset)
                data = _read(self._file, size)
            return _unpacked(data, name)
        except EOFError as error:
            raise _damaged(self._path, name, error) from None


class _Zip:
    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError) as error:
            raise _damaged(path, "", error) from None
        self._members = {_plain(i.filename): i for i in self._archive.infolist() if not i.is_dir()}
        self._prefix = _prefix(self._members)

    def names(self) -> Iterable[str]:
        return sorted(self._members)

    def read(self, name: str) -> bytes:
        try:
            member = self._members[self._prefix + _inside(name, self._path)]
        except KeyError:
            raise FileNotFoundError(name) from None
        try:
            with self._archive.open(member) as file:
                return _unpacked(_read(file, member.file_size), name)
        except (zipfile.BadZipFile, OSError, EOFError, zlib.error, RuntimeError) as error:
            raise _damaged(self._path, name, error) from None


def _inside(name: str, snapshot: Path) -> str:
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\\" in name or ":" in parts[0]:
        raise SnapshotError(f"the snapshot {snapshot} names a file outside of itself: {name}", _HINT)
    return "/".join(parts)


def _plain(name: str) -> str:
    return str(PurePosixPath(name))


def _prefix(members: Iterable[str]) -> str:
    """The folder within an archive that holds snapshot.json, `` or ending in a slash."""
    found = min(
        (m for m in members if PurePosixPath(m).name == "snapshot.json"), key=lambda m: (m.count("/"), m), default=""
    )
    return found.removesuffix("snapshot.json")


def _read(file: IO[bytes], size: int) -> bytes:
    """The whole file; its size is asked first, since read(limit) would take as much memory as the limit."""
    if size > MAX_FILE_BYTES:
        raise TooLargeError(MAX_FILE_BYTES)
    return file.read(size)


def _unpacked(data: bytes, name: str) -> bytes:
    return inflate(data, MAX_FILE_BYTES) if name.endswith(".gz") else data


def _copy_bounded(source: IO[bytes] | gzip.GzipFile, target: IO[bytes], path: Path) -> None:
    total = 0
    while chunk := source.read(_CHUNK):
        total += len(chunk)
        if total > MAX_ARCHIVE_BYTES:
            raise SnapshotError(
                f"{path} inflates to more than {MAX_ARCHIVE_BYTES >> 30} GB", "unpack it and name the directory"
            )
        target.write(chunk)


def _damaged(path: Path, name: str, error: Exception) -> SnapshotError:
    where = f"{path}: {name}" if name else str(path)
    return SnapshotError(
        f"the snapshot {where} is truncated or damaged: {error}", "take the snapshot again, or copy it again"
    )
