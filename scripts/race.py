"""Decode in many threads at once, each type for the first time: `race.py [PROCESSES]` counts the processes that die.

Each process has two races: with the API of Argo CD as in a check, and with newly defined struct types.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

THREADS = 8
ROUNDS = 20
_TREE = b"""{"nodes": [{"kind": "Pod", "name": "web-0", "version": "v1", "uid": "2", "createdAt": "2026-01-01T00:00:00Z",
 "parentRefs": [{"kind": "ReplicaSet", "group": "apps", "name": "web", "uid": "1"}], "images": ["web:1"],
 "health": {"status": "Healthy"}, "info": [{"name": "Status Reason", "value": "Running"}]}]}"""
_STATES = b'{"items": [{"kind": "Service", "name": "web", "namespace": "shop", "liveState": "{}", "modified": true}]}'


def main(processes: int) -> int:
    """The number of processes that died; prints the exit code of each."""

    def one(number: int) -> int:
        done = subprocess.run([sys.executable, __file__, "one"], capture_output=True, check=False)
        if done.returncode:
            print(f"process {number}: exit code {done.returncode}: {done.stderr.decode()[-300:]}", file=sys.stderr)
        return done.returncode

    with ThreadPoolExecutor(2) as pool:
        died = sum(code != 0 for code in pool.map(one, range(1, processes + 1)))
    print(f"{died} of {processes} processes died")
    return died


def race() -> None:
    """The races of one process."""
    from argolint.model import AppRef
    from argolint.server import api
    from argolint.server.transport import Answer, Query, Stats

    sys.setswitchinterval(1e-6)

    class Server:
        server, offline, stats = "http://argocd", True, Stats()

        def now(self) -> datetime:
            return datetime.now(UTC)

        def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
            return Answer(200, "application/json", _TREE if path.endswith("tree") else _STATES)

    server, ref = Server(), AppRef("argocd", "web")
    at_once(lambda: (api.resource_tree(server, ref), api.managed_resources(server, ref)))
    for _ in range(ROUNDS):
        fresh_types()


def fresh_types() -> None:
    """Types that have not been decoded yet, nested in each other."""
    import msgspec

    from argolint.values.decoding import converted, decoder

    class Leaf(msgspec.Struct):
        size: int = 0

    branch = msgspec.defstruct("Branch", [("leaves", list[Leaf]), ("first", Leaf | None, None)])
    tree = msgspec.defstruct("Tree", [("branches", tuple[branch, ...]), ("name", str, "")])  # type: ignore[valid-type]
    body = b'{"branches": [{"leaves": [{"size": 1}, {"size": 2}], "first": {"size": 3}}], "name": "oak"}'
    at_once(lambda: (decoder(tree)(body), converted({"branches": []}, tree)))


def at_once(call: Callable[[], object]) -> None:
    """Run the call in all threads, which start together."""
    barrier = threading.Barrier(THREADS)

    def go() -> None:
        barrier.wait()
        call()

    threads = [threading.Thread(target=go) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    if sys.argv[1:] == ["one"]:
        race()
    else:
        sys.exit(bool(main(int(sys.argv[1]) if sys.argv[1:] else 200)))
