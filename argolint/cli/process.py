"""Runs a command in this process: handles its streams and signals, and always returns an exit code.

0 1 3       the exit code of the command
2           an expected error that stops the command, or a crash
128 + n     ended by signal n (130 for Ctrl-C)
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn, TextIO, cast

from argolint.errors import MORE_MEMORY, lacks_memory


class Ended(KeyboardInterrupt):
    """A signal asks to end. Raised like Ctrl-C, so that cleanup runs."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def run() -> NoReturn:
    """Run the command line and end the process."""
    _own_streams()
    _answer_signals(_raise)
    try:
        code = exit_code()
        _answer_signals(_exit)  # an error must not interrupt the exit handlers
    except Ended as ended:
        code = _ended(ended)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    if threading.active_count() > 1:  # daemon threads count: Python waits for those of a pool at exit
        from argolint.host.temporary import clean_up

        clean_up()  # threads that wait for a server would delay the end for minutes
    else:
        atexit._run_exitfuncs()
    os._exit(code)  # else Python frees one by one what all modules hold: a tenth of a second


def exit_code() -> int:
    """Run the command in sys.argv. Every expected error is printed in two lines: what and where, then what to do."""
    try:
        from argolint.cli.group import command_line
        from argolint.host.plain_text import Stream

        sys.stdout, sys.stderr = cast(TextIO, Stream(sys.stdout)), cast(TextIO, Stream(sys.stderr))
        return command_line()
    except Ended as ended:
        return _ended(ended)
    except KeyboardInterrupt:
        return _ended(Ended(signal.SIGINT))
    except OSError as error:  # commands catch their expected errors; this is a full disk or a lost terminal
        where = f" {error.filename}" if error.filename else ""
        _say(f"cannot read or write{where}: {error.strerror or error}", "check the space left, and the rights there")
        with contextlib.suppress(OSError):
            sys.stdout.close()  # what is buffered cannot be written: do not try again at exit
        return 2
    except BaseException as error:
        if lacks_memory(error):
            _out_of_memory()
            return 2
        behind = _signal_behind(error)
        return _ended(behind) if behind else _crashed(error)


def _ended(ended: Ended) -> int:
    _say("interrupted" if ended.number == signal.SIGINT else f"ended by {signal.Signals(ended.number).name}")
    return 128 + ended.number


def _signal_behind(error: BaseException | None) -> Ended | None:
    """The signal behind an error that Python raised in its place, as it does during a class definition."""
    while error is not None and not isinstance(error, Ended):
        error = error.__cause__ or error.__context__
    return error


def _crashed(error: BaseException) -> int:
    """Print the place of a bug. The message may quote data, so the traceback is printed on demand only."""
    if os.environ.get("ARGOLINT_TRACEBACK"):
        _write("".join(traceback.format_exception(error)))
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    _say(f"crashed: {type(error).__name__}{place}", "this is a bug: report it with what ARGOLINT_TRACEBACK=1 prints")
    return 2


def _say(message: str, hint: str = "") -> None:
    with contextlib.suppress(OSError, ValueError):
        try:
            _write(_lines(message, hint))
        except (ImportError, MemoryError):  # not even the module that masks secrets can be loaded
            _out_of_memory()


def _out_of_memory() -> None:
    """Say so past the stream that masks and escapes: this takes more memory, and these words need neither."""
    if sys.__stderr__ is not None:
        sys.__stderr__.write(_lines("there is not enough memory", MORE_MEMORY))
        sys.__stderr__.flush()


def _lines(message: str, hint: str) -> str:
    return f"argolint: {message}\n" + (f"  → {hint}\n" if hint else "")


def _write(text: str) -> None:
    """Write to standard error; secrets in the text are masked."""
    from argolint.redaction import without_secrets

    sys.stderr.write(without_secrets(text))
    sys.stderr.flush()


def _answer_signals(how: Callable[[int, FrameType | None], None]) -> None:
    """Make SIGTERM and SIGHUP end the process like Ctrl-C; ignored ones (nohup) stay ignored."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, how)


def _raise(number: int, frame: FrameType | None) -> None:
    signal.signal(number, _exit)  # a second signal ends at once
    raise Ended(number)


def _exit(number: int, frame: FrameType | None) -> None:
    from argolint.host.temporary import clean_up

    clean_up()
    os._exit(128 + number)


class _Output(io.FileIO):
    """Standard output. After its reader has gone, writes are dropped: the exit code is still the command's."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes


class _Errors(io.FileIO):
    """Standard error. If writing fails, there is no place to report that."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def _own_streams() -> None:
    """Redirect closed streams to /dev/null, so that the next opened file does not take their number; a lost reader is no error."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is this one
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115  # lives as long as the process
    if os.name == "posix" and sys.stdout is sys.__stdout__ and sys.stderr is sys.__stderr__:
        sys.stdout = _text(_Output(1, "w", closefd=False), sys.stdout, "strict")
        sys.stderr = _text(_Errors(2, "w", closefd=False), sys.stderr, "backslashreplace")


def _text(raw: io.FileIO, old: Any, errors: str) -> io.TextIOWrapper:
    """A text stream that replaces another one, with its encoding and line buffering."""
    by_line = bool(old and (old.line_buffering or old.write_through))
    encoding, errors = (old.encoding, old.errors) if old else ("utf-8", errors)
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors, line_buffering=by_line)
