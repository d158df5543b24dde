"""A folder that a change moves: whether it renders as before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from argolint.gate.generated import trees
from argolint.gate.made_here import is_moved_whole
from argolint.sources.git import Git

from .gitops import REPO, commit, git

OVERLAY, BASE = "web/overlays/dev/kustomization.yaml", "web/base/kustomization.yaml"
OUTSIDE = "resources: [../../../../base]\n"
FILES = {OVERLAY: "resources: [../../base]\n", BASE: "resources: [d.yaml]\n", "web/base/d.yaml": "kind: Note\n"}


@pytest.mark.parametrize(
    ("head", "path", "source", "moved"),
    [
        (FILES, "new/web/overlays/dev", {}, True),
        (FILES, "new/web/overlays/dev", {"helm": {"valueFiles": ["values.yaml"]}}, True),
        (FILES, "new/web/overlays/dev", {"helm": {"valueFiles": ["../../values.yaml"]}}, False),
        (FILES, "new/web/overlays/dev", {"helm": {"valueFiles": ["$values/web.yaml"]}}, False),
        (FILES, "new/web/overlays/dev", {"plugin": {"name": "p"}}, False),
        (FILES, "new/web/overlays/prod", {}, False),
        ({**FILES, BASE: "resources: [e.yaml]\n"}, "new/web/overlays/dev", {}, False),
        ({OVERLAY: FILES[OVERLAY]}, "new/web/overlays/dev", {}, False),
        ({**FILES, OVERLAY: OUTSIDE}, "new/web/overlays/dev", {}, False),
    ],
    ids=(
        *("whole", "values below", "values elsewhere", "values of a ref", "a plugin", "no folder"),
        *("another file", "a part", "a file outside"),
    ),
)
def test_a_folder_that_moves_with_all_that_it_names_renders_as_before(
    head: Mapping[str, str], path: str, source: Mapping[str, object], moved: bool, tmp_path: Path
) -> None:
    git(tmp_path, "init", "--quiet")
    commit(tmp_path, {f"old/{name}": text for name, text in {**FILES, OVERLAY: head[OVERLAY]}.items()})
    git(tmp_path, "switch", "--create", "feature", "--quiet")
    gone: dict[str, str | None] = {f"old/{name}": None for name in FILES}
    commit(tmp_path, {**gone, **{f"new/{name}": text for name, text in head.items()}})
    before = {"repoURL": REPO, "targetRevision": "main", "path": "old/web/overlays/dev", **source}
    read = trees(Git(tmp_path), REPO, "main", "feature")
    assert is_moved_whole(before, {**before, "path": path}, read) is moved
