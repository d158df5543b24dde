"""Resolves symbolic links of a commit in Git's trees, as a checkout on disk would."""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property

from argolint.quick.records import dataclass

MAX_PATH = 4096
"""Most bytes of a path in Linux (PATH_MAX)."""
_MAX_HOPS = 40


@dataclass(frozen=True)
class Real:
    """The resolved path: `path` is None if it leaves the repository or is a cycle. `links`: those on the way."""

    path: str | None
    links: tuple[str, ...] = ()


@dataclass(frozen=True)
class Links:
    """The links of a commit and their literal targets."""

    targets: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def ordered(self) -> Sequence[str]:
        """The paths of the links, sorted."""
        return sorted(self.targets)

    def below(self, folder: str) -> Sequence[str]:
        """The links in a folder and in its subfolders."""
        return below(self.ordered, folder)

    def real(self, path: str) -> Real:
        """Resolve a normalized path (without `.` or `..`); the empty path is the root."""
        if not self.targets:
            return Real(path)
        waiting = path.split("/")[::-1]
        here: list[str] = []
        passed: list[str] = []
        while waiting:
            part = waiting.pop()
            if part in ("", "."):
                continue
            if part == "..":
                if not here:
                    return Real(None, tuple(passed))
                here.pop()
                continue
            here.append(part)
            link = "/".join(here)
            target = self.targets.get(link)
            if target is None:
                continue
            passed.append(link)
            if target.startswith("/") or len(target) > MAX_PATH or len(passed) > _MAX_HOPS:
                return Real(None, tuple(passed))
            here.pop()
            waiting += target.split("/")[::-1]
        return Real("/".join(here), tuple(passed))

    def leaves(self, link: str) -> bool:
        """True for a link that makes Argo CD refuse the whole repository (util/app/path, CheckOutOfBoundsSymlinks).

        Argo CD checks the target's path elements and follows no other link.
        """
        target = self.targets.get(link)
        if target is None:
            return False
        here = posixpath.dirname(link)
        for part in target.split("/") if len(target) <= MAX_PATH else ("..",) * MAX_PATH:
            here = posixpath.normpath(posixpath.join(here, part))
            if here == ".." or here.startswith("../"):
                return True
        return target.startswith("/")


def below(ordered: Sequence[str], folder: str) -> Sequence[str]:
    """The paths in a folder, from sorted ones; all of them for the empty path."""
    if not folder:
        return ordered
    return ordered[bisect_left(ordered, f"{folder}/") : bisect_left(ordered, f"{folder}0")]


def among(ordered: Sequence[str], path: str) -> bool:
    """True if the sorted list contains the path."""
    return ordered[(at := bisect_left(ordered, path)) : at + 1] == [path]


def folders(paths: Iterable[str]) -> frozenset[str]:
    """All parent folders of the paths; the root is the empty path."""
    found = {""}
    for path in paths:
        folder = posixpath.dirname(path)
        while folder not in found:
            found.add(folder)
            folder = posixpath.dirname(folder)
    return frozenset(found)
