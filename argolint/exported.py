"""A commit's files in a folder of their own, as Argo CD checks them out, without a work tree, filters or hooks.

Read through `git cat-file` alone: what `.gitattributes` of somebody's change says about filters and archives has no effect.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from argolint.errors import ArgolintError, UsageError

MAX_FILES = 200_000
MAX_BYTES = 2_000_000_000
"""All files of one commit together."""


class ExportError(ArgolintError):
    """This commit's files cannot be had, or not safely."""


@dataclass(frozen=True)
class _Entry:
    mode: str
    blob: str
    size: int
    path: str


_LINK = "120000"
_SUBMODULE = "160000"


def export(clone: Path, commit: str, into: Path) -> None:
    """Write the commit's files below `into`, which must not exist yet. Submodules are left out.

    ExportError when the commit is not there, is too large, cannot be written, or holds a symlink out of the repository: Argo CD refuses it too
    (util/app/path/path.go, CheckOutOfBoundsSymlinks).
    """
    entries = list(_entries(clone, commit))
    if len(entries) > MAX_FILES or sum(e.size for e in entries) > MAX_BYTES:
        raise ExportError(f"{clone} at {commit[:12]} is larger than {MAX_FILES:,} files or {MAX_BYTES:,} bytes")
    try:
        _write(clone, commit, entries, into)
    except OSError as error:
        raise ExportError(f"cannot write {error.filename}: {error.strerror}") from None


def _write(clone: Path, commit: str, entries: Sequence[_Entry], into: Path) -> None:
    into.mkdir(parents=True)
    links: list[tuple[Path, str]] = []
    with tempfile.TemporaryFile() as names, tempfile.TemporaryFile() as contents:
        names.writelines(f"{e.blob}\n".encode() for e in entries)
        names.seek(0)
        _git(clone, "cat-file", "--batch", stdin=names, stdout=contents)
        contents.seek(0)
        for entry in entries:
            header = contents.readline().split()
            if len(header) != 3:
                raise ExportError(
                    f"{clone} lacks {entry.path} of {commit[:12]}", "it may be a partial clone: fetch all of it"
                )
            content = contents.read(int(header[2]))
            contents.read(1)
            place = into / entry.path
            if entry.mode == _LINK:
                links.append((place, content.decode("utf-8", "surrogateescape")))
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    for place, target in links:  # after all files, so that none is written through a link
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)
    root = into.resolve()
    for place, target in links:
        if target.startswith("/") or not _leads_inside(place, root):
            raise ExportError(f"{place.relative_to(into)} is a symlink that leads out of the repository")


def _leads_inside(place: Path, root: Path) -> bool:
    try:
        return place.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a loop of links
        return False


def _entries(clone: Path, commit: str) -> Iterator[_Entry]:
    with tempfile.TemporaryFile() as listed:
        _git(clone, "ls-tree", "-r", "-z", "-l", "--full-tree", commit, stdout=listed)
        listed.seek(0)
        text = listed.read().decode("utf-8", "surrogateescape")
    for line in filter(None, text.split("\0")):
        about, _, path = line.partition("\t")
        mode, _, blob, size = about.split()
        parts = PurePosixPath(path).parts
        if mode == _SUBMODULE:
            continue
        if path.startswith("/") or {"..", ".git"} & {part.lower() for part in parts}:
            raise ExportError(f"{commit[:12]} holds a file of the name {path!r}")
        yield _Entry(mode, blob, int(size), path)


def _git(clone: Path, *arguments: str, stdout: IO[bytes], stdin: IO[bytes] | int = subprocess.DEVNULL) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    try:
        done = subprocess.run(  # noqa: S603  fixed program, arguments are passed as such
            ["git", "-C", str(clone), *arguments],  # noqa: S607  the git on PATH
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            check=False,
            env={**env, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1"},
        )
    except OSError as error:
        raise UsageError(f"cannot run git: {error.strerror}", "install it") from None
    if done.returncode != 0:
        raise ExportError(done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: "))
