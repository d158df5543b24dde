"""An object in a kustomization: the files that build it, and what sets one of its fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from argolint.fixes.spot import (
    Found,
    Layer,
    Spot,
    Unplaced,
    display_name,
    objects_in,
    only_one,
    path_below,
    tool_options,
)
from argolint.model import Json, Object
from argolint.reports.document import ReportedResource
from argolint.sources.checkout import Checkout, inside
from argolint.sources.yaml_text import EditError, documents
from argolint.values import dig, get, glob, index_of, items, split_pointer
from argolint.values.kubernetes import group_of
from argolint.values.patterns import regex


def require_unowned(found: Found, pointer: str) -> None:
    """Raise Unplaced if a kustomization above sets this field, so that an edit of the base would change nothing."""
    for layer in found.layers:
        owner = _owner(layer, found.obj, pointer)
        if owner:
            raise Unplaced(f"{owner} in {layer.file} sets {pointer}", "change it there by hand")


def owner(found: Found, pointer: str) -> Spot | None:
    """The part of the kustomizations above that sets this field, or None: the file of a patch, else the kustomization."""
    for layer in reversed(found.layers):
        if _owner(layer, found.obj, pointer) and layer.file in layer.checkout.files:
            tokens = split_pointer(pointer)
            patches = ((file, index) for _, patch, file, index in _patches(layer, found.obj) if _touches(patch, tokens))
            file, index = next(patches, ("", 0))
            return Spot(layer.checkout, file or layer.file, index if file else 0)
    return None


_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
MAX_LAYERS = 2_000
"""Most kustomizations of one application, each counted per use: a few that name each other twice would become millions."""
MAX_DEPTH = 50


def kustomization_in(checkout: Checkout, folder: str) -> Layer | None:
    file = next((f for name in _KUSTOMIZATIONS if (f := path_below(folder, name)) in checkout.files), None)
    if file is None:
        return None
    data = checkout.documents(file)[0].data
    return Layer(checkout, file, data if isinstance(data, Mapping) else {})


def in_kustomization(
    checkout: Checkout, app: Object, source: Object, top: Layer, number: int, resource: ReportedResource
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
                raise Unplaced(f"{maker} in {layer.file} makes {display_name(resource)}", "change it there by hand")
    remote = [
        str(e) for layer in visited for f in ("resources", "bases") for e in items(layer.data, f) if "://" in str(e)
    ]
    hint = f" (it also builds on {', '.join(remote)})" if remote else ""
    return only_one(found, resource, top.folder, hint, remote=bool(remote))


def _own_layer(checkout: Checkout, source: Object) -> tuple[Layer, ...]:
    """spec.source.kustomize in the form of a kustomization."""
    options = dict(tool_options(source, "kustomize"))
    options["images"] = [{"name": re.split(r"[=:@]", str(text))[0]} for text in items(options, "images")]
    return (Layer(checkout, "the Application's spec.source.kustomize", options),) if source.get("kustomize") else ()


def _built(
    layer: Layer, above: tuple[Layer, ...], visited: list[Layer]
) -> Iterator[tuple[Spot, Object, tuple[Layer, ...]]]:
    """Every object of a kustomization's files, and the layers above it, inner ones first."""
    if any(layer.file == other.file for other in above):
        return
    if len(visited) >= MAX_LAYERS or len(above) >= MAX_DEPTH:
        raise Unplaced(f"{visited[0].file} builds on too many kustomizations", "change the object's file by hand")
    visited.append(layer)
    parts = [
        kustomization_in(layer.checkout, inside(layer.folder, str(e)) or "") for e in items(layer.data, "components")
    ]
    through = (layer, *(part for part in parts if part is not None), *above)
    for field in ("resources", "bases", "components"):
        for entry in items(layer.data, field):
            path = inside(layer.folder, str(entry))
            if path is None or "://" in str(entry):
                continue
            if path in layer.checkout.files:
                try:
                    yield from ((spot, obj, through) for spot, obj in objects_in(layer.checkout, path))
                except EditError:
                    continue
            elif (below := kustomization_in(layer.checkout, path)) is not None:
                yield from _built(below, through, visited)


def _rendered_as(obj: Object, layers: Sequence[Layer], app: Object, resource: ReportedResource) -> bool:
    name = full = str(dig(obj, "metadata", "name") or "")
    namespace = dig(obj, "metadata", "namespace")
    for layer in layers:
        full = f"{layer.data.get('namePrefix') or ''}{full}{layer.data.get('nameSuffix') or ''}"
        namespace = layer.data.get("namespace") or namespace
    names = (name, full) if resource.kind in _NEVER_PREFIXED else (full,)
    placed = namespace or dig(app, "spec", "destination", "namespace") or resource.namespace
    return resource.name in names and (not resource.namespace or placed == resource.namespace)


_NEVER_PREFIXED = ("CustomResourceDefinition", "APIService", "Namespace")
"""Kinds whose names Kustomize does not change (api/internal/builtins/PrefixTransformer.go)."""


def _shared(spot: Spot, layers: Sequence[Layer], top: Layer) -> tuple[str, ...]:
    """Notes on other kustomizations with the same base, since an edit of it changes them, too."""
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


def _generator(layer: Layer, resource: ReportedResource) -> str:
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
    """The part of a kustomization that sets this field of the object; empty if none does."""
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
    """Patches of a kustomization that match the object, with their names, and file and document unless they are inline."""
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


_TOKEN = regex(r"\\[.-]|\.[*+]?|[A-Za-z0-9_-]|\|")
_AS_GLOB = {".*": "*", ".+": "?*", ".": "?"}
_LONGEST_PATTERN = 500


def _matches(pattern: str, value: str) -> bool:
    """Whether a selector's regular expression (Go's, anchored) matches the value; True for one that is too complex to decide.

    A change may have written it, and could block Python's own engine forever: only names, `.`, `.*`, `.+` and `|` are evaluated, as globs.
    """
    text, at, parts = pattern.removeprefix("^").removesuffix("$"), 0, list[str]()
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None or len(text) > _LONGEST_PATTERN:
            return True  # better to report a patch than to edit below it
        parts.append(_AS_GLOB.get(token[0], token[0][-1]))
        at = token.end()
    return any(glob.matches(part, value) for part in "".join(parts).split("|"))


def _touches(patch: Json, tokens: Sequence[str]) -> bool:
    """True if a patch sets the field, one of its parents or a part of it."""
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
