"""The files that Argo CD's tools may read in a repository; only this module decides that a file is certainly unread.

A file counts as read unless it is proven unread. The files that a tool may open are over-estimated, without any tool's schema:

* a reached folder counts as a whole, and so do the targets of links in it;
* in a file that names others (a kustomization, a chart's dependencies, `.argocd-source.yaml`) every scalar of every document counts
  if it names something in the tree, under any key;
* if that proves nothing, the application reads the whole repository: see `OPEN`.

| tool | what it reads | source |
|---|---|---|
| any | files below the path; `.argocd-source.yaml` there changes the source | argo-cd reposerver/repository, mergeSourceParameters |
| any | targets of links, anywhere in the repository | util/app/path, CheckOutOfBoundsSymlinks |
| Directory | files below the path, and targets of links there; Jsonnet imports from anywhere | findManifests, makeJsonnetVM |
| Helm | the chart, charts that Chart.yaml, requirements.yaml or their locks name as `file://` | helm downloader, resolver.GetLocalPath |
| Helm | valueFiles and fileParameters; `/` is the repository's root, `$ref/` another source's | util/io/path, getResolvedValueFiles |
| Helm | `file:` references of a values.schema.json | gojsonschema, from the working directory |
| Kustomize | kustomization.yaml, .yml, Kustomization, and what they name; keys in any case | kustomize api/types, Kustomization.Unmarshal |
| Kustomize | a chart below `helmGlobals.chartHome`, or above it by a name with `..` | HelmChartInflationGenerator |
| Kustomize | components and patches of the Application | util/kustomize, Build |
| plugin | anything; chosen by files if no tool is named | util/app/discovery, DetectConfigManagementPlugin |
| git | .gitattributes of the folders above; .gitmodules and submodules, which can break the whole checkout | util/git/client, Checkout |
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any
from urllib.parse import parse_qs

from argolint.application.app import App
from argolint.model import Object
from argolint.sources.git import LINK, SUBMODULE, Changed, Git
from argolint.sources.links import MAX_PATH, Links, among, below, folders
from argolint.values import at_and_above, bare_address, dig, items, mapping, may_be_host
from argolint.values.manifests import ManifestError, scalars
from argolint.values.patterns import regex

OPEN = {
    "plugin": "a plugin may render it, which reads what it likes",
    "jsonnet": "it holds Jsonnet, which imports from anywhere",
    "generators": "its kustomization has generators, transformers or validators, which read what they like",
    "unreadable": "a file that names others cannot be read here",
    "schema": "a schema of its chart refers to files",
    "values": "the name of a values file is not known before it is rendered",
    "revision": "it renders the commit's own id",
    "large": "it reaches more folders than are followed",
    "top": "it reads from the top of the repository",
}
"""Reasons why no file of the repository is proven unread."""

KUSTOMIZATIONS = frozenset(("kustomization.yaml", "kustomization.yml", "Kustomization"))
_CHARTS = frozenset(("Chart.yaml", "Chart.lock", "requirements.yaml", "requirements.lock"))
_OVERRIDES = regex(r"\.argocd-source(?:-.*)?\.yaml", re.DOTALL)
_SCHEMA = "values.schema.json"
_RUNNING = frozenset(("generators", "transformers", "validators"))
_ENVIRONMENT = frozenset(("env", "envs"))
_INFLATING = frozenset(("helmcharts", "helmchartinflationgenerator"))
_REVISION = "ARGOCD_APP_REVISION"
LFS_POINTER = "version https://git-lfs.github.com/spec/"
MAX_NAMING = 1_000_000
"""Most characters of a kustomization or chart file. A larger one is not parsed and may read anything."""
_MAX_NAMING_TOTAL = 50_000_000
_MAX_STEPS = 20_000
"""Most paths to follow for one application."""


@dataclass(frozen=True)
class FileReferences:
    """The references in a file that names others: its scalars, or why it may read anything."""

    words: tuple[str, ...] = ()
    why: str = ""
    charts: bool = False
    """True for a kustomization that inflates charts: names of charts are relative to a chart folder, which it also names."""


@dataclass(frozen=True)
class Reach:
    """Folders and files that an application reads. `why`, a key of OPEN, is set if it may read the whole repository.

    `fetched`: those that it reads from the repository by URL, independent of the rendered revision: no render shows the effect of a change.
    """

    roots: frozenset[str]
    why: str = ""
    fetched: frozenset[str] = frozenset()

    def among(self, changed: Sequence[str]) -> set[str]:
        """The changed files (sorted) that are not proven unread."""
        return set(changed) if self.why else covered_files(self.roots, changed)

    def fetches(self, changed: Sequence[str]) -> set[str]:
        """The changed files (sorted) that are fetched by URL, independent of the rendered revision."""
        return covered_files(self.fetched, changed)


def reach(app: App, sources: Sequence[Object], git: Git, revision: str, repo: str, base: str) -> Reach:
    """The files that these sources of an application read of a revision of their repository. `base`: the branch that the change goes into."""
    tree = git.derived("reads", (revision,), lambda: Tree(git, revision))
    reading = _Reading(tree, bare_address(repo), base)
    for source in sources:
        if source.get("ref"):
            for name, other in _referenced(app, str(source["ref"])):
                reading.value("", f"/{name}", _variables(app, other))
        if source.get("path") or not source.get("ref"):
            _read(reading, app, source)
    return reading.ended()


def whole_checkout_files(changes: Iterable[Changed], git: Git, revisions: Iterable[str]) -> Iterator[str]:
    """The changed files on which a checkout of the whole repository depends."""
    known = [links_of(git, revision) for revision in revisions]
    for change in changes:
        modes = {entry.mode for entry in (change.before, change.after) if entry is not None}
        if (
            change.path in (".gitmodules", ".lfsconfig")
            or SUBMODULE in modes
            or (LINK in modes and not all(change.path in links.targets for links in known))
            or (LINK in modes and any(links.leaves(change.path) for links in known))
        ):
            yield change.path


def links_of(git: Git, revision: str) -> Links:
    """The symbolic links of a revision, for `follow`."""
    return git.derived("links in", (revision,), lambda: Links(git.links(revision)))


def manifest_files(git: Git, revision: str) -> frozenset[str]:
    """The files that a kustomization of a revision may name, and targets of links named like a manifest: their own names do not show it."""

    def found() -> frozenset[str]:
        tree = git.derived("reads", (revision,), lambda: Tree(git, revision))
        named = (
            joined(posixpath.dirname(file), word)
            for file, says in tree.says.items()
            if file.rpartition("/")[2] in KUSTOMIZATIONS
            for word in says.words
        )
        linked = (link for link in tree.links.ordered if is_manifest(link))
        ends = (tree.links.real(path).path for path in chain(filter(None, named), linked))
        return frozenset(path for path in ends if path is not None and path in tree.entries)

    return git.derived("manifest files", (revision,), found)


def is_manifest(path: str) -> bool:
    """True for the files that Argo CD and kubectl read in a folder."""
    return path.lower().endswith((".yaml", ".yml", ".json"))


class Tree:
    """A commit's files and links, with cached lookups."""

    def __init__(self, git: Git, revision: str) -> None:
        self._git = git
        self.entries = git.tree(revision)
        self.links = links_of(git, revision)
        self.folders = folders(self.entries)
        ordered = sorted(self.entries)
        self.jsonnet = [path for path in ordered if path.endswith(".jsonnet")]
        self.says = self._naming(ordered)

    @cached_property
    def schemas(self) -> Sequence[str]:
        """The values.schema.json files that refer to other files, or may."""
        found = [path for path in sorted(self.entries) if path.rpartition("/")[2] == _SCHEMA]
        texts = self._texts(found)
        return [p for p in found if (text := texts[p]) is None or "file:" in text.lower() or "\\u" in text]

    def is_present(self, path: str) -> bool:
        """True if the path is a file or folder, possibly through links, or a dangling link."""
        real = self.links.real(path)
        return bool(real.links) or real.path in self.entries or real.path in self.folders

    def overrides(self, folder: str) -> Iterator[str]:
        """The files in a folder that change the source of the applications with this path."""
        return (path for path in below(self._overrides, folder) if posixpath.dirname(path) == folder)

    @cached_property
    def _overrides(self) -> Sequence[str]:
        return sorted(path for path in self.entries if _OVERRIDES.fullmatch(path.rpartition("/")[2]))

    def _texts(self, paths: Sequence[str]) -> Mapping[str, str | None]:
        """The texts at these paths; None for a path without a file in the commit, and for a file that is too large."""
        ends = {path: self.links.real(path).path for path in paths}
        found = {end: entry for end in ends.values() if end is not None and (entry := self.entries.get(end))}
        sizes = self._git.sizes(entry.id for entry in found.values() if entry.mode.startswith("100"))
        small = {end: entry for end, entry in found.items() if sizes.get(entry.id, 0) <= MAX_NAMING}
        texts = dict(zip(small, self._git.texts(small.values()), strict=True))
        return {path: texts.get(end) if end is not None else None for path, end in ends.items()}

    def _naming(self, ordered: Iterable[str]) -> Mapping[str, FileReferences]:
        naming = [p for p in ordered if (n := p.rpartition("/")[2]) in KUSTOMIZATIONS or n in _CHARTS]
        naming += self._overrides
        texts = self._texts(naming)
        found: dict[str, FileReferences] = {}
        room = _MAX_NAMING_TOTAL
        named: dict[str, set[str]] = {}
        for path in naming:
            text = texts[path]
            room -= len(text or "")
            found[path] = _references_in(path, text if room >= 0 else None)
            if any(word.casefold() in _ENVIRONMENT for word in found[path].words):
                near = (joined(posixpath.dirname(path), word) for word in found[path].words)
                named[path] = {p for p in near if p is not None and self.links.real(p).path in self.entries}
        held = self._texts(sorted({p for paths in named.values() for p in paths}))
        for path, files in named.items():  # without `=`, the value comes from the environment
            if any(_REVISION in (held[p] or "") for p in files):
                found[path] = replace(found[path], why="revision")
        return found


def _references_in(path: str, text: str | None) -> FileReferences:
    name = path.rpartition("/")[2]
    if text is None or text.startswith(LFS_POINTER):
        return FileReferences(why="unreadable")
    try:
        words = tuple(dict.fromkeys(scalars(text)))
    except ManifestError:
        return FileReferences(why="unreadable")
    if name in _CHARTS:
        local = tuple(w.removeprefix("file://") for w in words if w.startswith("file://"))
        fetched = tuple(w for w in words if "://" in w and not w.startswith("file://"))
        return (
            FileReferences(why="unreadable")
            if any(w.startswith("/") for w in local)
            else FileReferences((*local, *fetched))
        )
    folded = {word.casefold() for word in words}
    if name in KUSTOMIZATIONS and folded & _RUNNING:
        return FileReferences(words, "generators")
    if name not in KUSTOMIZATIONS and "plugin" in folded:
        return FileReferences(why="plugin")
    if any(_REVISION in word for word in words):
        return FileReferences(words, "revision")
    return FileReferences(words, charts=name in KUSTOMIZATIONS and bool(folded & _INFLATING))


@dataclass
class _Reading:
    """The state of the search while it follows an application through the repository."""

    tree: Tree
    repo: str
    base: str
    roots: set[str] = field(default_factory=set)
    fetched: set[str] = field(default_factory=set)
    why: str = ""
    _waiting: list[tuple[str, str]] = field(default_factory=list)
    _taken: set[str] = field(default_factory=set)
    _joined: int = 0

    def open(self, why: str) -> None:
        self.why = self.why or why

    def take(self, path: str) -> None:
        """Add a file or folder that is read, and the targets of links in it."""
        if path in self._taken:
            return
        self._taken.add(path)
        real = self.tree.links.real(path)
        self.roots |= {path, *real.links}
        if real.path is None:
            return  # the render fails, and the fix may be among the links
        self.roots.add(real.path)
        if not real.path:
            self.open("top")
        elif real.path in self.tree.folders:
            self._waiting.append((path, real.path))

    def word(self, folder: str, word: str) -> None:
        """Add the target of a scalar that may name a file or folder, also after `key=`, or a URL."""
        if self._is_address(word):
            return
        for name in {word, word.partition("=")[2], word.rpartition("=")[2]}:
            path = joined(folder, name) if name and len(name) <= MAX_PATH else None
            if path is not None and (".." in name or self.tree.is_present(path)):
                self.take(path)

    def value(self, folder: str, name: str, variables: Mapping[str, str]) -> None:
        """Add a values file: relative to the folder, or to the root after a slash."""
        known = _expanded(name, variables) if len(name) <= MAX_PATH else None
        if known is None:
            self.open("values")
        elif _SCHEME.match(known):
            if not (self._is_address(known) and known.lower().startswith(("http://", "https://"))):
                self.open("values")
        elif (path := joined("" if known.startswith("/") else folder, known.lstrip("/"))) is not None:
            self._taken_glob(path)

    def _taken_glob(self, path: str) -> None:
        self.take(path)  # versions without glob support take it as a plain name
        if set(path) & set("{\\"):
            self.open("values")
        elif (folder := before_pattern(path)) != path:
            self.take(folder)

    def _is_address(self, word: str) -> bool:
        """True for a URL, of this repository or another."""
        if word.lower().startswith("file:") or "file://" in word.lower():
            self.open("values")
            return True
        found = _own_path(word, self.repo, self.base)
        if found is not None:
            self.fetched.add(found)
        return found is not None or "://" in word

    def ended(self) -> Reach:
        """All files and folders that can be reached from the added ones."""
        while self._waiting and not self.why:
            if len(self._taken) > _MAX_STEPS:
                self.open("large")
                break
            self._follow(*self._waiting.pop())
        if not self.why and any(below(self.tree.schemas, root) for root in self.roots):
            self.open("schema")
        return Reach(frozenset(self.roots), self.why, frozenset(self.fetched))

    def _follow(self, path: str, real: str) -> None:
        for link in self.tree.links.below(real):
            self.take(link)
        for name in (*KUSTOMIZATIONS, *_CHARTS):
            says = self.tree.says.get(f"{real}/{name}")
            if says is None:
                continue
            if says.why:
                self.open(says.why)
            for word in says.words:
                self.word(real, word)
                if path != real:  # charts are relative to the path as written, bases to the link's target
                    self.word(path, word)
            if says.charts:
                self._charts(real, says.words)

    def _charts(self, folder: str, words: Sequence[str]) -> None:
        """Add charts whose names contain `..`: any word may be the chart folder, and any word the name."""
        climbing = [word for word in words if ".." in word.split("/")]
        homes = [home for word in ("charts", *words) if (home := joined(folder, word)) is not None]
        self._joined += len(climbing) * len(homes)
        if self._joined > _MAX_STEPS:
            self.open("large")
            return
        for path in {joined(home, word) for home in homes for word in climbing} - {None}:
            self.take(str(path))


def _read(reading: _Reading, app: App, source: Object) -> None:
    """Follow one source with its own path."""
    tree = reading.tree
    root = joined("", str(source.get("path") or "").lstrip("/"))
    if not root:
        reading.open("top")
        return
    if _may_be_plugin(app, source):
        reading.open("plugin")
    if any(_REVISION in text for text in _strings(source)):
        reading.open("revision")
    variables = _variables(app, source)
    refs = frozenset(f"${other['ref']}" for other in app.sources if other.get("ref"))
    real = tree.links.real(root).path
    reading.take(root)
    if below(tree.jsonnet, root) or (real is not None and below(tree.jsonnet, real)):
        reading.open("jsonnet")
    for name in _values_files(source):
        if name.partition("/")[0] not in refs:
            reading.value(root, name, variables)
    for word in _strings(source.get("kustomize")):
        reading.word(root, word)
    for folder in {root, real} - {None}:
        for path in tree.overrides(str(folder)):
            says = tree.says[path]
            if says.why:
                reading.open(says.why)
            for word in says.words:
                reading.word(root, word)
                if "/" in word or "$" in word or word.endswith((".yaml", ".yml", ".json")):
                    reading.value(root, word, variables)


def _may_be_plugin(app: App, source: Object) -> bool:
    """True unless the source names another tool, or Argo CD reports the tool (ExplicitType, status.sourceType)."""
    if source.get("plugin") is not None:
        return True
    if mapping(app.spec, "sourceHydrator"):
        return True
    if any(mapping(source, tool) for tool in ("helm", "kustomize", "directory")):
        return False
    types = items(app.status, "sourceTypes") or [dig(app.status, "sourceType")]
    rendered = sum(bool(s.get("path") or s.get("chart")) for s in app.sources)
    return len(types) < rendered or not set(map(str, types)) <= {"Helm", "Kustomize", "Directory"}


def _values_files(source: Object) -> Iterator[str]:
    found = (
        *items(source, "helm", "valueFiles"),
        *(dig(p, "path") for p in items(source, "helm", "fileParameters")),
    )
    return (name for name in found if isinstance(name, str))


def _referenced(app: App, ref: str) -> Iterator[tuple[str, Object]]:
    """The files that other sources read as `$ref/...`, each with its source, whose variables apply."""
    for other in app.sources:
        for name in _values_files(other):
            first, _, rest = name.partition("/")
            if first == f"${ref}":
                yield rest, other


def _variables(app: App, source: Object) -> Mapping[str, str]:
    """The values that Argo CD substitutes for `$NAME` (reposerver/repository, newEnv), if they are the same for every revision."""
    return {
        "ARGOCD_APP_NAME": app.instance,
        "ARGOCD_APP_NAMESPACE": str(dig(app.spec, "destination", "namespace") or ""),
        "ARGOCD_APP_PROJECT_NAME": app.ref.project,
        "ARGOCD_APP_SOURCE_PATH": str(source.get("path") or ""),
        "ARGOCD_APP_SOURCE_REPO_URL": str(source.get("repoURL") or ""),
    }


_VARIABLE = regex(r"\$(?:\{([^{}$]*)\}|([A-Za-z_][A-Za-z0-9_]*))?")


def _expanded(name: str, variables: Mapping[str, str]) -> str | None:
    """The name with its variables substituted (Go's os.Expand); None if one is unknown."""
    if any((m[1] or m[2]) not in variables for m in _VARIABLE.finditer(name)):
        return None
    found = _VARIABLE.sub(lambda m: variables[m[1] or m[2]], name)
    return found if len(found) <= MAX_PATH else None


_SCHEME = regex(r"[A-Za-z][A-Za-z0-9+.-]*:")
_COMMIT = regex(r"[0-9a-fA-F]{40}")


def _own_path(word: str, repo: str, base: str) -> str | None:
    """The path in this repository that a URL refers to, at a revision that the change moves; None for any other text.

    The empty path, the root, if a URL of the repository does not show the path.
    """
    if not repo or len(word) > MAX_PATH or not ({":", "/"} & set(word)):
        return None
    address, _, query = word.partition("?")
    text = re.sub(r"^raw\.githubusercontent\.com/([^/]+/[^/]+)/", r"github.com/\1/raw/", bare_address(address))
    host, _, path = text.replace("@", "/").partition("/")
    own_host, _, own = repo.partition("/")
    if not may_be_host(_MIRRORS.get(host, host), own_host) or not path:
        return None
    rest = f"{path}/".replace(f"{own}.git/", f"{own}/", 1)
    if rest.startswith(f"{own}/"):
        rest = rest.removeprefix(f"{own}/").strip("/")
    elif "://" in word and _is_in_order(own.split("/"), path.replace(".git/", "/").split("/")):
        rest = "archive/"  # part of the forge's own URL scheme
    else:
        return None
    try:
        asked = parse_qs(query)
    except ValueError:
        asked = {}
    refs = (*asked.get("ref", ()), *asked.get("version", ()))
    if (refs and not any(_is_moved(ref, base) for ref in refs)) or any(map(_COMMIT.fullmatch, path.split("/"))):
        return None
    if inside := re.match(r"(?:-/)?(?:raw|blob|src)/", rest):
        named = _after_revision(rest[inside.end() :], base)
        if named is None:
            return None
        rest = named
    elif re.match(r"(?:-/)?(?:archive|tarball|zipball|tar\.gz|zip)/", rest):
        rest = ""
    kept = address.rstrip("/")
    return joined("", kept[-len(rest) :]) or "" if rest and kept.lower().endswith(rest) else ""


_MIRRORS = dict.fromkeys(
    ("cdn.jsdelivr.net", "fastly.jsdelivr.net", "raw.githack.com", "rawcdn.githack.com", "cdn.statically.io"),
    "github.com",
)
"""Services that mirror files of GitHub repositories (source: their documentation)."""


def _is_in_order(words: Sequence[str], among: Iterable[str]) -> bool:
    left = iter(among)
    return len(words) > 1 and all(word in left for word in words)


def _is_moved(ref: str, base: str) -> bool:
    """True unless the revision certainly differs from the branch that the change goes into."""
    name = ref.lstrip("+").partition(":")[0].lower()
    if _COMMIT.fullmatch(name):
        return False
    if not base or _COMMIT.fullmatch(base) or not _PLAIN_REF.fullmatch(name):
        return True
    one, two = f"/{name}", f"/{base.lower()}"
    return one.endswith((two, "/head")) or two.endswith(one)


_PLAIN_REF = regex(r"[\w./-]+")


def _after_revision(rest: str, base: str) -> str | None:
    """The part of a forge's URL after the branch name; empty if not known; None for another revision."""
    if not base or _COMMIT.fullmatch(base):
        return ""
    names = (base.lower(), base.lower().rpartition("/")[2], "head")
    named = next((name for name in names if f"/{name}/" in f"/{rest}/"), None)
    return None if named is None else f"/{rest}/".partition(f"/{named}/")[2].strip("/")


def before_pattern(path: str) -> str:
    """The folder before the first wildcard; the path itself if it has none."""
    parts = path.split("/")
    at = next((n for n, part in enumerate(parts) if set(part) & set("*?[")), len(parts))
    return "/".join(parts[:at])


def joined(folder: str, name: str) -> str | None:
    """A normalized path from the root, which is the empty path; None if it leaves the repository."""
    if len(name) > MAX_PATH:
        return None
    found = posixpath.normpath(posixpath.join(folder, name.lstrip("/") if not folder else name) or ".")
    if found.startswith(("../", "/")) or found == "..":
        return None
    return "" if found == "." else found


def _strings(node: Any) -> Iterator[str]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def covered_files(roots: Iterable[str], changed: Sequence[str]) -> set[str]:
    """The changed files that the roots cover: those below a root, a changed link above one, and those that define how git checks a root out."""
    found: set[str] = set()
    for root in roots:
        if not root:
            return set(changed)
        found.update(below(changed, root))
        for folder in at_and_above(root):
            found.update(file for file in (folder, f"{folder}/.gitattributes".lstrip("/")) if among(changed, file))
    return found
