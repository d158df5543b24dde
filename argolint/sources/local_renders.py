"""Renders Helm applications here instead of on the server: from Git checkouts, at the commits that Argo CD compares with.

It repeats what the repo-server does with an Application's source: values files (also `$ref/` of another source), inline values, parameters
with their ARGOCD_APP_* variables, `.argocd-source.yaml`. It needs no work tree: files are read from Git.

Sources: Argo CD reposerver/repository/repository.go (helmTemplate, getResolvedValueFiles, mergeSourceParameters, newEnv).
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.errors import ExportError, HelmError, NotHereError, UsageError
from argolint.host.folder import is_name
from argolint.model import Object
from argolint.sources import helm
from argolint.sources.checkout import Checkout, inside
from argolint.sources.export import export
from argolint.sources.git import Git
from argolint.sources.helm import Template
from argolint.sources.secret_pair import masked_pair
from argolint.values import items, same_repository
from argolint.values.manifests import ManifestError, mapping_of
from argolint.values.memo import Once
from argolint.values.patterns import regex

Manifests = tuple[Object, ...]
Pair = tuple[Manifests, Manifests]

TICK_S = 1.1
"""The clock's second must change between two renders: otherwise a timestamp from `now` looks constant."""


@dataclass(frozen=True)
class LocalRenders:
    """The helm to run, the checkouts to render from, and a folder for exported files."""

    binary: str
    checkouts: tuple[Checkout, ...]
    scratch: Path
    _trees: dict[tuple[Path, str], Path | ExportError] = field(default_factory=dict, repr=False, compare=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    _made: Once | None = field(default=None, repr=False, compare=False)

    def shared(self) -> LocalRenders:
        """A copy for several Argo CDs whose applications render in the same way: it caches the manifests of each helm run."""
        return replace(self, _made=Once())

    def covers(self, app: App) -> bool:
        """True when every source that renders is a path of a checkout and may be a Helm chart."""
        return not self.lacks(app)

    def lacks(self, app: App) -> str:
        """Why the application cannot be rendered from these checkouts; empty where it may be."""
        for source in app.sources:
            if not _only_ref(source) and not self._checkout(source) and not source.get("chart"):
                return f"no --checkout is a clone of {source.get('repoURL')}"
        return not_local(app)

    def twice(self, app: App, fleet: Fleet, values: Object | None = None) -> Pair | None:
        """Two renders at the revisions that Argo CD compares with, Secrets masked as a pair; None if the application is no Helm chart.

        `values` override the application's own. ArgolintError says why it does not render here.
        """
        one = self.render(app, fleet, values=values)
        if one is None:
            return None
        self.tick()
        two = self.render(app, fleet, values=values, turn=1)
        return None if two is None else masked_pair(one, two)

    def tick(self) -> None:
        """Wait between two renders, so that a timestamp from `now` differs."""
        time.sleep(TICK_S)

    def render(
        self,
        app: App,
        fleet: Fleet,
        revisions: Mapping[int, str] | None = None,
        values: Object | None = None,
        turn: int = 0,
    ) -> Manifests | None:
        """One render, with Secrets in plain text. `revisions` by position (from 1) replace those that Argo CD compares with.

        A repeated render, to find generated values, needs another `turn`.
        """
        roots = {n: self._root(app, n, (revisions or {}).get(n, "")) for n in range(1, len(app.sources) + 1)}
        found: list[Object] = []
        for number, source in enumerate(app.sources, 1):
            if _only_ref(source):
                continue
            root, commit = roots[number] or (None, "")
            if root is None:
                return None
            made = self._source(app, fleet, source, root, commit, roots, values, turn)
            if made is None:
                return None
            found += made
        return tuple(found)

    def _source(
        self,
        app: App,
        fleet: Fleet,
        source: Object,
        root: Path,
        commit: str,
        roots: Mapping[int, tuple[Path, str] | None],
        values: Object | None,
        turn: int,
    ) -> Manifests | None:
        folder = inside("", str(source.get("path") or ""))
        if folder is None:
            raise HelmError(f"path {source.get('path')!r} leads out of the repository")
        chart = root / folder
        if not chart.is_dir():
            raise HelmError(f"there is no folder {folder} at {commit[:12]}")
        if not (chart / "Chart.yaml").is_file():
            return None
        refs = {
            str(s["ref"]): found[0]
            for n, s in enumerate(app.sources, 1)
            if s.get("ref") and (found := roots[n]) is not None
        }
        with tempfile.TemporaryDirectory(dir=self.scratch) as made:
            home = Path(made)
            whole = overridden(source, chart, app.instance)
            template = template_of(app, fleet, whole, commit, root, refs, home)
            if values is not None:
                template = replace(template, values=(*template.values, _written(values, home / "more-values.yaml")))
            if self._made is None:
                return self._run(template, home)
            own = tuple(f.read_bytes() if f.is_relative_to(home) else f for f in template.values)
            return self._made.of((turn, replace(template, values=()), own), lambda: self._run(template, home))

    def _run(self, template: Template, home: Path) -> Manifests:
        with self._lock if _has_file_dependencies(template.chart) else threading.Lock():
            return helm.render(self.binary, template, home)

    def _checkout(self, source: Object) -> Checkout | None:
        url = str(source.get("repoURL") or "")
        return next((c for c in self.checkouts if any(same_repository(url, own) for own in c.urls)), None)

    def _root(self, app: App, number: int, revision: str) -> tuple[Path, str] | None:
        """The exported files of a source and their commit; None if no checkout has it."""
        source = app.sources[number - 1]
        checkout = None if source.get("chart") else self._checkout(source)
        if checkout is None:
            return None
        known = app.revisions[number - 1] if number <= len(app.revisions) else ""
        wanted = revision or known or str(source.get("targetRevision") or "HEAD")
        try:
            commit = Git(checkout.root).commit(wanted)
        except UsageError:
            raise NotHereError(f"{checkout.root} lacks revision {wanted}", "fetch it: `git fetch --all`") from None
        with self._lock:
            key = checkout.root, commit
            if key not in self._trees:
                self._trees[key] = self._exported(checkout.root, commit)
            found = self._trees[key]
        if isinstance(found, ExportError):
            raise found
        return found, commit

    def _exported(self, clone: Path, commit: str) -> Path | ExportError:
        place = self.scratch / f"tree-{len(self._trees)}-{commit[:12]}"
        try:
            export(clone, commit, place)
        except ExportError as error:
            return error
        return place


def not_local(app: App) -> str:
    """Why no checkout can render the application as a Helm chart; empty where one may."""
    rendering = [source for source in app.sources if not _only_ref(source)]
    if chart := next((source["chart"] for source in rendering if source.get("chart")), ""):
        return f"chart {chart} is in no Git repository, and nothing is downloaded"
    other = next((kind for source in rendering for kind in _OTHER_TOOLS if source.get(kind)), "")
    return f"its source is rendered by {other} and not by Helm" if other else "" if rendering else "it has no source"


_OTHER_TOOLS = ("kustomize", "directory", "plugin")


def _only_ref(source: Object) -> bool:
    return bool(source.get("ref")) and not source.get("path") and not source.get("chart")


def template_of(
    app: App, fleet: Fleet, source: Object, commit: str, root: Path, refs: Mapping[str, Path], scratch: Path
) -> Template:
    """The helm run for one source. `root`: the root of its repository; `refs`: those of sources that it may use as `$ref/`.

    HelmError for a values file that does not exist, is remote, or leaves its repository.
    """
    given = source.get("helm")
    options: Object = given if isinstance(given, Mapping) else {}
    folder = inside("", str(source.get("path") or "")) or ""
    variables = _variables(app, source, commit)
    files = list(_values_files(options, folder, root, refs, variables))
    inline = options.get("valuesObject") or options.get("values")
    if inline:
        files.append(_written(inline, scratch / "values.yaml"))
    parameters = [p for p in items(options, "parameters") if isinstance(p, Mapping)]
    pairs = [
        (bool(p.get("forceString")), str(p.get("name") or ""), _expanded(str(p.get("value") or ""), variables))
        for p in parameters
    ]
    release = str(options.get("releaseName") or app.ref.name)
    if "{{" in release:
        raise HelmError(f"release name {release!r} is a template")  # helm would evaluate the template
    set_file = {
        _key(str(p.get("name") or "")): _place(_expanded(str(p.get("path") or ""), variables), folder, root)
        for p in items(options, "fileParameters")
        if isinstance(p, Mapping)
    }
    versions = tuple(items(options, "apiVersions")) or sorted(fleet.api_versions(app.cluster))
    return Template(
        root / folder,
        root,
        release,
        str(options.get("namespace") or app.destination_namespace),
        str(options.get("kubeVersion") or fleet.kubernetes_version(app.cluster)),
        tuple(str(v) for v in versions),
        tuple({k: v for text, k, v in pairs if not text}.items()),
        tuple({k: v for text, k, v in pairs if text}.items()),
        tuple(set_file.items()),
        tuple(files),
        skip_crds=bool(options.get("skipCrds")),
        skip_tests=bool(options.get("skipTests")),
        skip_schema_validation=bool(options.get("skipSchemaValidation")),
    )


def _values_files(
    options: Object, folder: str, root: Path, refs: Mapping[str, Path], variables: Mapping[str, str]
) -> Iterator[Path]:
    for entry in items(options, "valueFiles"):
        text = str(entry)
        ref, slash, rest = text[1:].partition("/")
        if text.startswith("$") and slash and ref in refs:
            place = _place(_expanded("/" + rest, variables), "", refs[ref])
        elif text.startswith("$") and slash and not ref.startswith("ARGOCD_"):
            raise NotHereError(f"values file {text} is in no checkout", "pass --checkout DIR of its repository too")
        else:
            place = _place(_expanded(text, variables), folder, root)
        if place.is_file():
            yield place
        elif not options.get("ignoreMissingValueFiles"):
            raise HelmError(f"values file {text} is not there")


def _place(path: str, folder: str, root: Path) -> Path:
    """A file of the repository; a path with a leading `/` is relative to its root."""
    if set(",\\\0") & set(path):
        raise HelmError(f"{path!r} would be more than one file for helm")
    if "://" in path:
        raise NotHereError(f"{path} is remote, and nothing is downloaded")
    found = inside(folder, path)
    if not found or not (root / found).resolve().is_relative_to(root.resolve()):
        raise HelmError(f"{path} leads out of the repository")
    return root / found


def _key(name: str) -> str:
    """A key of --set-file. A comma or an equals sign would add another file."""
    if set(",=\\") & set(name):
        raise HelmError(f"file parameter {name!r} would be more than one key for helm")
    return name


def _written(values: Any, place: Path) -> Path:
    place.write_text(values if isinstance(values, str) else yaml.safe_dump(values, sort_keys=False), "utf-8", "replace")
    return place


def _variables(app: App, source: Object, commit: str) -> Mapping[str, str]:
    return {
        "ARGOCD_APP_NAME": app.instance,
        "ARGOCD_APP_NAMESPACE": app.destination_namespace,
        "ARGOCD_APP_PROJECT_NAME": app.ref.project,
        "ARGOCD_APP_REVISION": commit,
        "ARGOCD_APP_REVISION_SHORT": commit[:7],
        "ARGOCD_APP_REVISION_SHORT_8": commit[:8],
        "ARGOCD_APP_SOURCE_REPO_URL": str(source.get("repoURL") or ""),
        "ARGOCD_APP_SOURCE_PATH": str(source.get("path") or ""),
        "ARGOCD_APP_SOURCE_TARGET_REVISION": str(source.get("targetRevision") or ""),
    }


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    """Go's os.Expand with `$$` for a dollar; unknown variables become empty (Env.Envsubst)."""
    out: list[str] = []
    at = 0
    last_brace = text.rfind("}")
    for found in _DOLLAR.finditer(text):
        if found.start() < at:
            continue  # inside of braces
        word, end = found[1], found.end()
        if word == "{":
            if end > last_brace:
                continue  # never closed
            close = text.index("}", end)
            word, end = text[end:close], close + 1
        out += [text[at : found.start()], "$" if word == "$" else variables.get(word, "")]
        at = end
    return "".join([*out, text[at:]])


_DOLLAR = regex(r"\$(\$|\{|\w+)")


def overridden(source: Object, chart: Path, instance: str) -> Object:
    """The source with `.argocd-source.yaml` and `.argocd-source-<app>.yaml` of the chart's folder applied (JSON merge patch)."""
    found = source
    for name in (".argocd-source.yaml", f".argocd-source-{instance}.yaml"):
        file = chart / name
        if not (is_name(name) and file.is_file()):
            continue
        try:
            found = _merged(found, mapping_of(file.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, ManifestError) as error:
            raise HelmError(f"{name} cannot be read: {error}") from None
    kept = {k: source[k] for k in ("repoURL", "path", "chart", "targetRevision", "ref") if k in source}
    return {**found, **kept}


def _merged(node: Any, patch: Any) -> Any:
    """The node with an RFC 7386 merge patch applied."""
    if not isinstance(patch, Mapping):
        return patch
    base = dict(node) if isinstance(node, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            base.pop(key, None)
        else:
            base[key] = _merged(base.get(key), value)
    return base


def _has_file_dependencies(chart: Path) -> bool:
    """True if dependencies must be packed, which writes into the exported chart: then one render at a time."""
    files = (chart / "Chart.yaml", chart / "requirements.yaml")
    return any("file://" in f.read_text(encoding="utf-8", errors="replace") for f in files if f.is_file())
