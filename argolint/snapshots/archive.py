"""Reads files by name from a directory, a .tar.gz or a .zip, with size limits and without unpacking to the disk."""

from __future__ import annotations

import gzip
import itertools
import os
import stat
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Protocol

from argolint.errors import SnapshotError
from argolint.host.inflate import TooLargeError, inflate

if TYPE_CHECKING:
    import tarfile

MAX_FILE_BYTES = 2 << 30  # one answer, decompressed; Argo CD itself answers at most 200 MB unless configured otherwise
MAX_INDEX_BYTES = 512 << 20  # the header and the index: ten thousand applications need 20 MB
MAX_ARCHIVE_BYTES = 32 << 30  # all files of an archive together
_ALWAYS_ALLOWED = 256 << 20
_MAX_RATIO = 250
"""Largest compression ratio of a file over 256 MB: answers reach 50, a bomb 1,000."""
_MAX_MEMBERS = 1_000_000
"""Most files of an archive: a fleet of ten thousand applications has 40,000."""
_CHUNK = 1 << 20
_DAMAGES = (OSError, EOFError, zlib.error, ValueError, LookupError, OverflowError, RuntimeError, MemoryError)
"""Errors of tar, zip and gzip readers on damaged files, in addition to their own types (includes NotImplementedError)."""


class Files(Protocol):
    """A fixed set of files. Safe to share among threads."""

    def read(self, name: str, crc32: int | None = None) -> bytes:
        """The bytes of a file, decompressed if the name ends in `.gz`. Raises FileNotFoundError, SnapshotError (also for a wrong CRC)."""
        ...

    def names(self) -> Iterable[str]:
        """Some file names near the root, for an error message."""
        ...


def open_files(path: Path) -> Files:
    """The files at `path`, recognized by content and not by name. Raises SnapshotError."""
    try:
        if path.is_dir():
            return _Directory(path)
        with _opened(path) as file:
            magic = file.read(4)
        if magic.startswith(b"\x1f\x8b"):
            return _Tar(path)
        if magic.startswith(b"PK"):
            return _Zip(path)
    except FileNotFoundError:
        raise SnapshotError(f"there is no snapshot at {path}", "write one with `argolint snapshot -o PATH`") from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else "") or error
        raise SnapshotError(f"cannot read the snapshot {path}: {reason}", "check the path and its rights") from None
    raise SnapshotError(f"{path} is not a snapshot: neither a directory nor a .tar.gz or .zip of one", _HINT)


_HINT = "name what `argolint snapshot -o PATH` wrote"


def _opened(path: Path | str) -> IO[bytes]:
    """A regular file, opened; OSError for a pipe, a device or a socket, which could block or never end."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{path} is no plain file")
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


class _Directory:
    def __init__(self, root: Path) -> None:
        self._path = root
        self._real_root = os.path.realpath(root) + os.sep
        self._real_folder = lru_cache(maxsize=64)(os.path.realpath)

    def names(self) -> Iterable[str]:
        return sorted(
            [p.name for p in self._path.iterdir()]
            + [str(p.relative_to(self._path)) for p in self._path.glob("*/snapshot.json")]
        )

    def read(self, name: str, crc32: int | None = None) -> bytes:
        folder, _, file_name = str(self._path / _inside(name, self._path)).rpartition(os.sep)
        path = os.path.join(self._real_folder(folder), file_name)  # noqa: PTH118  # thousands of them
        if os.path.islink(path):  # noqa: PTH114  # the same
            path = os.path.realpath(path)
        if not path.startswith(self._real_root):  # a link that leads out of the snapshot
            raise SnapshotError(f"the snapshot {self._path} names a file outside of itself: {name}", _HINT)
        try:
            with _opened(path) as file:
                return _unpacked(_read(file, os.fstat(file.fileno()).st_size, name), name, crc32)
        except (FileNotFoundError, IsADirectoryError):
            raise FileNotFoundError(name) from None
        except _DAMAGES as error:
            raise _damaged(self._path, name, error) from None


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a file, from an offset on."""

    handle: int
    offset: int

    def read(self, size: int) -> bytes:
        return os.pread(self.handle, size, self.offset)


class _Tar:
    """A tar archive, decompressed once into an unnamed temporary file for access by offset."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        import tarfile  # most snapshots are folders

        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as this object
        try:
            with gzip.open(path) as packed:
                _copy_bounded(packed, self._file, path)
            self._file.seek(0)
            with tarfile.open(fileobj=self._file, mode="r:") as archive:
                self._members = dict(_places(archive))
        except (tarfile.TarError, *_DAMAGES) as error:
            raise _damaged(path, "", error) from None
        self._prefix = _prefix(self._members)

    def names(self) -> Iterable[str]:
        return sorted(self._members)

    def read(self, name: str, crc32: int | None = None) -> bytes:
        try:
            offset, size = self._members[self._prefix + _inside(name, self._path)]
        except KeyError:
            raise FileNotFoundError(name) from None
        try:
            if hasattr(os, "pread"):  # it keeps no file position: threads and forked processes share the file
                data = _read(_Part(self._file.fileno(), offset), size, name)
            else:
                with self._lock:
                    self._file.seek(offset)
                    data = _read(self._file, size, name)
            return _unpacked(data, name, crc32)
        except _DAMAGES as error:
            raise _damaged(self._path, name, error) from None


def _places(archive: tarfile.TarFile) -> Iterator[tuple[str, tuple[int, int]]]:
    """Name, offset and size of each regular file. tarfile keeps a kilobyte of each member, unless its list is cleared."""
    for number in itertools.count():
        member = archive.next()
        if member is None:
            return
        if number >= _MAX_MEMBERS:
            raise ValueError(f"it holds more than {_MAX_MEMBERS:,} files")
        archive.members.clear()  # type: ignore[attr-defined]  # an attribute that the documentation names
        if member.isreg():
            yield _plain(member.name), (member.offset_data, member.size)


class _Zip:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._owner = os.getpid()
        try:
            self._archive = zipfile.ZipFile(path)
            self._members = {_plain(i.filename): i for i in self._archive.infolist() if not i.is_dir()}
        except (zipfile.BadZipFile, *_DAMAGES) as error:
            raise _damaged(path, "", error) from None
        self._prefix = _prefix(self._members)

    def names(self) -> Iterable[str]:
        return sorted(self._members)

    def read(self, name: str, crc32: int | None = None) -> bytes:
        try:
            member = self._members[self._prefix + _inside(name, self._path)]
        except KeyError:
            raise FileNotFoundError(name) from None
        try:
            if self._owner != os.getpid():  # a forked process shares the file position
                self._owner, self._archive = os.getpid(), zipfile.ZipFile(self._path)
            with self._archive.open(member) as file:
                return _unpacked(_read(file, member.file_size, name, member.compress_size), name, crc32)
        except (zipfile.BadZipFile, *_DAMAGES) as error:
            raise _damaged(self._path, name, error) from None


def _inside(name: str, snapshot: Path) -> str:
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or any(sign in name for sign in "\\\0") or ":" in parts[0]:
        raise SnapshotError(f"the snapshot {snapshot} names a file outside of itself: {name}", _HINT)
    return "/".join(parts)


def _plain(name: str) -> str:
    return str(PurePosixPath(name))


def _prefix(members: Iterable[str]) -> str:
    """The folder within an archive that contains snapshot.json: empty, or with a final slash."""
    found = min(
        (m for m in members if PurePosixPath(m).name == "snapshot.json"), key=lambda m: (m.count("/"), m), default=""
    )
    return found.removesuffix("snapshot.json")


def _allowed(packed: int, most: int = MAX_FILE_BYTES) -> int:
    """The most bytes to which a file of this packed size may decompress."""
    return min(most, max(_ALWAYS_ALLOWED, _MAX_RATIO * packed))


def _read(file: IO[bytes] | _Part, size: int, name: str, packed: int | None = None) -> bytes:
    """The whole file; its size is checked first, since read(limit) would allocate the limit."""
    limit = _allowed(
        size if packed is None else packed, MAX_FILE_BYTES if name.startswith("bodies/") else MAX_INDEX_BYTES
    )
    if size > limit:
        raise TooLargeError(limit)
    return file.read(size)


def _unpacked(data: bytes, name: str, crc32: int | None) -> bytes:
    """The file's own bytes. gzip itself checks its CRC at the end; the index's CRC may still differ."""
    packed = name.endswith(".gz")
    found = inflate(data, _allowed(len(data))) if packed else data
    if crc32 is not None and crc32 != (int.from_bytes(data[-8:-4], "little") if packed else zlib.crc32(found)):
        raise EOFError("it is not what the index names: its CRC is another")
    return found


def _copy_bounded(source: IO[bytes] | gzip.GzipFile, target: IO[bytes], path: Path) -> None:
    total, limit = 0, _allowed(path.stat().st_size, MAX_ARCHIVE_BYTES)
    while chunk := source.read(_CHUNK):
        total += len(chunk)
        if total > limit:
            raise SnapshotError(
                f"{path} inflates to more than {limit >> 20} MB, more than any snapshot of its size does",
                "name what `argolint snapshot -o PATH` wrote; if it is one, unpack it and name the directory",
            )
        target.write(chunk)


def _damaged(path: Path, name: str, error: Exception) -> SnapshotError:
    where = f"{path}: {name}" if name else str(path)
    return SnapshotError(
        f"the snapshot {where} is truncated or damaged: {error}", "take the snapshot again, or copy it again"
    )
