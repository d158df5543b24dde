"""Cleans up at the end of the process, however it ends: programs that run for it, and folders that its threads write into."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_programs: set[subprocess.Popen[bytes]] = set()
_folders: set[Path] = set()


_starting = threading.RLock()
"""Held while a program is started and not yet registered."""


@contextmanager
def running(start: Callable[[], subprocess.Popen[bytes]]) -> Iterator[subprocess.Popen[bytes]]:
    """The program that `start` starts with `start_new_session`; it is ended when an error leaves the block, or with the process."""
    process: subprocess.Popen[bytes] | None = None
    try:
        with _starting, _undisturbed():
            process = start()
            _programs.add(process)
        yield process
    except BaseException:
        if process is not None:
            end(process)
        raise
    finally:
        if process is not None:
            _programs.discard(process)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Delay signals until the end of this block: otherwise a just created program or folder could not be cleaned up."""
    came: list[int] = []
    known = {}
    if threading.current_thread() is threading.main_thread():
        numbers = (getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP"))
        known = {number: found for number in numbers if number and callable(found := signal.getsignal(number))}
    for number in known:
        signal.signal(number, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in known.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a program and its children: a wrapper's children would keep its output open."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


@contextmanager
def temporary_folder(prefix: str = "argolint-", within: Path | None = None) -> Iterator[Path]:
    """A folder for this block, in the system's temporary folder or in `within`. It is removed however the process ends, even if threads
    still write into it. Raises OSError if it cannot be created.
    """
    folder: Path | None = None
    try:
        with _undisturbed():
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=within)).resolve()
            _folders.add(folder)
        yield folder
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                _folders.discard(folder)


_START_S = 5.0
"""Seconds within which every program starts, unless the machine does not respond at all."""


def clean_up() -> None:
    """End all programs and remove all folders, for a process that is about to end with running threads."""
    held = _starting.acquire(timeout=_START_S)
    try:
        for process in list(_programs):
            end(process)
    finally:
        if held:
            _starting.release()
    for folder in list(_folders):
        shutil.rmtree(folder, ignore_errors=True)


def _forget() -> None:
    """In a forked process: forget the parent's programs and folders."""
    global _starting  # noqa: PLW0603  # another thread of the parent may hold it
    _starting = threading.RLock()
    _programs.clear()
    _folders.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
