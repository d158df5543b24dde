"""The cost of a check, as ratios of one run on one machine: `python bench/check.py [APPS]`.

It uses two fleets: a generated one (`fleet.py`: without faults, with large answers) and a company's (`recorded.py`: its faults, windows, stores
and charts).

    check   a check as users run it, against decoding every answer and every state once with orjson
    deep    a check that reads every application, against the same
    rules   the costliest five rules of the recorded fleet, as shares of the whole check
    each    the cost that every other rule adds, highest first; those below 0.05 % as one sum
    list    reading the list of ten times as many applications, against decoding it once
    two     the critical path of `--processes 2`, of the recorded fleet from disk: the parent's processor seconds and half of both workers',
            against those of one process
    http    growth of the peak from APPS to 3 x APPS over a loopback server, for each application
    ten     ten times as many applications: check against decode, and the peak of memory
    one     `check` and `why` of one of these applications, with the start, against decoding the list of all of them once, and its requests
    asked   requests of a check of the recorded fleet, for each application
    again   a second check of the same fleet with the results of the first, as `serve` keeps them, against the first, and whether the results are the same
    memory  growth of the peak of the generated fleet from APPS to 5 x APPS; of it the list answer and the facts kept: the fleet from the list,
            and the results
    start   `argolint --help`, `--version` and a completion of an option against `python -c pass`; a fixture of one application, start included

Seconds are processor time (user and system, of all processes), so that another program on the machine has little effect. Each figure is the
median of several runs, in turn; a run of a minute or more happens once. The goals are next to the figures; the script does not fail above them.
"""

from __future__ import annotations

import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import fleet
import recorded
import scale

RUNS = 3
CHECK = [sys.executable, "-m", "argolint", "check", "-q", "--fail-on", "never", "--snapshot"]
DECODE = """
import json, pathlib, sys, orjson
from isal import igzip
root = pathlib.Path(sys.argv[1])
for line in (root / "requests.jsonl").read_text().splitlines():
    name = json.loads(line)["body"]
    data = (root / name).read_bytes()
    answer = orjson.loads(igzip.decompress(data) if name.endswith(".gz") else data)
    for item in answer.get("items") or ():
        for key in ("targetState", "liveState", "normalizedLiveState", "predictedLiveState"):
            if key in item:
                orjson.loads(item[key])
"""
ONE = "edge-firmware-0001"
"""An application of the recorded company that has findings."""
DECODE_LIST = """
import gc, sys, orjson
from pathlib import Path
from isal import igzip
gc.disable()
orjson.loads(igzip.decompress((Path(sys.argv[1]) / "bodies" / "0.json.gz").read_bytes()))
"""
KEPT = """
import sys, tracemalloc
from pathlib import Path
from argolint.engine import pipeline
from argolint.engine.load import read_fleet
from argolint.engine.plan import ChosenRule, Plan
from argolint.plugins import load_rules
from argolint.snapshots.reader import SnapshotTransport
chosen = tuple(ChosenRule(rule, rule.default_options) for rule in load_rules().values())
transport = SnapshotTransport([Path(sys.argv[1])])
tracemalloc.start()
fleet, _ = read_fleet(transport)
part = pipeline.examine_shard(transport, Plan(chosen, workers=1), fleet=fleet)
print(tracemalloc.get_traced_memory()[0] / 1e6)
"""
LIST = """
import gc, sys, time, orjson
from pathlib import Path
from argolint.engine.load import read_fleet
from argolint.snapshots.reader import SnapshotTransport
transport = SnapshotTransport([Path(sys.argv[1])])
body = transport.get("/api/v1/applications").body
gc.freeze()
gc.set_threshold(200_000, 20, 20)
def spent(task):
    start = time.process_time()
    task()
    return time.process_time() - start
read_fleet(transport)
print(min(spent(lambda: read_fleet(transport)) for _ in range(3)) / min(spent(lambda: orjson.loads(body)) for _ in range(3)))
"""


AGAIN = """
import sys, time
from functools import partial
from pathlib import Path
from argolint.engine import pipeline
from argolint.engine.load import read_fleet
from argolint.engine.plan import ChosenRule, Plan
from argolint.engine.result_cache import ResultCache
from argolint.engine.run import in_this_process
from argolint.plugins import load_rules
from argolint.snapshots.reader import SnapshotTransport
plan = Plan(tuple(ChosenRule(rule, rule.default_options) for rule in load_rules().values()), workers=1)
transport, cache = SnapshotTransport([Path(sys.argv[1])]), ResultCache()
def check():
    start = time.process_time()
    fleet, _ = read_fleet(transport)
    cache.begin(fleet)
    part = pipeline.examine_shard(transport, plan, fleet=fleet, look=partial(in_this_process, one=cache.look))
    return part, time.process_time() - start
(first, before), (second, after) = check(), check()
if sorted(first.results, key=lambda r: r.ref) != sorted(second.results, key=lambda r: r.ref):
    sys.exit("the second check gives other results")
print(after / before)
"""
FIXTURE = """
import sys
from pathlib import Path
from argolint import testing
from argolint.plugins import load_rules
testing.check(testing.load_fixture(Path(sys.argv[1])), list(load_rules().values()))
"""
COMPLETION = """
import os, sys
os.environ |= {"_ARGOLINT_COMPLETE": "bash_complete", "COMP_WORDS": "argolint check --sel", "COMP_CWORD": "2"}
sys.argv = ["argolint"]
from argolint.cli import main
main()
"""


def main() -> None:
    apps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as work:
        generated(Path(work), apps)
    with tempfile.TemporaryDirectory() as work:
        of_a_company(Path(work), apps)
    fixture = Path(__file__).resolve().parents[1] / "tests/rules/webhook-mutated/bad-changed-on-the-way-in.yaml"
    commands = {
        "pass": ["-c", "pass"],
        "--help": ["-m", "argolint", "--help"],
        "--version": ["-m", "argolint", "--version"],
        "completion": ["-c", COMPLETION],
        "fixture": ["-c", FIXTURE, str(fixture)],
    }
    starts = in_turn({name: lambda c=command: run([sys.executable, *c])[0] for name, command in commands.items()})  # type: ignore[misc]
    each = [f"{name} {1000 * took:.0f} ms" for name, took in starts.items()]
    print(f"start    --help {starts['--help'] / starts['pass']:.1f} x python -c pass  (goal 5); {', '.join(each)}")


def generated(work: Path, apps: int) -> None:
    small, large = work / "small", work / "large"
    size = fleet.write(small, apps)
    print(
        f"generated: {apps} applications x {fleet.RESOURCES} resources, {size / 1e6:.0f} MB of answers, {os.cpu_count()} cores"
    )
    against_decoding(small)
    lists = work / "lists"
    fleet.write(lists, 10 * apps, lists_only=True)
    against_decoding_the_list(lists, 10 * apps)
    fleet.write(large, 5 * apps)
    peaks = [run([*CHECK, str(folder), "--deep"])[1] for folder in (small, large)]
    answers = [
        len(gzip.decompress((folder / "bodies" / "applications.json.gz").read_bytes())) / 1e6
        for folder in (small, large)
    ]
    kept = [run([sys.executable, "-c", KEPT, str(folder)])[2] for folder in (small, large)]
    grown, list_grown, kept_grown = (pair[1] - pair[0] for pair in (peaks, answers, kept))
    print(
        f"memory   {peaks[0]:.0f} MB -> {peaks[1]:.0f} MB from {apps} to {5 * apps} applications: {grown:+.0f} MB, where the facts"
        f" kept grow by {kept_grown:.0f} MB and the list answer by {list_grown:.0f} MB:"
        f" {grown - kept_grown - list_grown:+.0f} MB beyond both  (goal 30)"
    )


def of_a_company(work: Path, apps: int) -> None:
    small, large = work / "small", work / "large"
    number = recorded.write(small, apps)
    print(f"recorded: {number} applications of {recorded.source().parent.name}")
    against_decoding(small)
    costs(small, number)
    again(small)
    by_two(small)
    over_http(work, small, number)
    number = recorded.write(large, 10 * apps)
    against_decoding_the_list(large, number)
    of_one(large)
    decoded = run([sys.executable, "-c", DECODE, str(large)])[0]
    checked, peak, _ = run([*CHECK, str(large)])
    print(f"ten      {number} applications: {checked:.1f} s, {checked / decoded:.2f} x decode, {peak:.0f} MB")


def again(snapshot: Path) -> None:
    ratio = statistics.median(run([sys.executable, "-c", AGAIN, str(snapshot)])[2] for _ in range(RUNS))
    print(f"again    {ratio:.2f} x the first check, with the same results  (goal 0.3)")


def by_two(snapshot: Path) -> None:
    one, (parent, worker) = scale.paths(snapshot)
    print(
        f"two      {parent + worker:.2f} s on the critical path of --processes 2: {parent:.2f} s of the parent, {worker:.2f} s of a"
        f" worker; {(parent + worker) / one:.2f} x one process  (goal 0.6)"
    )


def over_http(work: Path, small: Path, number: int) -> None:
    """The peaks of one process, with as many requests in flight as by default."""
    large = work / "larger"
    more = recorded.write(large, 3 * number)
    peaks = []
    for folder in (small, large):
        with scale.serving(folder) as (_, address, token, _):
            peaks.append(run([*CHECK[:-1], "--server", address, "--plaintext", "--auth-token", token])[1])
    print(
        f"http     {peaks[0]:.0f} MB -> {peaks[1]:.0f} MB from {number} to {more} applications:"
        f" {1024 * (peaks[1] - peaks[0]) / (more - number):.0f} kB an application  (goal 50)"
    )


def against_decoding(snapshot: Path) -> None:
    commands = {
        "decode": [sys.executable, "-c", DECODE, str(snapshot)],
        "check": [*CHECK, str(snapshot)],
        "deep": [*CHECK, str(snapshot), "--deep"],
    }
    took = in_turn({name: lambda c=command: run(c)[0] for name, command in commands.items()})  # type: ignore[misc]
    print(f"decode   {took['decode']:.2f} s  every answer and every state once, orjson, one process")
    for name, goal in (("check", "goal 1.0"), ("deep", "--deep, goal 1.1")):
        print(f"{name:8} {took[name]:.2f} s  {took[name] / took['decode']:.2f} x decode  ({goal})")


def against_decoding_the_list(snapshot: Path, apps: int) -> None:
    ratio = statistics.median(run([sys.executable, "-c", LIST, str(snapshot)])[2] for _ in range(RUNS))
    print(f"list     {ratio:.1f} x decoding the list of {apps} applications  (goal 2)")


def of_one(snapshot: Path) -> None:
    commands = {
        "list": [sys.executable, "-c", DECODE_LIST, str(snapshot)],
        "check": [*CHECK, str(snapshot), ONE],
        "why": [sys.executable, "-m", "argolint", "why", ONE, "--snapshot", str(snapshot)],
    }
    took = in_turn({name: lambda c=command: run(c)[0] for name, command in commands.items()})  # type: ignore[misc]
    report = snapshot.parent / "one.json"
    run([*commands["check"], "-o", f"json={report}"])
    asked = json.loads(report.read_text())["stats"]["requests"]
    print(
        f"one      check {took['check'] / took['list']:.1f} x, why {took['why'] / took['list']:.1f} x decoding the list,"
        f" which takes {took['list']:.2f} s; check {took['check']:.2f} s and {asked} requests  (goal 1 s, 12)"
    )


def costs(snapshot: Path, apps: int) -> None:
    """The requests, the stages and the costliest rules, from `check --timings`."""
    report = snapshot.parent / "report.json"
    run([*CHECK, str(snapshot), "--timings", "-o", f"json={report}"])
    stats = json.loads(report.read_text())["stats"]
    print(f"asked    {stats['requests'] / apps:.1f} requests an application  (goal 2.2)")
    whole = sum(stage["cpu"] for stage in stats["stages"].values())
    stages = ", ".join(f"{name} {stage['cpu'] / whole:.0%}" for name, stage in stats["stages"].items())
    shares = {name: sum(of.values()) / whole for name, of in stats["rules"].items()}
    first, others = list(shares.items())[:5], list(shares.items())[5:]
    small = sum(share for _, share in others if share < _SMALL)
    each = [f"{name} {share:.1%}" for name, share in others if share >= _SMALL]
    print(f"stages   {stages}")
    print(f"rules    {', '.join(f'{name} {share:.1%}' for name, share in first)}  (goal 5 %)")
    print(f"each     {', '.join(each)}; {len(others) - len(each)} more {small:.1%}")


_SMALL = 0.0005


def in_turn(tasks: dict[str, Callable[[], float]]) -> dict[str, float]:
    """The median of each task, run A B C A B C ... so that a slow moment of the machine affects all equally."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(RUNS):
        for name, task in tasks.items():
            times[name].append(task())
    return {name: statistics.median(found) for name, found in times.items()}


def run(command: list[str]) -> tuple[float, float, float]:
    """Processor seconds, peak memory (MB) and the printed number, if any, of one process; its error text if it fails.

    Bytecode is kept, as in an installed package, in any environment of the caller.
    """
    wrapped = [sys.executable, "-c", _PEAK, *command]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(wrapped, capture_output=True, text=True, timeout=600, check=False, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr)
    told = json.loads(done.stderr.splitlines()[-1])
    return told["seconds"], told["peak_kb"] / 1024, told["number"]


_PEAK = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
number = float(done.stdout) if done.stdout.replace(".", "", 1).strip().isdigit() else 0.0
print(json.dumps({"seconds": used.ru_utime + used.ru_stime, "number": number, "peak_kb": used.ru_maxrss}), file=sys.stderr)
sys.exit(done.returncode)
"""

if __name__ == "__main__":
    main()
