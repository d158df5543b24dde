"""One check of three replayed servers by threads, processes, shards and Dask: `python bench/scale.py [APPS]`.

The servers are copies of a recorded company, made by `recorded`, with their own identities.

seconds   of all processes of one way, from the first to the last, and as a ratio of threads
peak      memory of the largest process of a way, the same for each application, and that of the largest Dask worker
requests  counted by the servers, and the list calls among them: one each
bytes     whether the report without statistics equals that of threads

disk      at most a thousand applications as a snapshot: the gain by processes if no server shares the cores, by the clock and by the processor
          seconds on the critical path: those of the parent, and half of two workers'
token     client and Dask workers have different tokens: how often the client's are in the memory of the scheduler and the workers, and the
          workers' in that of the scheduler, as a whole and by their signature
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import recorded

ARGOLINT = [sys.executable, "-m", "argolint"]
SHARDS = 8
WORKERS = 4
LIMIT_S = 1500
"""For one command."""
SERVE = """
import sys
from datetime import timedelta
from pathlib import Path
from argolint.snapshots.reader import SnapshotTransport
from argolint.snapshots.http_server import Faults, ReplayServer
with ReplayServer(SnapshotTransport([Path(sys.argv[1])]), faults=Faults(slow_s=float(sys.argv[2]))) as server:
    print(server.address, server.token(), server.token(timedelta(hours=20)), flush=True)
    for line in sys.stdin:
        lists = sum(path.partition("?")[0] == "/api/v1/applications" for path in server.seen)
        print(len(server.seen), lists, flush=True)
        server.seen.clear()
"""


SITES = ("asia", "eu", "us")


def main() -> None:
    apps = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as work, contextlib.ExitStack() as stack:
        folder = Path(work)
        made = [
            recorded.write(folder / site, apps // len(SITES), site=f"{site}.example.com", first=1 + number * 3000)
            for number, site in enumerate(SITES)
        ]
        print(f"{sum(made)} applications on {len(SITES)} servers, {os.cpu_count()} cores", flush=True)
        recorded.write(folder / "disk", min(apps // len(SITES), 1000))
        disk(folder)
        servers = {site: stack.enter_context(serving(folder / site)) for site in SITES}
        tokens = {variable(site): token for site, (_, _, token, _) in servers.items()}
        theirs = {variable(site): token for site, (_, _, _, token) in servers.items()}
        entries = [
            {"name": site, "server": address, "plaintext": True, "auth-token-env": variable(site)}
            for site, (_, address, _, _) in servers.items()
        ]
        (folder / "servers.yaml").write_text(json.dumps({"servers": entries}))
        scheduler, workers, known = stack.enter_context(cluster(folder, theirs))
        where = ["--servers", "servers.yaml", "-q", "--fail-on", "never"]
        ways = {
            "threads": [check(where)],
            f"dask {WORKERS}": [check([*where, "--dask", json.loads(known.read_text())["address"]])],
            "processes 2": [check([*where, "--processes", "2"])],
            f"{SHARDS} shards": sharded(where),
        }
        first: tuple[float, Any] | None = None
        for name, commands in ways.items():
            (folder / "report.json").unlink(missing_ok=True)
            try:
                took, peak = run(commands, folder, {**os.environ, **tokens})
            except TimeoutError:
                print(f"{name:12} did not end within {LIMIT_S} s", flush=True)
                continue
            counts = [told(server) for server, *_ in servers.values()]
            asked, lists = sum(a for a, _ in counts), sum(n for _, n in counts)
            found = report(folder / "report.json")
            first = first or (took, found)
            same = "the same" if found == first[1] else "ANOTHER"
            more = f" (worker {max(map(peak_of, workers)):.0f} MB)" if name.startswith("dask") else ""
            print(
                f"{name:12} {took:6.1f} s  {took / first[0]:.2f} x threads  {peak:4.0f} MB, {1024 * peak / sum(made):.0f} kB an application{more}  {asked} requests, {lists} of them lists"
                f"  {same} report, {len(found['findings'])} findings, {len(found['failures'])} failures",
                flush=True,
            )
            if name.startswith("dask"):
                tell_tokens(scheduler, workers, tokens.values(), theirs.values())


def tell_tokens(scheduler: int, workers: list[int], ours: Iterable[str], theirs: Iterable[str]) -> None:
    seen = sum(in_memory(scheduler, token) for token in (*ours, *theirs))
    strange = sum(in_memory(pid, token) for pid in workers for token in ours)
    own = sum(any(in_memory(pid, token) for token in theirs) for pid in workers)
    print(
        f"token        {seen} times in the memory of the scheduler, the client's {strange} times in that of the workers  (goal 0)"
    )
    print(f"             {own} of {len(workers)} workers hold their own, so the search finds what is there", flush=True)


def variable(site: str) -> str:
    return f"TOKEN_{site.upper()}"


def check(options: list[str], output: str = "report.json") -> list[str]:
    return [*ARGOLINT, "check", *options, "-o", f"json={output}"]


def sharded(where: list[str]) -> list[list[str]]:
    """Each list once, the shards one after the other as on one machine, and their merge."""
    lists = [*ARGOLINT, "snapshot", *where[:2], "-q", "--fleet-only", "-o", "lists"]
    files = [f"{i}.json" for i in range(1, SHARDS + 1)]
    return [
        lists,
        *(check([*where, "--fleet", "lists", "--shard", f"{i}/{SHARDS}"], f) for i, f in enumerate(files, start=1)),
        [*ARGOLINT, "merge", *files, "-q", "--fail-on", "never", "-o", "json=report.json"],
    ]


def disk(folder: Path) -> None:
    """The figures without a server, three times in turn; the least counts, since any other load only adds to it."""
    took: dict[str, float] = {}
    for _ in range(3):
        for count in ("1", "2"):
            options = ["--snapshot", "disk", "-q", "--fail-on", "never", "--processes", count]
            seconds, _ = run([check(options)], folder, dict(os.environ))
            took[count] = min(seconds, took.get(count, seconds))
    one, two = paths(folder / "disk")
    print(
        f"disk         {took['1']:6.1f} s by one process, {took['2']:.1f} s by two: {took['2'] / took['1']:.2f} x"
        f"  (goal 0.6), {sum(two) / one:.2f} x on the critical path",
        flush=True,
    )


def paths(snapshot: Path) -> tuple[float, tuple[float, float]]:
    """Processor seconds of one process; and of --processes 2 those of the parent, and of each worker. Medians of three, in turn."""
    spent: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    options = ["--snapshot", str(snapshot), "-q", "--fail-on", "never", "-o", f"json={os.devnull}", "--processes"]
    for _ in range(3):
        for count, found in spent.items():
            command = [sys.executable, "-c", _PARTS, "check", *options, str(count)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=LIMIT_S)
            own, workers = map(float, done.stdout.split())
            found.append((own, workers / count))
    (one, _), two = (tuple(map(statistics.median, zip(*found, strict=True))) for found in spent.values())
    return one, two


def run(commands: list[list[str]], folder: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Seconds, and the peak memory (MB) of the largest process."""
    started = time.monotonic()
    peak = 0.0
    for command in commands:
        wrapped = [sys.executable, "-c", _PEAK, str(LIMIT_S), *command]
        done = subprocess.run(wrapped, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if "TimeoutExpired" in done.stderr:
            raise TimeoutError
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: {done.returncode}\n{done.stderr}")
        peak = max(peak, float(done.stdout.split()[-1]))
    return time.monotonic() - started, peak


_PIECE, _OVERLAP = 64 << 20, 1000
_PARTS = """
import resource
from argolint.cli.process import exit_code
exit_code()
used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(*(one.ru_utime + one.ru_stime for one in used))
"""
_PEAK = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[2:], timeout=float(sys.argv[1])).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
sys.exit(code)
"""


def report(file: Path) -> Any:
    found = json.loads(file.read_text())
    del found["stats"]
    return found


@contextlib.contextmanager
def serving(snapshot: Path, slow_s: float = 0.0) -> Iterator[tuple[subprocess.Popen[str], str, str, str]]:
    """A server of the snapshot with this delay before each answer: its process, its address, and two tokens."""
    command = [sys.executable, "-c", SERVE, str(snapshot), str(slow_s)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address, *tokens = server.stdout.readline().split()
        try:
            yield server, address, tokens[0], tokens[1]
        finally:
            server.kill()


def told(server: subprocess.Popen[str]) -> tuple[int, int]:
    """Requests since the last call, and list calls among them."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("\n")
    server.stdin.flush()
    asked, lists = server.stdout.readline().split()
    return int(asked), int(lists)


@contextlib.contextmanager
def cluster(folder: Path, tokens: dict[str, str]) -> Iterator[tuple[int, list[int], Path]]:
    """The processes of the scheduler and of the workers, and the file with its address. Only the workers get tokens."""
    known = folder / "scheduler.json"
    clean = {k: v for k, v in os.environ.items() if not k.startswith("ARGOCD_")}
    common = ["--host=127.0.0.1", "--no-dashboard", f"--scheduler-file={known}"]
    worker = ["dask_worker", *common, f"--nworkers={WORKERS}", "--nthreads=1", "--memory-limit=2GB"]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for module, environment in (
            (["dask_scheduler", *common, "--port=0"], clean),
            (worker, {**clean, **tokens}),
        ):
            command = [sys.executable, "-m", f"distributed.cli.{module[0]}", *module[1:]]
            quiet = subprocess.DEVNULL
            started.append(subprocess.Popen(command, cwd=folder, env=environment, stdout=quiet, stderr=quiet))
            while not (known.exists() and known.read_text().endswith("}")):
                time.sleep(0.1)
        from distributed import Client

        with Client(scheduler_file=str(known), set_as_default=False) as client:
            client.wait_for_workers(WORKERS, timeout=120)
            workers = sorted(client.run(os.getpid).values())
        yield started[0].pid, workers, known
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


def peak_of(pid: int) -> float:
    """The peak memory (MB) of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def in_memory(pid: int, token: str) -> int:
    """How often a token, or its signature alone, is in the writable memory of a process."""
    needles = [token.encode(), token.rpartition(".")[2].encode()]
    found = 0
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            place, rights, *_ = line.split()
            start, end = (int(text, 16) for text in place.split("-"))
            if rights.startswith("rw"):
                held = b""
                for place_at in range(start, end, _PIECE):
                    memory.seek(place_at)
                    held = held[-_OVERLAP:] + memory.read(min(_PIECE, end - place_at))
                    found += sum(held.count(needle) for needle in needles)
    return found


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
