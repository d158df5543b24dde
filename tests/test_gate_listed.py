"""Kustomizations that only list files: what they render, and which new files none lists."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from argolint.gate.generated import Trees, trees
from argolint.gate.listed import listed_objects, unlisted_lines
from argolint.sources.git import Git

from .gitops import REPO, commit, git

NOTE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n"
BINDING = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: b}\nsubjects: [{kind: ServiceAccount, name: a, namespace: NS}]\n"
SPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"


def change(root: Path, base: Mapping[str, str], head: Mapping[str, str]) -> Trees:
    git(root, "init", "--quiet")
    commit(root, {"README.md": "", **base})
    git(root, "switch", "--create", "feature", "--quiet")
    commit(root, {"NEWS.md": "", **head})
    return trees(Git(root), REPO, "main", "feature")


@pytest.mark.parametrize(
    ("kustomization", "more", "names"),
    [
        ("resources: [a.yaml, ../base]", {}, ["ConfigMap /a", "ConfigMap /b"]),
        ("resources: [a.yaml]\nnamespace: shop", {}, ["ConfigMap shop/a"]),
        ("resources: [a.yaml]\nnamespace: shop", {"web/a.yaml": SPACE}, ["Namespace /shop"]),
        ("resources: [a.yaml]\nnamespace: other", {"web/a.yaml": SPACE}, None),
        ("resources: [a.yaml]\nnamespace: shop", {"web/a.yaml": BINDING.replace("NS", "shop")}, ["RoleBinding shop/b"]),
        ("resources: [a.yaml]\nnamespace: shop", {"web/a.yaml": BINDING.replace("NS", "old")}, None),
        ("resources: [a.yaml]\nnamePrefix: x-", {}, None),
        ("resources: [a.yaml, ../base]", {"base/kustomization.yaml": "resources: [b.yaml]\npatches: []"}, None),
        ("resources: [a.yaml, ../base]", {"base/kustomization.yaml": "kind: Component\nresources: [b.yaml]"}, None),
        ("resources: [../base/b.yaml]", {}, None),
        ("resources: [a.yaml, missing.yaml]", {}, None),
        ("resources: [a.yaml, ../web]", {}, None),
        ("resources: [a.yaml, 'https://git.example.com/x//y']", {}, None),
        ("resources: [a.yaml, ../base]", {"base/b.yaml": NOTE.replace("NAME", "a")}, None),
        ("resources: [a.yaml]", {"web/a.yaml": "kind: [\n"}, None),
    ],
)  # fmt: skip
def test_what_only_lists_files_is_read_and_all_else_is_not_known(
    kustomization: str, more: Mapping[str, str], names: list[str] | None, tmp_path: Path
) -> None:
    files = {
        "web/kustomization.yaml": f"{kustomization}\n",
        "web/a.yaml": NOTE.replace("NAME", "a"),
        "base/kustomization.yaml": "resources: [b.yaml]\n",
        "base/b.yaml": NOTE.replace("NAME", "b"),
        **more,
    }
    found = listed_objects(change(tmp_path, {}, files).after, "web")
    made = found and [f"{m['kind']} {m['metadata'].get('namespace', '')}/{m['metadata']['name']}" for m in found]
    assert made == names


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ({"web/b.yaml": NOTE}, ["whether web/b.yaml is to be deployed: web/kustomization.yaml does not list it, so no application renders it"]),
        ({"web/b.yaml": NOTE, "web/kustomization.yaml": "resources: [a.yaml, ./b.yaml]\n"}, []),
        ({"web/b.yaml": NOTE, "web/dev/kustomization.yaml": "resources: [../b.yaml]\n"}, []),
        ({"web/b.yaml": NOTE, "web/dev/kustomization.yaml": "resources: [b.yaml]\n", "web/dev/b.yaml": NOTE},
         ["whether web/b.yaml is to be deployed: web/kustomization.yaml does not list it, so no application renders it"]),
        ({f"web/{n}.yaml": NOTE for n in range(5)},
         ["whether web/0.yaml, web/1.yaml, web/2.yaml and 2 more are to be deployed: web/kustomization.yaml does not list them, so no application renders them"]),
        ({"web/values.yaml": "replicas: 2\n"}, []),
        ({"docs/b.yaml": NOTE}, []),
        ({"web/a.yaml": NOTE.replace("NAME", "c")}, []),
    ],
)  # fmt: skip
def test_a_new_manifest_that_no_kustomization_lists_is_named(
    head: Mapping[str, str], said: list[str], tmp_path: Path
) -> None:
    base = {"web/kustomization.yaml": "resources: [a.yaml]\n", "web/a.yaml": NOTE}
    assert list(unlisted_lines(change(tmp_path, base, head), {"web"})) == said
