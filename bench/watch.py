"""The cost of following a quiet fleet: `python bench/watch.py [APPS]`.

    list     one list of all applications without any change, as every 10 minutes: processor time and requests
    quiet    nothing happens and the stream is open: processor time in a minute
    change   from a change in Argo CD to its metrics

A replay server in another process serves the fleet over HTTP; every application is Synced and Healthy. The figures of ten minutes follow from
list and quiet. The goals are next to the figures; the script does not fail above them.
"""

from __future__ import annotations

import gzip
import json
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(folder) for folder in Path(__file__).resolve().parents[:2]]
import fleet  # noqa: E402

SETTLED_S, QUIET_S = 5.0, 60.0


def main() -> None:
    apps = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as work:
        write(Path(work) / "fleet", apps)
        command = [sys.executable, __file__, "serve", str(Path(work) / "fleet")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as argocd:
            try:
                measure(argocd, apps)
            finally:
                argocd.kill()


def measure(argocd: subprocess.Popen[str], apps: int) -> None:
    from argolint.reports.formats import Style
    from argolint.serve.checker import Checker
    from argolint.serve.fleet_reader import FleetReader
    from argolint.serve.follower import Follower
    from argolint.serve.followers import FleetReaders, Followers
    from argolint.serve.times import Times
    from argolint.serve.watcher import Everything

    commands, told = argocd.stdin, argocd.stdout
    assert commands is not None
    assert told is not None
    url, token = told.readline().split()
    times = Times(relist_s=0.0)
    connect, collect, empty = service(url, token)
    look, turn = FleetReader(times, 8), threading.Condition()
    looks = FleetReaders({"": look}, collect)
    follower = Follower(look, connect, times, print, turn)
    followers = Followers({"": follower}, looks, turn)
    checker = Checker(lambda: collect({}, whole=True), empty, 600, Style(), print, followers)

    def asked() -> int:
        print("requests", file=commands, flush=True)
        return int(told.readline())

    start = time.perf_counter()
    checker.start()
    until(lambda: checker.ready and follower.state().connected)
    first = time.perf_counter() - start
    print(f"{apps} applications x {fleet.RESOURCES} resources, first report after {first:.1f} s")
    time.sleep(SETTLED_S)
    used, requests = time.process_time(), asked()
    time.sleep(QUIET_S)
    idle = (time.process_time() - used) / QUIET_S
    print(f"quiet   {100 * idle:.3f} % of a processor, {asked() - requests} requests in {QUIET_S:.0f} s")
    used, requests = time.process_time(), asked()
    checker.once(lambda: looks.look({"": Everything()}))
    listed, requests = time.process_time() - used, asked() - requests
    print(f"list    {listed:.2f} s of processor time, {requests} requests, {look.reused} results reused")
    share = idle + listed / times.list_s
    print(
        f"        in ten minutes: {100 * share:.2f} % (goal 1 %), {requests * 60 / times.list_s:.1f} requests/min (goal 1)"
    )
    start, used = time.perf_counter(), time.process_time()
    print("change app-0", file=commands, flush=True)
    shown = re.compile(r'argolint_app_findings\{.*app="app-0".*rule="comparison-error"')
    until(lambda: shown.search(checker.documents.metrics) is not None)
    took = time.perf_counter() - start
    print(
        f"change  {took:.1f} s until the metrics show it (goal 30 s), {time.process_time() - used:.1f} s of processor time"
    )
    print(f"memory  {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB at most")
    checker.stop()


def service(url: str, token: str) -> Any:
    """Transport and check, as in `argolint serve --watch`."""
    from argolint.cli import reading, session
    from argolint.cli.given import CommandOptions
    from argolint.cli.prepare import prepare
    from argolint.engine.servers import Source
    from argolint.reports import assemble, document
    from argolint.serve.check_result import CheckResult
    from argolint.server.connection import Connection
    from argolint.server.http import HttpTransport

    run = prepare(CommandOptions(quiet=True, color="never", workers=8))

    def connect() -> HttpTransport:
        return HttpTransport(Connection(url, token))

    def collect(ways: Any, *, whole: bool) -> CheckResult:
        part, _ = reading.examine_sources(run, CommandOptions(quiet=True), ((Source("", connect()),), ()), ways)
        return CheckResult(session.report_of(part, run), frozenset(assemble.app(r.ref) for r in part.results))

    summary = assemble.summarise((), 0, apps=0, resources=0)
    return connect, collect, document.Report("1.0", document.Tool("argolint", "0"), "", False, (), summary, ())


def until(what: Callable[[], bool]) -> None:
    tick = threading.Event()
    while not what():
        tick.wait(0.05)


def write(folder: Path, apps: int) -> None:
    """The snapshot of a fleet without faults: without states, since no request needs them."""
    fleet.write(folder, 0)
    items = [fleet.application(n, quiet=True) for n in range(apps)]
    body = folder / "bodies" / "applications.json.gz"
    body.write_bytes(gzip.compress(json.dumps({"metadata": {}, "items": items}).encode(), 1, mtime=0))


def serve(folder: Path) -> None:
    """The Argo CD of the bench; `change NAME` on standard input changes an application, `requests` requests their number."""
    from argolint.snapshots.http_server import ReplayServer
    from argolint.snapshots.http_stream import Stream
    from argolint.snapshots.reader import SnapshotTransport
    from tests.changing import Changing

    changing, stream = Changing(SnapshotTransport([folder])), Stream()
    changing.listen(stream.publish)
    with ReplayServer(changing, stream=stream) as server:
        print(server.url, server.token(), flush=True)
        for line in sys.stdin:
            word, _, name = line.strip().partition(" ")
            if word == "requests":
                print(len(server.seen), flush=True)
                continue
            app: dict[str, Any] = dict(changing.apps["argocd", name])
            condition = {"type": "ComparisonError", "message": "failed to generate manifest: helm template failed"}
            changing.put({**app, "status": {**app["status"], "conditions": [condition]}})


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(Path(sys.argv[2]))
    else:
        main()
