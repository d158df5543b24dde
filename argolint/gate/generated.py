"""Applications that change without a manifest of theirs: an ApplicationSet's Git generator reads files of the repository."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from argolint.application.fleet import Fleet
from argolint.gate.reads import before_pattern, covered
from argolint.model import Failure, Object
from argolint.values import items, mapping, maps, plain, same_repository, text_at

_NESTED = ("matrix", "merge")
_MAX_DEPTH = 4
"""Generators in one another: Argo CD allows two."""


def generated(fleet: Fleet, changed: Sequence[str], repo: str) -> Iterator[Failure]:
    """A failure for each ApplicationSet that makes its Applications of changed files (applicationset/generators/git.go).

    A folder that comes or goes is left out: with it comes a new Application, or one goes whose own path the change removes.
    """
    ordered = sorted(changed)
    for made in fleet.application_sets:
        read = sorted(
            {file for git in _of_git(mapping(made, "spec"), _MAX_DEPTH) for file in _read(git, ordered, repo)}
        )
        if read:
            who = plain(f"ApplicationSet {text_at(made, 'metadata', 'namespace')}/{text_at(made, 'metadata', 'name')}")
            why = f"{who} makes its Applications of {plain(read[0])}, and what becomes of them is not known before the merge"
            yield Failure("not judged", why, "--allow-incomplete passes it here")


def _of_git(node: Object, depth: int) -> Iterator[Object]:
    for generator in maps(node, "generators"):
        if mapping(generator, "git"):
            yield mapping(generator, "git")
        for kind in _NESTED if depth else ():
            yield from _of_git(mapping(generator, kind), depth - 1)


def _read(git: Object, changed: Sequence[str], repo: str) -> Iterator[str]:
    if not same_repository(repo, text_at(git, "repoURL")):
        return
    for one in items(git, "files"):
        path = _path(one)
        if path.startswith("!") or not path:
            continue
        for file in covered({before_pattern(path.replace("{", "*"))}, changed):
            if fnmatchcase(file, path.replace("**/", "*")) or set(path) & set("{["):
                yield file


def _path(one: Any) -> str:
    return text_at(one, "path").lstrip("/") if isinstance(one, dict) and not one.get("exclude") else ""
