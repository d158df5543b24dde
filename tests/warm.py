"""A process with argolint's imports, which forks for each command of a test.

Such a fork is like a command of a user: a process with its own streams, folder and environment. It saves the time of a start for imports, data
tables and patterns: the process has made a check itself. It has one thread, so a fork finds no lock held.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import IO, Any, NoReturn

from argolint_rules.shared import messages

from argolint import plugins
from argolint.host.memory import expect_answers
from argolint.server import http
from argolint.values import knowledge

ROOT = Path(__file__).resolve().parents[1]
START = "import sys; sys.path[0] = sys.argv[1]; from tests.warm import serve; serve(int(sys.argv[2]))"
READ_AT_START = ("PYTHON", "LC_", "LANG")
"""Variables that the interpreter reads once, at its start: a fork is too late for them."""
RETRY_S = 0.01
"""The wait before a first retry, for commands of tests: no server there comes back."""
LARGEST = 1_000_000
"""Most bytes of one request: the command's words and its environment."""
NUMBER = 8
"""Bytes of a number in an answer."""


def fits(environment: Mapping[str, str]) -> bool:
    """Whether a fork is equal to a process with this environment."""
    return _read_at_start(environment) == _read_at_start(os.environ)


def run(args: list[str], folder: Path | None, environment: Mapping[str, str], limit: float) -> tuple[int, str, str]:
    """Exit code (-n after signal n), output and errors of a command; TimeoutExpired after `limit` seconds."""
    wanted = json.dumps({"args": args, "folder": str(folder or Path.cwd()), "environment": dict(environment)})
    answer, write = os.pipe()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            socket.send_fds(_process(), [wanted.encode()], [out.fileno(), err.fileno(), write])
            os.close(write)
            pid = _number(answer)
            if not select.select([answer], [], [], limit)[0]:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(args, limit, _text(out), _text(err))
            return _number(answer), _text(out), _text(err)
        finally:
            os.close(answer)


def serve(control: int) -> None:
    """The loop of the process: a fork for each request, until there are no clients."""
    _import_all()
    expect_answers()  # before a fork has its own memory
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the answering forks need no wait
    with socket.socket(fileno=control) as requests:
        while True:
            wanted, received, *_ = socket.recv_fds(requests, LARGEST, 3)
            if not wanted:
                return
            if not os.fork():
                requests.close()
                _answer(json.loads(wanted), *received)
            for file in received:
                os.close(file)


def _answer(wanted: Mapping[str, Any], out: int, err: int, answer: int) -> NoReturn:
    """Write the pid of the command, and its exit code when it ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if not pid:
        os.close(answer)
        _command(wanted, out, err)
    os.write(answer, pid.to_bytes(NUMBER, signed=True))
    _, status = os.waitpid(pid, 0)
    os.write(answer, os.waitstatus_to_exitcode(status).to_bytes(NUMBER, signed=True))
    os._exit(0)


def _command(wanted: Mapping[str, Any], out: int, err: int) -> NoReturn:
    """Become the command: from here on the process behaves as if started for it."""
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.closerange(3, max(out, err) + 1)
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    time.tzset()
    tempfile.tempdir = None
    sys.argv = ["argolint", *wanted["args"]]
    from argolint.cli import main

    main()
    raise AssertionError("main ends the process")


def _import_all() -> None:
    for package in ("argolint", "argolint.cli", "argolint.reports.formats"):
        for found in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)
    plugins.load_rules()
    for name, module in list(sys.modules.items()):
        for file in Path(module.__file__ or "").parent.glob("*.yaml") if name.startswith("argolint_rules.") else ():
            knowledge.load(module.__package__ or "", file.name)
    list(messages.catalogue().patterns())  # compiled
    _make_a_check()


def _make_a_check() -> None:
    """Whatever is made when it is first needed: the demo needs most of it."""
    from argolint.cli.process import exit_code
    from argolint.comparison.jq import sandbox

    sys.argv = ["argolint", "demo"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        exit_code()
    sandbox.shared().close()
    http.RETRY_S = RETRY_S
    gc.unfreeze()
    gc.collect()  # nothing of the check is left that a fork would end once more


@cache
def _process() -> socket.socket:
    """The socket to the process of this test run, which starts with the first command."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        subprocess.Popen(
            [sys.executable, "-c", START, str(ROOT), str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
    return ours


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(READ_AT_START)}


def _number(answer: int) -> int:
    said = os.read(answer, NUMBER)
    assert len(said) == NUMBER, "the process that forks for the tests is gone"
    return int.from_bytes(said, signed=True)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()
