"""Where a report goes: plain files are replaced whole, everything else is written through."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from argolint import reporters
from argolint.errors import UsageError


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
    reader.join(timeout=10)
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
    with pytest.raises(UsageError) as caught:
        reporters.put(tmp_path, "report")
    assert caught.value.message.startswith(f"cannot write {tmp_path}: ")
    assert tmp_path.is_dir()
