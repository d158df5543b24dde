"""Runs jq programs in separate processes: a few per check, started for the first program.

Programs are untrusted: they come from the server's settings, an application's owner, or a pull request. A program's process (child.py) has
no environment and no files, and ends if it computes for a second or uses too much memory (docs/adr/0009).
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import importlib.util
import json
import os
import select
import signal
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import BoundedSemaphore, Lock

from argolint.comparison.jq import child
from argolint.comparison.jq.outcome import Outcome
from argolint.errors import ArgolintError
from argolint.host.programs import start_script
from argolint.model import Object
from argolint.quick.records import dataclass


@dataclass(frozen=True, slots=True)
class Result:
    """The object after several programs, and the outcome of each."""

    object: Object
    outcomes: tuple[Outcome, ...]


_GRACE_S = 5.0
"""Seconds beyond its own deadline after which this process kills the child."""
_USUAL_S = 0.1
"""Seconds of a program on one object that are not slow. Real programs take a thousandth."""
_SLOW_S = 20.0
"""Most seconds of all slow programs together. A tenth of the elapsed time is added again."""
_REMEMBERED = 512
"""Most cached results: rules ask for the same object several times."""


class _EndedError(Exception):
    """The process ended during a request."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome


class Sandbox:
    """A pool of processes, for any number of threads."""

    def __init__(self, processes: int = 0) -> None:
        self._free = BoundedSemaphore(processes or min(4, os.cpu_count() or 1))
        self._idle: list[_Process] = []
        self._lock = Lock()
        self._results: OrderedDict[bytes, Result] = OrderedDict()
        self._ended: dict[str, Outcome] = {}
        """Programs that were stopped once; they do not run again."""
        self._slow_left, self._slow_since = _SLOW_S, time.monotonic()

    def run(self, programs: Sequence[str], obj: Object) -> Result:
        """The object after the programs in order. Raises ArgolintError if no process can be started."""
        text = json.dumps(obj)
        key = hashlib.blake2b("\0".join([*programs, text]).encode(), digest_size=16).digest()
        with self._lock:
            if (known := self._results.get(key)) is not None:
                self._results.move_to_end(key)
                return known
        result = self._run(tuple(programs), Result(obj, ()), text)
        with self._lock:
            self._results[key] = result
            if len(self._results) > _REMEMBERED:
                self._results.popitem(last=False)
        return result

    def close(self) -> None:
        """End the idle processes."""
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            process.end()

    def _run(self, programs: tuple[str, ...], before: Result, text: str) -> Result:
        if len(programs) == 1 and (excluded := self._excluded(programs[0])):
            return Result(before.object, (*before.outcomes, excluded))
        if not any(self._excluded(program) for program in programs):
            try:
                return self._asked(programs, before, text)
            except _EndedError as ended:
                if len(programs) == 1:
                    self._ended[programs[0]] = ended.outcome
                    return Result(before.object, (*before.outcomes, ended.outcome))
        for program in programs:  # one of them ends the process: single runs show which
            before = self._run((program,), before, json.dumps(before.object))
        return before

    def _excluded(self, program: str) -> Outcome | None:
        return self._ended.get(program) or (Outcome.REFUSED if self._slow_left <= 0 else None)

    def _asked(self, programs: tuple[str, ...], before: Result, text: str) -> Result:
        with self._process() as process:
            try:
                answer, left = process.ask(programs, text)
            except _EndedError:
                self._spend(child.COMPUTING_S)
                raise
        outcomes = tuple(Outcome(outcome) for outcome, _ in json.loads(answer))
        self._spend(sum(max(0.0, seconds - _USUAL_S) for _, seconds in json.loads(answer)))
        return Result(json.loads(left) if left else before.object, (*before.outcomes, *outcomes))

    def _spend(self, seconds: float) -> None:
        with self._lock:
            now = time.monotonic()
            self._slow_left = min(_SLOW_S, self._slow_left + (now - self._slow_since) / 10) - seconds
            self._slow_since = now

    @contextlib.contextmanager
    def _process(self) -> Iterator[_Process]:
        with self._free:
            with self._lock:
                process = self._idle.pop() if self._idle else None
            process = process or _Process()
            try:
                yield process
            except BaseException:
                process.end()
                raise
            with self._lock:
                self._idle.append(process)


class _Process:
    """One process, and the pipes to it."""

    def __init__(self) -> None:
        extension = importlib.util.find_spec("jq")
        if extension is None or extension.origin is None:
            raise ArgolintError("the Python package jq is missing", "install argolint again")
        try:
            self._process = start_script(Path(child.__file__), str(Path(extension.origin).parent))
        except OSError as error:
            raise ArgolintError(
                f"cannot start the process for jq programs: {error}",
                "jqPathExpressions run outside of argolint's own process; allow it to start one",
            ) from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._rest = b""
        if _POLLS:
            os.set_blocking(self._to, False)

    def ask(self, programs: Sequence[str], text: str) -> tuple[bytes, bytes]:
        """The two lines of the answer. Raises _EndedError if the process ends, or is killed after its deadline."""
        until = time.monotonic() + len(programs) * child.WAITING_S + _GRACE_S
        try:
            self._write(f"{json.dumps(programs)}\n{text}\n".encode(), until)
            return self._line(until), self._line(until)
        except TimeoutError:
            raise _EndedError(Outcome.TIME) from None
        except (OSError, EOFError):
            timers = {-getattr(signal, name) for name in ("SIGPROF", "SIGALRM") if hasattr(signal, name)}
            code = self._process.wait()
            raise _EndedError(Outcome.TIME if code in timers or os.name == "nt" else Outcome.MEMORY) from None

    def _write(self, request: bytes, until: float) -> None:
        left = memoryview(request)
        while left:
            _await(self._to, select.POLLOUT if _POLLS else 0, until)
            left = left[os.write(self._to, left) :]

    def _line(self, until: float) -> bytes:
        parts = [self._rest]
        while b"\n" not in parts[-1]:
            _await(self._from, select.POLLIN if _POLLS else 0, until)
            parts.append(os.read(self._from, 1 << 20))
            if not parts[-1]:
                raise EOFError
        line, _, self._rest = b"".join(parts).partition(b"\n")
        return line

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()


_POLLS = hasattr(select, "poll")
"""False on Windows: there only the process watches the clock."""


def _await(pipe: int, event: int, until: float) -> None:
    if _POLLS:
        poll = select.poll()
        poll.register(pipe, event)
        if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
            raise TimeoutError


_SHARED: Sandbox | None = None
_SHARING = Lock()


def shared() -> Sandbox:
    """The sandbox of this process."""
    global _SHARED  # noqa: PLW0603  # one for all threads and rules
    with _SHARING:
        if _SHARED is None:
            _SHARED = Sandbox()
            atexit.register(_SHARED.close)
        return _SHARED


def _forget() -> None:
    """In a forked process: close the parent's pipes."""
    global _SHARED  # noqa: PLW0603  # as above
    _SHARED = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
