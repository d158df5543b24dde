"""Where a checkout holds an object that Argo CD renders: by the application's source, as Argo CD itself reads it.

Plain directories (recurse, include, exclude: reposerver/repository/repository.go), Kustomize (resources followed down to
the base; a field that a patch, generator or transformer owns is named), Application manifests anywhere, Helm values files.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from argolint.model import MISSING, Json, Object
from argolint.reports.document import Resource
from argolint.sources.checkout import YAML_NAMES, Checkout, inside
from argolint.sources.yaml_text import Document, EditError, documents
from argolint.values import dig, get, glob, index_of, items, mapping, same_repository, split_pointer, text_at
from argolint.values.kubernetes import group_of


class Unplaced(Exception):
    """Why a fix has no place in the checkouts, and what to do instead. `missing`: the files should hold the place, and none does that can be read."""

    def __init__(self, why: str, todo: str, *, missing: bool = False) -> None:
        super().__init__(why)
        self.why, self.todo, self.missing = why, todo, missing


@dataclass(frozen=True)
class Spot:
    """One object of one file: a document by its index, and a pointer within it for an item of a `kind: List`."""

    checkout: Checkout
    file: str
    index: int = 0
    prefix: str = ""


@dataclass(frozen=True)
class Layer:
    """A kustomization that an object passes through; `data` is its file's content."""

    checkout: Checkout
    file: str
    data: Object

    @property
    def folder(self) -> str:
        return self.file.rpartition("/")[0]


@dataclass(frozen=True)
class Found:
    """The object as its file has it, the kustomizations above it (inner ones first), and the number of the source."""

    spot: Spot
    obj: Object
    layers: tuple[Layer, ...] = ()
    source: int = 0
    notes: tuple[str, ...] = ()


def application(
    checkouts: Iterable[Checkout], namespace: str, name: str, fits: Callable[[Object], bool] = lambda obj: True
) -> tuple[Spot, Object]:
    """The Application's manifest, wherever a checkout holds it. Unplaced when there is none, or more than one.

    `fits` tells it from those of Applications of this name on other Argo CDs.
    """
    found: list[tuple[Spot, Object]] = []
    templates = []
    for checkout in checkouts:
        held, unread = checkout.derived("applications", lambda c=checkout: _applications(c))  # type: ignore[misc]
        found += [(spot, obj) for spot, obj in held.get(name, ()) if _named(obj, name, namespace)]
        templates += [file for file in unread if _mentions(checkout, file, name)]
    own = [(spot, obj) for spot, obj in found if fits(obj)]
    if found and not own:
        raise Unplaced(
            f"{found[0][0].file} holds Application {namespace}/{name} of another Argo CD",
            "add --write DIR for the repository with its manifest",
        )
    if len(own) == 1:
        return own[0]
    if own:
        files = ", ".join(spot.file for spot, _ in own)
        raise Unplaced(
            f"Application {namespace}/{name} stands in {len(own)} places: {files}", "change the one that is applied"
        )
    if templates:
        why = (
            f"no checkout holds Application {namespace}/{name} as plain YAML, and {templates[0]} could be its template"
        )
        raise Unplaced(why, "change the template or its values by hand")
    raise Unplaced(
        f"no checkout given holds Application {namespace}/{name}",
        "add --write DIR for the repository with its manifest; change an ApplicationSet that generates it by hand",
    )


def _applications(checkout: Checkout) -> tuple[Mapping[str, Sequence[tuple[Spot, Object]]], Sequence[str]]:
    """Every Application of a checkout by name, and the files that speak of some and cannot be read."""
    found: dict[str, list[tuple[Spot, Object]]] = defaultdict(list)
    unread = []
    for file in checkout.files:
        if not file.endswith(YAML_NAMES) or not _mentions(checkout, file, "Application"):
            continue
        try:
            for spot, obj in _objects(checkout, file, "Application"):
                if obj.get("kind") == "Application" and group_of(obj) == "argoproj.io":
                    found[str(dig(obj, "metadata", "name"))].append((spot, obj))
        except EditError:
            unread.append(file)
    return found, unread


def manifest(checkouts: Sequence[Checkout], app: Object, resource: Resource) -> Found:
    """The object's own manifest among the application's sources. Unplaced says why there is none to edit."""
    elsewhere, left = [], None
    for number, source in enumerate(_sources(app)):
        path = str(source.get("path") or "")
        if not path and not source.get("chart"):
            continue
        url = str(source.get("repoURL") or "")
        checkout = _of(checkouts, url)
        if source.get("chart"):
            elsewhere.append(f"the chart {source['chart']} of {url}")
            continue
        if checkout is None:
            elsewhere.append(url)
            continue
        try:
            return _in_source(checkout, app, source, number, resource)
        except Unplaced as why:
            left = left or why
    if left is not None:
        raise left
    where = " and ".join(dict.fromkeys(elsewhere)) or "no known source"
    raise Unplaced(
        f"{_what(resource)} comes from {where}", "add --write DIR for a clone of it, or change it there by hand"
    )


def require_unowned(found: Found, pointer: str) -> None:
    """Raises Unplaced when a kustomization above sets this field, so that an edit of the base would change nothing."""
    for layer in found.layers:
        owner = _owner(layer, found.obj, pointer)
        if owner:
            raise Unplaced(f"{owner} in {layer.file} sets {pointer}", "change it there by hand")


def owner(found: Found, pointer: str) -> Spot | None:
    """What of the kustomizations above sets this field, or None: the patch in its file, else the kustomization."""
    for layer in reversed(found.layers):
        if _owner(layer, found.obj, pointer) and layer.file in layer.checkout.files:
            tokens = split_pointer(pointer)
            patches = ((file, index) for _, patch, file, index in _patches(layer, found.obj) if _touches(patch, tokens))
            file, index = next(patches, ("", 0))
            return Spot(layer.checkout, file or layer.file, index if file else 0)
    return None


def at_revision(found: Found, revision: str) -> Object | None:
    """The object as its file had it at the commit that Argo CD rendered; None when that cannot be determined."""
    spot = found.spot
    text = spot.checkout.text_at(revision, spot.file)
    if text is None:
        return None
    try:
        for _, obj in _split(documents(text)):
            if _same(obj, found.obj):
                return obj
    except EditError:
        pass
    return None


@dataclass(frozen=True)
class Values:
    """What sets a chart's values: a file, or (`spot` is None) a field `at` of the Application, which may be text."""

    content: Json
    spot: Spot | None = None
    at: str = ""
    text: str | None = None


def values(checkouts: Sequence[Checkout], app: Object, paths: Sequence[str], where: str) -> Values:
    """The values that hold one of these pointers and count most, else the last file that the application names.

    An application without values files has its values in itself. `where` is the fix's own word for the file, of use where
    an application has several charts.
    """
    charts = [(n, source) for n, source in enumerate(_sources(app)) if _is_chart(checkouts, source)]
    named = [
        (n, source) for n, source in charts if any(f and f[1] in where for f in _values_files(checkouts, app, source))
    ]
    chosen = charts if len(charts) == 1 else named
    if len(chosen) != 1:
        why = "the application has several charts" if charts else "the application has no chart"
        raise Unplaced(why, "change the values by hand")
    number, source = chosen[0]
    helm = _options(source, "helm")
    parameter = next((n for n in map(_dotted, paths) if n in {dig(p, "name") for p in items(helm, "parameters")}), None)
    if parameter:
        raise Unplaced(
            f"the Application's helm.parameters set {parameter}, which beats all values", "change it there by hand"
        )
    files = list(_values_files(checkouts, app, source))
    own = _own_values(helm, "/spec/sources/" + str(number) if dig(app, "spec", "sources") else "/spec/source")
    if not files or _holds(own.content, paths):
        return own
    last: Values | None = None
    for known in reversed(files):
        if known is None:
            raise Unplaced("a values file that counts more stands in no checkout", "add --write DIR for its repository")
        checkout, file = known
        if file not in checkout.files:
            continue
        found = Values(checkout.documents(file)[0].data, Spot(checkout, file))
        last = last or found
        if _holds(found.content, paths):
            return found
    if last is None:
        raise Unplaced("no values file that the application names is in its checkout", "make the file by hand")
    return last


def _is_chart(checkouts: Sequence[Checkout], source: Object) -> bool:
    if source.get("helm") or source.get("chart"):
        return True
    checkout = _of(checkouts, str(source.get("repoURL") or ""))
    return (
        checkout is not None and _join(inside("", str(source.get("path") or "")) or "", "Chart.yaml") in checkout.files
    )


def _own_values(helm: Object, source: str) -> Values:
    """The Application's own values. While it has `values`, no valuesObject may be added: it would replace them."""
    text = helm.get("values")
    if isinstance(text, str) and text.strip() and not helm.get("valuesObject"):
        return Values(documents(text)[0].data, at=f"{source}/helm/values", text=text)
    return Values(helm.get("valuesObject"), at=f"{source}/helm/valuesObject")


def _holds(content: Json, paths: Sequence[str]) -> bool:
    return any(get(content, path) is not MISSING for path in paths)


def _dotted(path: str) -> str:
    return ".".join(split_pointer(path))


def reads_values(checkouts: Sequence[Checkout], app: Object, spot: Spot) -> bool:
    """True when the application names this values file."""
    return any(known == (spot.checkout, spot.file) for s in _sources(app) for known in _values_files(checkouts, app, s))


# Sources


def _sources(app: Object) -> tuple[Object, ...]:
    spec = mapping(app, "spec")
    dry = dig(spec, "sourceHydrator", "drySource")
    found = (dry,) if dry else items(spec, "sources") or (spec.get("source"),)
    return tuple(source if isinstance(source, Mapping) else {} for source in found)


def _options(source: Object, tool: str) -> Object:
    """What the source says for `helm`, `kustomize` or `directory`."""
    found = source.get(tool)
    return found if isinstance(found, Mapping) else {}


def _of(checkouts: Iterable[Checkout], url: str) -> Checkout | None:
    return next((c for c in checkouts if any(same_repository(url, own) for own in c.urls)), None)


_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")


def _in_source(checkout: Checkout, app: Object, source: Object, number: int, resource: Resource) -> Found:
    folder = inside("", str(source.get("path") or "")) or ""
    if source.get("plugin"):
        raise Unplaced(f"a config management plugin renders {_what(resource)}", "change what the plugin reads by hand")
    named = next((kind for kind in ("kustomize", "helm", "directory") if source.get(kind)), None)
    kustomization = _kustomization(checkout, folder)
    if named == "helm" or (named is None and _join(folder, "Chart.yaml") in checkout.files):
        raise Unplaced(
            f"the Helm chart {folder} renders {_what(resource)}, and templates are not edited",
            "set a value of the chart by hand",
        )
    if named == "kustomize" or (named is None and kustomization is not None):
        if kustomization is None:
            raise Unplaced(f"there is no kustomization in {folder or 'the top folder'}", "is it the right branch?")
        return _in_kustomize(checkout, app, source, kustomization, number, resource)
    return _in_directory(checkout, app, source, folder, number, resource)


def _in_directory(
    checkout: Checkout, app: Object, source: Object, folder: str, number: int, resource: Resource
) -> Found:
    options = _options(source, "directory")
    include, exclude = text_at(options, "include"), text_at(options, "exclude")
    found: list[Found] = []
    unread = ""
    for file in checkout.under(folder):
        relative = file[len(folder) + 1 :] if folder else file
        if (
            not file.endswith(YAML_NAMES)
            or ("/" in relative and not options.get("recurse"))
            or (include and not glob.matches(include, relative))
            or (exclude and glob.matches(exclude, relative))
        ):
            continue
        try:
            if not all(word in checkout.text(file) for word in (resource.name, resource.kind)):
                continue
            if "+argocd:skip-file-rendering" in checkout.text(file):
                continue
            found += [
                Found(spot, obj, source=number)
                for spot, obj in _objects(checkout, file, resource.name)
                if _is(obj, resource, dig(app, "spec", "destination", "namespace") or resource.namespace)
            ]
        except EditError as error:
            text = str(error)
            unread = unread or (f" ({text})" if text.startswith(file) else f" ({file}: {text})")
    return _only(found, resource, folder, unread)


def _only(found: Sequence[Found], resource: Resource, folder: str, hint: str = "", *, remote: bool = False) -> Found:
    exact = [f for f in found if dig(f.obj, "metadata", "namespace") == (resource.namespace or None)]
    if len(found) == 1 or len(exact) == 1:
        return found[0] if len(found) == 1 else exact[0]
    if found:
        files = ", ".join(dict.fromkeys(f.spot.file for f in found))
        raise Unplaced(f"{_what(resource)} stands {len(found)} times in {files}", "keep one of them")
    why = f"no file in {folder or 'the top folder'} holds {_what(resource)}{hint}"
    raise Unplaced(why, "is it the right branch?", missing=not remote)


# Objects in files


def _mentions(checkout: Checkout, file: str, *words: str) -> bool:
    try:
        text = checkout.text(file)
    except EditError:
        return False
    return all(word in text for word in words)


def _split(stream: Iterable[Document], word: str = "") -> Iterator[tuple[tuple[int, str], Object]]:
    """The objects of a stream with their places; documents without the word are not even read."""
    for index, document in enumerate(stream):
        if word not in document.text or not isinstance(document.data, Mapping):
            continue
        if str(document.data.get("kind", "")).endswith("List") and isinstance(document.data.get("items"), list):
            for number, item in enumerate(document.data["items"]):
                if isinstance(item, Mapping):
                    yield (index, f"/items/{number}"), item
        else:
            yield (index, ""), document.data


def _objects(checkout: Checkout, file: str, word: str = "") -> Iterator[tuple[Spot, Object]]:
    return ((Spot(checkout, file, *place), obj) for place, obj in _split(checkout.documents(file), word))


def _named(obj: Object, name: str, namespace: str) -> bool:
    metadata = obj.get("metadata") or {}
    return metadata.get("name") == name and metadata.get("namespace") in (None, "", namespace)


def _same(one: Object, other: Object) -> bool:
    return all(
        dig(one, *path) == dig(other, *path) for path in (("kind",), ("metadata", "name"), ("metadata", "namespace"))
    )


def _is(obj: Object, resource: Resource, default_namespace: str) -> bool:
    """The very object. One without a namespace is put into the destination's by Argo CD, if its kind has one."""
    return (
        obj.get("kind") == resource.kind
        and group_of(obj) == resource.group
        and _named(obj, resource.name, resource.namespace)
        and (not resource.namespace or (dig(obj, "metadata", "namespace") or default_namespace) == resource.namespace)
    )


def _what(resource: Resource) -> str:
    return (
        f"{resource.kind} {resource.namespace}/{resource.name}"
        if resource.namespace
        else f"{resource.kind} {resource.name}"
    )


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


# Kustomize


MAX_LAYERS = 2_000
"""Kustomizations of one application, each counted as often as it is built on: a few that name each other twice would be millions."""
MAX_DEPTH = 50


def _kustomization(checkout: Checkout, folder: str) -> Layer | None:
    file = next((f for name in _KUSTOMIZATIONS if (f := _join(folder, name)) in checkout.files), None)
    if file is None:
        return None
    data = checkout.documents(file)[0].data
    return Layer(checkout, file, data if isinstance(data, Mapping) else {})


def _in_kustomize(
    checkout: Checkout, app: Object, source: Object, top: Layer, number: int, resource: Resource
) -> Found:
    own = _own_layer(checkout, source)
    visited: list[Layer] = []
    found = []
    for spot, obj, layers in _built(top, (), visited):
        layers = (*layers, *own)  # noqa: PLW2901  the Application's own transformations come last
        if (
            obj.get("kind") == resource.kind
            and group_of(obj) == resource.group
            and _rendered_as(obj, layers, app, resource)
        ):
            found.append(Found(spot, obj, layers, number, _shared(spot, layers, top)))
    if not found:
        for layer in visited:
            maker = _generator(layer, resource)
            if maker:
                raise Unplaced(f"{maker} in {layer.file} makes {_what(resource)}", "change it there by hand")
    remote = [
        str(e) for layer in visited for f in ("resources", "bases") for e in items(layer.data, f) if "://" in str(e)
    ]
    hint = f" (it also builds on {', '.join(remote)})" if remote else ""
    return _only(found, resource, top.folder, hint, remote=bool(remote))


def _own_layer(checkout: Checkout, source: Object) -> tuple[Layer, ...]:
    """What spec.source.kustomize adds, in the words of a kustomization."""
    options = dict(_options(source, "kustomize"))
    options["images"] = [{"name": re.split(r"[=:@]", str(text))[0]} for text in items(options, "images")]
    return (Layer(checkout, "the Application's spec.source.kustomize", options),) if source.get("kustomize") else ()


def _built(
    layer: Layer, above: tuple[Layer, ...], visited: list[Layer]
) -> Iterator[tuple[Spot, Object, tuple[Layer, ...]]]:
    """Every object of a kustomization's files, and the layers that it passes, inner ones first."""
    if any(layer.file == other.file for other in above):
        return
    if len(visited) >= MAX_LAYERS or len(above) >= MAX_DEPTH:
        raise Unplaced(f"{visited[0].file} builds on too many kustomizations", "change the object's file by hand")
    visited.append(layer)
    parts = [
        _kustomization(layer.checkout, inside(layer.folder, str(e)) or "") for e in items(layer.data, "components")
    ]
    through = (layer, *(part for part in parts if part is not None), *above)
    for field in ("resources", "bases", "components"):
        for entry in items(layer.data, field):
            path = inside(layer.folder, str(entry))
            if path is None or "://" in str(entry):
                continue
            if path in layer.checkout.files:
                try:
                    yield from ((spot, obj, through) for spot, obj in _objects(layer.checkout, path))
                except EditError:
                    continue
            elif (below := _kustomization(layer.checkout, path)) is not None:
                yield from _built(below, through, visited)


def _rendered_as(obj: Object, layers: Sequence[Layer], app: Object, resource: Resource) -> bool:
    name = full = str(dig(obj, "metadata", "name") or "")
    namespace = dig(obj, "metadata", "namespace")
    for layer in layers:
        full = f"{layer.data.get('namePrefix') or ''}{full}{layer.data.get('nameSuffix') or ''}"
        namespace = layer.data.get("namespace") or namespace
    names = (name, full) if resource.kind in _NEVER_PREFIXED else (full,)
    placed = namespace or dig(app, "spec", "destination", "namespace") or resource.namespace
    return resource.name in names and (not resource.namespace or placed == resource.namespace)


_NEVER_PREFIXED = ("CustomResourceDefinition", "APIService", "Namespace")
"""Kinds whose names Kustomize leaves alone (api/internal/builtins/PrefixTransformer.go)."""


def _shared(spot: Spot, layers: Sequence[Layer], top: Layer) -> tuple[str, ...]:
    """Says which other kustomizations build on the same base, since an edit of it changes them too."""
    base = layers[0]
    if base.file == top.file:
        return ()
    others = []
    checkout = spot.checkout
    named = checkout.derived(
        "kustomizations", lambda: [f for f in checkout.files if f.rpartition("/")[2] in _KUSTOMIZATIONS]
    )
    for file in named:
        if file in {layer.file for layer in layers}:
            continue
        try:
            data = spot.checkout.documents(file)[0].data
        except EditError:
            continue
        entries = [str(e) for field in ("resources", "bases", "components") for e in items(data, field)]
        if any(inside(file.rpartition("/")[0], entry) in (base.folder, spot.file) for entry in entries):
            others.append(file)
    return (f"{spot.file} is also the base of {', '.join(others)}",) if others else ()


def _generator(layer: Layer, resource: Resource) -> str:
    field = {"ConfigMap": "configMapGenerator", "Secret": "secretGenerator"}.get(resource.kind)
    for entry in items(layer.data, field) if field else ():
        name = str(dig(entry, "name") or "")
        if name and re.search(rf"(^|-){re.escape(name)}(-|$)", resource.name):
            return f"{field} {name}"
    for field_ in ("helmCharts", "generators", "helmChartInflationGenerator"):
        if layer.data.get(field_):
            return field_
    return ""


def _owner(layer: Layer, obj: Object, pointer: str) -> str:
    """What of a kustomization sets this field of the object; empty when nothing does."""
    data, tokens = layer.data, split_pointer(pointer)
    name = str(dig(obj, "metadata", "name") or "")
    if tokens == ("spec", "replicas") and any(dig(r, "name") == name for r in items(data, "replicas")):
        return "`replicas`"
    image = get(obj, pointer, None)
    if tokens[-1:] == ("image",) and any(_image(image) == dig(i, "name") for i in items(data, "images")):
        return "`images`"
    if tokens == ("metadata", "name") and (data.get("namePrefix") or data.get("nameSuffix")):
        return "`namePrefix` or `nameSuffix`"
    if tokens == ("metadata", "namespace") and data.get("namespace"):
        return "`namespace`"
    if tokens[-2:-1] in (("labels",), ("matchLabels",), ("selector",)):
        pairs = [data.get("commonLabels"), *(dig(entry, "pairs") for entry in items(data, "labels"))]
        if any(tokens[-1] in (pair or {}) for pair in pairs):
            return "`commonLabels` or `labels`"
    if tokens[-2:-1] == ("annotations",) and tokens[-1] in (data.get("commonAnnotations") or {}):
        return "`commonAnnotations`"
    for what, patch, _, _ in _patches(layer, obj):
        if _touches(patch, tokens):
            return what
    dotted = [t for t in tokens if index_of(t) is None]
    for replacement in items(data, "replacements"):
        for target in items(replacement, "targets"):
            if dig(target, "select", "kind") in (None, obj.get("kind")) and any(
                [t for t in re.split(r"\.", re.sub(r"\[[^][]*\]|\.\d+", "", str(p))) if t] == dotted
                for p in items(target, "fieldPaths")
            ):
                return "`replacements`"
    return ""


def _image(image: object) -> str:
    return re.sub(r"(@.*|:[^/]*)$", "", str(image or ""))


def _patches(layer: Layer, obj: Object) -> Iterator[tuple[str, Json, str, int]]:
    """Patches of a kustomization that reach the object, with their names, and file and document unless they stand in line."""
    for field in ("patches", "patchesStrategicMerge", "patchesJson6902"):
        for entry in items(layer.data, field):
            target = entry.get("target") if isinstance(entry, Mapping) else None
            path = entry if isinstance(entry, str) and "\n" not in entry else dig(entry, "path")
            inline = entry if isinstance(entry, str) else dig(entry, "patch")
            file = inside(layer.folder, str(path)) if path else None
            try:
                text = layer.checkout.text(file) if file in layer.checkout.files and file else str(inline or "")
                found = [d.data for d in documents(text)]
            except EditError:
                continue
            for index, patch in enumerate(found):
                if _reaches(patch, target if isinstance(target, Mapping) else {}, obj):
                    what = f"the patch {file}" if path else "an inline patch"
                    yield what, patch, file if path and file else "", index


def _reaches(patch: Json, target: Object, obj: Object) -> bool:
    name = str(dig(obj, "metadata", "name") or "")
    if target:
        return all(
            _matches(str(target[key]), str(value or ""))
            for key, value in (("kind", obj.get("kind")), ("name", name), ("group", group_of(obj)))
            if target.get(key)
        )
    return (
        isinstance(patch, Mapping) and patch.get("kind") == obj.get("kind") and dig(patch, "metadata", "name") == name
    )


_TOKEN = re.compile(r"\\[.-]|\.[*+]?|[A-Za-z0-9_-]|\|")
_AS_GLOB = {".*": "*", ".+": "?*", ".": "?"}
_LONGEST_PATTERN = 500


def _matches(pattern: str, value: str) -> bool:
    """Whether a selector's regular expression (Go's, anchored) takes the value; True for one that is not plain enough to tell.

    A change may have written it, and Python's own engine can be kept busy for ever: names, `.`, `.*`, `.+` and `|` are globs.
    """
    text, at, parts = pattern.removeprefix("^").removesuffix("$"), 0, list[str]()
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None or len(text) > _LONGEST_PATTERN:
            return True  # better to tell of a patch than to edit below it
        parts.append(_AS_GLOB.get(token[0], token[0][-1]))
        at = token.end()
    return any(glob.matches(part, value) for part in "".join(parts).split("|"))


def _touches(patch: Json, tokens: Sequence[str]) -> bool:
    """True when a patch sets the field, something above or something below it."""
    if isinstance(patch, list) and all(isinstance(o, Mapping) and "op" in o for o in patch):
        paths = [split_pointer(str(o.get("path") or "")) for o in patch]
        return any(all(a in (b, "-") or b == "-" for a, b in zip(path, tokens, strict=False)) for path in paths)
    for depth, token in enumerate(tokens):
        if isinstance(patch, list):
            return any(_touches(item, tokens[depth + 1 :]) for item in patch)
        if not isinstance(patch, Mapping):
            return True
        if token not in patch:
            return False
        patch = patch[token]
    return True


# Helm values


def _values_files(checkouts: Sequence[Checkout], app: Object, source: Object) -> Iterator[tuple[Checkout, str] | None]:
    """The values files that a chart's source names, in order; None for one that is in no checkout."""
    for entry in items(source, "helm", "valueFiles"):
        text = str(entry)
        if text.startswith("$"):
            ref, _, path = text[1:].partition("/")
            owner = next((s for s in _sources(app) if s.get("ref") == ref), None)
            file = inside("", path)
        else:
            owner, file = source, inside(str(source.get("path") or ""), text)
        checkout = _of(checkouts, str(owner.get("repoURL") or "")) if owner and "://" not in text else None
        yield (checkout, file) if checkout is not None and file else None
