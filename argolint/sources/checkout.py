"""A Git checkout as a place for fixes: its repository URLs, its files, and atomic writes of all files of a run.

It reads and writes only files that Git tracks, since Argo CD reads nothing else, and follows no symlink out of the checkout.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar, cast

from argolint.errors import ArgolintError, UsageError
from argolint.host.folder import FileError, Folder, Staged
from argolint.host.temporary import temporary_folder
from argolint.quick.records import dataclass
from argolint.sources.files import own_path
from argolint.sources.git import Entry, Git, safe_name
from argolint.sources.yaml_text import Document, EditError, documents

T = TypeVar("T")

MAX_BYTES = 5_000_000
"""A larger file is generated or data, not a manifest to edit."""


class ChangedError(ArgolintError):
    """A file changed during the preparation of a run."""


@dataclass(frozen=True)
class Checkout:
    """The root folder of a work tree, and the URLs of its repository."""

    root: Path
    urls: frozenset[str]
    _texts: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    _documents: dict[str, tuple[Document, ...]] = field(default_factory=dict, compare=False, repr=False)
    _derived: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __hash__(self) -> int:
        return hash(self.root)

    @cached_property
    def git(self) -> Git:
        """The clone, read through Git."""
        return Git(self.root)

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Existing tracked files as paths relative to the root, sorted."""
        return tuple(sorted(f for f in set(self.git.tracked()) if safe_name(f) and (self.root / f).is_file()))

    def under(self, folder: str) -> Iterable[str]:
        """Tracked files in a folder and below it."""
        if folder in ("", "."):
            return self.files
        return self.files[bisect_left(self.files, f"{folder}/") : bisect_left(self.files, f"{folder}0")]

    def derived(self, name: str, make: Callable[[], T]) -> T:
        """A value computed once from the files, which are assumed not to change during a run."""
        if name not in self._derived:
            self._derived[name] = make()
        return cast(T, self._derived[name])

    def text(self, file: str) -> str:
        """The file's text on disk. EditError says why it cannot be edited."""
        if file not in self._texts:
            self._texts[file] = self._load(file)
        return self._texts[file]

    def documents(self, file: str) -> tuple[Document, ...]:
        """The file's documents, each read once. EditError as for `text`."""
        if file not in self._documents:
            self._documents[file] = documents(self.text(file))
        return self._documents[file]

    def _load(self, file: str) -> str:
        *folders, name = self.place(file).relative_to(self.root).parts
        try:
            with Folder.open(self.root, folders) as folder:
                return folder.read(name, MAX_BYTES).decode("utf-8")
        except (FileError, UnicodeDecodeError) as error:
            raise EditError(f"{file} cannot be read: {error}") from None

    def place(self, file: str) -> Path:
        """The real path of the file. EditError if a symlink leads out of the checkout."""
        found = (self.root / file).resolve()
        if not found.is_relative_to(self.root) or not safe_name(found.relative_to(self.root).as_posix()):
            raise EditError(f"{file} is a symlink that leads out of the checkout")
        return found

    def text_at(self, revision: str, file: str) -> str | None:
        """The file at a commit; None if this clone does not have the commit or file."""
        try:
            return self.git.show(revision, file) if revision else None
        except UsageError:
            return None

    @cached_property
    def dirty(self) -> frozenset[str]:
        """Tracked files with uncommitted changes."""
        return self.git.dirty()

    def is_dirty(self, file: str) -> bool:
        """True for a file with uncommitted changes, or a link to one. EditError as for `place`."""
        return bool({file, self.place(file).relative_to(self.root).as_posix()} & self.dirty)


_BATCH_BYTES = 32_000_000
MAX_YAML_BYTES = 512_000_000
"""Most bytes of YAML to read from one commit; larger repositories contain data."""
YAML_NAMES = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class Committed(Checkout):
    """The files of a commit instead of a work tree's, read through Git: links are not followed and filters do not run."""

    revision: str = "HEAD"

    def __hash__(self) -> int:
        return hash((self.root, self.revision))

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        """The regular files by path."""
        tree = self.git.tree(self.revision)
        return {path: entry for path, entry in tree.items() if entry.mode.startswith("100") and safe_name(path)}

    @cached_property
    def files(self) -> tuple[str, ...]:
        return tuple(sorted(self.entries))

    @cached_property
    def _batches(self) -> Mapping[str, tuple[str, ...]]:
        """For each YAML file, the files to read with it: one process reads thousands in the time of two."""
        named = [file for file in self.files if file.endswith(YAML_NAMES)]
        sizes = self.git.sizes(self.entries[file].id for file in named)
        found: list[list[str]] = [[]]
        held = total = 0
        for file in named:
            size = sizes[self.entries[file].id]
            if size > MAX_BYTES or total + size > MAX_YAML_BYTES:
                continue
            if held + size > _BATCH_BYTES:
                found.append([])
                held = 0
            found[-1].append(file)
            held, total = held + size, total + size
        return {file: tuple(batch) for batch in found for file in batch}

    def _load(self, file: str) -> str:
        entry = self.entries.get(file)
        if entry is None:
            raise EditError(f"{file} is no file of {self.revision[:12]}")
        if file not in self._batches and (
            file.endswith(YAML_NAMES) or self.git.sizes([entry.id])[entry.id] > MAX_BYTES
        ):
            raise EditError(f"{file} is larger than {MAX_BYTES:,} bytes, or one of too many")
        unread = self.derived("unread", set[str])
        batch = () if file in unread else self._batches.get(file, (file,))
        for name, content in zip(batch, self.git.contents(self.entries[name] for name in batch), strict=True):
            try:
                self._texts.setdefault(name, content.decode("utf-8"))
            except UnicodeDecodeError:
                unread.add(name)
        if file in unread:
            raise EditError(f"{file} cannot be read: it is no UTF-8")
        return self._texts[file]

    @cached_property
    def dirty(self) -> frozenset[str]:
        return frozenset()

    def is_dirty(self, file: str) -> bool:
        return False


@dataclass(frozen=True)
class Named(Checkout):
    """Files that the user names, of any repository; `given`: their texts."""

    given: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __hash__(self) -> int:
        return hash(self.root)

    @cached_property
    def files(self) -> tuple[str, ...]:
        return tuple(self.given)

    def _load(self, file: str) -> str:
        if file not in self.given:
            raise EditError(f"{file} is none of the files named")
        return self.given[file]

    def text_at(self, revision: str, file: str) -> str | None:
        return None

    def is_dirty(self, file: str) -> bool:
        return False


def url_and_folder(text: str) -> tuple[str, str]:
    """`DIR` or `URL=DIR` as (URL, DIR); the URL may be empty."""
    return ("", text) if Path(text).is_dir() else text.rpartition("=")[::2]


def open_checkouts(given: Sequence[str], option: str = "--write") -> tuple[Checkout, ...]:
    """Each `DIR` or `URL=DIR` of an option. UsageError if one is no work tree, or does not show its repository."""
    found: dict[Path, Checkout] = {}
    for text in given:
        url, folder = url_and_folder(text)
        if not Path(folder).is_dir():
            raise UsageError(f"{option} {text}: there is no folder {folder!r}", "name a Git checkout: DIR or URL=DIR")
        try:
            root = Git(own_path(Path(folder))).top
        except UsageError as error:
            raise UsageError(
                f"{option} {text} is no Git checkout: {error.message}", "clone the repository first"
            ) from None
        urls = [url] if url else Git(root).remotes()
        if not urls:
            raise UsageError(f"{option} {text}: the checkout has no remote", f"say whose it is: {option} URL={folder}")
        before = found[root].urls if root in found else frozenset()
        found[root] = Checkout(root, before | set(urls))
    return tuple(found.values())


def inside(folder: str, path: str) -> str | None:
    """A path relative to a folder of the repository, with `..` resolved; None if it leaves the repository."""
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
    """Replace all these files or none: new texts are written next to them first, then moved into place.

    ChangedError, before any write, if a file's content or path changed since it was read.
    """
    with ExitStack() as cleaning:
        staged: list[tuple[Staged, bytes]] = []
        try:
            _require_apart(changes)
            for (checkout, file), text in changes.items():
                *folders, name = checkout.place(file).relative_to(checkout.root).parts
                folder = cleaning.enter_context(Folder.open(checkout.root, folders))
                part = folder.stage(name, text.encode("utf-8"))
                cleaning.callback(part.close)
                staged.append((part, checkout.text(file).encode("utf-8")))
            for part, before in staged:
                if part.folder.read(part.name, MAX_BYTES) != before:
                    raise ChangedError(
                        f"{part.folder.path / part.name} changed meanwhile: nothing was written", "run again"
                    )
            move([part for part, _ in staged])
        except (EditError, FileError) as error:
            raise ChangedError(f"{error}; nothing was written", getattr(error, "hint", "") or "run again") from None


def _require_apart(changes: Iterable[tuple[Checkout, str]]) -> None:
    """ArgolintError if two names lead to one file: one of the texts would be lost."""
    places: dict[Path, str] = {}
    for checkout, file in changes:
        other = places.setdefault(checkout.place(file), file)
        if other != file:
            raise ArgolintError(f"{other} and {file} are one file; nothing was written", "write their fixes one by one")


def move(staged: Sequence[Staged]) -> None:
    """Move every part into place. If one move fails, or the run is interrupted, undo all. Raises ArgolintError."""
    for count, part in enumerate(staged, 1):
        try:
            part.place(undoable=True)
        except BaseException as error:
            left = [str(done.folder.path / done.name) for done in staged[:count] if not _undone(done)]
            if not left and not isinstance(error, OSError | FileError):
                raise
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            rest = f"these files are changed nevertheless: {', '.join(left)}" if left else "nothing was written"
            raise ArgolintError(
                f"cannot write {part.folder.path / part.name}: {reason}; {rest}",
                "check the space left, and the rights there",
            ) from None


def _undone(part: Staged) -> bool:
    try:
        part.undo()
    except OSError:
        return False
    return True


def diff(checkout: Checkout, texts: Mapping[str, str], shown: Callable[[str], str] = lambda text: text) -> str:
    """The unified diff that `git diff` would show after writing these files; `shown` masks both sides."""
    if not texts:
        return ""
    with temporary_folder() as made:
        for side, content in (("a", {file: checkout.text(file) for file in texts}), ("b", texts)):
            for file, text in content.items():
                *folders, name = file.split("/")
                with Folder.open(made, (side, *folders), make=True) as folder:
                    folder.make_file(name, [shown(text).encode("utf-8")])
        return Git(made).difference()
