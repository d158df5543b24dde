"""Workers that are processes of this machine.

Each has its own pipe, so the end of a process shows which chunk it had, and affects no other. A `concurrent.futures` pool cannot do that:
one dead process breaks the pool, and all chunks in flight are lost (docs/adr/0024).

They are forked and share the decoded fleet in memory pages. The parent has no other thread at that time.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.process import BaseProcess
from typing import NoReturn

import msgspec

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.engine.plan import Plan
from argolint.engine.run import Look
from argolint.engine.workers.context import Answer, Context, decode
from argolint.engine.workers.spread import Chunk, Lost, spread
from argolint.errors import ArgolintError
from argolint.host.programs import fork
from argolint.host.temporary import clean_up
from argolint.model.results import AppResult
from argolint.redaction import without_secrets
from argolint.server.transport import Transport
from argolint.values.decoding import decoder

BEAT_S = 5.0
"""Seconds between two life signs of a worker."""
SILENCE_S = 60.0
"""A worker is killed after this time without a life sign: it is stopped, or a library holds the interpreter lock."""
_GRACE_S = 2.0
"""Seconds between the request to end and the kill."""
_STILLBORN = 3
"""Workers in a row that end before they are ready; then no more are started."""
_BEAT, _READY = b"", b"ready"
_HEAD = 8
_names = decoder(tuple[str, ...])

Start = Callable[[], Context]
"""Runs in a worker at its start and returns its context."""


class _Worker:
    """One process and the pipe to it."""

    def __init__(self, start: Start, others: tuple[_Worker, ...]) -> None:
        self.chunk: Chunk | None = None
        self.heard = time.monotonic()
        self.ready = False
        self._buffer = bytearray()
        self.pipe, end = socket.socketpair()
        inherited = (self.pipe, *(other.pipe for other in others))
        try:
            self.process = fork(_work, start, end, inherited, name="argolint-worker")
        except OSError as error:
            self.pipe.close()
            hint = "pass fewer --processes, or raise the limit of processes (`ulimit -u`, the container's)"
            raise ArgolintError(f"no worker process can be started: {error.strerror or error}", hint) from None
        finally:
            end.close()
        self.pipe.setblocking(False)

    def give(self, chunk: Chunk) -> None:
        self.chunk = chunk
        with contextlib.suppress(OSError):  # it ended a moment ago: the next read shows that
            _send(self.pipe, msgspec.json.encode(chunk.names))

    def said(self) -> Iterator[bytes]:
        """The worker's new messages. Raises EOFError if it has ended."""
        try:
            while data := self.pipe.recv(1 << 20):
                self._buffer += data
            ended = True
        except BlockingIOError:
            ended = False
        except OSError:
            ended = True
        while len(self._buffer) >= _HEAD:
            size = int.from_bytes(self._buffer[:_HEAD], "big")
            if len(self._buffer) < _HEAD + size:
                break
            message = bytes(self._buffer[_HEAD : _HEAD + size])
            del self._buffer[: _HEAD + size]
            yield message
        self.heard = time.monotonic() if not ended else self.heard
        if ended:
            raise EOFError

    def end(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join()


class Processes:
    """Worker processes, `count` of them; one that ends is replaced."""

    def __init__(self, start: Start, count: int) -> None:
        self._start = start
        self._workers: list[_Worker] = []
        self._stillborn = 0
        self._selector = selectors.DefaultSelector()
        for _ in range(count):
            self._hire()

    def takes(self, chunk: Chunk) -> bool:
        free = next((w for w in self._workers if w.chunk is None), None)
        if free is not None:
            free.give(chunk)
        return free is not None

    def returned(self) -> Iterator[tuple[Chunk, Answer | Lost]]:
        spoken = [key.data for key, _ in self._selector.select(BEAT_S)]
        for worker in spoken:
            try:
                for message in worker.said():
                    worker.ready = worker.ready or message == _READY
                    if message not in (_BEAT, _READY) and worker.chunk is not None:
                        chunk, worker.chunk = worker.chunk, None
                        yield chunk, _answer(message)
            except EOFError:
                yield from self._replace(worker, _ended)
        now = time.monotonic()
        for worker in [w for w in self._workers if now - w.heard > SILENCE_S]:
            yield from self._replace(worker, lambda process: f"a worker process said nothing for {SILENCE_S:.0f} s")

    def _hire(self) -> None:
        worker = _Worker(self._start, tuple(self._workers))
        self._workers.append(worker)
        self._selector.register(worker.pipe, selectors.EVENT_READ, worker)

    def _replace(self, worker: _Worker, why: Callable[[BaseProcess], str]) -> Iterator[tuple[Chunk, Lost]]:
        self._workers.remove(worker)
        self._selector.unregister(worker.pipe)
        worker.end()
        reason = why(worker.process)
        self._stillborn = 0 if worker.ready else self._stillborn + 1
        if self._stillborn >= _STILLBORN:
            raise ArgolintError(
                f"worker processes do not start: {reason}", "leave --processes out, or give more memory"
            )
        self._hire()
        if worker.chunk is not None:
            yield worker.chunk, Lost(reason)

    def close(self) -> None:
        """End all of them: idle ones at once, the others after a moment."""
        for worker in self._workers:
            with contextlib.suppress(OSError):
                worker.pipe.shutdown(socket.SHUT_RDWR)
            if worker.chunk is not None:
                worker.process.terminate()
        until = time.monotonic() + _GRACE_S
        for worker in self._workers:
            worker.process.join(max(0.0, until - time.monotonic()))
            worker.end()
        self._selector.close()
        self._workers.clear()


def _ended(process: BaseProcess) -> str:
    code = process.exitcode or 0
    if code >= 0:
        return f"a worker process ended with code {code}"
    name = signal.Signals(-code).name if -code in {s.value for s in signal.Signals} else f"signal {-code}"
    memory = ", as it is where memory runs out" if name == "SIGKILL" else ""
    return f"a worker process was ended by {name}{memory}"


def _answer(message: bytes) -> Answer:
    answer = decode(message)
    if answer.refusal is not None:
        raise ArgolintError(*answer.refusal)
    return answer


def in_processes(count: int, opened: Callable[[int], Transport]) -> Look:
    """Look in `count` processes. `opened` returns a worker's connection for that many parallel requests."""

    def look(t: Transport, fleet: Fleet, plan: Plan, apps: Sequence[App]) -> Iterator[AppResult]:
        number = max(1, min(count, len(apps), count if t.offline else plan.workers))
        threads = max(1, plan.workers // number)

        def start() -> Context:
            return Context(lambda: t if t.offline else opened(threads), fleet, _apart(replace(plan, workers=threads)))

        with processes(start, number) as crew:
            yield from spread(crew, number, apps, t.stats)

    return look


def _apart(plan: Plan) -> Plan:
    """The plan for one process, with a folder of its own for what it extracts from checkouts."""
    if plan.local is None:
        return plan
    folder = plan.local.scratch / f"worker-{os.getpid()}"
    folder.mkdir()
    return replace(plan, local=replace(plan.local, scratch=folder))


@contextmanager
def processes(start: Start, count: int) -> Iterator[Processes]:
    """A crew of `count` processes. None of them outlives the block, or this process."""
    crew = Processes(start, count)
    try:
        yield crew
    finally:
        crew.close()


def _work(start: Start, pipe: socket.socket, inherited: tuple[socket.socket, ...]) -> NoReturn:
    """The main loop of a worker: chunks in, answers out, until the parent closes the pipe or is gone."""
    for end in inherited:
        end.close()  # otherwise a sibling would keep the parent's end open
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes: the parent decides
    for name in ("SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), lambda number, frame: _exit_process(128 + number))
    speaking = threading.Lock()
    threading.Thread(target=_send_heartbeats, args=(pipe, speaking), daemon=True).start()
    code = 0
    try:
        context = start()
        with speaking:
            _send(pipe, _READY)
        while (names := _asked(pipe)) is not None:
            answer = context.chunk(names)
            with speaking:
                _send(pipe, answer)
    except ConnectionError:
        pass  # the parent is gone
    except BaseException as error:
        code = 1
        _say(error)
    _exit_process(code)


def _say(error: BaseException) -> None:
    """Print a crash of the worker itself. The text may quote data, so the traceback is printed on demand only."""
    if os.environ.get("ARGOLINT_TRACEBACK"):
        sys.stderr.write(without_secrets("".join(traceback.format_exception(error))))
    place = traceback.extract_tb(error.__traceback__)[-1]
    sys.stderr.write(f"argolint: a worker crashed: {type(error).__name__} at {place.filename}:{place.lineno}\n")
    sys.stderr.flush()


def _exit_process(code: int) -> NoReturn:
    clean_up()
    os._exit(code)


def _send_heartbeats(pipe: socket.socket, speaking: threading.Lock) -> None:
    parent = os.getppid()
    while os.getppid() == parent:
        try:
            with speaking:
                _send(pipe, _BEAT)
        except OSError:
            break
        time.sleep(BEAT_S)
    _exit_process(0)


def _asked(pipe: socket.socket) -> tuple[str, ...] | None:
    """The names of the next chunk; None at the end."""
    head = pipe.recv(_HEAD, socket.MSG_WAITALL)
    return _names(pipe.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)) if head else None


def _send(pipe: socket.socket, message: bytes) -> None:
    pipe.sendall(len(message).to_bytes(_HEAD, "big") + message)
