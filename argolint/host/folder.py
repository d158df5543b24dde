"""A directory kept open, for folders that someone else may have written: no symbolic link in it is followed.

A link, even one that is created meanwhile, cannot redirect a read or a write. On systems without relative file access (Windows), each name
is checked before use.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from argolint.errors import ArgolintError, UsageError
from argolint.host.plain_text import plain

_AT = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_BASE = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BASE  # non-blocking: a pipe must not block us
_LIST = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _BASE
_ENTER = _LIST | getattr(os, "O_PATH", 0)  # a folder that may be searched need not be readable
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BASE
_CHUNK_BYTES = 1 << 20
_MAX_DEPTH = 64


class FileError(ArgolintError):
    """A file was not read or not written: it is a link, not regular, too large, or the system refused."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(plain(message), plain(hint))  # file names may be hostile


def is_name(text: str) -> bool:
    """True for a valid name of one file in a folder: a path with several parts leads elsewhere."""
    return text not in ("", ".", "..") and not set("/\0" if os.sep == "/" else "/\\:\0") & set(text)


def bounded_read(file: IO[bytes], place: Path, limit_bytes: int) -> bytes:
    """The whole content of the file. FileError if it is larger than the limit, even if it never ends."""
    found = bytearray()
    while chunk := file.read(_CHUNK_BYTES):
        found += chunk
        if len(found) > limit_bytes:
            raise FileError(f"{place} is larger than {limit_bytes:,} bytes")
    return bytes(found)


def named_bytes(file: Path, limit_bytes: int) -> bytes:
    """The content of a file that the user names; a pipe is allowed. FileError if it is too large, OSError as usual."""
    with file.open("rb") as opened:
        return bounded_read(opened, file, limit_bytes)


@contextlib.contextmanager
def readable(what: object, hint: str) -> Iterator[None]:
    """Raises UsageError with the hint if the file that the user names cannot be read in this block: `cannot read WHAT: No such file`."""
    try:
        yield
    except (OSError, FileError) as error:
        reason = error.strerror if isinstance(error, OSError) else error.message
        raise UsageError(f"cannot read {what}: {reason}", hint) from None


class Folder:
    """An open directory, as a context manager that closes it. `path` is for messages."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._handle = handle

    @classmethod
    def open(cls, root: Path, parts: Iterable[str] = (), *, make: bool = False) -> Folder:
        """The folder `parts` below `root`; `root` itself may be a link. `make` creates missing folders. Raises FileError."""
        try:
            here = cls(root, os.open(root, _ENTER & ~getattr(os, "O_NOFOLLOW", 0)) if _AT else -1)
        except OSError as error:
            raise _refused(root, error) from None
        for part in parts:
            with here:
                inner = here.enter(part, make=make)
            here = inner
        return here

    def enter(self, name: str, *, make: bool = False) -> Folder:
        """A folder in this one. FileError if it is a link, no folder, or missing."""
        place = self._place(name)
        try:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(self._name(name), **self._at())
            if stat.S_ISLNK(self.kind(name)):
                raise FileError(f"{place} is a link", "links are not followed there")
            return Folder(place, os.open(name, _ENTER, **self._at()) if _AT else -1)
        except OSError as error:
            raise _refused(place, error) from None

    def names(self) -> tuple[str, ...]:
        """The names in the folder, sorted."""
        try:
            if not _AT:
                return tuple(sorted(os.listdir(self.path)))
            handle = os.open(".", _LIST, **self._at())
            try:
                return tuple(sorted(os.listdir(handle)))
            finally:
                os.close(handle)
        except OSError as error:
            raise _refused(self.path, error) from None

    def kind(self, name: str) -> int:
        """The type of an entry as in `stat.S_IFMT`, without following links; 0 if it is missing."""
        try:
            return stat.S_IFMT(self._state(name).st_mode)
        except (OSError, ValueError):
            return 0

    def read(self, name: str, limit_bytes: int) -> bytes:
        """The content of a regular file in this folder. FileError if it is a link, a pipe or a device, or larger than the limit."""
        place = self._place(name)
        if stat.S_ISLNK(self.kind(name)):
            raise FileError(f"{place} is a link", "links are not followed there")
        try:
            with os.fdopen(os.open(self._name(name), _READ, **self._at()), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise FileError(f"{place} is no plain file")
                return bounded_read(file, place, limit_bytes)
        except OSError as error:
            raise _refused(place, error) from None

    def files(self, depth: int = 0) -> Iterator[tuple[Folder, str]]:
        """Every entry in the folder and below it that is no folder, in path order, including links and devices."""
        if depth > _MAX_DEPTH:
            raise FileError(f"{self.path} lies more than {_MAX_DEPTH} folders deep")
        for name in self.names():
            if stat.S_ISDIR(self.kind(name)):
                with self.enter(name) as inner:
                    yield from inner.files(depth + 1)
            else:
                yield self, name

    def make_file(self, name: str, content: Iterable[bytes]) -> None:
        """Create a file; FileError if the name exists."""
        place = self._place(name)
        try:
            with os.fdopen(os.open(self._name(name), _MAKE, 0o666, **self._at()), "wb") as file:
                file.writelines(content)
        except OSError as error:
            raise _refused(place, error) from None

    def make_link(self, name: str, target: str) -> None:
        """Create a symbolic link; FileError if the name exists."""
        place = self._place(name)
        try:
            os.symlink(target, self._name(name), **self._at())
        except OSError as error:
            raise _refused(place, error) from None

    def stage(self, name: str, content: bytes | Iterable[bytes]) -> Staged:
        """Write a file's new content, or its parts, to a file next to it, with the existing file's owner and mode; a new file gets the defaults.

        FileError if it cannot be written; then nothing is left.
        """
        place = self._place(name)
        old = self.kind(name)
        if old and not stat.S_ISREG(old):
            raise FileError(f"cannot write {place}: it is {'a link' if stat.S_ISLNK(old) else 'no plain file'}")
        part = f".argolint-{secrets.token_hex(8)}.part"
        try:
            mode = 0o600 if old else 0o666
            with os.fdopen(os.open(self._name(part), _MAKE, mode, **self._at()), "wb") as file:
                if old:
                    _like(file.fileno(), self._state(name))
                file.writelines((content,) if isinstance(content, bytes) else content)
                file.flush()
                os.fsync(file.fileno())
        except BaseException as error:
            self.remove(part)
            if isinstance(error, OSError):
                raise _refused(place, error, "write") from None
            raise
        return Staged(self, name, part)

    def rename(self, name: str, to: str) -> None:
        """Rename, replacing `to`. Raises OSError."""
        ends = {"src_dir_fd": self._handle, "dst_dir_fd": self._handle} if _AT else {}
        os.replace(self._name(name), self._name(to), **ends)

    def keep(self, name: str, under: str) -> None:
        """Add a second name for the file. Raises OSError if the file system has no hard links."""
        ends = {"src_dir_fd": self._handle, "dst_dir_fd": self._handle} if _AT else {}
        os.link(self._name(name), self._name(under), follow_symlinks=False, **ends)

    def remove(self, name: str) -> None:
        """Remove a file; ignore a missing one, and a failure."""
        with contextlib.suppress(OSError):
            os.unlink(self._name(name), **self._at())

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _place(self, name: str) -> Path:
        if not is_name(name):
            raise FileError(f"{name!r} is no name of a file in {self.path}")
        return self.path / name

    def _name(self, name: str) -> Any:
        return name if _AT else self.path / name

    def _at(self) -> dict[str, Any]:
        return {"dir_fd": self._handle} if _AT else {}

    def _state(self, name: str) -> os.stat_result:
        return os.stat(self._name(name), follow_symlinks=False, **self._at())


class Staged:
    """A file's new content before it is moved into place. `close` removes temporary files."""

    def __init__(self, folder: Folder, name: str, part: str) -> None:
        self.folder, self.name = folder, name
        self._part = part
        self._old = ""

    def place(self, *, undoable: bool = False) -> None:
        """Replace the existing file. Raises OSError or FileError; the file is then unchanged."""
        if undoable and self.folder.kind(self.name):
            old = self._part.replace(".part", ".old")
            try:
                self.folder.keep(self.name, old)
                self._old = old
            except OSError:  # a file system without hard links
                self._old = self.folder.stage(self.name, self.folder.read(self.name, sys.maxsize))._part
        self.folder.rename(self._part, self.name)

    def undo(self) -> None:
        """Restore the previous file. Raises OSError. It needs no space, so it works on a full disk."""
        if self.folder.kind(self._part):
            return  # it was not moved into place
        if self._old:
            self.folder.rename(self._old, self.name)
        else:
            self.folder.remove(self.name)

    def close(self) -> None:
        for name in filter(None, (self._part, self._old)):
            self.folder.remove(name)


def _like(handle: int, old: os.stat_result) -> None:
    """Set owner and mode of the file that will be replaced; the owner if the system allows it."""
    if not hasattr(os, "fchmod"):
        return
    with contextlib.suppress(OSError):
        os.fchown(handle, old.st_uid, old.st_gid)
    os.fchmod(handle, stat.S_IMODE(old.st_mode) & 0o777)


def _refused(place: Path, error: OSError, doing: str = "open") -> FileError:
    return FileError(
        f"cannot {doing} {place}: {error.strerror or error}", "check the path, its rights and the space left"
    )
