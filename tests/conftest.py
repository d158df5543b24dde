"""The recordings' folder, and fixtures that tests share."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from argolint.host.memory import expect_answers
from argolint.server import http
from tests import warm
from tests.waiting import PATIENCE_S

settings.register_profile("short", max_examples=20, deadline=None, derandomize=True, database=None)
settings.register_profile("long", max_examples=200, deadline=None, database=None, print_blob=True)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "short")
"""`short` tests each property with the same few examples in every run, `long` with many others each time: `make long`."""
settings.load_profile(PROFILE)

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell starts a background job this way, and the children of the tests would ignore Ctrl-C as well.
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]
RECORDINGS = ROOT.parent / "shared" / "recordings"


EVERY_PHASE = (
    "seeds/1-stuck",
    "seeds/2-force-synced",
    "harbourline/1-first-sync",
    "harbourline/2-after-mutate",
    "harbourline/3-after-commits",
    "harbourline/5-after-renders",
    "harbourline-2.14/1-first-sync",
    "harbourline-2.14/2-after-mutate",
    "harbourline-2.14/3-after-commits",
    "harbourline-3.6/2-after-mutate",
)
"""Every recorded phase with the states of applications."""
PHASES = (
    EVERY_PHASE
    if PROFILE == "long"
    else (
        "seeds/1-stuck",
        "seeds/2-force-synced",
        "harbourline/3-after-commits",
        "harbourline-2.14/2-after-mutate",
        "harbourline-3.6/2-after-mutate",
    )
)
"""Those that show together each rule with each of its causes, and each recorded version."""


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than cores: some tests wait for a server or a process, and each worker reads all tests and rules by itself."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    """All tests exist until the end: the garbage collector skips them, as in a check, and runs less often."""
    expect_answers()


def recording(name: str) -> Path:
    """A recorded phase such as `harbourline/1-first-sync`.

    Without recordings the test is skipped, with a message; with ARGOLINT_REQUIRE_RECORDINGS it fails.
    """
    path = RECORDINGS / name
    if not path.exists() and os.environ.get("ARGOLINT_REQUIRE_RECORDINGS"):
        pytest.fail(f"recording {name} must be here and is not")
    if not path.exists():
        pytest.skip(f"recording {name} is not beside this checkout")
    return path


_shared: list[Path] = []


@pytest.fixture(scope="session", autouse=True)
def _shared_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The common folder of all test processes."""
    root = tmp_path_factory.getbasetemp()
    _shared[:] = [root.parent if "PYTEST_XDIST_WORKER" in os.environ else root]


@pytest.fixture(scope="session", autouse=True)
def _soon_again() -> Iterator[None]:
    """A request without an answer is repeated at once: here a server that is down stays down."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(http, "RETRY_S", warm.RETRY_S)
        yield


def once(name: str, make: Callable[[Path], None]) -> Path:
    """The file of this name that `make` writes: once for all test processes."""
    file = _shared[0] / name
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            written = file.with_suffix(".new")
            make(written)
            written.rename(file)
    return file


def shard_of(phase: str) -> Path:
    """The shard of a plain check of a recorded phase, before it is joined: computed once for all tests."""

    def make(file: Path) -> None:
        ran = run_argolint("check", "--snapshot", recording(phase), "--shard", "1/1", "-o", f"json={file}")
        assert (ran.code, ran.err) == (0, "")

    return once(f"shard-{phase.replace('/', '-')}.json", make)


@pytest.fixture(scope="session")
def report_of() -> Callable[[str], Path]:
    """The JSON report of a plain check of a recorded phase."""

    def made(phase: str) -> Path:
        def make(file: Path) -> None:
            ran = run_argolint("merge", shard_of(phase), "-o", f"json={file}")
            assert (ran.code, ran.err) == (1, "")

        return once(f"report-{phase.replace('/', '-')}.json", make)

    return made


@pytest.fixture(scope="session")
def demo_files() -> Path:
    """A folder with the output of a plain check of the demo's recording: `report.json` and `page.html`."""
    from argolint.cli.demo import RECORDING

    def make(folder: Path) -> None:
        folder.mkdir()
        outputs = ("-o", "json=report.json", "-o", "html=page.html")
        ran = run_argolint("check", "--snapshot", RECORDING, *outputs, "-q", cwd=folder)
        assert (ran.code, ran.err) == (1, "")

    return once("demo", make)


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot of two applications that share an object, an error: for tests of the process, not of the fleet."""
    from argolint.snapshots.http_server import ReplayServer
    from argolint.testing import FixtureTransport
    from tests.fleets import app, config_map
    from tests.here import run_here

    folder = tmp_path_factory.mktemp("pair")
    apps = [app(name, config_map("common")) for name in ("web", "api")]
    with ReplayServer(FixtureTransport({"apps": apps})) as server:
        access = ("--server", server.address, "--plaintext", "--auth-token", server.token())
        assert run_here("snapshot", "-o", "pair.tar.gz", *access, cwd=folder).code == 0
    return folder / "pair.tar.gz"


@dataclass(frozen=True)
class Ran:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def clean_environment() -> dict[str, str]:
    """This environment without a user's logins, configuration and terminal; parallel pytest sets COLUMNS, too."""
    theirs = ("ARGOCD_", "ARGOLINT_", "XDG_CONFIG", "NO_COLOR", "COLUMNS")
    return {name: value for name, value in os.environ.items() if not name.startswith(theirs)}


def run_argolint(
    *args: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, fresh: bool = False
) -> Ran:
    """Run the command as a user does, in a process of its own and a scrubbed environment.

    A `fresh` one imports everything itself; others are forks of a process with the imports (`warm`).
    """
    clean = {**clean_environment(), "HOME": str(cwd or ROOT / "no-home"), **(env or {})}
    words = [str(word) for word in args]
    if not fresh and warm.fits(clean):
        return Ran(*warm.run(words, cwd, clean, PATIENCE_S))
    done = subprocess.run(
        [sys.executable, "-m", "argolint", *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        cwd=cwd,
        env=clean,
    )
    return Ran(done.returncode, done.stdout, done.stderr)
