"""Starts processes, as the only module that does: programs of this machine, this Python, and copies of this process.

No program, module or library comes from the checkout (`checkout_code`). git and helm read foreign data, so they may run long, print much or use
all memory: a program runs within limits, and gets only the environment that it is given.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from argolint.errors import ArgolintError
from argolint.host import temporary
from argolint.host.checkout_code import is_in_checkout, outside_checkout, python_path

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

_CHUNK_BYTES = 1 << 20
_SEARCHED = ("PATH", "LD_LIBRARY_PATH")
_INHERITED = ("SYSTEMROOT", "WINDIR", "TMPDIR", "TEMP", "TMP", "DEVELOPER_DIR")
"""Variables that a program needs to start and to find its own files, in addition to _SEARCHED. They contain no token, proxy, home or setting."""
_ARGOLINT = """\
import json, site, sys
folders, users = json.loads(sys.argv[1])
if users:
    site.addsitedir(users)
sys.path[:] = folders
sys.argv[:2] = ["argolint"]
from argolint.cli import main
main()
"""
"""Starts with the Python path of the parent process: `-I` ignores PYTHONPATH and the user's packages."""


class LimitError(ArgolintError):
    """The program was stopped: it took too long or printed too much."""


@dataclass(frozen=True)
class Limits:
    """Seconds of clock time, bytes of each output stream, and bytes of memory (only on Linux; 0 is no limit)."""

    seconds: float
    output_bytes: int
    memory_bytes: int = 0


@dataclass(frozen=True)
class Ended:
    """How a program ended; `out` is empty if it was written to a file. A negative code is a signal's number."""

    code: int
    out: bytes
    err: bytes


def find(program: str, *checkouts: Path) -> str | None:
    """The program on PATH; None if there is none. Folders of PATH that are relative, or in the working directory's checkout or one of
    these, are ignored: a change may have put a program there.
    """
    for folder in _searched("PATH", os.defpath, checkouts):
        found = shutil.which(program, path=folder)
        if found is not None and Path(found).parent == Path(folder) and not is_in_checkout(found, *checkouts):
            return found
    return None


def inherited() -> dict[str, str]:
    """The few variables of this process that any program may have. Search paths have no folder of the checkout."""
    searched = {name: os.pathsep.join(_searched(name)) for name in _SEARCHED if name in os.environ}
    return {**searched, **{name: os.environ[name] for name in _INHERITED if name in os.environ}}


def _searched(variable: str, default: str = "", checkouts: Sequence[Path] = ()) -> list[str]:
    return outside_checkout(os.environ.get(variable, default).split(os.pathsep), *checkouts)


def run_argolint(words: Sequence[str], limits: Limits) -> Ended:
    """Run a command of argolint in a separate process with the same import path. Raises as `run` does."""
    import site

    folders = python_path()
    users = site.getusersitepackages() if site.ENABLE_USER_SITE else ""
    begins = json.dumps((folders, users if users in folders else ""))
    command = (sys.executable, "-I", "-c", _ARGOLINT, begins, *words)
    return run(command, name=f"argolint {words[0]}", env=os.environ, limits=limits)


def start_script(script: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start this Python on a script of argolint, without packages, environment or folder, with pipes for input and output.

    Raises OSError if it cannot be started.
    """
    # Windows starts no process without these
    kept = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    return _start(
        (sys.executable, "-I", "-S", str(script), *words),
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=Path(sys.executable).anchor,
        env=kept,
    )


def fork(target: Callable[..., Any], *arguments: Any, name: str) -> BaseProcess:
    """Fork this process and call the target in the child. The child ends with this process, too. Raises OSError if it cannot be started."""
    import multiprocessing  # most commands fork nothing

    process = multiprocessing.get_context("fork").Process(target=target, args=arguments, name=name, daemon=True)
    process.start()
    return process


def _start(command: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    if not os.path.isabs(command[0]):  # noqa: PTH117  # or it would be looked for in `cwd`
        raise FileNotFoundError(2, "is not an absolute path", command[0])
    return subprocess.Popen(command, **how)  # noqa: S603  # programs that `find` found, arguments are passed as such


def run(
    command: Sequence[str],
    *,
    name: str,
    env: Mapping[str, str],
    limits: Limits,
    cwd: Path | None = None,
    stdin: bytes = b"",
    out: IO[bytes] | None = None,
) -> Ended:
    """Run to the end, in a separate process group that ends with this call. `out` receives the standard output.

    Raises LimitError, with the program's `name`, and OSError or ValueError if it cannot be started: PermissionError for a program in the
    checkout where it would run.
    """
    if cwd is not None and command[0] != sys.executable and is_in_checkout(command[0], cwd):
        raise PermissionError(1, "lies in the checkout, where a change may put programs", command[0])
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)

        def start() -> subprocess.Popen[bytes]:
            return _start(
                command,
                cwd=cwd,
                env=dict(env),
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )

        with temporary.running(start) as process:
            running = _Running(process, limits)
            try:
                _limit_memory(process.pid, limits.memory_bytes)
                ended = running.finish(out)
            finally:
                running.stop()
    if running.late:
        raise LimitError(f"{name} took longer than {limits.seconds:g} s")
    if running.too_much:
        raise LimitError(f"{name} printed more than {limits.output_bytes:,} bytes")
    return ended


class _Running:
    """A program, its clock, and the readers of its two streams."""

    def __init__(self, process: subprocess.Popen[bytes], limits: Limits) -> None:
        self.late = self.too_much = False
        self._process = process
        self._room = limits.output_bytes
        self._clock = threading.Timer(limits.seconds, self._time_is_over)
        self._clock.daemon = True
        self._clock.start()

    def finish(self, out: IO[bytes] | None) -> Ended:
        process = self._process
        assert process.stdout is not None
        assert process.stderr is not None
        errors = process.stderr
        output: list[bytes] = []
        reader = threading.Thread(target=lambda: output.append(self._read(errors, None)), daemon=True)
        reader.start()
        with process.stdout, errors:
            try:
                found = self._read(process.stdout, out)
                reader.join()
            except BaseException:  # a stream must not be closed while it is being read
                self._kill()
                raise
            return Ended(process.wait(), found, output[0])

    def stop(self) -> None:
        """Kill the program and its children."""
        self._clock.cancel()
        self._kill()
        self._process.wait()

    def _read(self, stream: IO[bytes], out: IO[bytes] | None) -> bytes:
        parts: list[bytes] = []
        left = self._room
        while chunk := stream.read(min(_CHUNK_BYTES, left + 1)):
            left -= len(chunk)
            if left < 0:
                self.too_much = True
                self._kill()
                break
            if out is None:
                parts.append(chunk)
            else:
                out.write(chunk)
        return b"".join(parts)

    def _time_is_over(self) -> None:
        self.late = True
        self._kill()

    def _kill(self) -> None:
        temporary.end(self._process)


def _limit_memory(pid: int, size_bytes: int) -> None:
    if not size_bytes or sys.platform != "linux":
        return
    import resource

    with contextlib.suppress(ProcessLookupError, PermissionError, ValueError):
        resource.prlimit(pid, resource.RLIMIT_DATA, (size_bytes, size_bytes))
