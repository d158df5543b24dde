"""What a kustomization renders that only lists files and folders, and perhaps sets a namespace (with any other field it is not known here), and
which new files none lists.

Sources: kubernetes-sigs/kustomize api/internal/target/kusttarget.go (accumulateResources), api/filters/namespace/namespace.go,
api/internal/konfig/builtinpluginconsts/namespace.go; its default load restriction (no file from outside of the folder).
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator

from argolint.gate.generated import Tree, Trees
from argolint.gate.reads import KUSTOMIZATIONS
from argolint.model import Object
from argolint.values import enumerated, items, mapping, maps, plain, text_at
from argolint.values.kubernetes import CLUSTER_SCOPED, group_of
from argolint.values.manifests import ManifestError, mapping_of, sound_objects
from argolint.values.patterns import regex

_KNOWN = {"apiVersion", "kind", "metadata", "resources", "namespace"}
_KIND = "Kustomization"
_DEEPEST, _MOST_FILES, _MOST_BYTES = 10, 500, 2_000_000


class UnknownRenderError(Exception):
    """Only kustomize itself can say what it renders."""


def listed_objects(tree: Tree, folder: str) -> tuple[Object, ...] | None:
    """The objects of the kustomization in a folder; None if they are not known here."""
    reader = _Reader(tree)
    try:
        found = reader.folder(folder, 0)
    except (UnknownRenderError, ManifestError):
        return None
    names = [
        (group_of(m), m.get("kind"), text_at(m, "metadata", "namespace"), text_at(m, "metadata", "name")) for m in found
    ]
    return None if len(set(names)) < len(names) else found  # kustomize refuses two of one name


def unlisted_lines(trees: Trees, folders: Collection[str]) -> Iterator[str]:
    """New manifests below these folders, in a folder with a kustomization, that no kustomization of the repository names."""
    tree = trees.after
    new = [p for p in trees.changed if p.endswith(_MANIFESTS) and p in tree.entries and p not in trees.before.entries]
    ours = {f for p in new if (f := posixpath.dirname(p)) and is_kustomization(tree, f) and _is_below(f, folders)}
    new = [p for p in new if posixpath.dirname(p) in ours and posixpath.basename(p) not in KUSTOMIZATIONS][:_MOST_NEW]
    listing = [p for p in tree.files if posixpath.basename(p) in KUSTOMIZATIONS] if new else []
    if len(listing) > _MOST_FILES or sum(tree.git.sizes(tree.entries[p].id for p in listing).values()) > _MOST_BYTES:
        return
    texts = tree.texts(listing)
    if None in texts:
        return
    named = {
        posixpath.normpath(f"{posixpath.dirname(file)}/{word}")
        for file, text in zip(listing, texts, strict=True)
        for word in _WORD.findall(text or "")
    }
    left: dict[str, list[str]] = {}
    for path in new:
        if path not in named and _declares(tree, path):
            left.setdefault(posixpath.dirname(path), []).append(path)
    for folder, paths in list(left.items())[:_MOST_FOLDERS]:
        own = next(f"{folder}/{name}" for name in sorted(KUSTOMIZATIONS) if f"{folder}/{name}" in tree.entries)
        are, them = ("are", "them") if paths[1:] else ("is", "it")
        names = enumerated(list(map(plain, paths)), limit=3)
        yield f"whether {names} {are} to be deployed: {plain(own)} does not list {them}, so no application renders {them}"


_WORD = regex(r"[^\s,'\"\[\]{}=:]{1,300}")
_MANIFESTS = (".yaml", ".yml", ".json")
_MOST_NEW = 50
_MOST_FOLDERS = 4


def _is_below(folder: str, folders: Collection[str]) -> bool:
    parts = folder.split("/")
    return any("/".join(parts[:count]) in folders for count in range(1, len(parts) + 1))


def _declares(tree: Tree, path: str) -> bool:
    try:
        found = sound_objects(tree.texts([path])[0] or "")
    except ManifestError:
        return False
    return any(m.get("apiVersion") and not str(m["apiVersion"]).startswith("kustomize.") for m in found)


def is_kustomization(tree: Tree, folder: str) -> bool:
    return any(f"{folder}/{name}" in tree.entries for name in KUSTOMIZATIONS)


class _Reader:
    def __init__(self, tree: Tree) -> None:
        self._tree, self._files, self._bytes = tree, 0, 0

    def folder(self, folder: str, depth: int) -> tuple[Object, ...]:
        own = [path for name in sorted(KUSTOMIZATIONS) if (path := f"{folder}/{name}") in self._tree.entries]
        if len(own) != 1 or depth > _DEEPEST:
            raise UnknownRenderError
        given = mapping_of(self._text(own[0]))
        if given.keys() - _KNOWN or given.get("kind", _KIND) != _KIND:
            raise UnknownRenderError
        found = tuple(m for entry in items(given, "resources") for m in self._entry(folder, entry, depth))
        space = text_at(given, "namespace")
        return tuple(_placed(m, space) for m in found) if space else found

    def _entry(self, folder: str, entry: object, depth: int) -> Iterator[Object]:
        if not isinstance(entry, str) or not entry or "://" in entry or entry.startswith("/"):
            raise UnknownRenderError
        path = posixpath.normpath(f"{folder}/{entry}")
        if path.startswith("..") or path == ".":
            raise UnknownRenderError
        if path in self._tree.entries and path.startswith(f"{folder}/"):
            found = sound_objects(self._text(path))
            if any(str(m.get("kind")).endswith("List") for m in found):
                raise UnknownRenderError
            yield from found
        else:
            yield from self.folder(path, depth + 1)

    def _text(self, path: str) -> str:
        entry = self._tree.entries[path]
        self._files += 1
        if self._files > _MOST_FILES or not entry.mode.startswith("100"):
            raise UnknownRenderError
        self._bytes += sum(self._tree.git.sizes([entry.id]).values())
        text = self._tree.texts([path])[0] if self._bytes <= _MOST_BYTES else None
        if text is None:
            raise UnknownRenderError
        return text


def _placed(manifest: Object, space: str) -> Object:
    """The object in the kustomization's namespace; UnknownRenderError if that sets more than its own."""
    kind = (group_of(manifest), str(manifest.get("kind")))
    accounts = [s for s in maps(manifest, "subjects") if s.get("kind") == "ServiceAccount"]
    renamed = kind == ("", "Namespace") and text_at(manifest, "metadata", "name") != space
    if renamed or any(s.get("namespace") != space for s in accounts) or kind[0] in _WITH_SERVICES:
        raise UnknownRenderError
    if kind in CLUSTER_SCOPED:
        return manifest
    return {**manifest, "metadata": {**mapping(manifest, "metadata"), "namespace": space}}


_WITH_SERVICES = ("admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io")
"""Groups whose objects name the namespace of a Service."""
