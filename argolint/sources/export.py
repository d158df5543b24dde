"""Exports a commit's files to a folder, as Argo CD checks them out, without a work tree, filters or hooks.

Files are read as Git stores them: `.gitattributes` of a foreign change has no effect on filters or archives.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from argolint.errors import ExportError, UsageError
from argolint.host.folder import FileError, Folder
from argolint.sources.git import LINK, SUBMODULE, Entry, Git, safe_name

MAX_FILES = 200_000
MAX_BYTES = 2_000_000_000
"""Most bytes of one commit's files together."""
_CHUNK_BYTES = 1 << 20


def export(clone: Path, commit: str, into: Path) -> None:
    """Write the commit's files below `into`, which must not exist yet. Submodules are left out.

    ExportError if the commit does not exist, is too large, cannot be written, has unsafe file names, or has a symlink out of the
    repository: Argo CD refuses it, too (util/app/path/path.go, CheckOutOfBoundsSymlinks).
    """
    try:
        git = Git(clone)
        files = [(path, entry) for path, entry in git.tree(commit).items() if entry.mode != SUBMODULE]
        for path, _ in files:
            if not safe_name(path):
                raise ExportError(f"{commit[:12]} holds a file of the name {path!r}")
        sizes = git.sizes(entry.id for _, entry in files)
        if len(files) > MAX_FILES or sum(sizes[entry.id] for _, entry in files) > MAX_BYTES:
            raise ExportError(f"{clone} at {commit[:12]} is larger than {MAX_FILES:,} files or {MAX_BYTES:,} bytes")
        _write(git, files, into)
    except (UsageError, FileError) as error:
        raise ExportError(error.message, error.hint) from None
    except OSError as error:
        raise ExportError(f"cannot write {error.filename or into}: {error.strerror}") from None


def _write(git: Git, files: Sequence[tuple[str, Entry]], into: Path) -> None:
    into.mkdir(parents=True)
    links: list[tuple[str, str]] = []
    with tempfile.TemporaryFile() as contents:
        git.copy([entry.id for _, entry in files], contents, MAX_BYTES)
        contents.seek(0)
        for path, entry in files:
            content = _next(contents)
            if entry.mode == LINK:
                links.append((path, b"".join(content).decode("utf-8", "surrogateescape")))
                continue
            *folders, name = path.split("/")
            with Folder.open(into, folders, make=True) as folder:
                folder.make_file(name, content)
    for path, target in links:  # after all files, and never through another link
        *folders, name = path.split("/")
        with Folder.open(into, folders, make=True) as folder:
            folder.make_link(name, target)
    root = into.resolve()
    for path, target in links:
        if target.startswith("/") or not _leads_inside(into / path, root):
            raise ExportError(f"{path} is a symlink that leads out of the repository")


def _next(contents: IO[bytes]) -> Iterator[bytes]:
    """The next object of `git cat-file --batch` in pieces; the caller must read to its end."""
    left = int(contents.readline().split()[2])
    while left:
        piece = contents.read(min(left, _CHUNK_BYTES))
        left -= len(piece)
        yield piece
    contents.read(1)


def _leads_inside(place: Path, root: Path) -> bool:
    try:
        return place.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a cycle of links
        return False
