"""The applications that a change can touch: by repository and base revision, and with a checkout by changed files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.gate.reads import before_pattern, covered_files, joined, reach
from argolint.model import Object
from argolint.sources.git import Git
from argolint.values import annotations_of, bare_address, may_be_host

GENERATE_PATHS = "argocd.argoproj.io/manifest-generate-paths"
DEFAULT_REVISIONS = ("", "HEAD")
"""An Application without a revision follows the repository's default branch."""


@dataclass(frozen=True)
class Candidate:
    """An application of the repository; `positions`: numbers (from 1) of the sources that get the head revision."""

    app: App
    positions: tuple[int, ...]

    @property
    def sources(self) -> tuple[Object, ...]:
        return tuple(self.app.sources[p - 1] for p in self.positions)


def candidates(fleet: Fleet, repo: str, base: str) -> tuple[tuple[Candidate, ...], tuple[App, ...]]:
    """Applications whose sources follow `base` in the repository, and those that follow another revision of it.

    If no application names `base` (a commit, for example), all applications without a pinned commit count as following it.
    """
    of_repository = [(app, _positions(app, repo)) for app in fleet.apps]
    of_repository = [(app, positions) for app, positions in of_repository if positions]
    named = {revision_of(app.sources[p - 1]) for app, positions in of_repository for p in positions}
    following, others = [], []
    for app, positions in of_repository:
        followed = tuple(p for p in positions if _is_follower(revision_of(app.sources[p - 1]), base, named))
        if followed:
            following.append(Candidate(app, followed))
        else:
            others.append(app)
    return tuple(following), tuple(others)


def usual_base(fleet: Fleet, repo: str) -> str:
    """The revision that most sources of the repository follow; empty if none names one."""
    revisions = [revision_of(app.sources[p - 1]) for app in fleet.apps for p in _positions(app, repo)]
    counts = Counter(r for r in revisions if r not in DEFAULT_REVISIONS and not _is_commit(r))
    return min(counts, key=lambda r: (-counts[r], r)) if counts else ""


def _positions(app: App, repo: str) -> tuple[int, ...]:
    return tuple(
        number
        for number, source in enumerate(app.sources, 1)
        if not source.get("chart") and may_be_repository(repo, str(source.get("repoURL") or ""))
    )


def may_be_repository(repo: str, other: str) -> bool:
    """True if both are the same repository; a short and a full host name may match (`git`, `git.example.com`, `ssh.git.example.com`)."""
    if not repo or not other:
        return False
    (host, _, path), (second, _, same) = (bare_address(url).partition("/") for url in (repo, other))
    return path == same and may_be_host(host, second)


def revision_of(source: Object) -> str:
    """The revision that a source follows; a branch by its short name."""
    return str(source.get("targetRevision") or "").removeprefix("refs/heads/")


def _is_follower(revision: str, base: str, named: Iterable[str]) -> bool:
    if revision in DEFAULT_REVISIONS:
        return True
    if base in named:
        return revision == base
    return not _is_commit(revision)


def _is_commit(revision: str) -> bool:
    return bool(re.fullmatch(r"[0-9a-f]{40}", revision))


@dataclass(frozen=True)
class ReadFiles:
    """The changed files that an application may read; and those of them that it fetches by URL, independent of the rendered revision."""

    files: tuple[str, ...] = ()
    fetched: tuple[str, ...] = ()


def candidate_files(
    candidate: Candidate, changed: Sequence[str], git: Git, revisions: Iterable[str], repo: str = "", base: str = ""
) -> ReadFiles:
    """The changed files that are not proven unread at any of the revisions, before and after the change.

    The paths of `manifest-generate-paths` are added to what the tool reads and limit nothing: after a cache miss, the next render reads
    everything again.
    """
    ordered = sorted(changed)
    reaches = [reach(candidate.app, candidate.sources, git, r, repo, base) for r in revisions]
    refreshing = set(_generate_roots(candidate, str(annotations_of(candidate.app.raw).get(GENERATE_PATHS) or "")))
    files = covered_files(refreshing, ordered).union(*(r.among(ordered) for r in reaches))
    return ReadFiles(tuple(sorted(files)), tuple(sorted(set().union(*(r.fetches(ordered) for r in reaches)))))


def _generate_roots(candidate: Candidate, paths: str) -> Iterator[str]:
    """The paths of manifest-generate-paths: separated by `;`, relative to the repository's root after `/`, else to each source's path.

    A pattern counts as the folder that it begins in.
    """
    for part in filter(None, (p.strip() for p in paths.split(";"))):
        for source in candidate.sources:
            found = joined("" if part.startswith("/") else str(source.get("path") or ""), part.lstrip("/"))
            if found is not None:
                yield before_pattern(found)
