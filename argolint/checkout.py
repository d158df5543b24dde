"""A Git checkout as a place for fixes: which repository it is, what it holds, and writing all of a run's files or none.

Only files that Git tracks are read or written, since Argo CD reads nothing else, and none that a symlink takes elsewhere.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

from argolint.errors import ArgolintError, UsageError
from argolint.gate.git import Git
from argolint.yaml_text import Document, EditError, documents

MAX_BYTES = 5_000_000
"""A larger file is generated or data: no manifest to edit."""


class ChangedError(ArgolintError):
    """A file changed while a run was prepared."""


@dataclass(frozen=True)
class Checkout:
    """The top folder of a work tree, and the URLs of the repositories that it is a clone of."""

    root: Path
    urls: frozenset[str]
    _texts: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    _documents: dict[str, tuple[Document, ...]] = field(default_factory=dict, compare=False, repr=False)

    def __hash__(self) -> int:
        return hash(self.root)

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Tracked files that are there, as paths relative to the root, sorted."""
        listed = _git(self.root, "ls-files", "-z").split("\0")
        return tuple(sorted(f for f in set(listed) if f and (self.root / f).is_file()))

    def under(self, folder: str) -> Iterable[str]:
        """Tracked files in a folder and below it."""
        prefix = "" if folder in ("", ".") else folder + "/"
        return (f for f in self.files if f.startswith(prefix))

    def text(self, file: str) -> str:
        """The file as it is on disk. EditError says why it cannot be edited."""
        if file not in self._texts:
            self._texts[file] = self._load(file)
        return self._texts[file]

    def documents(self, file: str) -> tuple[Document, ...]:
        """The file's documents, each read once. EditError as `text` has it."""
        if file not in self._documents:
            self._documents[file] = documents(self.text(file))
        return self._documents[file]

    def _load(self, file: str) -> str:
        place = self.place(file)
        try:
            if place.stat().st_size > MAX_BYTES:
                raise EditError(f"{file} is larger than {MAX_BYTES:,} bytes")
            return place.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise EditError(f"{file} cannot be read: {error}") from None

    def place(self, file: str) -> Path:
        """Where the file really is. EditError when a symlink leads out of the checkout."""
        found = (self.root / file).resolve()
        if not found.is_relative_to(self.root) or ".git" in found.relative_to(self.root).parts:
            raise EditError(f"{file} is a symlink that leads out of the checkout")
        return found

    def text_at(self, revision: str, file: str) -> str | None:
        """The file at a commit; None when this clone has no such commit or file."""
        try:
            return Git(self.root).show(revision, file) if revision else None
        except UsageError:
            return None

    @cached_property
    def dirty(self) -> frozenset[str]:
        """Tracked files with changes that are not committed."""
        told = _git(self.root, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=no")
        return frozenset(line[3:] for line in told.split("\0") if line)


def open_checkouts(given: Sequence[str], option: str = "--write") -> tuple[Checkout, ...]:
    """Each `DIR` or `URL=DIR` of an option. UsageError when one is no work tree, or does not tell which repository it is."""
    found: dict[Path, Checkout] = {}
    for text in given:
        url, folder = ("", text) if Path(text).is_dir() else text.rpartition("=")[::2]
        if not Path(folder).is_dir():
            raise UsageError(f"{option} {text}: there is no folder {folder!r}", "name a Git checkout: DIR or URL=DIR")
        try:
            root = Path(_git(Path(folder), "rev-parse", "--show-toplevel").rstrip("\n")).resolve()
        except UsageError as error:
            raise UsageError(
                f"{option} {text} is no Git checkout: {error.message}", "clone the repository first"
            ) from None
        urls = [url] if url else _git(root, "config", "--get-regexp", r"^remote\..*\.url$", fails=1).split()[1::2]
        if not urls:
            raise UsageError(f"{option} {text}: the checkout has no remote", f"say whose it is: {option} URL={folder}")
        before = found[root].urls if root in found else frozenset()
        found[root] = Checkout(root, before | set(urls))
    return tuple(found.values())


def inside(folder: str, path: str) -> str | None:
    """A path relative to a folder of the repository, `..` resolved; None when it leads out of the repository."""
    parts: list[str] = []
    joined = PurePosixPath(path.lstrip("/")) if path.startswith("/") else PurePosixPath(folder) / path
    for part in joined.parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def write(changes: Mapping[tuple[Checkout, str], str]) -> None:
    """Replace all these files or none: new texts are written beside them first, then moved into place.

    ChangedError when a file is no longer what was read; nothing is written then.
    """
    staged: list[tuple[Path, Path, bytes]] = []
    try:
        for (checkout, file), text in changes.items():
            place = checkout.place(file)
            staged.append((_beside(place, text.encode("utf-8")), place, checkout.text(file).encode("utf-8")))
        for _, place, before in staged:
            if place.read_bytes() != before:
                raise ChangedError(f"{place} changed meanwhile: nothing was written", "run again")
        _move(staged)
    except OSError as error:
        raise ArgolintError(f"cannot write {error.filename}: {error.strerror}; nothing was written") from None
    finally:
        for part, _, _ in staged:
            part.unlink(missing_ok=True)


def _move(staged: Sequence[tuple[Path, Path, bytes]]) -> None:
    """Every part into its place; those that were moved are put back when one cannot be."""
    moved: list[tuple[Path, bytes]] = []
    try:
        for part, place, before in staged:
            part.replace(place)
            moved.append((place, before))
    except OSError:
        for place, before in moved:
            _beside(place, before).replace(place)
        raise


def _beside(place: Path, content: bytes) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part = Path(name)
    part.chmod(place.stat().st_mode & 0o7777)
    return part


def diff(checkout: Checkout, texts: Mapping[str, str], shown: Callable[[str], str] = lambda text: text) -> str:
    """The unified diff that `git diff` would show if these files were written, of both sides as `shown` makes them."""
    with tempfile.TemporaryDirectory(prefix="argolint-") as made:
        for side, content in (("a", {file: checkout.text(file) for file in texts}), ("b", texts)):
            for file, text in content.items():
                place = Path(made, side, file)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(shown(text).encode("utf-8"))
        plain = ("--no-color", "--no-ext-diff", "--src-prefix=", "--dst-prefix=")
        return _git(Path(made), "diff", "--no-index", *plain, "a", "b", fails=1) if texts else ""


def _git(folder: Path, *args: str, fails: int = 0) -> str:
    """What git prints. UsageError when it fails, but for exit code `fails`."""
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-C", str(folder), *args]
    try:
        done = subprocess.run(  # noqa: S603  fixed program, arguments are passed as such
            command,
            capture_output=True,
            check=False,
            env={**{k: v for k, v in os.environ.items() if not k.startswith("GIT_")}, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except OSError as error:
        raise UsageError(f"cannot run git: {error.strerror}", "install it, or leave out --write") from None
    if done.returncode not in (0, fails):
        raise UsageError(done.stderr.decode(errors="replace").strip().removeprefix("fatal: "), "is it a Git checkout?")
    return done.stdout.decode("utf-8", errors="surrogateescape")
