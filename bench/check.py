"""What a check costs, as ratios of one run on one machine: `python bench/check.py [APPS]`.

    check   a check as users run it, against decoding every answer and every state once with orjson: four of ten applications
            are read, since they drift or hold an autoscaler, a disruption budget or a CronJob
    deep    a check that reads every application, against the same
    memory  growth of the peak from APPS to 5 x APPS, of it the list answer and the facts kept: the fleet as the list tells it,
            and the results
    start   `argolint --help` against `python -c pass`

Each is the median of several runs, taken in turn. The goals stand beside the figures; nothing fails when one is missed.
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

RUNS = 3
CHECK = [sys.executable, "-m", "argolint", "check", "-q", "--fail-on", "never", "--snapshot"]
DECODE = """
import gzip, json, pathlib, sys, orjson
root = pathlib.Path(sys.argv[1])
for line in (root / "requests.jsonl").read_text().splitlines():
    name = json.loads(line)["body"]
    data = (root / name).read_bytes()
    answer = orjson.loads(gzip.decompress(data) if name.endswith(".gz") else data)
    for item in answer.get("items") or ():
        for key in ("targetState", "liveState", "normalizedLiveState", "predictedLiveState"):
            if key in item:
                orjson.loads(item[key])
"""


KEPT = """
import sys, tracemalloc
from pathlib import Path
from argolint import engine, lint, plugins
from argolint.snapshot import SnapshotTransport
chosen = tuple(engine.Chosen(rule, rule.default_options) for rule in plugins.load_rules().values())
transport = SnapshotTransport([Path(sys.argv[1])])
tracemalloc.start()
fleet, _ = engine.load_fleet(transport)
part = lint.collect(transport, engine.Plan(chosen, workers=1), fleet=fleet)
print(tracemalloc.get_traced_memory()[0] / 1e6)
"""


def main() -> None:
    apps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as work:
        small, large = Path(work) / "small", Path(work) / "large"
        size = fleet.write(small, apps)
        print(
            f"{apps} applications x {fleet.RESOURCES} resources, {size / 1e6:.0f} MB of answers, {os.cpu_count()} cores"
        )
        commands = {
            "decode": [sys.executable, "-c", DECODE, str(small)],
            "check": [*CHECK, str(small)],
            "deep": [*CHECK, str(small), "--deep"],
        }
        took = in_turn({name: lambda c=command: run(c)[0] for name, command in commands.items()})  # type: ignore[misc]
        print(f"decode   {took['decode']:.2f} s  every answer and every state once, orjson, one process")
        for name in ("check", "deep"):
            print(
                f"{name:8} {took[name]:.2f} s  {took[name] / took['decode']:.2f} x decode"
                + ("  (goal 1.0)" if name == "check" else "  (--deep)")
            )
        fleet.write(large, 5 * apps)
        peaks = [run([*CHECK, str(folder), "--deep"])[1] for folder in (small, large)]
        lists = [
            len(gzip.decompress((folder / "bodies" / "applications.json.gz").read_bytes())) / 1e6
            for folder in (small, large)
        ]
        kept = [run([sys.executable, "-c", KEPT, str(folder)])[2] for folder in (small, large)]
        grown, list_grown, kept_grown = (pair[1] - pair[0] for pair in (peaks, lists, kept))
        print(
            f"memory   {peaks[0]:.0f} MB -> {peaks[1]:.0f} MB from {apps} to {5 * apps} applications: {grown:+.0f} MB, where the facts"
            f" kept grow by {kept_grown:.0f} MB and the list answer by {list_grown:.0f} MB:"
            f" {grown - kept_grown - list_grown:+.0f} MB beyond both  (goal 30)"
        )
    starts = in_turn(
        {
            "pass": lambda: run([sys.executable, "-c", "pass"])[0],
            "help": lambda: run([sys.executable, "-m", "argolint", "--help"])[0],
        }
    )
    print(f"start    {starts['help'] / starts['pass']:.1f} x python -c pass  (goal 5)")


def in_turn(tasks: dict[str, Callable[[], float]]) -> dict[str, float]:
    """The median of each task, run A B C A B C ... so that a slow moment of the machine hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(RUNS):
        for name, task in tasks.items():
            times[name].append(task())
    return {name: statistics.median(found) for name, found in times.items()}


def run(command: list[str]) -> tuple[float, float, float]:
    """Seconds, peak memory (MB) and the number that it printed, if it did, of one process; its error text when it fails.

    Bytecode is kept, as an installed package has it, whatever the caller's environment says.
    """
    wrapped = [sys.executable, "-c", _PEAK, *command]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(wrapped, capture_output=True, text=True, timeout=600, check=False, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr)
    told = json.loads(done.stderr.splitlines()[-1])
    return told["seconds"], told["peak_kb"] / 1024, told["number"]


_PEAK = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True)
seconds = time.perf_counter() - start
number = float(done.stdout) if done.stdout.replace(".", "").strip().isdigit() else 0.0
print(json.dumps({"seconds": seconds, "number": number, "peak_kb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}), file=sys.stderr)
sys.exit(done.returncode)
"""

if __name__ == "__main__":
    main()
