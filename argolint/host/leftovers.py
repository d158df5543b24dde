"""What must not outlive the process, however it ends: programs that run for it, and folders that its threads write into."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_programs: set[subprocess.Popen[bytes]] = set()
_folders: set[Path] = set()


@contextmanager
def running(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """A program that was started with `start_new_session`: ended when the block is left by an error, or with the process."""
    _programs.add(process)
    try:
        yield
    except BaseException:
        end(process)
        raise
    finally:
        _programs.discard(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a program and what it started: a wrapper's children would keep its output open."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for this block, removed even when threads still write into it."""
    folder = Path(tempfile.mkdtemp(prefix="argolint-")).resolve()
    _folders.add(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def clean_up() -> None:
    """Ends every program and removes every folder, for a process that is about to end with threads at work."""
    for process in list(_programs):
        end(process)
    for folder in _folders:
        shutil.rmtree(folder, ignore_errors=True)


def _forget() -> None:
    """In a forked process: what the parent started and made is the parent's."""
    _programs.clear()
    _folders.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
