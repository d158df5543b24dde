"""Resolves paths that the user names, and writes files there.

A link of the user's own is followed: `/dev/stdout`, or a `latest.json` in a folder of reports. A link inside a Git work tree is refused: a
change may have created it to redirect reads or writes.
"""

from __future__ import annotations

import stat
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from argolint.errors import UsageError
from argolint.host.folder import FileError, Folder, named_bytes
from argolint.sources.git import Git, has_repository
from argolint.values import plain

_MAX_LINKS = 40
_KERNEL = (Path("/dev"), Path("/proc"))
_OWN_SETTINGS = "keep your settings out of the repository, or set HOME to a folder of your own"


def own_path(path: Path, tree: Path | None = None) -> Path:
    """The absolute path without links. UsageError for a link inside a Git work tree; with `tree`, inside this one only."""
    parts = deque(path.absolute().parts)
    here = Path(parts.popleft())
    links = 0
    while parts:
        part = parts.popleft()
        if part == "..":
            here = here.parent
            continue
        step = here / part
        if any(step.is_relative_to(place) for place in _KERNEL) or not step.is_symlink():
            here = step
            continue
        links += 1
        target = step.readlink()
        if has_repository(here) is not None if tree is None else here.is_relative_to(tree):
            raise UsageError(
                f"{plain(str(step))} is a link inside a Git work tree: a change may have put it there, so it is not followed",
                f"name the place itself, {plain(str(target))}, or a file outside of the work tree",
            )
        if links > _MAX_LINKS:
            raise UsageError(f"{path} leads from link to link without end", "name the place itself")
        parts.extendleft(reversed(target.parts))  # an absolute one begins again at `/`
    return here


def require_own(
    file: Path,
    checkouts: Iterable[Path] = (),
    instead: str = _OWN_SETTINGS,
    means: str = "it cannot say where your token goes",
) -> None:
    """UsageError for a file in the working directory's checkout, or in these checkouts: a change may have written it, so it is not the user's own.

    In a container the home may be the checkout. An untracked file there belongs to the job.
    """
    trees = {tree for folder in (Path.cwd(), *checkouts) if (tree := has_repository(folder.resolve())) is not None}
    for tree in sorted(trees):
        place = own_path(file, tree)
        if place.is_relative_to(tree) and Git(tree).holds(place.relative_to(tree).as_posix()):
            raise UsageError(
                f"{file} is part of the checkout {tree}: a change may have written it, so {means}",
                instead,
            )


def read_text(file: Path, limit_bytes: int) -> str:
    """The text of a file that the user names; a pipe is allowed. FileError if it is too large or not UTF-8; OSError as usual."""
    content = named_bytes(file, limit_bytes)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise FileError(f"{file} is not UTF-8 text") from None


def write(file: Path, content: bytes | Iterable[bytes]) -> None:
    """Replace the file atomically, by the content or its parts, and keep its mode and owner.

    A device or a pipe is written directly: replacing /dev/null would create a plain file. UsageError, FileError.
    """
    place = own_path(file)
    try:
        state = place.stat()
    except OSError:
        state = None
    through = any(place.is_relative_to(folder) for folder in _KERNEL)
    if through or (state is not None and not stat.S_ISREG(state.st_mode)):
        try:
            with place.open("wb") as opened:
                opened.writelines((content,) if isinstance(content, bytes) else content)
        except OSError as error:
            raise FileError(f"cannot write {file}: {error.strerror}", "check the path and its rights") from None
        return
    with Folder.open(place.parent) as folder:
        staged = folder.stage(place.name, content)
        try:
            staged.place()
        except OSError as error:
            raise FileError(f"cannot write {file}: {error.strerror}", "check the path and its rights") from None
        finally:
            staged.close()
