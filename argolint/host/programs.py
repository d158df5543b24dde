"""Runs a program with limits of time, output and memory, and with no more of the environment than it is given.

git and helm read what a stranger wrote, so either may take long, print much or want all memory there is.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from argolint.errors import ArgolintError
from argolint.host import temporary

_CHUNK_BYTES = 1 << 20
_INHERITED = ("PATH", "SYSTEMROOT", "WINDIR", "TMPDIR", "TEMP", "TMP", "LD_LIBRARY_PATH", "DEVELOPER_DIR")
"""What a program needs to start and to find its own files. No token, proxy, home or setting is among it."""


class LimitError(ArgolintError):
    """The program was stopped: it took too long or printed too much."""


@dataclass(frozen=True)
class Limits:
    """Seconds of the clock, bytes of either output stream, and bytes of memory (Linux alone; 0 is no limit)."""

    seconds: float
    output_bytes: int
    memory_bytes: int = 0


@dataclass(frozen=True)
class Ended:
    """How a program ended; `out` is empty when it went to a file. A negative code is a signal's number."""

    code: int
    out: bytes
    err: bytes


def find(program: str) -> str | None:
    """The program on PATH, for whose sake no folder counts that is relative: the working directory may be a stranger's."""
    folders = [f for f in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(f).is_absolute()]
    found = shutil.which(program, path=os.pathsep.join(folders)) if folders else None
    return found if found is not None and Path(found).parent in map(Path, folders) else None


def inherited() -> dict[str, str]:
    """The few variables of this process that any program may see."""
    return {name: os.environ[name] for name in _INHERITED if name in os.environ}


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
    """Run to the end, in a process group of its own that does not outlive this call. `out` takes the standard output.

    Raises LimitError, which calls the program `name`, and OSError or ValueError when it cannot be started.
    """
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(  # noqa: S603  # programs of ours, arguments are passed as such
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
            except BaseException:  # a stream that is being read cannot be closed before
                self._kill()
                raise
            return Ended(process.wait(), found, output[0])

    def stop(self) -> None:
        """End what is left, the program's own children too."""
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
