"""The cost of joining a fleet, as ratios of one run on one machine: `python bench/join.py [APPS]`.

    decode   the list answer decoded once with msgspec, for comparison
    read     the same answer as a Fleet
    join     every object of the fleet against every other: the contested ones, their claimants, and the findings about them
    linear   join of all applications against join of half of them; 2.0 is linear, 4.0 quadratic
    memory   peak of a process that reads the answer and joins it

An application has 100 objects. Every fifth application shares one with its neighbour, and every hundredth has the same Namespace. The goals are
next to the figures; the script does not fail above them.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from argolint.application.fleet import Fleet
from argolint.application.rule import Rule
from argolint.engine.load import read_fleet
from argolint.errors import NotRecorded
from argolint.model import Fact
from argolint.plugins import load_rules
from argolint.server.transport import Answer, Query, Stats

RESOURCES = 100
RULE = "shared-resource"


def main() -> None:
    if len(sys.argv) > 2:
        print(json.dumps(measure(Path(sys.argv[2]), sys.argv[1])))
        return
    apps = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as work:
        whole, half = Path(work) / "whole.json", Path(work) / "half.json"
        write(whole, apps)
        write(half, apps // 2)
        size = whole.stat().st_size / 1e6
        print(f"{apps} applications x {RESOURCES} objects, {size:.0f} MB of list answer, {os.cpu_count()} cores")
        plain, all_, some = (child(*what) for what in (("decode", whole), ("join", whole), ("join", half)))
    print(f"decode   {plain['decode']:.2f} s  {plain['memory']:.0f} MB")
    print(f"read     {all_['read']:.2f} s  {all_['read'] / plain['decode']:.1f} x decode")
    print(
        f"join     {all_['join']:.2f} s  {all_['join'] / plain['decode']:.1f} x decode, {all_['findings']:.0f} findings  (goal 3 s)"
    )
    print(f"linear   {all_['join'] / some['join']:.1f} x the join of half the fleet")
    print(f"memory   {all_['memory']:.0f} MB  {all_['memory'] / size:.1f} x the answer  (goal 600 MB)")


def child(what: str, file: Path) -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__, what, str(file)], check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def measure(file: Path, what: str) -> dict[str, float]:
    """Seconds of each step in its own process, and its peak in MB."""
    started = time.perf_counter()
    found: dict[str, float] = {}
    if what == "decode":
        msgspec.json.decode(file.read_bytes())
        found["decode"] = time.perf_counter() - started
    else:
        fleet, _ = read_fleet(OneAnswer(file))
        found["read"] = time.perf_counter() - started
        rule = load_rules()[RULE]
        gc.collect()
        started = time.perf_counter()
        found["findings"] = join(fleet, rule)
        found["join"] = time.perf_counter() - started
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def join(fleet: Fleet, rule: Rule) -> int:
    """The number of findings after the facts of every application are grouped and joined as in the engine."""
    groups: dict[str, list[Fact]] = defaultdict(list)
    for app in fleet.apps:
        for fact in rule.collect(app, fleet, rule.default_options) if rule.collect else ():
            groups[fact.key].append(fact)
    return sum(1 for key, facts in groups.items() for _ in (rule.join(key, facts, None) if rule.join else ()))


class OneAnswer:
    """A server that knows its applications and little else."""

    server = "https://argocd.example.com"
    offline = True

    def __init__(self, file: Path) -> None:
        self.stats = Stats()
        self._file = file

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        if path == "/api/v1/applications":
            return Answer(200, "application/json", self._file.read_bytes())
        if path == "/api/v1/session/userinfo":
            return Answer(200, "application/json", b'{"loggedIn": true}')
        raise NotRecorded(f"no answer for {path}")


def write(file: Path, apps: int) -> None:
    with file.open("wb") as out:
        out.write(b'{"items":[')
        for n in range(apps):
            out.write((b"," if n else b"") + msgspec.json.encode(_application(n)))
        out.write(b"]}")


def _application(n: int) -> dict[str, object]:
    return {
        "metadata": {"name": f"app-{n:05}", "namespace": "argocd"},
        "spec": {
            "project": "default",
            "destination": {"server": "https://kubernetes.default.svc", "namespace": f"team-{n:05}"},
            "source": {"repoURL": "https://git.example.com/apps.git", "path": f"app-{n:05}", "targetRevision": "v1"},
        },
        "status": {
            "sync": {"status": "Synced"},
            "health": {"status": "Healthy"},
            "resources": list(_objects(n)),
        },
    }


def _objects(n: int) -> Iterator[dict[str, str]]:
    namespace = "shared" if n % 100 == 0 else f"team-{n:05}"
    yield {"version": "v1", "kind": "Namespace", "name": namespace, "status": "Synced"}
    role = f"pair-{n // 5:05}" if n % 5 < 2 else f"role-{n:05}"
    yield {
        "group": "rbac.authorization.k8s.io",
        "version": "v1",
        "kind": "ClusterRole",
        "name": role,
        "status": "Synced",
    }
    for index in range(RESOURCES - 2):
        kind = ("Deployment", "StatefulSet", "DaemonSet")[index % 3]
        place = {"namespace": f"team-{n:05}", "name": f"workload-{index:03}"}
        yield {"group": "apps", "version": "v1", "kind": kind, **place, "status": "Synced"}


if __name__ == "__main__":
    main()
