"""Directories of a Git generator in a form that no path of a repository has."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from argolint import Object
from argolint.values import maps, text_at
from argolint.values.patterns import regex

from ._application_sets import innermost_generators

_DEAD = regex(r"^/|^\./|^\.?$|/$|//")


@dataclass(frozen=True)
class DeadPath:
    """An entry that matches nothing: its pointer, its path, and the path without the fault, which is empty for the root."""

    pointer: str
    path: str
    clean: str
    excludes: bool


def dead_paths(raw: Object) -> Iterator[DeadPath]:
    """The dead entries of the set, also below matrix and merge.

    The repo-server lists directories from the root, with a slash at neither end and without the root itself (GetGitDirectories), and
    the generator compares each with path.Match, which cleans nothing (applicationset/generators/git.go).
    """
    for pointer, generator in innermost_generators(raw):
        for index, entry in enumerate(maps(generator, "git", "directories")):
            path, excludes = text_at(entry, "path"), entry.get("exclude") is True
            clean = posixpath.normpath(path.lstrip("/") or ".")
            at_root = clean == "."
            if _DEAD.search(path) and not (excludes and at_root):
                yield DeadPath(f"{pointer}/git/directories/{index}/path", path, "" if at_root else clean, excludes)
