"""Manifests that were rendered elsewhere: a folder per application, by any tool."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from argolint.errors import UsageError
from argolint.model import AppRef, Object

_SUFFIXES = (".yaml", ".yml", ".json")


def manifests_of(folder: Path, ref: AppRef) -> tuple[Object, ...] | None:
    """The manifests in `NAMESPACE/NAME/`, `NAME/` or `NAME.yaml` below the folder; None when there is nothing of that name.

    Links are not followed: whoever wrote the folder rendered somebody else's change. UsageError for a file that is no YAML.
    """
    for place in (folder / ref.namespace / ref.name, folder / ref.name):
        if place.is_dir() and not place.is_symlink():
            files = sorted(f for f in place.rglob("*") if f.suffix in _SUFFIXES and _plain_file(f, place))
            return tuple(m for file in files for m in _documents(file))
    for suffix in _SUFFIXES:
        file = folder / f"{ref.name}{suffix}"
        if _plain_file(file, folder):
            return tuple(_documents(file))
    return None


def _plain_file(file: Path, root: Path) -> bool:
    inside = [file, *(parent for parent in file.parents if parent.is_relative_to(root) and parent != root)]
    return file.is_file() and not any(part.is_symlink() for part in inside)


def _documents(file: Path) -> Iterator[Object]:
    try:
        documents = list(yaml.load_all(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise UsageError(f"cannot read the manifests in {file}: {error}", "render them anew") from None
    for document in documents:
        if isinstance(document, dict) and document.get("kind"):
            yield from _items(document)


def _items(document: Object) -> Iterator[Object]:
    """A `List` is as many manifests (gitops-engine pkg/utils/kube, SplitYAML and IsListObject)."""
    if str(document["kind"]).endswith("List") and isinstance(document.get("items"), list):
        yield from (item for item in document["items"] if isinstance(item, dict) and item.get("kind"))
    else:
        yield document
