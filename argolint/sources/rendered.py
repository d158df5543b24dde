"""Manifests as Argo CD processes them: with namespaces, without duplicates, hooks separate, Secret values masked.

Manifests from a folder of another tool's renders get the tracking data that the repo-server would add.
"""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.comparison import compare
from argolint.errors import UsageError
from argolint.host.folder import Folder, is_name
from argolint.model import AppRef, Object, ResourceKey
from argolint.sequence.order import is_hook
from argolint.sources.files import own_path
from argolint.values import dig, mapping, plain, text_at
from argolint.values.kubernetes import CLUSTER_SCOPED, group_of, is_secret
from argolint.values.manifests import ManifestError, sound_objects

MASKED = "++++++++"
"""The value that /manifests returns for every value of a Secret (gitops-engine pkg/diff, HideSecretData)."""


@dataclass(frozen=True)
class Rendered:
    """One render as Argo CD processes it: with namespaces, hooks separate, the last copy of each object; `dropped`: the other copies."""

    objects: Mapping[ResourceKey, Object]
    hooks: Mapping[ResourceKey, Object] = field(default_factory=dict)
    repeated: Mapping[ResourceKey, int] = field(default_factory=dict)
    dropped: tuple[Object, ...] = ()
    manifests: tuple[Object, ...] = ()


def rendered(manifests: Sequence[Object], app: App, fleet: Fleet) -> Rendered:
    """The result for manifests from a render (controller/state.go, GetRepoObjs and DeduplicateTargetObjects)."""
    scopes = _scopes(manifests)
    kept: list[tuple[ResourceKey, Object]] = []
    hooks: dict[ResourceKey, Object] = {}
    for manifest in manifests:
        if not manifest.get("kind") or not dig(manifest, "metadata", "name"):
            continue  # generateName is for hooks: such an object has no stable identity
        group, kind = group_of(manifest), str(manifest["kind"])
        scoped = _cluster_scoped(group, kind, scopes, app, fleet)
        placed = _placed(_masked_secret(manifest), "" if scoped else app.destination_namespace, drop=scoped)
        key = ResourceKey(
            app.cluster, group, kind, dig(placed, "metadata", "namespace") or "", str(placed["metadata"]["name"])
        )
        if is_hook(placed):
            hooks[key] = placed
        else:
            kept.append((key, placed))
    counts = Counter(key for key, _ in kept)
    objects = dict(kept)
    dropped = tuple(obj for key, obj in kept if obj is not objects[key])
    return Rendered(objects, hooks, {k: n for k, n in counts.items() if n > 1}, dropped, tuple(manifests))


def _scopes(manifests: Iterable[Object]) -> Mapping[tuple[str, str], bool]:
    """Whether custom kinds are cluster-scoped, from the CRDs of the same render."""
    return {
        (str(dig(m, "spec", "group")), str(dig(m, "spec", "names", "kind"))): dig(m, "spec", "scope") == "Cluster"
        for m in manifests
        if m.get("kind") == "CustomResourceDefinition"
    }


def _cluster_scoped(group: str, kind: str, scopes: Mapping[tuple[str, str], bool], app: App, fleet: Fleet) -> bool:
    """Whether objects of the kind have no namespace: by the built-in kinds, by the CRDs of the render (`scopes`), else by the objects of that kind
    that Argo CD manages on the cluster.
    """
    if (group, kind) in CLUSTER_SCOPED:
        return True
    if (group, kind) in scopes:
        return scopes[group, kind]
    seen = fleet.of_kind(app.cluster, group, kind) or [r.key for r in app.of_kind(kind, group)]
    return bool(seen) and all(not key.namespace for key in seen)


def _placed(manifest: Object, namespace: str, *, drop: bool) -> Object:
    metadata = manifest["metadata"]
    if drop:
        kept = {k: v for k, v in metadata.items() if k != "namespace"}
        return {**manifest, "metadata": kept} if len(kept) != len(metadata) else manifest
    if metadata.get("namespace") or not namespace:
        return manifest
    return {**manifest, "metadata": {**metadata, "namespace": namespace}}


def _masked_secret(manifest: Object) -> Object:
    """The Secret as /manifests returns it: every value masked, stringData merged. Renders made elsewhere contain the values."""
    if not is_secret(manifest):
        return manifest
    names = {**mapping(manifest, "data"), **mapping(manifest, "stringData")}
    rest = {k: v for k, v in manifest.items() if k not in ("data", "stringData")}
    return {**rest, "data": dict.fromkeys(names, MASKED)} if names else rest


def tracked(manifest: Object, app: App, fleet: Fleet) -> Object:
    """A manifest rendered outside of Argo CD, with the tracking data that the repo-server would add.

    util/argo/resource_tracking.go, SetAppInstance; CRDs get none.
    """
    if manifest.get("kind") == "CustomResourceDefinition" or not dig(manifest, "metadata", "name"):
        return manifest
    metadata = dict(manifest["metadata"])
    if "annotation" in fleet.tracking_method:
        namespace = metadata.get("namespace") or app.destination_namespace
        name = f"{group_of(manifest)}/{manifest.get('kind')}:{namespace}/{metadata['name']}"
        metadata["annotations"] = {
            **mapping(metadata, "annotations"),
            compare.TRACKING_ID: f"{app.instance}:{name}",
        }
        if installation := text_at(fleet.settings, "installationID"):
            metadata["annotations"]["argocd.argoproj.io/installation-id"] = installation
    if "label" in fleet.tracking_method:
        # cut only if the annotation has the whole name
        short = app.instance[:63].rstrip("-_.") if len(app.instance) > 63 else app.instance
        label = app.instance if fleet.tracking_method == "label" else short
        metadata["labels"] = {**mapping(metadata, "labels"), fleet.label_key: label}
    return {**manifest, "metadata": metadata}


_SUFFIXES = (".yaml", ".yml", ".json")
_MAX_BYTES = 256_000_000
"""Most bytes of all manifests of one application."""


def manifests_of(folder: Path, ref: AppRef) -> tuple[Object, ...] | None:
    """The manifests in `NAMESPACE/NAME/`, `NAME/` or `NAME.yaml` below the folder; None if none of these exists.

    Links are not followed, and a name cannot leave the folder: its author rendered a foreign change. FileError for a special file or too
    much data, UsageError for invalid YAML, and for a file next to another one or a folder.
    """
    if not (is_name(ref.namespace) and is_name(ref.name)):
        return None
    with Folder.open(own_path(folder)) as root:
        files = [name for suffix in _SUFFIXES if root.kind(name := f"{ref.name}{suffix}")]
        for parts in ((ref.namespace, ref.name), (ref.name,)):
            texts = _texts_below(root, parts)
            if texts is not None:
                _require_alone(files, root.path.joinpath(*parts), ref)
                return tuple(m for file, text in texts for m in _documents(text, file))
        if files:
            _require_alone(files[1:], root.path / files[0], ref)
            return tuple(_documents(root.read(files[0], _MAX_BYTES), root.path / files[0]))
    return None


def _require_alone(others: Sequence[str], place: Path, ref: AppRef) -> None:
    if others:
        raise UsageError(f"{place} and {others[0]} both hold manifests of {plain(ref.name)}", "keep one of them")


def _texts_below(root: Folder, parts: Sequence[str]) -> list[tuple[Path, bytes]] | None:
    """The manifest files below a folder; None if there is no such folder."""
    if root.kind(parts[0]) not in (stat.S_IFDIR, stat.S_IFLNK):
        return None
    with root.enter(parts[0]) as folder:
        if parts[1:]:
            return _texts_below(folder, parts[1:])
        texts: list[tuple[Path, bytes]] = []
        left = _MAX_BYTES
        for inner, name in folder.files():
            if name.endswith(_SUFFIXES):
                texts.append((inner.path / name, inner.read(name, left)))
                left -= len(texts[-1][1])
        return texts


def _documents(text: bytes, file: Path) -> Iterator[Object]:
    try:
        yield from sound_objects(text.decode("utf-8"))
    except (UnicodeDecodeError, ManifestError) as error:
        raise UsageError(f"cannot read the manifests in {file}: {error}", "render them again") from None
