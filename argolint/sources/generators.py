"""The Applications that an ApplicationSet generates, if its generators can be evaluated offline.

Supported: lists, Git folders and files of one commit, clusters as Argo CD lists them, and matrix and merge of these. Others (pull requests,
SCM providers, plugins, another repository) raise NotEvaluatedError. All input is untrusted text: nothing of it runs, and all output is
bounded.

Sources: applicationset/generators/{list,git,cluster,matrix,merge,generator_spec_processor,value_interpolation}.go,
applicationset/controllers/template/template.go, util/git/client.go (LsFiles), reposerver/repository/repository.go (GetGitDirectories).
"""

from __future__ import annotations

import json
import posixpath
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from argolint.application.fleet import IN_CLUSTER, Fleet
from argolint.model import Json, Object
from argolint.sources.appset_templates import NotEvaluatedError, fill, sanitized
from argolint.values import dig, items, mapping, maps, plain, text_at
from argolint.values.glob import matches
from argolint.values.manifests import ManifestError, documents

_MOST = 2_000
"""Most elements of one set."""
_STEPS = 200_000
"""Most comparisons of a path with a pattern, and most texts with parameters."""
_FILES = 1_000
_KINDS = ("list", "clusters", "git", "matrix", "merge")
_FINALIZER = "resources-finalizer.argocd.argoproj.io"


_DEPLOYING = ("source", "destination", "project", "syncOptions")
"""Fields of an Application without which its objects and their sync are not known."""


class LocalClusterError(NotEvaluatedError):
    """The result depends on whether Argo CD's own cluster has a Secret, which no API shows."""


class Commit(Protocol):
    """The commit that Git generators read."""

    def reads(self, url: str, revision: str) -> bool:
        """Whether a URL and a revision refer to this commit."""

    @property
    def files(self) -> Sequence[str]:
        """Its regular files, sorted."""

    @property
    def others(self) -> Sequence[str]:
        """Its links and submodules, sorted: their targets are not read."""

    def texts(self, paths: Sequence[str]) -> Sequence[str | None]:
        """The texts of files; None for one that is too large."""


@dataclass(frozen=True)
class Generated:
    """One Application of an element. `manifest` is None if only its name is known; then `why` says why.

    `draft`: the manifest without a templatePatch that is not evaluated and touches nothing of what is deployed, where and how.
    """

    name: str
    of: tuple[Object, Object]
    manifest: Object | None = None
    why: str = ""
    draft: Object | None = None


def generated(
    spec: Object, namespace: str, fleet: Fleet, commit: Commit | None, *, local_secret: bool | None = None
) -> Mapping[str, Generated]:
    """The Applications of a set by name. NotEvaluatedError if they cannot be determined.

    `local_secret`: whether Argo CD's own cluster has a Secret, which no API shows; None raises LocalClusterError if that matters.
    """
    making = _Making(spec, fleet, commit, local_secret)
    found: dict[str, Generated] = {}
    for generator in maps(spec, "generators"):
        template = _filled(mapping(mapping(generator, _kind(generator)), "template"), mapping(spec, "template"))
        for params in making.elements(generator, {}, 0):
            one = making.application(template, params, namespace)
            found.setdefault(one.name, one)
            if len(found) > _MOST:
                raise NotEvaluatedError(f"it makes more than {_MOST:,} Applications")
    return found


def _kind(generator: Object) -> str:
    found = [kind for kind in generator if kind != "selector" and generator[kind] is not None]
    if len(found) != 1 or found[0] not in _KINDS:
        named = next((kind for kind in found if kind not in _KINDS), "")
        what = f"has a {plain(named)} generator" if named else "has an entry that is not one generator"
        raise NotEvaluatedError(f"it {what}, which is not evaluated here")
    return found[0]


def _filled(own: Json, base: Json) -> Any:
    """A generator's own template, completed by the set's template (mergo.Merge)."""
    if isinstance(own, Mapping) and isinstance(base, Mapping):
        return {key: _filled(own.get(key), base.get(key)) for key in dict.fromkeys((*own, *base))}
    return base if own in (None, "", [], {}, False, 0) else own


@dataclass
class _Making:
    spec: Object
    fleet: Fleet
    commit: Commit | None
    local_secret: bool | None = None
    steps: int = 0
    held: dict[str, list[Object]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.go = self.spec.get("goTemplate") is True
        self.strict = "missingkey=error" in items(self.spec, "goTemplateOptions")

    def elements(self, generator: Object, outer: Object, depth: int) -> list[dict[str, Any]]:
        kind = _kind(generator)
        if depth > 2:
            raise NotEvaluatedError("its generators lie in one another deeper than Argo CD allows")
        inner = self._inner(generator, kind, outer) if outer else generator
        made = _OF[kind](self, mapping(inner, kind), depth)
        if len(made) > _MOST:
            raise NotEvaluatedError(f"it makes more than {_MOST:,} elements")
        selector = generator.get("selector")
        if not isinstance(selector, Mapping) or not selector:
            return made
        if depth >= 2 and not self.fleet.at_least(3, 0):
            raise NotEvaluatedError("it has a selector in a generator of the third level")
        return [params for params in made if _selects(selector, self._flat(params))]

    def _inner(self, generator: Object, kind: str, outer: Object) -> Object:
        """The second generator of a matrix with the parameters of the first; values that use its own parameters are filled later."""
        own = mapping(generator, kind)
        made = self._put({k: v for k, v in own.items() if k not in ("values", "template")}, outer)
        values = {key: self._tried(str(value), outer) for key, value in mapping(own, "values").items()}
        return {kind: {**made, **({"values": values} if values else {})}}

    def _tried(self, text: str, params: Object) -> str:
        try:
            return fill(text, params, go=self.go, strict=True)
        except NotEvaluatedError:
            return text

    def application(self, template: Object, params: Object, namespace: str) -> Generated:
        name = self._text(text_at(template, "metadata", "name"), params)
        if not name or len(name) > 253 or "{{" in name:
            raise NotEvaluatedError("its template gives an element no name")
        patch = text_at(self.spec, "templatePatch")
        if "metadata" in patch:
            raise NotEvaluatedError("its templatePatch changes metadata")
        patched = "the set has a templatePatch" if patch else ""
        try:
            made = self._put({k: template[k] for k in ("metadata", "spec") if k in template}, params)
        except NotEvaluatedError as error:
            return Generated(name, (template, params), None, patched or str(error))
        metadata = {**mapping(made, "metadata"), "name": name, "namespace": namespace}
        if not items(metadata, "finalizers") and not dig(self.spec, "syncPolicy", "preserveResourcesOnDeletion"):
            metadata["finalizers"] = [_FINALIZER]
        manifest = {**made, "metadata": metadata, "apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}
        if patched:
            draft = None if any(word in patch for word in _DEPLOYING) else manifest
            return Generated(name, (template, params), None, patched, draft)
        return Generated(name, (template, params), manifest)

    # Texts

    def _text(self, text: str, params: Object) -> str:
        self._count(1)
        return fill(text, params, go=self.go, strict=self.strict)

    def _put(self, node: Any, params: Object, depth: int = 0) -> Any:
        """The value with parameters filled in its texts and keys."""
        if depth > 60:
            raise NotEvaluatedError("its values lie too deep in one another")
        if isinstance(node, str):
            return self._text(node, params)
        if isinstance(node, Mapping):
            return {self._text(str(k), params): self._put(v, params, depth + 1) for k, v in node.items()}
        return [self._put(v, params, depth + 1) for v in node] if isinstance(node, list) else node

    def _count(self, steps: int) -> None:
        self.steps += steps
        if self.steps > _STEPS:
            raise NotEvaluatedError("it has more elements and patterns than are looked at")

    def _with_values(self, generator: Object, params: dict[str, Any]) -> dict[str, Any]:
        values = {key: self._text(str(v), params) for key, v in mapping(generator, "values").items()}
        if self.go:
            return {**params, "values": values} if values else params
        return {**params, **{f"values.{key}": value for key, value in values.items()}}

    def _flat(self, params: Object) -> Mapping[str, str]:
        if self.go and any(isinstance(params.get(key), Mapping) for key in ("metadata", "values")):
            raise NotEvaluatedError("it selects among elements with metadata or values")
        return dict(_flattened(params, ""))

    # Generators

    def _list(self, given: Object, depth: int) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = []
        for element in items(given, "elements"):
            if not isinstance(element, dict):
                raise NotEvaluatedError("an element of its list is no map")
            made.append(dict(element) if self.go else dict(_flat_element(element)))
        if text := text_at(given, "elementsYaml"):
            found = _parsed(text)
            if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
                raise NotEvaluatedError("its elementsYaml is no list of maps")
            made += found
        return made

    def _clusters(self, given: Object, depth: int) -> list[dict[str, Any]]:
        if not self.fleet.clusters:
            raise NotEvaluatedError("the account sees no clusters")
        selector = mapping(given, "selector")
        made: dict[str, dict[str, Any]] = {}
        for server, raw in self.fleet.clusters.items():
            labels = {**_texts(raw, "labels"), "argocd.argoproj.io/secret-type": "cluster"}
            has_no_secret = server == IN_CLUSTER and not (raw.get("labels") or raw.get("annotations"))
            if any(selector.values()):
                if not _selects(selector, labels):
                    continue
                if has_no_secret and self.local_secret is None:
                    raise LocalClusterError("no API shows whether the cluster in-cluster has a Secret to select it by")
                if has_no_secret and not self.local_secret:
                    continue
            made[text_at(raw, "name")] = self._with_values(given, self._cluster(server, raw, bare=has_no_secret))
        found = list(made.values())
        return [{"clusters": found}] if given.get("flatList") is True else found

    def _cluster(self, server: str, raw: Object, *, bare: bool) -> dict[str, Any]:
        name = text_at(raw, "name")
        params: dict[str, Any] = {
            "name": name,
            "nameNormalized": sanitized(name),
            "server": server,
            "project": text_at(raw, "project"),
        }
        parts = {part: _texts(raw, part) for part in ("annotations", "labels") if _texts(raw, part)}
        if not self.go:
            named = ((f"metadata.{part}.{k}", v) for part, texts in parts.items() for k, v in texts.items())
            return {**params, **dict(named)}
        return params if bare else {**params, "metadata": parts}

    def _git(self, given: Object, depth: int) -> list[dict[str, Any]]:
        url, revision = text_at(given, "repoURL"), text_at(given, "revision")
        if self.commit is None or not self.commit.reads(url, revision):
            raise NotEvaluatedError(
                f"it reads {plain(url)} at {plain(revision or 'HEAD')}, which is not available here"
            )
        if folders := maps(given, "directories"):
            return [self._with_values(given, self._at(given, path)) for path in self._folders(self.commit, folders)]
        made = []
        paths = self._files(self.commit, maps(given, "files"))
        self._hold(self.commit, paths)
        for path in paths:
            folder, name = posixpath.dirname(path) or ".", posixpath.basename(path)
            for found in self.held[path]:
                own = dict(found) if self.go else dict(_flattened(found, ""))
                file = {"filename": name, "filenameNormalized": sanitized(name)}
                made.append(self._with_values(given, {**own, **self._at(given, folder, **file)}))
        return made

    def _at(self, given: Object, path: str, **file: str) -> dict[str, Any]:
        """The parameters of a path."""
        base, prefix = posixpath.basename(path), text_at(given, "pathParamPrefix")
        own = {"basename": base, "basenameNormalized": sanitized(base), **file}
        segments = path.split("/")
        if self.go:
            whole = {"path": {"path": path, "segments": segments, **own}}
            return {prefix: whole} if prefix else whole
        at = f"{prefix}.path" if prefix else "path"
        numbered = {f"{at}[{n}]": segment for n, segment in enumerate(segments) if segment}
        return {at: path, **{f"{at}.{k}": v for k, v in own.items()}, **numbered}

    def _folders(self, commit: Commit, wanted: Sequence[Object]) -> list[str]:
        """Folders that match a pattern and no exclusion, never hidden ones (path.Match)."""
        known: set[str] = set()
        for file in commit.files:
            folder = posixpath.dirname(file)
            while folder and folder not in known:
                known.add(folder)
                folder = posixpath.dirname(folder)
        taking = [_segments(text_at(w, "path")) for w in wanted if w.get("exclude") is not True]
        leaving = [_segments(text_at(w, "path")) for w in wanted if w.get("exclude") is True]
        for other in commit.others:
            own = other.split("/")
            if any(len(t) >= len(own) and _fits(t[: len(own)], own) for t in taking):
                raise NotEvaluatedError(f"its folders may lie in {plain(other)}, which is a link or a submodule")
        self._count(len(known) * (len(taking) + len(leaving)))
        found = []
        for folder in sorted(known):
            own = folder.split("/")
            if any(part.startswith(".") for part in own):
                continue
            if any(_fits(t, own) for t in taking) and not any(_fits(t, own) for t in leaving):
                found.append(folder)
        return found

    def _files(self, commit: Commit, wanted: Sequence[Object]) -> list[str]:
        """Files that match a pattern and no exclusion, in both ways in which Argo CD reads patterns."""
        chosen: set[str] = set()
        for one in sorted(wanted, key=lambda w: w.get("exclude") is True):
            pattern = text_at(one, "path")
            if pattern.startswith("/") or set(pattern) & set("[]\\") or not pattern:
                raise NotEvaluatedError(f"the pattern {plain(pattern)} of its files is not understood here")
            near = [*_beginning(commit.files, pattern), *_beginning(commit.others, pattern)]
            self._count(len(near))
            taken, globbed = ({f for f in near if fit(f)} for fit in _either(pattern))
            if taken != globbed:
                setting = "applicationsetcontroller.enable.new.git.file.globbing"
                raise NotEvaluatedError(f"the pattern {plain(pattern)} takes other files with {setting} than without")
            chosen = chosen - taken if one.get("exclude") is True else chosen | taken
        if odd := sorted(chosen.intersection(commit.others)):
            raise NotEvaluatedError(f"it reads {plain(odd[0])}, which is a link or a submodule")
        if len(chosen) > _FILES:
            raise NotEvaluatedError(f"it reads more than {_FILES:,} files")
        return sorted(chosen)

    def _hold(self, commit: Commit, paths: Sequence[str]) -> None:
        """Read the files that were not read yet."""
        new = [path for path in paths if path not in self.held]
        for path, text in zip(new, commit.texts(new), strict=True):
            if text is None:
                raise NotEvaluatedError(f"it reads {plain(path)}, which is too large")
            found = _parsed(text)
            listed = found if isinstance(found, list) else [found or {}]
            if not all(isinstance(one, dict) for one in listed):
                raise NotEvaluatedError(f"it reads {plain(path)}, which holds no map and no list of maps")
            self.held[path] = listed

    def _matrix(self, given: Object, depth: int) -> list[dict[str, Any]]:
        two = maps(given, "generators")
        if len(two) != 2:
            raise NotEvaluatedError("its matrix has not two generators")
        made = []
        for one in self.elements(two[0], {}, depth + 1):
            for other in self.elements(two[1], one, depth + 1):
                self._count(len(one) + len(other))
                made.append(_overlaid(other, one) if self.go else _combined(one, other))
                if len(made) > _MOST:
                    raise NotEvaluatedError(f"it makes more than {_MOST:,} elements")
        return made

    def _merge(self, given: Object, depth: int) -> list[dict[str, Any]]:
        several, keys = maps(given, "generators"), [str(k) for k in items(given, "mergeKeys")]
        if len(several) < 2 or not keys:
            raise NotEvaluatedError("its merge has less than two generators, or no mergeKeys")
        base = _by_keys(self.elements(several[0], {}, depth + 1), keys)
        for one in several[1:]:
            for key, params in _by_keys(self.elements(one, {}, depth + 1), keys).items():
                self._count(len(params))
                if key in base:
                    base[key] = _overlaid(base[key], params) if self.go else {**base[key], **params}
        return list(base.values())


_OF: Mapping[str, Callable[[_Making, Object, int], list[dict[str, Any]]]] = {
    "list": _Making._list,
    "clusters": _Making._clusters,
    "git": _Making._git,
    "matrix": _Making._matrix,
    "merge": _Making._merge,
}


def _texts(raw: Object, part: str) -> dict[str, str]:
    return {key: value for key, value in mapping(raw, part).items() if isinstance(value, str)}


def _flat_element(element: Object) -> Iterator[tuple[str, str]]:
    for key, value in element.items():
        found = mapping(element, key).items() if key == "values" and isinstance(value, dict) else ((None, value),)
        for inner, text in found:
            if not isinstance(text, str):
                raise NotEvaluatedError("an element of its list has a value that is no text, without goTemplate")
            yield (key if inner is None else f"values.{inner}"), text


def _flattened(node: Any, at: str) -> Iterator[tuple[str, str]]:
    """Values by dotted path (jeremywohl/flatten), formatted as Go prints them."""
    if isinstance(node, Mapping) and (node or not at):
        for key, value in node.items():
            yield from _flattened(value, f"{at}.{key}" if at else str(key))
    elif isinstance(node, list) and node:
        for index, value in enumerate(node):
            yield from _flattened(value, f"{at}.{index}")
    elif isinstance(node, bool):
        yield at, "true" if node else "false"
    elif isinstance(node, str) or (isinstance(node, int) and abs(node) < 10**15):
        yield at, str(node)
    else:
        yield at, f"{{{{{at}}}}}"  # Go prints it in its own format: a name that contains it is refused


def _selects(selector: Object, labels: Mapping[str, str]) -> bool:
    """Whether a label selector matches these labels."""
    for key, value in mapping(selector, "matchLabels").items():
        if labels.get(key) != value:
            return False
    for wanted in maps(selector, "matchExpressions"):
        key, operator, values = text_at(wanted, "key"), text_at(wanted, "operator"), items(wanted, "values")
        held = {
            "In": labels.get(key) in values and key in labels,
            "NotIn": labels.get(key) not in values or key not in labels,
            "Exists": key in labels,
            "DoesNotExist": key not in labels,
        }.get(operator)
        if held is None:
            raise NotEvaluatedError(f"its selector has the operator {plain(operator)}")
        if not held:
            return False
    return True


def _segments(pattern: str) -> list[str]:
    if set(pattern) & set("[]\\"):
        raise NotEvaluatedError(f"the pattern {plain(pattern)} of its folders is not understood here")
    return re.sub(r"[{},]", r"\\\g<0>", pattern).split("/")


def _fits(pattern: Sequence[str], own: Sequence[str]) -> bool:
    return len(pattern) == len(own) and all(matches(p, o) for p, o in zip(pattern, own, strict=True))


def _either(pattern: str) -> tuple[Callable[[str], bool], Callable[[str], bool]]:
    """Two matchers of a file: the pattern as in `git ls-files`, and as a glob in which only `**` crosses folders."""
    literal = re.sub(r"[{},]", r"\\\g<0>", pattern)
    parts = pattern.split("/")

    def listed(path: str) -> bool:
        whole = matches(literal, path)
        return whole or (not set(pattern) & set("*?") and path.startswith(f"{pattern.rstrip('/')}/"))

    return listed, lambda path: _globstar(parts, path.split("/"))


def _beginning(ordered: Sequence[str], pattern: str) -> Sequence[str]:
    """The sorted paths that begin with the pattern's literal prefix."""
    start = re.split(r"[*?{]", pattern, maxsplit=1)[0]
    return ordered[bisect_left(ordered, start) : bisect_left(ordered, f"{start}\U0010ffff")]


def _globstar(pattern: Sequence[str], own: Sequence[str]) -> bool:
    reached = {0}
    for part in pattern:
        if part == "**":
            reached = set(range(min(reached), len(own) + 1)) if reached else set()
        else:
            reached = {at + 1 for at in reached if at < len(own) and matches(part, own[at])}
    return len(own) in reached


def _parsed(text: str) -> Json:
    """The first document, as Kubernetes' YAML reads it."""
    try:
        found = documents(text)
    except ManifestError as error:
        raise NotEvaluatedError(f"what it reads is no YAML: {error}") from None
    if len(found) > 1:
        raise NotEvaluatedError("a file that it reads has several documents")
    return found[0] if found else {}


def _overlaid(base: Object, over: Object) -> dict[str, Any]:
    """The map with the other's values, except empty ones (mergo, WithOverride)."""
    made = dict(base)
    for key, value in over.items():
        if isinstance(value, Mapping) and isinstance(made.get(key), Mapping):
            made[key] = _overlaid(made[key], value)
        elif key not in made or value not in (None, "", [], {}, False, 0):
            made[key] = value
    return made


def _combined(one: Object, other: Object) -> dict[str, Any]:
    if any(key in one and one[key] != value for key, value in other.items()):
        raise NotEvaluatedError("both generators of its matrix give one parameter another value")
    return {**one, **other}


def _by_keys(elements: Iterable[dict[str, Any]], keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for params in elements:
        key = json.dumps({k: params.get(k) for k in keys}, sort_keys=True, default=str)
        if key in found:
            raise NotEvaluatedError("its merge has two elements with the same mergeKeys")
        found[key] = params
    return found
