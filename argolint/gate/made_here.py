"""The manifests of an Application that is not there yet, which no server renders: from the clone of the change.

A folder of plain manifests is read as it is, and so is a kustomization that only lists files; a chart is rendered where Helm runs here.
Everything else stays unknown.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.errors import ArgolintError, ExportError, HelmError, NotHereError, UsageError
from argolint.gate.change import GatedChange
from argolint.gate.generated import Tree, Trees
from argolint.gate.listed import is_kustomization, listed_objects
from argolint.model import Object
from argolint.sources.git import SUBMODULE
from argolint.sources.secret_pair import masked_pair
from argolint.values import items, mapping, text_at
from argolint.values.manifests import ManifestError, sound_objects
from argolint.values.patterns import regex

Manifests = tuple[Object, ...]


@dataclass(frozen=True)
class Made:
    """The manifests, once more where a tool makes them, and Argo CD's name of the source's type."""

    manifests: Manifests
    again: Manifests | None
    tool: str


def made_here(app: App, fleet: Fleet, change: GatedChange, tree: Tree | None) -> Made | str | None:
    """What the Application will render after the merge, or why it does not render; None if that is not known here."""
    if tree is None or not app.sources:
        return None
    followed = {
        n: tree.reads(text_at(s, "repoURL"), text_at(s, "targetRevision")) for n, s in enumerate(app.sources, 1)
    }
    own = [number for number, reads in followed.items() if reads]
    if not own:
        return None
    made = _rendered_chart(app, fleet, change, own)
    if made is not None or len(own) != 1 or app.sources[1:]:
        return made
    source = app.sources[0]
    plain = _plain_folder(source, fleet, tree)
    tool = "Kustomize" if is_kustomization(tree, _folder_of(source)) else "Directory"
    return None if plain is None else Made(masked_pair(plain, ())[0], None, tool)


def _rendered_chart(app: App, fleet: Fleet, change: GatedChange, own: list[int]) -> Made | str | None:
    local = change.local
    if local is None or not local.covers(app):
        return None
    revisions = dict.fromkeys(own, change.head)
    try:
        one = local.render(app, fleet, revisions)
        local.tick()
        two = local.render(app, fleet, revisions, turn=1)
    except (NotHereError, ExportError):
        return None
    except HelmError as error:
        return _NO_FILE.sub(r"Error: open \1: no such file or directory", error.message)
    return None if one is None or two is None else Made(*masked_pair(one, two), "Helm")


def hindrance(app: App, fleet: Fleet, change: GatedChange, tree: Tree | None) -> str:
    """Why the clone does not show what the Application renders, in brackets; empty if that is not said here."""
    source = app.sources[0] if len(app.sources) == 1 else {}
    if tree is None or not source or not tree.reads(text_at(source, "repoURL"), text_at(source, "targetRevision")):
        return ""
    folder = _folder_of(source)
    if f"{folder}/Chart.yaml" in tree.entries:
        if change.local is None:
            return " (--helm-render renders its chart)"
        try:
            change.local.render(app, fleet, {1: change.head})
        except ArgolintError as error:
            return f" ({error.message})"
    return " (--rendered takes what kustomize makes of its folder)" if is_kustomization(tree, folder) else ""


_NO_FILE = regex(r"^values file (.{1,1000}) is not there$", re.DOTALL)
"""Helm says it in these words."""


def _plain_folder(source: Object, fleet: Fleet, tree: Tree) -> Manifests | None:
    """The manifests of a folder that no tool renders (reposerver/repository, findManifests); None if another tool, or none, may take it."""
    options = mapping(source, "directory")
    if source.keys() - {"repoURL", "path", "targetRevision", "directory"}:
        return None
    if fleet.derive(_has_plugin):
        return None  # a plugin may discover the folder by its files
    if options.keys() - {"recurse"}:
        return None
    folder = _folder_of(source)
    if folder == "." or folder.startswith(".."):
        return None
    place, known = (folder, options.get("recurse") is True), tree.read_folders
    if place not in known:
        known[place] = _objects(tree, *place) if len(known) < _MOST_FOLDERS else None
    return known[place]


def _folder_of(source: Object) -> str:
    return posixpath.normpath(text_at(source, "path").strip("/") or ".")


def is_moved_whole(before: Object, after: Object, read: Trees) -> bool:
    """Whether a source only follows a folder which the change moves, with every file that its files may name by a relative path."""
    helm = mapping(before, "helm")
    if {**before, "path": ""} != {**after, "path": ""} or before.keys() & {"plugin", "ref", "chart"}:
        return False
    if not read.after.reads(text_at(before, "repoURL"), text_at(before, "targetRevision")):
        return False
    if helm.get("fileParameters") or not all(_IN_FOLDER.fullmatch(str(file)) for file in items(helm, "valueFiles")):
        return False
    old, new = (posixpath.normpath(text_at(s, "path").strip("/") or ".") for s in (before, after))
    while old and new and "." not in (old[0], new[0]):
        if _is_same_folder(read, old, new):
            return True
        (old, name), (new, other) = posixpath.split(old), posixpath.split(new)
        if name != other:
            return False
    return False


_IN_FOLDER = regex(r"(?!.{0,1000}(?:\.\.|://))[^/$].{0,1000}")
"""A values file at or below the chart."""


def _is_same_folder(read: Trees, old: str, new: str) -> bool:
    """Whether each file has the same content in both, and none names a file outside of them."""
    sides = [
        {path.removeprefix(f"{folder}/"): (e.mode, e.id) for path in tree.below(folder) for e in (tree.entries[path],)}
        for tree, folder in ((read.before, old), (read.after, new))
    ]
    if not sides[0] or sides[0] != sides[1] or any(not mode.startswith("100") for mode, _ in sides[0].values()):
        return False
    files = sorted(sides[0])
    if (
        len(files) > _MOST_FILES
        or sum(read.after.git.sizes(id_ for _, id_ in sides[0].values()).values()) > _MOST_BYTES
    ):
        return False
    texts = read.after.texts([f"{new}/{file}" for file in files])
    return all(
        text is not None and "../" * (file.count("/") + 1) not in text for file, text in zip(files, texts, strict=True)
    )


_MOST_FILES = 1000


def _objects(tree: Tree, folder: str, deep: bool) -> Manifests | None:
    inside = {p: tree.entries[p] for p in tree.below(folder)}
    direct = {p: e for p, e in inside.items() if posixpath.dirname(p) == folder}
    read = inside if deep else direct
    names = {posixpath.basename(p) for p in direct}
    if "Chart.yaml" in names or any(n.startswith(".argocd-source") for n in names):
        return None
    if is_kustomization(tree, folder):
        return listed_objects(tree, folder)
    if any(not e.mode.startswith("100") or e.mode == SUBMODULE or p.endswith(_JSONNET) for p, e in read.items()):
        return None
    files = sorted(p for p in read if p.endswith(_MANIFESTS))
    try:
        if sum(tree.git.sizes(read[p].id for p in files).values()) > _MOST_BYTES:
            return None
        texts = tree.texts(files)
        return tuple(m for text in texts for m in sound_objects(_text(text)) if _SKIP not in (text or ""))
    except (ManifestError, UsageError):  # what cannot be read as manifests, or is not in a partial clone
        return None


_MOST_BYTES, _MOST_FOLDERS = 2_000_000, 50
"""A change may name any number of folders of any size; a second reads two megabytes."""
_MANIFESTS = (".yaml", ".yml", ".json")
_JSONNET = (".jsonnet", ".libsonnet")
_SKIP = "+argocd:skip-file-rendering"


def _text(found: str | None) -> str:
    if found is None:
        raise ManifestError("it is too large to be read")
    return found


def _has_plugin(fleet: Fleet) -> bool:
    return any("Plugin" in (*items(a.status, "sourceTypes"), a.status.get("sourceType")) for a in fleet.apps)
