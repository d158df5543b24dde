"""One check by threads, processes, shards and Dask, over a replayed server: `python bench/scale.py [APPS]`.

seconds   of all processes of one way, from the first to the last, and as a ratio of threads
peak      memory of the largest process that the way itself started (Dask's workers are apart)
requests  that the server saw, and how many of them were list calls
bytes     whether the report is, statistics aside, that of threads

disk      a snapshot in place of the server: what processes gain when no server shares the cores
token     whether it stands in the memory of the Dask scheduler, looked for as a whole and by its signature
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import fleet

ARGOLINT = [sys.executable, "-m", "argolint"]
SHARDS = 8
WORKERS = 4
SERVE = """
import sys
from pathlib import Path
from argolint.snapshots.reader import SnapshotTransport
from argolint.snapshots.replay import ReplayServer
with ReplayServer(SnapshotTransport([Path(sys.argv[1])])) as server:
    print(server.address, server.token(), flush=True)
    for line in sys.stdin:
        lists = sum(path.partition("?")[0] == "/api/v1/applications" for path in server.seen)
        print(len(server.seen), lists, flush=True)
        server.seen.clear()
"""


def main() -> None:
    apps = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        fleet.write(folder / "fleet", apps)
        print(f"{apps} applications x {fleet.RESOURCES} resources, {os.cpu_count()} cores")
        disk(folder)
        with serving(folder / "fleet") as (server, address, token), cluster(folder, token) as scheduler:
            where = ["--server", address, "--plaintext", "-q", "--fail-on", "never"]
            environment = {**os.environ, "ARGOCD_AUTH_TOKEN": token}
            ways = {
                "threads": [check(where)],
                "processes 2": [check([*where, "--processes", "2"])],
                f"{SHARDS} shards": sharded(where),
                f"dask {WORKERS}": [check([*where, "--dask", json.loads(scheduler[1].read_text())["address"]])],
            }
            first: tuple[float, Any] | None = None
            for name, commands in ways.items():
                for old in folder.glob("*.json"):
                    if old != scheduler[1]:
                        old.unlink()
                took, peak = run(commands, folder, environment)
                asked, lists = told(server)
                found = report(folder / "report.json")
                first = first or (took, found)
                same = "the same" if found == first[1] else "ANOTHER"
                print(
                    f"{name:12} {took:6.1f} s  {took / first[0]:.2f} x threads  {peak:4.0f} MB  {asked} requests, {lists} of them the list"
                    f"  {same} report"
                )
            print(f"token        {in_memory(scheduler[0], token)} times in the memory of the Dask scheduler  (goal 0)")


def check(options: list[str], output: str = "report.json") -> list[str]:
    return [*ARGOLINT, "check", *options, "-o", f"json={output}"]


def sharded(where: list[str]) -> list[list[str]]:
    """The list once, the shards one after the other as on one machine, and their merge."""
    connection = where[:3]
    first = [*ARGOLINT, "snapshot", *connection, "-q", "--fleet-only", "-o", "fleet.tar.gz"]
    shards = [
        check([*where, "--fleet", "fleet.tar.gz", "--shard", f"{i}/{SHARDS}"], f"{i}.json")
        for i in range(1, SHARDS + 1)
    ]
    files = [f"{i}.json" for i in range(1, SHARDS + 1)]
    return [
        ["rm", "-f", "fleet.tar.gz"],
        first,
        *shards,
        [*ARGOLINT, "merge", *files, "-q", "--fail-on", "never", "-o", "json=report.json"],
    ]


def disk(folder: Path) -> None:
    """Without a server, three times in turn; the least of each, since whatever else runs only adds to it."""
    took: dict[str, float] = {}
    for _ in range(3):
        for count in ("1", "2"):
            options = ["--snapshot", "fleet", "-q", "--fail-on", "never", "--processes", count]
            seconds, _ = run([check(options)], folder, dict(os.environ))
            took[count] = min(seconds, took.get(count, seconds))
    print(
        f"disk         {took['1']:6.1f} s by one process, {took['2']:.1f} s by two: {took['2'] / took['1']:.2f} x  (goal 0.6)"
    )


def run(commands: list[list[str]], folder: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Seconds, and the peak memory (MB) of the largest process."""
    started = time.monotonic()
    peak = 0.0
    for command in commands:
        wrapped = [sys.executable, "-c", _PEAK, *command]
        done = subprocess.run(wrapped, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: {done.returncode}\n{done.stderr}")
        peak = max(peak, float(done.stdout.split()[-1]))
    return time.monotonic() - started, peak


_PEAK = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
sys.exit(code)
"""


def report(file: Path) -> Any:
    found = json.loads(file.read_text())
    del found["stats"]
    return found


@contextlib.contextmanager
def serving(snapshot: Path) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    command = [sys.executable, "-c", SERVE, str(snapshot)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address, token = server.stdout.readline().split()
        try:
            yield server, address, token
        finally:
            server.kill()


def told(server: subprocess.Popen[str]) -> tuple[int, int]:
    """Requests since the last time, and list calls among them."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("\n")
    server.stdin.flush()
    asked, lists = server.stdout.readline().split()
    return int(asked), int(lists)


@contextlib.contextmanager
def cluster(folder: Path, token: str) -> Iterator[tuple[int, Path]]:
    """The scheduler's process and the file that says where it is. Only the workers are given the token."""
    known = folder / "scheduler.json"
    clean = {k: v for k, v in os.environ.items() if not k.startswith("ARGOCD_")}
    common = ["--host=127.0.0.1", "--no-dashboard", f"--scheduler-file={known}"]
    worker = ["dask_worker", *common, f"--nworkers={WORKERS}", "--nthreads=1", "--memory-limit=2GB"]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for module, environment in (
            (["dask_scheduler", *common, "--port=0"], clean),
            (worker, {**clean, "ARGOCD_AUTH_TOKEN": token}),
        ):
            command = [sys.executable, "-m", f"distributed.cli.{module[0]}", *module[1:]]
            quiet = subprocess.DEVNULL
            started.append(subprocess.Popen(command, cwd=folder, env=environment, stdout=quiet, stderr=quiet))
            while not (known.exists() and known.read_text().endswith("}")):
                time.sleep(0.1)
        from distributed import Client

        with Client(scheduler_file=str(known), set_as_default=False) as client:
            client.wait_for_workers(WORKERS, timeout=120)
        yield started[0].pid, known
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


def in_memory(pid: int, token: str) -> int:
    """How often a token, or its signature alone, stands in what a process has written to its memory."""
    needles = [token.encode(), token.rpartition(".")[2].encode()]
    found = 0
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            place, rights, *_ = line.split()
            start, end = (int(text, 16) for text in place.split("-"))
            if rights.startswith("rw"):
                memory.seek(start)
                held = memory.read(end - start)
                found += sum(held.count(needle) for needle in needles)
    return found


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
