"""Applications that come or change without a manifest of theirs: an ApplicationSet's Git generator reads files and folders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.gate.candidates import may_be_repository
from argolint.gate.reads import before_pattern, covered
from argolint.model import Failure, Object
from argolint.values import enumerated, items, mapping, maps, plain, text_at

_NESTED = ("matrix", "merge")
_MAX_DEPTH = 4
"""Generators in one another: Argo CD allows two."""


def generated(fleet: Fleet, changed: Sequence[str], repo: str) -> Iterator[Failure]:
    """A failure for each ApplicationSet that makes its Applications of changed files (applicationset/generators/git.go).

    A folder that goes is left out: with it goes an Application whose own path the change removes.
    """
    ordered = sorted(changed)
    for made in fleet.application_sets:
        read = sorted(
            {file for git in _of_git(mapping(made, "spec"), _MAX_DEPTH) for file in _read(git, ordered, repo)}
        )
        if read:
            why = f"{_named(made)} makes its Applications of {plain(read[0])}, and what becomes of them is not known before the merge"
            yield Failure("not judged", why, "--allow-incomplete passes it here")


def coming(fleet: Fleet, new: Sequence[str], repo: str) -> Iterator[str]:
    """What to know of each ApplicationSet that makes an Application of a new folder."""
    for made in fleet.application_sets:
        found = next(
            (
                folder
                for git in _of_git(mapping(made, "spec"), _MAX_DEPTH)
                if _is_of(repo, git)
                for path in map(_path, items(git, "directories"))
                for folder in (new if path else ())
                if (folder.count("/") == path.count("/") or "**" in path)
                and (fnmatchcase(folder, path) or set(path) & set("{["))
            ),
            "",
        )
        if found:
            yield f"{_named(made)}: makes a new Application of {plain(found)}, not rendered yet"


def unseen(fleet: Fleet, apps: Iterable[App]) -> Iterator[str]:
    """What to know of applications whose ApplicationSets the account does not see."""
    known = {
        (text_at(m, "metadata", "namespace") or fleet.control_plane, text_at(m, "metadata", "name"))
        for m in fleet.application_sets
    }
    refs = [
        str(app.ref)
        for app in apps
        for owner in maps(app.raw, "metadata", "ownerReferences")
        if owner.get("kind") == "ApplicationSet" and (app.ref.namespace, text_at(owner, "name")) not in known
    ]
    if refs:
        yield f"{enumerated(refs, limit=5)}: made by an ApplicationSet that the account does not see; what it reads of the repository is not known"


def _named(made: Object) -> str:
    return plain(f"ApplicationSet {text_at(made, 'metadata', 'namespace')}/{text_at(made, 'metadata', 'name')}")


def _is_of(repo: str, git: Object) -> bool:
    """True where a generator reads the repository, or may: an address from another generator is not known here."""
    url = text_at(git, "repoURL")
    return may_be_repository(repo, url) or bool(repo and "{{" in url)


def _of_git(node: Object, depth: int) -> Iterator[Object]:
    for generator in maps(node, "generators"):
        if mapping(generator, "git"):
            yield mapping(generator, "git")
        for kind in _NESTED if depth else ():
            yield from _of_git(mapping(generator, kind), depth - 1)


def _read(git: Object, changed: Sequence[str], repo: str) -> Iterator[str]:
    if not _is_of(repo, git):
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
