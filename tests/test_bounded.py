"""Programs end when their time, output or memory is used up, with all that they started."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from argolint.host.programs import Ended, LimitError, Limits, inherited, run
from tests.waiting import PATIENCE_S, until

ROOM = Limits(seconds=30, output_bytes=1_000)


def shell(script: str, limits: Limits = ROOM, **more: object) -> Ended:
    return run(("/bin/sh", "-c", script), name="it", env=inherited(), limits=limits, **more)  # type: ignore[arg-type]  # by name


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def test_both_streams_the_code_and_the_input_are_passed_on(tmp_path: Path) -> None:
    assert shell("cat; echo error >&2; exit 3", stdin=b"given") == Ended(3, b"given", b"error\n")
    with (tmp_path / "out").open("wb") as out:
        assert shell("printf much", out=out) == Ended(0, b"", b"")
    assert (tmp_path / "out").read_bytes() == b"much"


@pytest.mark.parametrize("script", ["yes", "yes >&2", "head -c 1001 /dev/zero"])
def test_one_that_prints_too_much_is_stopped(script: str) -> None:
    with pytest.raises(LimitError, match="it printed more than 1,000 bytes"):
        shell(script)


@pytest.mark.parametrize(
    "script", ["sleep 600", "sleep 600 & echo $! >new; mv new pid; wait", "exec >&- 2>&-; sleep 600"]
)
def test_one_that_takes_too_long_is_stopped_with_its_children(tmp_path: Path, script: str) -> None:
    started = time.monotonic()
    with pytest.raises(LimitError, match=r"it took longer than 0\.5 s"):
        shell(script, Limits(0.5, 1_000), cwd=tmp_path)
    assert time.monotonic() - started < PATIENCE_S  # and not the ten minutes that they would have slept
    if (tmp_path / "pid").exists():
        until(lambda: not is_running(int((tmp_path / "pid").read_text())))


def test_what_it_leaves_running_is_ended_too(tmp_path: Path) -> None:
    assert shell("sleep 60 >&- 2>&- & echo $! >pid", cwd=tmp_path).code == 0
    until(lambda: not is_running(int((tmp_path / "pid").read_text())))


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux alone")
def test_one_that_wants_too_much_memory_does_not_get_it() -> None:
    program = (
        "import resource, time\n"
        "while resource.getrlimit(resource.RLIMIT_DATA)[0] < 0: time.sleep(0.01)\n"  # it is limited after its start
        "print(len(bytearray(900_000_000)))"
    )
    ended = run((sys.executable, "-c", program), name="it", env=inherited(), limits=Limits(30, 10_000, 500_000_000))
    assert ended.code != 0
    assert b"MemoryError" in ended.err


def test_it_sees_nothing_of_the_environment_but_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ARGOCD_AUTH_TOKEN", "HTTPS_PROXY", "HOME", "GIT_DIR", "GITHUB_TOKEN", "KUBECONFIG"):
        monkeypatch.setenv(name, "secret")
    assert b"secret" not in shell("/usr/bin/env", Limits(30, 100_000)).out
    assert inherited()["PATH"] == os.environ["PATH"]


def test_a_program_that_is_not_there_is_an_error_of_the_system() -> None:
    with pytest.raises(FileNotFoundError):
        run(("/nowhere/x",), name="it", env={}, limits=ROOM)


ANSWERS = """
import ctypes, sys
from argolint.host.memory import expect_answers
class Told(ctypes.Structure):  # mallinfo2 of malloc.h
    _fields_ = [(str(number), ctypes.c_size_t) for number in range(10)]
if sys.argv[1:]:
    expect_answers()
mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Told
bytes(8 << 20)  # dropped at once
held = bytes(4 << 20)
print(getattr(mallinfo(), "4") >> 20)  # MB that go back to the system as soon as they are dropped
"""


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="glibc tells what it does with memory since 2.33"
)
def test_what_is_large_goes_back_to_the_system_however_much_was_read_before() -> None:
    def told(*arguments: str) -> int:
        return int(subprocess.check_output([sys.executable, "-c", ANSWERS, *arguments], text=True))

    assert told("expecting answers") - told() == 4
