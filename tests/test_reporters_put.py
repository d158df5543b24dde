"""Where a report goes: plain files are replaced whole, everything else is written through."""

from __future__ import annotations

import json
import os
import resource
import stat
import threading
from pathlib import Path

import pytest

from argolint.host.folder import FileError
from argolint.reports import formats as reporters
from tests.conftest import run_argolint
from tests.gitops import git
from tests.small import write_snapshot
from tests.waiting import PATIENCE_S


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("old and longer", encoding="utf-8")
    reporters.put(target, "new")
    assert target.read_text(encoding="utf-8") == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]


def test_a_pipe_stays_a_pipe_and_gets_the_report(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text(encoding="utf-8")), daemon=True)
    reader.start()
    reporters.put(pipe, "report")
    reader.join(timeout=PATIENCE_S)
    assert got == ["report"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_stays_a_link_and_its_file_gets_the_report(tmp_path: Path) -> None:
    target, link = tmp_path / "report.json", tmp_path / "latest.json"
    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    reporters.put(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"


def test_a_directory_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        reporters.put(tmp_path, "report")
    assert caught.value.message.startswith(f"cannot write {tmp_path}: ")
    assert tmp_path.is_dir()


def test_the_mode_of_the_file_stays_and_a_new_one_is_like_any_other(tmp_path: Path) -> None:
    private, new, plain = tmp_path / "private.json", tmp_path / "new.json", tmp_path / "plain"
    private.write_text("old")
    private.chmod(0o640)
    plain.touch()
    reporters.put(private, "new")
    reporters.put(new, "new")
    assert stat.S_IMODE(private.stat().st_mode) == 0o640
    assert new.stat().st_mode == plain.stat().st_mode


def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    """A limit of the file size stands for the full disk."""
    target = tmp_path / "report.json"
    target.write_text("old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limits[1]))
    try:
        with pytest.raises(FileError) as caught:
            reporters.put(target, "x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert f"cannot write {target}: " in caught.value.message
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.parametrize(
    ("link", "output"),
    [("gate.md", "gate.md"), ("out", "out/gate.md"), ("a/out", "a/out/gate.md"), ("gate.md", "../tree/gate.md")],
)
def test_a_link_inside_a_work_tree_is_refused_before_anything_is_read(tmp_path: Path, link: str, output: str) -> None:
    tree, mine = tmp_path / "tree", tmp_path / "mine"
    (tree / "a").mkdir(parents=True)
    git(tree, "init", "--quiet")
    mine.mkdir()
    (mine / "gate.md").write_text("mine")
    (tree / link).symlink_to(mine / "gate.md" if link == output or ".." in output else mine)
    ran = run_argolint("check", "--snapshot", tmp_path / "none", "-o", f"markdown={output}", cwd=tree)
    assert ran.code == 2
    assert f"{tree / link} is a link inside a Git work tree: a change may have put it there" in ran.err
    assert (mine / "gate.md").read_text() == "mine"


def test_a_link_to_standard_output_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "out.json").symlink_to("/dev/stdout")
    write_snapshot(tmp_path / "snap")
    for output in ("/dev/stdout", "out.json"):
        ran = run_argolint("check", "--snapshot", "snap", "-o", f"json={output}", cwd=tmp_path)
        assert json.loads(ran.out)["schema_version"] == "1.2"


@pytest.mark.parametrize(
    "file", ["{home}/.profile", "../home/.profile", "link", "sub/../../home/.profile", ".git/config"]
)
def test_a_configuration_names_files_below_the_working_directory_only(tmp_path: Path, file: str) -> None:
    home, folder = tmp_path / "home", tmp_path / "folder"
    home.mkdir()
    (folder / "sub").mkdir(parents=True)
    (folder / ".git").mkdir()
    (home / ".profile").write_text("mine")
    (folder / "link").symlink_to(home / ".profile")
    write_snapshot(tmp_path / "snap")
    named = file.format(home=home)
    (folder / ".argolint.yaml").write_text(f"output: ['text={named}']\n")
    ran = run_argolint("check", "--snapshot", tmp_path / "snap", cwd=folder)
    assert (ran.code, ran.out) == (2, "")
    assert f".argolint.yaml: output text={named}: a configuration may name files below the working directory" in ran.err
    assert (home / ".profile").read_text() == "mine"
    (folder / ".argolint.yaml").write_text("output: [text=sub/report.txt]\n")
    assert run_argolint("check", "--snapshot", tmp_path / "snap", cwd=folder).code in (0, 1, 3)
    assert (folder / "sub/report.txt").read_text()
