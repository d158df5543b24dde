"""Runs git, as the only module, on clones that may be hostile, including their configuration, attributes and history.

Nothing that a clone configures runs: no hook, filter, pager, signature check, helper or transport. git gets an empty environment and
neither the user's nor the system's configuration, so it may read clones of other owners, too (`safe.directory`); a clone's settings that
name programs are overridden. Time and output are limited. Files are read as Git stores them, never through a work tree, whose links and
filters a change controls.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, TypeVar

from argolint.errors import UsageError
from argolint.host import programs
from argolint.host.programs import LimitError, Limits
from argolint.host.temporary import temporary_folder
from argolint.values import plain
from argolint.values.memo import Once

T = TypeVar("T")

MAX_FILES = 1_000_000
"""Most files of one commit, and of one change."""
MAX_TEXT_BYTES = 32_000_000
"""A larger file holds no manifest. Unread files are reported, since a change could hide in them."""
_MAX_TARGET_BYTES = 4_096
_LIMITS = Limits(seconds=120, output_bytes=256_000_000)
_QUICK = Limits(seconds=15, output_bytes=256_000_000)
_QUICK_COMMANDS = frozenset(("rev-parse", "show-ref", "config", "check-ref-format"))
"""Commands that read a few small files; a pipe or a device in place of one would block."""

_OVERRULED = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.untrackedCache=false",
    "core.commitGraph=false",
    "credential.helper=",
    "submodule.recurse=false",
    "diff.ignoreSubmodules=all",
)
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    # only in a file does every git version obey safe.directory
    "GIT_CONFIG_GLOBAL": str(Path(__file__).with_suffix(".config")),
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "",  # no transport at all
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/dev/null",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "HOME": "/nonexistent",  # paths below `~` in a configuration do not exist there
    "LC_ALL": "C",
}

LINK, SUBMODULE = "120000", "160000"


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a commit: its mode in Git's form (`100644`, `100755`, `120000`, `160000`) and the object's id."""

    mode: str
    id: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A file that a change touches, before and after; None if it does not exist on that side."""

    path: str
    before: Entry | None
    after: Entry | None


def has_repository(folder: Path) -> Path | None:
    """The nearest folder, from this one upwards, that contains `.git`; None if there is none. Does not run git."""
    here = folder.absolute()
    return next((place for place in (here, *here.parents) if os.path.lexists(place / ".git")), None)


@dataclass(frozen=True)
class Git:
    """A clone of the repository, bare or not. Raises UsageError if git or the clone cannot be used."""

    path: Path
    _known: Once = field(default_factory=Once, compare=False, repr=False)

    def require(self) -> None:
        """UsageError with git's own message if it cannot read a repository there."""
        self._run("rev-parse", "--git-dir")

    # Revisions

    def commit(self, revision: str) -> str:
        """The commit id of a revision.

        A branch comes before any other ref of the same name: anyone who may push can create a tag called `main`.
        """
        return self._known.of(("commit", revision), lambda: self._commit(revision))

    def derived(self, name: str, revisions: Sequence[str], make: Callable[[], T]) -> T:
        """A value computed once for these revisions, for all threads."""
        return self._known.of((name, *map(self.commit, revisions)), make)

    def _commit(self, revision: str) -> str:
        name = re.split(r"[~^]", revision, maxsplit=1)[0]
        branch = self._branch(name) if name != "HEAD" else None
        if branch is not None and re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", name):
            raise UsageError(
                f"{self.path} has a branch called {name!r}, as if it were a commit", "name it refs/heads/NAME"
            )
        expression = f"{branch or name}{revision.removeprefix(name)}^{{commit}}"
        if "\0" not in expression and (branch is not None or not name.startswith("refs/")):
            found = self._try("rev-parse", "--verify", "--quiet", "--end-of-options", expression)
            if found is not None and re.fullmatch(rb"[0-9a-f]{40,64}\n", found):
                return found.decode().strip()
        raise UsageError(
            f"{self.path} has no revision {revision!r}",
            "fetch it first: a shallow clone does not hold the base (actions/checkout: `fetch-depth: 0`)",
        )

    def has_branch(self, name: str) -> bool:
        """True for a branch, local or remote, or a full ref name (`refs/...`)."""
        return self._branch(name) is not None

    def _branch(self, name: str) -> str | None:
        """The commit of the branch of exactly this name, local or remote; git's rules for short names are not used.

        UsageError for a name such as `origin/main` if a branch has that name, too: anyone who may push can create one.
        """
        if not name or set("\0\n") & set(name):
            return None
        if name.startswith("refs/"):
            return self._ref(name)
        own = self._ref(f"refs/heads/{name}") or self._ref(f"refs/remotes/origin/{name}")
        tracked = self._ref(f"refs/remotes/{name}") if "/" in name else None
        if own and tracked and own != tracked:
            raise UsageError(
                f"{name!r} is a branch of a remote in {self.path}, and there is a branch of that very name",
                f"name it in full: refs/remotes/{name}",
            )
        return own or tracked

    def _ref(self, full_name: str) -> str | None:
        found = self._try("show-ref", "--verify", "--hash", "--", full_name)
        return found.decode().strip() if found is not None else None

    def changes(self, base: str, head: str) -> tuple[Changed, ...]:
        """Files that head changes since its merge base, renames as both names; with several merge bases, all of them.

        If the clone's history has a gap, or the remote's base differs from the clone's, also the files that differ from the base: a merge
        changes nothing else.
        """
        return self.derived("changes", (base, head), lambda: self._changes(base, head))

    def _changes(self, base: str, head: str) -> tuple[Changed, ...]:
        other = self.commit(head)
        found: dict[str, Changed] = {}
        for one in self.bases(base):
            left = self._try("merge-base", "--all", one, other)
            if left is None:
                raise UsageError(
                    f"{base!r} and {head!r} have no commit in common in {self.path}",
                    "fetch their history: a shallow clone does not hold it (actions/checkout: `fetch-depth: 0`)",
                )
            starts = left.decode().split()
            if self._run("rev-list", "--max-parents=0", "--max-count=1", one, other, "--not", *starts):
                starts.append(one)  # a truncated history may hide the merge base
            for start in starts:
                for change in self._differences(start, other):
                    found.setdefault(change.path, change)
        return tuple(found[path] for path in sorted(found))

    def bases(self, revision: str) -> tuple[str, ...]:
        """The commits that a base may be: the clone's own branch, and the remote's branch of that name, which may be newer."""
        return self.derived("bases", (revision,), lambda: self._bases(revision))

    def _bases(self, revision: str) -> tuple[str, ...]:
        remote = None if set("\0\n") & set(revision) else self._ref(f"refs/remotes/origin/{revision}")
        return tuple(dict.fromkeys(filter(None, (self.commit(revision), remote))))

    def _differences(self, one: str, other: str) -> Iterator[Changed]:
        fields = _texts(self._run("diff-tree", "-r", "-z", "--raw", "--no-abbrev", *_ALL_CHANGES, one, other))
        for about, path in zip(fields, fields, strict=False):  # pairs from the same iterator
            before_mode, after_mode, before, after, _ = about.removeprefix(":").split()
            yield Changed(path, _entry(before_mode, before), _entry(after_mode, after))

    def changed_lines(self, before: Entry | None, after: Entry) -> tuple[range, ...]:
        """The lines (from 1) of a file that were changed or added; for a pure removal, the line before it."""
        if before is None:
            return (range(1, sys.maxsize),)
        return _hunks(self._run("diff", *_HUNKS_ALONE, before.id, after.id))

    def all_changed_lines(self, base: str, head: str) -> Mapping[str, tuple[range, ...]]:
        """`changed_lines` of every file that head changes, with one process; empty if there are several merge bases.

        UsageError if the change is too large to be read in full.
        """
        one, other = self.commit(base), self.commit(head)
        left = self._run("merge-base", "--all", one, other).decode().split()
        if len(left) != 1:
            return {}
        paths = [change.path for change in self._differences(left[0], other)]
        found = self._run("diff-tree", "-r", "-p", *_ALL_CHANGES, *_HUNKS_ALONE, left[0], other)
        parts = re.split(rb"^diff --git ", found, flags=re.MULTILINE)[1:]
        if len(parts) != len(paths):  # a file that became a link has two entries
            return {}
        return {path: _hunks(part) for path, part in zip(paths, parts, strict=True)}

    # Files of a commit

    def tree(self, revision: str) -> Mapping[str, Entry]:
        """Every file of a revision by path, including links and submodules."""
        commit = self.commit(revision)
        return self._known.of(("tree", commit), lambda: dict(self._listed(commit)))

    def _listed(self, commit: str) -> Iterator[tuple[str, Entry]]:
        for number, line in enumerate(_texts(self._run("ls-tree", "-r", "-z", "--full-tree", commit))):
            if number >= MAX_FILES:
                raise UsageError(
                    f"{self.path} at {commit[:12]} has more than {MAX_FILES:,} files", "no repository of manifests has"
                )
            about, _, path = line.partition("\t")
            mode, _, id_ = about.split()
            yield path, Entry(mode, id_)

    def show(self, revision: str, file: str) -> str | None:
        """A file's text at a revision; None if it does not exist."""
        entry = self.tree(revision).get(file)
        return None if entry is None else next(iter(self.texts([entry])))

    def named(self, revision: str, names: frozenset[str]) -> Mapping[str, str]:
        """The texts of all files with these names at a revision, in any folder, read by one process."""

        def read() -> Mapping[str, str]:
            found = {path: entry for path, entry in self.tree(revision).items() if path.rpartition("/")[2] in names}
            texts = zip(found, self.texts(found.values()), strict=True)
            return {path: text for path, text in texts if text is not None}

        return self._known.of(("named", self.commit(revision), names), read)

    def mentions(self, revision: str, word: str) -> bool:
        """Whether a text file of the commit has the word."""
        given = ("--quiet", "-I", "--word-regexp", "--fixed-strings", "-e", word, self.commit(revision))
        return self._ended("grep", *given, "--").code == 0

    def links(self, revision: str) -> Mapping[str, str]:
        """Every link of a revision and its literal target."""
        return self.derived("links", (revision,), lambda: self._targets(revision))

    def _targets(self, revision: str) -> Mapping[str, str]:
        found = {path: entry.id for path, entry in self.tree(revision).items() if entry.mode == LINK}
        sizes = self.sizes(found.values())
        ids = [id_ for id_, size in sizes.items() if size <= _MAX_TARGET_BYTES]
        targets = dict(zip(ids, self._contents(ids), strict=True))
        return {p: os.fsdecode(targets[id_]) for p, id_ in found.items() if id_ in targets}

    def too_large(self, entries: Mapping[str, Entry]) -> tuple[str, ...]:
        """The paths of the entries that are too large for `texts`."""
        sizes = self.sizes(e.id for e in entries.values() if e.mode != SUBMODULE)
        return tuple(path for path, e in entries.items() if sizes.get(e.id, 0) > MAX_TEXT_BYTES)

    def texts(self, entries: Iterable[Entry]) -> Iterator[str | None]:
        """The entries' texts in order, read by one process; None for links, submodules and files that are too large."""
        wanted = list(entries)
        sizes = self.sizes({e.id for e in wanted if e.mode.startswith("100")})
        ids = [id_ for id_, size in sizes.items() if size <= MAX_TEXT_BYTES]
        held = dict(zip(ids, self._contents(ids), strict=True))
        for entry in wanted:
            content = held.get(entry.id) if entry.mode.startswith("100") else None
            yield None if content is None else _decoded(content)

    def contents(self, entries: Iterable[Entry]) -> tuple[bytes, ...]:
        """The bytes of the files in order; the caller has checked their sizes."""
        ids = [entry.id for entry in entries]
        held = dict(zip(dict.fromkeys(ids), self._contents(tuple(dict.fromkeys(ids))), strict=True))
        return tuple(held[id_] for id_ in ids)

    def sizes(self, ids: Iterable[str]) -> Mapping[str, int]:
        """Bytes of each object. UsageError if the clone does not have one: nothing is fetched."""
        wanted = sorted(set(ids))
        if not wanted:
            return {}
        output = self._run("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=_lines(wanted))
        rows = [line.split() for line in output.decode().splitlines()]
        if len(rows) != len(wanted) or any(len(row) != 2 or not row[1].isdigit() for row in rows):
            raise UsageError(
                f"{self.path} does not hold all files of the change",
                "it may be a partial clone: clone it without --filter",
            )
        return {id_: int(size) for id_, size in rows}

    def _contents(self, ids: Sequence[str]) -> Iterator[bytes]:
        """The contents of the objects in order."""
        output = self._run("cat-file", "--batch", stdin=_lines(ids)) if ids else b""
        at = 0
        for _ in ids:
            end = output.index(b"\n", at)
            size = int(output[at:end].split()[2])
            yield output[end + 1 : end + 1 + size]
            at = end + size + 2

    def copy(self, ids: Sequence[str], out: IO[bytes], limit_bytes: int) -> None:
        """Write the objects to a file, each preceded by its line `<id> <type> <size>` and followed by an empty line."""
        self._run(
            "cat-file", "--batch", stdin=_lines(ids), out=out, limits=Limits(600, limit_bytes + 100 * len(ids) + 1)
        )

    def linked(self, revision: str, file: str) -> str | None:
        """A file's text at a revision; links within the repository are followed. None if there is no file."""
        expression = f"{self.commit(revision)}:{file}"
        if "\n" in expression:
            return None
        output = self._run("cat-file", "--batch", "--follow-symlinks", stdin=_lines([expression]))
        about, _, rest = output.partition(b"\n")
        found = re.fullmatch(rb"[0-9a-f]{40,64} blob (\d+)", about)
        return rest[: int(found[1])].decode("utf-8", "replace") if found else None

    # The work tree

    @cached_property
    def top(self) -> Path:
        """The root of the work tree. UsageError if `path` is not in it, whatever the clone's configuration says."""
        found = Path(os.fsdecode(self._run("rev-parse", "--show-toplevel").removesuffix(b"\n"))).resolve()
        if not self.path.resolve().is_relative_to(found):
            raise UsageError(f"{self.path} is no part of the work tree that it names, {found}", "see its core.worktree")
        return found

    @cached_property
    def is_bare(self) -> bool:
        """True for a clone without a work tree."""
        return self._try("rev-parse", "--is-bare-repository") == b"true\n"

    def holds(self, name: str) -> bool:
        """True for a file of the index, or of HEAD in a bare clone; `name` is relative to the root."""
        return name in self.tree("HEAD") if self.is_bare else bool(Git(self.top).tracked(name))

    def tracked(self, *paths: str) -> tuple[str, ...]:
        """Files of the index, all or those at and below `paths`; relative to `path`."""
        return tuple(_texts(self._run("ls-files", "-z", "--", *paths)))

    def dirty(self) -> frozenset[str]:
        """Tracked files with uncommitted changes."""
        output = self._run(
            *("status", "--porcelain", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=all"),
            config=self._filters_off(),
        )
        return frozenset(line[3:] for line in _texts(output))

    def _filters_off(self) -> tuple[str, ...]:
        """Options that empty the filter commands of the clone's configuration, which `git status` would run."""
        names = _texts(self._try("config", "-z", "--name-only", "--get-regexp", r"^filter\.") or b"")
        drivers = {name.rpartition(".")[0] for name in names}
        if odd := [driver for driver in drivers if "=" in driver]:
            raise UsageError(
                f"the configuration of {self.path} names a filter {odd[0]!r}", "remove it from .git/config"
            )
        off = ("clean=", "smudge=", "process=", "required=false")
        return tuple(f"{driver}.{setting}" for driver in sorted(drivers) for setting in off)

    def folder(self) -> Path:
        """The folder in which Git stores its own data of this work tree."""
        return Path(os.fsdecode(self._run("rev-parse", "--absolute-git-dir").removesuffix(b"\n")))

    def current_branch(self) -> str:
        """The branch of the work tree; empty for a detached HEAD."""
        found = (self._try("rev-parse", "--abbrev-ref", "HEAD") or b"").decode("utf-8", "replace").strip()
        return "" if found == "HEAD" else found

    def remotes(self) -> tuple[str, ...]:
        """The URLs of the clone's remotes."""
        output = self._try("config", "-z", "--get-regexp", r"^remote\..*\.url$") or b""
        return tuple(line.partition("\n")[2] for line in _texts(output))

    def difference(self) -> str:
        """The unified diff of the folders `a` and `b` in `path`, which is no repository."""
        plain = ("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=", "--dst-prefix=")
        found = self._ended("diff", "--no-index", *plain, "a", "b")
        if found.code not in (0, 1):
            raise UsageError(
                _error_text(found.err) or "git diff failed", "check the space left in the folder for temporary files"
            )
        return found.out.decode("utf-8", "replace")

    # A new branch

    def setting(self, name: str, file: Path | None = None) -> str:
        """A setting of the clone, or of another configuration file; empty if not set."""
        place = ("--file", str(file)) if file else ()
        return (self._try("config", *place, "--get", name) or b"").decode("utf-8", "replace").strip()

    def require_new_branch(self, name: str) -> None:
        """UsageError if a branch of this name exists, or the name is invalid."""
        if name.startswith("-") or self._try("check-ref-format", f"refs/heads/{name}") is None:
            raise UsageError(f"{name!r} is no name for a branch", "for example argolint-fixes")
        if self._ref(f"refs/heads/{name}") is not None:
            raise UsageError(f"{self.path} has a branch {name!r} already", "name another one, or delete it first")

    def commit_files(self, parent: str, files: Mapping[str, bytes], message: str, author: tuple[str, str]) -> str:
        """The id of a new commit on top of `parent` with these file contents. Work tree, index and branches stay as they are.

        The files must be regular files of the parent; their modes stay. No hook or filter runs, and nothing is signed.
        """
        tree = self.tree(parent)
        rows = []
        for path, content in files.items():
            blob = self._run("hash-object", "-w", "--no-filters", "--stdin", stdin=content).decode().strip()
            rows.append(f"{tree[path].mode} {blob}\t{path}\0")
        name, mail = author
        with temporary_folder() as made:
            env = {
                "GIT_INDEX_FILE": str(made / "index"),
                **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), name),
                **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), mail),
            }
            self._run("read-tree", parent, env=env)
            listed = "".join(rows).encode("utf-8", "surrogateescape")
            self._run("update-index", "-z", "--index-info", stdin=listed, env=env)
            written = self._run("write-tree", env=env).decode().strip()
            commit = self._run("commit-tree", written, "-p", parent, "-F", "-", stdin=message.encode(), env=env)
        return commit.decode().strip()

    def make_branch(self, name: str, commit: str) -> None:
        """Create the branch. UsageError if it was created meanwhile."""
        self._run("update-ref", f"refs/heads/{name}", commit, "0" * len(commit))

    def drop_branch(self, name: str, commit: str) -> None:
        """Undo `make_branch`, unless the branch has moved."""
        self._run("update-ref", "-d", f"refs/heads/{name}", commit)

    # Running git

    def _run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        out: IO[bytes] | None = None,
        limits: Limits | None = None,
        config: Iterable[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> bytes:
        found = self._ended(*arguments, stdin=stdin, out=out, limits=limits, config=config, env=env)
        if found.code != 0:
            raise UsageError(
                f"git {arguments[0]} failed in {self.path}: {_error_text(found.err) or f'exit code {found.code}'}",
                "check that it is a whole clone",
            )
        return found.out

    def _try(self, *arguments: str) -> bytes | None:
        found = self._ended(*arguments)
        return found.out if found.code == 0 else None

    def _ended(
        self,
        *arguments: str,
        stdin: bytes = b"",
        out: IO[bytes] | None = None,
        limits: Limits | None = None,
        config: Iterable[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> programs.Ended:
        settings = [word for setting in (*_OVERRULED, *config) for word in ("-c", setting)]
        ceiling = {"GIT_CEILING_DIRECTORIES": str(self.path.absolute().parent)} if "--no-index" in arguments else {}
        program = programs.find("git")
        if program is None:
            raise UsageError(f"cannot run git in {self.path}: there is none on PATH", "install git")
        try:
            return programs.run(
                (program, "--no-pager", *settings, *arguments),
                name=f"git {arguments[0]}",
                env={**programs.inherited(), **_ENVIRONMENT, **ceiling, **(env or {})},
                limits=limits or (_QUICK if arguments[0] in _QUICK_COMMANDS else _LIMITS),
                cwd=self.path,
                stdin=stdin,
                out=out,
            )
        except LimitError as error:
            raise UsageError(
                f"{error.message} in {self.path}",
                "the repository is too large, or made to look so, or a file in .git is none",
            ) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"cannot run git in {self.path}: {reason}", "check the folder") from None


def safe_name(path: str) -> bool:
    """True for an acceptable path in a commit: below the root, without `.git`, made of plain names."""
    parts = PurePosixPath(path).parts
    return (
        bool(parts)
        and "/".join(parts) == path
        and not path.startswith("/")
        and not {"..", ".git", "."} & {part.lower().rstrip(" .") or part for part in parts}
    )


_ALL_CHANGES = ("--no-renames", "--ignore-submodules=none")
"""Ignores `.gitmodules`, which may hide changes of its submodules or be unreadable for git."""
_HUNKS_ALONE = (
    *("--no-color", "--no-ext-diff", "--no-textconv", "--text", "--unified=0", "--inter-hunk-context=0"),
    "--submodule=short",
)


def _hunks(patch: bytes) -> tuple[range, ...]:
    """The lines of the new side in a patch without context."""
    found = re.finditer(rb"^@@ -[\d,]+ \+(\d+)(?:,(\d+))? @@", patch, re.MULTILINE)
    places = ((int(m[1]), int(m[2] if m[2] is not None else 1)) for m in found)
    return tuple(range(max(1, start), max(1, start) + max(1, count)) for start, count in places)


def _decoded(content: bytes) -> str:
    """A text file as YAML readers decode it: UTF-8 unless a byte order mark says otherwise."""
    if content.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return content.decode("utf-32", "replace")
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace")
    return content.decode("utf-8", "replace")


def _entry(mode: str, id_: str) -> Entry | None:
    return None if mode == "000000" else Entry(mode, id_)


def _texts(output: bytes) -> Iterator[str]:
    """The fields between zero bytes; invalid UTF-8 becomes surrogates, as in file names."""
    return (part.decode("utf-8", "surrogateescape") for part in output.split(b"\0") if part)


def _lines(words: Iterable[str]) -> bytes:
    return "".join(f"{word}\n" for word in words).encode("utf-8", "surrogateescape")


def _error_text(err: bytes) -> str:
    text = err.decode("utf-8", "replace").strip()
    return plain(text.partition("\n")[0].removeprefix("fatal: ").removeprefix("error: ")[:300])
