"""Explains a values file that is named by its address: where it is in Git, and the source that reads it from there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from argolint import App, Json, Object
from argolint.redaction import without_secrets
from argolint.values import items, same_repository, text_at
from argolint.values.knowledge import load


@dataclass(frozen=True, slots=True)
class _GitFile:
    """A file of a repository at a revision."""

    repository: str
    revision: str
    path: str


def pointer_of_address(source: Object, base: str, address: str) -> str:
    """The pointer of the valueFiles entry that is this address; empty if there is none."""
    entries = items(source, "helm", "valueFiles")
    return f"{base}/helm/valueFiles/{entries.index(address)}" if address in entries else ""


def second_source_facts(app: App, source: Object, pointer: str) -> Mapping[str, Json]:
    """The edit that reads the values file at `pointer`, and others of its repository, by a source with a ref; empty if it is no known address.

    `own_path`: its path from the root, where it is in the source's own repository.
    """
    place = pointer.rpartition("/helm/valueFiles/")[2]
    entries = items(source, "helm", "valueFiles") if place.isdigit() else []
    file = _git_file(str(entries[int(place)])) if place.isdigit() else None
    if file is None or app.spec.get("sourceHydrator"):
        return {"own_path": "", "second_source": [], "file_repo": ""}
    if not source.get("chart") and same_repository(file.repository, text_at(source, "repoURL")):
        return {"own_path": f"/{file.path}", "second_source": [], "file_repo": ""}
    ref = next(name for name in ("values", *(f"values{n}" for n in range(2, 99))) if name not in _refs(app))
    of_same = ((entry, _git_file(str(entry))) for entry in entries)
    read = [
        f"${ref}/{found.path}"
        if found and (found.repository, found.revision) == (file.repository, file.revision)
        else entry
        for entry, found in of_same
    ]
    more = {"repoURL": file.repository, "targetRevision": file.revision, "ref": ref}
    edit = [
        {"op": "replace", "path": pointer.rpartition("/")[0], "value": read},
        *([] if app.spec.get("sources") else _listed()),
        {"op": "add", "path": "/spec/sources/-", "value": more},
    ]
    return {"own_path": "", "second_source": edit, "file_repo": without_secrets(file.repository)}


def _listed() -> list[Json]:
    """The operations that make the source the first of several."""
    return [
        {"op": "add", "path": "/spec/sources", "value": []},
        {"op": "move", "from": "/spec/source", "path": "/spec/sources/0"},
    ]


def _refs(app: App) -> set[str]:
    return {str(source["ref"]) for source in app.sources if source.get("ref")}


def _git_file(address: str) -> _GitFile | None:
    """The file that an address of a Git host's web pages shows; None for another address, or one with a login in it."""
    for entry in load(__package__, "git_files.yaml") if "@" not in address else ():
        if found := re.fullmatch(entry["match"], address.partition("?")[0]):
            host = entry.get("host") or found["host"]
            return _GitFile(f"{host}/{found['project']}.git", found["revision"], found["file"])
    return None
