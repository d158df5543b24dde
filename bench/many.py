"""The cost of many Argo CDs in one run, as ratios of one run on one machine: `python bench/many.py [APPS] [SERVERS]`.

SERVERS replay servers on loopback, each with its part of APPS applications, are read in one run (`check --servers`), and in one run each for
comparison. The list of each server must be requested once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import fleet
from check import in_turn, run

CHECK = [sys.executable, "-m", "argolint", "check", "-q", "--fail-on", "never"]
SERVE = """
import sys, threading
from pathlib import Path
from argolint.snapshots.reader import SnapshotTransport
from argolint.snapshots.http_server import ReplayServer
with ReplayServer(SnapshotTransport([Path(sys.argv[1])])) as server:
    print(server.address, server.token(), flush=True)
    for _ in sys.stdin:
        print(len([p for p in server.seen if p.split("?")[0] == "/api/v1/applications"]), len(server.seen), flush=True)
"""
"""A server in its own process, so that its work does not count; each line on its standard input requests its counts."""


def main() -> None:
    apps = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as work, ExitStack() as stack:
        servers, entries = [], []
        for number in range(count):
            folder = Path(work) / str(number)
            fleet.write(folder, apps // count)
            server = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", SERVE, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
            )
            stack.callback(server.terminate)
            assert server.stdout is not None
            address, token = server.stdout.readline().split()
            variable = f"ARGOLINT_BENCH_TOKEN_{number}"
            os.environ[variable] = token
            servers.append(server)
            entries.append({"name": f"cd-{number}", "server": address, "plaintext": True, "auth-token-env": variable})
        files = [Path(work) / f"{name}.yaml" for name in ("all", *range(count))]
        files[0].write_text(json.dumps({"servers": entries}))
        for file, entry in zip(files[1:], entries, strict=True):
            file.write_text(json.dumps({"servers": [entry]}))
        print(f"{apps} applications on {count} servers, {os.cpu_count()} cores")
        peaks: dict[str, float] = {}

        def checked(*names: Path) -> float:
            found = [run([*CHECK, "--servers", str(name)]) for name in names]
            peaks["many" if names == (files[0],) else "alone"] = max(peak for _, peak, _ in found)
            return sum(seconds for seconds, _, _ in found)

        seen = [_seen(server) for server in servers]
        checked(files[0])
        now = [_seen(server) for server in servers]
        lists = [after[0] - before[0] for after, before in zip(now, seen, strict=True)]
        requests = sum(after[1] - before[1] for after, before in zip(now, seen, strict=True))
        took = in_turn({"alone": lambda: checked(*files[1:]), "many": lambda: checked(files[0])})
        print(f"alone    {took['alone']:.2f} s  one run after the other, {peaks['alone']:.0f} MB at most")
        print(
            f"many     {took['many']:.2f} s  {took['many'] / took['alone']:.2f} x alone  (goal 1.0), {peaks['many']:.0f} MB"
        )
        print(f"asked    {requests} requests, lists of each server: {', '.join(map(str, lists))}  (goal 1)")


def _seen(server: subprocess.Popen[str]) -> tuple[int, int]:
    """The number of a server's list requests, and of all its requests."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("\n")
    server.stdin.flush()
    lists, requests = server.stdout.readline().split()
    return int(lists), int(requests)


if __name__ == "__main__":
    main()
