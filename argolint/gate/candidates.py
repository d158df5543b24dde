"""Which applications a change can touch: by repository and base revision, and with a checkout at hand by changed files."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.model import Object
from argolint.sources.git import Git
from argolint.values import annotations_of, dig, items, same_repository
from argolint.values.manifests import ManifestError, mapping_of

GENERATE_PATHS = "argocd.argoproj.io/manifest-generate-paths"
DEFAULT_REVISIONS = ("", "HEAD")
"""An Application that names no revision follows the repository's default branch."""


@dataclass(frozen=True)
class Candidate:
    """An application of the repository: `positions` (1-based) are the sources that get the head revision."""

    app: App
    positions: tuple[int, ...]

    @property
    def sources(self) -> tuple[Object, ...]:
        return tuple(self.app.sources[p - 1] for p in self.positions)


def candidates(fleet: Fleet, repo: str, base: str) -> tuple[tuple[Candidate, ...], tuple[App, ...]]:
    """Applications whose sources follow `base` in the repository, and those that follow something else there.

    When no application names `base` (a commit, say), every one follows it that is not pinned to a commit.
    """
    ours = [(app, _positions(app, repo)) for app in fleet.apps]
    ours = [(app, positions) for app, positions in ours if positions]
    named = {revision_of(app.sources[p - 1]) for app, positions in ours for p in positions}
    following, others = [], []
    for app, positions in ours:
        mine = tuple(p for p in positions if _follows(revision_of(app.sources[p - 1]), base, named))
        if mine:
            following.append(Candidate(app, mine))
        else:
            others.append(app)
    return tuple(following), tuple(others)


def usual_base(fleet: Fleet, repo: str) -> str:
    """The revision that most sources of the repository follow; empty when none names one."""
    revisions = [revision_of(app.sources[p - 1]) for app in fleet.apps for p in _positions(app, repo)]
    counts = Counter(r for r in revisions if r not in DEFAULT_REVISIONS and not _commit(r))
    return min(counts, key=lambda r: (-counts[r], r)) if counts else ""


def _positions(app: App, repo: str) -> tuple[int, ...]:
    return tuple(
        number
        for number, source in enumerate(app.sources, 1)
        if not source.get("chart") and same_repository(repo, str(source.get("repoURL") or ""))
    )


def revision_of(source: Object) -> str:
    """What a source follows; a branch by its short name."""
    return str(source.get("targetRevision") or "").removeprefix("refs/heads/")


def _follows(revision: str, base: str, named: Iterable[str]) -> bool:
    if revision in DEFAULT_REVISIONS:
        return True
    if base in named:
        return revision == base
    return not _commit(revision)


def _commit(revision: str) -> bool:
    return bool(re.fullmatch(r"[0-9a-f]{40}", revision))


def by_files(candidate: Candidate, changed: Sequence[str], git: Git, revision: str) -> tuple[str, ...]:
    """Those of the changed files that can change what this application renders."""
    paths = annotations_of(candidate.app.raw).get(GENERATE_PATHS)
    if paths:
        roots: Iterable[str] = tuple(_generate_roots(candidate, paths))
    else:
        named = {root for source in candidate.sources for root in _roots(candidate.app, source, git, revision)}
        roots = _with_targets(named, git.links(revision))
    ordered = sorted(changed)
    return tuple(sorted({file for root in roots for file in _among(ordered, root)}))


def _among(ordered: Sequence[str], root: str) -> Iterable[str]:
    """The files that a root covers, of sorted ones: a change may touch thousands, and as many applications read some.

    Also what the root lies in and what is no folder to Git: a submodule, or a link on the way.
    """
    if not root:
        return ordered
    if any(c in root for c in "*?["):
        return (file for file in ordered if _below(file, root))
    below = ordered[bisect_left(ordered, f"{root}/") : bisect_left(ordered, f"{root}0")]
    parts = root.split("/")
    above = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
    return (*(file for file in above if ordered[(at := bisect_left(ordered, file)) : at + 1] == [file]), *below)


def _with_targets(roots: Iterable[str], links: Mapping[str, str]) -> set[str]:
    """The roots and where links lead that lie below them or that they lead through: files are read there too."""
    found = set[str]()
    waiting = list(roots)
    ordered = sorted(links)
    while waiting:
        root = waiting.pop()
        if root in found:
            continue
        found.add(root)
        below = ordered[bisect_left(ordered, f"{root}/") : bisect_left(ordered, f"{root}0")] if root else []
        waiting += [_normal(posixpath.join(posixpath.dirname(link), links[link])) for link in below]
        parts = root.split("/")
        for count in range(1, len(parts) + 1):
            link = "/".join(parts[:count])
            if link in links:
                waiting.append(_normal(posixpath.join(posixpath.dirname(link), links[link], *parts[count:])))
    return found


def _generate_roots(candidate: Candidate, paths: str) -> Iterator[str]:
    """manifest-generate-paths: `;` between them, `/` from the repository's root, else from each source's path."""
    for part in filter(None, (p.strip() for p in paths.split(";"))):
        if part.startswith("/"):
            yield _normal(part)
            continue
        for source in candidate.sources:
            yield _normal(posixpath.join(str(source.get("path") or ""), part))


def _roots(app: App, source: Object, git: Git, revision: str) -> Iterator[str]:
    """Folders and files that a source reads: its path, its values, what its kustomizations and charts name."""
    if source.get("ref"):
        yield from _referenced(app, str(source["ref"]))
    path = source.get("path")
    if path is None:
        return
    root = _normal(str(path))
    yield root
    texts = git.named(revision, _NAMING_FILES)
    if (
        source.get("plugin") is not None
        or dig(source, "directory", "jsonnet")
        or root in _jsonnet_folders(git, revision)
    ):
        yield ""  # a plugin and Jsonnet's imports read what they please of the repository
        return
    refs = tuple(f"${other['ref']}/" for other in app.sources if other.get("ref"))
    for file in (
        *items(source, "helm", "valueFiles"),
        *(p.get("path") for p in items(source, "helm", "fileParameters")),
    ):
        if isinstance(file, str) and not file.startswith(refs) and "://" not in file:
            name = _VARIABLE.sub("*", file)
            yield _normal(name if name.startswith("/") else posixpath.join(root, name))
    yield from _linked(root, texts, set())


_VARIABLE = re.compile(r"\$(?:\{[^}]*\}|\w+)")
"""What Argo CD puts in for such as `$ARGOCD_APP_NAME` (util/argo/env) is not asked: any text may stand there."""


def _jsonnet_folders(git: Git, revision: str) -> frozenset[str]:
    """Folders with Jsonnet among their own files, which Argo CD evaluates in a plain directory."""

    def found() -> frozenset[str]:
        return frozenset(posixpath.dirname(path) for path in git.tree(revision) if path.endswith(".jsonnet"))

    return git.derived("jsonnet folders", (revision,), found)


def _referenced(app: App, ref: str) -> Iterator[str]:
    """The files that other sources read as `$ref/...`."""
    for other in app.sources:
        files = (*items(other, "helm", "valueFiles"), *(p.get("path") for p in items(other, "helm", "fileParameters")))
        for file in files:
            if isinstance(file, str) and file.startswith(f"${ref}/"):
                yield _normal(_VARIABLE.sub("*", file.removeprefix(f"${ref}/")))


_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_CHARTS = ("Chart.yaml", "requirements.yaml")
_NAMING_FILES = frozenset((*_KUSTOMIZATIONS, *_CHARTS))


_KUSTOMIZE_LISTS = (
    *("resources", "bases", "components", "crds", "configurations", "generators", "transformers", "validators"),
    *("patchesStrategicMerge",),
)


def _linked(root: str, texts: Mapping[str, str], seen: set[str]) -> Iterator[str]:
    """What lies outside a folder and is read all the same: Kustomize bases and files, local chart dependencies."""
    if root in seen:
        return
    seen.add(root)
    for name in _KUSTOMIZATIONS:
        text = texts.get(posixpath.join(root, name))
        for entry in _kustomize_entries(_mapping(text)):
            target = _normal(posixpath.join(root, entry))
            yield target
            yield from _linked(target, texts, seen)
    charts = [items(_mapping(texts.get(posixpath.join(root, name))), "dependencies") for name in _CHARTS]
    for dependency in chain.from_iterable(charts):
        repository = str(dig(dependency, "repository") or "")
        if repository.startswith("file://"):
            target = _normal(posixpath.join(root, repository.removeprefix("file://")))
            yield target
            yield from _linked(target, texts, seen)


def kustomize_files(git: Git, revision: str) -> frozenset[str]:
    """The files that any kustomization of a revision names: what they are called says nothing of what they hold."""

    def found() -> frozenset[str]:
        return frozenset(
            _normal(posixpath.join(posixpath.dirname(file), entry))
            for file, text in git.named(revision, _NAMING_FILES).items()
            if file.rpartition("/")[2] in _KUSTOMIZATIONS
            for entry in _kustomize_entries(_mapping(text))
        )

    return git.derived("kustomize files", (revision,), found)


def _mapping(text: str | None) -> Mapping[str, Any]:
    try:
        return mapping_of(text)
    except ManifestError:
        return {}


def _kustomize_entries(data: Mapping[str, Any]) -> Iterator[str]:
    names: list[Any] = [name for key in _KUSTOMIZE_LISTS for name in items(data, key)]
    names += [dig(data, "openapi", "path")]
    names += [
        dig(patch, "path") for key in ("patches", "patchesJson6902", "replacements") for patch in items(data, key)
    ]
    for generator in (*items(data, "configMapGenerator"), *items(data, "secretGenerator")):
        names += [str(f).rpartition("=")[2] for f in (*items(generator, "files"), *items(generator, "envs"))]
    for chart in items(data, "helmCharts"):
        names += [dig(chart, "valuesFile"), *items(chart, "additionalValuesFiles")]
    return (name for name in names if isinstance(name, str) and "://" not in name and "\n" not in name)


def _normal(path: str) -> str:
    """Relative to the repository's root; empty for the root itself and for whatever tries to leave it."""
    found = posixpath.normpath(path.lstrip("/") or ".")
    return "" if found in (".", "..") or found.startswith("../") else found


def _below(file: str, root: str) -> bool:
    """A glob, as `manifest-generate-paths` allows: the file itself, or a folder that it lies in."""
    from fnmatch import fnmatchcase

    return fnmatchcase(file, root) or fnmatchcase(file, f"{root}/*")
