"""The process in which jq programs run: no environment, no files, a second of computing and limited memory for each program.

Runs by itself (`python -I -S child.py FOLDER_OF_JQ`) and imports nothing of argolint. A request is two lines: a JSON list of
programs (grammar.py writes them), and an object. The programs run one after the other, each on what the one before left. The answer is
two lines: for each program its outcome and the seconds it computed, and the object that is left, or nothing where it is as it was. A
program that goes beyond a limit ends the process. It also ends when its standard input does, so when the process that started it is gone.
"""

import contextlib
import faulthandler
import itertools
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

COMPUTING_S = 1.0
"""Most seconds of computing for one program, Argo CD's own limit (diff_normalizer.go, DefaultJQExecutionTimeout)."""
WAITING_S = 10.0
"""Most seconds of clock time for one program, for a busy machine."""
MEMORY = 512 * 1024 * 1024
"""Most bytes of address space, if the platform can limit it."""


def main() -> None:
    """Answer requests until the input ends."""
    sys.path.append(sys.argv[1])
    import jq

    compiled = lru_cache(maxsize=1024)(jq.compile)
    limit()
    for header in sys.stdin.buffer:
        before = text = sys.stdin.buffer.readline().decode().rstrip("\n")
        outcomes = []
        for program in json.loads(header):
            started = time.process_time()
            with ending():
                outcome, text = run(compiled, program, text)
            outcomes.append((outcome, time.process_time() - started))
        sys.stdout.write(f"{json.dumps(outcomes)}\n{'' if text is before else text}\n")
        sys.stdout.flush()


def run(compiled: Callable[[str], Any], program: str, text: str) -> tuple[str, str]:
    """The outcome, and the resulting object. jq's error messages may contain any data, and are dropped."""
    try:
        ready = compiled(program)
    except ValueError:
        return "unsupported", text
    try:
        results = list(itertools.islice(ready.input_text(text), 2))
    except ValueError:
        return "failed", text
    except MemoryError:
        return "memory", text
    if len(results) != 1:
        return ("several" if results else "none"), text
    if results[0] is False:
        return "failed", text
    return "done", text if results[0] is True else results[0]


def limit() -> None:
    """Limit memory and files, and ignore interrupts, which the check handles."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(ImportError):
        import resource

        for name, most in (("RLIMIT_AS", MEMORY), ("RLIMIT_CORE", 0), ("RLIMIT_FSIZE", 0), ("RLIMIT_NOFILE", 3)):
            with contextlib.suppress(ValueError, OSError, AttributeError):
                resource.setrlimit(getattr(resource, name), (most, most))


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """End this process when a program's time is over. jq holds the interpreter lock, so Python code could not.

    Two timers with unhandled signals; on Windows, which has none, a thread that needs no interpreter.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, COMPUTING_S)
        signal.setitimer(signal.ITIMER_REAL, WAITING_S)
        yield
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    else:
        faulthandler.dump_traceback_later(WAITING_S, exit=True, file=_nowhere())
        yield
        faulthandler.cancel_dump_traceback_later()


@lru_cache(maxsize=1)
def _nowhere() -> Any:
    return open(os.devnull, "w")  # noqa: PTH123  # for the life of the process


if __name__ == "__main__":
    main()
