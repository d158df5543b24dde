"""A folder that is held open: what is put in its way meanwhile leads nowhere, and what is written stands whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from argolint.errors import UsageError
from argolint.host.folder import FileError, Folder
from argolint.sources.files import own_path, write


def test_a_folder_that_is_exchanged_for_a_link_is_still_the_folder(tmp_path: Path) -> None:
    inside, outside = tmp_path / "web", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "a.yaml").write_text("old")
    with Folder.open(tmp_path, ["web"]) as folder:
        inside.rename(tmp_path / "moved")
        inside.symlink_to(outside)
        staged = folder.stage("a.yaml", b"new")
        staged.place()
        staged.close()
    assert list(outside.iterdir()) == []
    assert (tmp_path / "moved/a.yaml").read_text() == "new"
    with pytest.raises(FileError, match="web is a link"):
        Folder.open(tmp_path, ["web"])


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc/passwd", "a\0"])
def test_what_is_no_name_of_a_file_is_refused(tmp_path: Path, name: str) -> None:
    with Folder.open(tmp_path) as folder:
        for use in (
            folder.enter,
            lambda n: folder.read(n, 9),
            lambda n: folder.stage(n, b""),
            lambda n: folder.make_file(n, []),
        ):
            with pytest.raises(FileError, match="is no name of a file"):
                use(name)


def test_a_file_is_read_up_to_the_limit_and_no_further(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 10)
    with Folder.open(tmp_path) as folder:
        assert folder.read("a", 10) == b"x" * 10
        with pytest.raises(FileError, match="is larger than 9 bytes"):
            folder.read("a", 9)


def test_new_files_and_links_take_no_place_that_is_taken(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "link").symlink_to("mine")
    with Folder.open(tmp_path) as folder:
        for name in ("mine", "link"):
            with pytest.raises(FileError):
                folder.make_file(name, [b"x"])
            with pytest.raises(FileError):
                folder.make_link(name, "x")
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_link_is_never_replaced_by_a_staged_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    with Folder.open(tmp_path) as folder, pytest.raises(FileError, match="it is a link"):
        folder.stage("link", b"x")


def test_what_was_placed_can_be_undone_without_writing(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.write_text("old")
    number = old.stat().st_ino
    with Folder.open(tmp_path) as folder:
        for name in ("old", "new"):
            staged = folder.stage(name, b"other")
            staged.place(undoable=True)
            assert (tmp_path / name).read_text() == "other"
            staged.undo()
            staged.close()
    assert (old.read_text(), old.stat().st_ino) == ("old", number)
    assert [p.name for p in tmp_path.iterdir()] == ["old"]


def test_a_name_as_long_as_the_system_allows_is_written(tmp_path: Path) -> None:
    write(tmp_path / ("a" * 255), b"x")
    assert [len(p.name) for p in tmp_path.iterdir()] == [255]


def test_a_hard_link_elsewhere_keeps_what_it_had(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    os.link(tmp_path / "mine", tmp_path / "report")
    write(tmp_path / "report", b"new")
    assert (tmp_path / "mine").read_text() == "mine"


@pytest.mark.parametrize("target", ["{tree}/out", "tree/out/x", "loop"])
def test_links_are_judged_where_they_lie(tmp_path: Path, target: str) -> None:
    """A link of the user's own may lead into a work tree; a link in there is not followed all the same."""
    (tmp_path / "tree/.git").mkdir(parents=True)
    (tmp_path / "tree/out").symlink_to("/etc")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "own").symlink_to(target.format(tree=tmp_path / "tree"))
    with pytest.raises(UsageError, match=r"inside a Git work tree|from link to link without end"):
        own_path(tmp_path / "own")
    assert own_path(tmp_path / "tree/../x") == tmp_path / "x"
