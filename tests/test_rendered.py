"""`--rendered`: a folder of renders is read beneath itself, whatever names, links and devices are in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from argolint.errors import UsageError
from argolint.host.folder import FileError
from argolint.model import AppRef
from argolint.sources.rendered import manifests_of
from tests.gitops import git

ONE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"
TWO = ONE.replace("one", "two")


def ref(name: str = "web", namespace: str = "argocd") -> AppRef:
    return AppRef(namespace, name, "default", "https://argocd.example.com")


def names(folder: Path, *args: str) -> list[str] | None:
    found = manifests_of(folder, ref(*args))
    return None if found is None else [m["metadata"]["name"] for m in found]


def put(file: Path, text: str = ONE) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_manifests_are_found_by_namespace_and_name_by_name_and_as_one_file(tmp_path: Path) -> None:
    put(tmp_path / "argocd/web/sub/b.yaml", TWO)
    put(tmp_path / "argocd/web/a.yml")
    put(tmp_path / "argocd/web/notes.txt", "kind: [")
    put(tmp_path / "cart/x.json", '{"kind": "ConfigMap", "metadata": {"name": "three"}}')
    put(tmp_path / "shop.yaml")
    assert names(tmp_path) == ["one", "two"]
    assert names(tmp_path, "cart") == ["three"]
    assert names(tmp_path, "shop") == ["one"]
    assert names(tmp_path, "none") is None


@pytest.mark.parametrize(
    ("one", "other"), [("web.yaml", "web.json"), ("web.yml", "web/a.yaml"), ("web.yaml", "argocd/web/a.yaml")]
)
def test_two_renders_of_one_application_are_refused(tmp_path: Path, one: str, other: str) -> None:
    put(tmp_path / one)
    put(tmp_path / other, "{}")
    with pytest.raises(UsageError, match="both hold manifests of web"):
        names(tmp_path)


@pytest.mark.parametrize(
    "name", ["{outside}", "../outside", "../../{top}/outside", "/", ".", "..", "a/../../outside", "a\0b", ""]
)
def test_a_name_leads_nowhere(tmp_path: Path, name: str) -> None:
    outside = put(tmp_path / "outside/secret.yaml").parent
    (tmp_path / "rendered").mkdir()
    asked = name.format(outside=outside, top=tmp_path.name)
    assert names(tmp_path / "rendered", asked) is None
    assert names(tmp_path / "rendered", "outside", "..") is None


@pytest.mark.parametrize("link", ["web", "argocd", "argocd/web", "web/a.yaml", "web.yaml"])
def test_a_link_is_told_and_not_followed(tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    put(outside / "web/a.yaml")
    put(outside / "a.yaml")
    place = tmp_path / "rendered" / link
    place.parent.mkdir(parents=True)
    place.symlink_to(outside / "a.yaml" if link.endswith(".yaml") else outside)
    with pytest.raises(FileError, match=r"is a link"):
        names(tmp_path / "rendered")


def test_a_pipe_and_a_device_do_not_hold_the_run(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    os.mkfifo(tmp_path / "web/a.yaml")
    with pytest.raises(FileError, match=r"web/a\.yaml is no plain file"):
        names(tmp_path)


def test_folders_without_end_are_told(tmp_path: Path) -> None:
    deep = tmp_path.joinpath("web", *["d"] * 70)
    put(deep / "a.yaml")
    with pytest.raises(FileError, match="more than 64 folders deep"):
        names(tmp_path)


def test_the_folder_itself_may_be_a_link_of_the_users_and_none_of_a_change(tmp_path: Path) -> None:
    put(tmp_path / "outside/web/a.yaml")
    (tmp_path / "own").symlink_to("outside")
    assert names(tmp_path / "own") == ["one"]
    tree = tmp_path / "tree"
    tree.mkdir()
    git(tree, "init", "--quiet")
    (tree / "rendered").symlink_to("../outside")
    with pytest.raises(UsageError, match="is a link inside a Git work tree"):
        names(tree / "rendered")
