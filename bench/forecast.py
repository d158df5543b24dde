"""The cost of a forecast: `python bench/forecast.py [COPIES]`, in CPU time, as ratios of a check of the same fleet (goal: at most 1.3).

The fleet is COPIES copies of a recorded company. Each command runs in its own process; the best of three counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import recorded

ASKED = (
    ("check", ("check",)),
    ("upgrade", ("forecast", "upgrade", "--argocd", "3.6", "--external-secrets", "2.9", "--chart", "all")),
    ("prune", ("forecast", "prune")),
)


def main() -> None:
    copies = int(sys.argv[1]) if sys.argv[1:] else 2
    with tempfile.TemporaryDirectory() as work:
        count = recorded.write(Path(work) / "fleet", copies * 81)
        costs = {name: min(cost(command, Path(work)) for _ in range(3)) for name, command in ASKED}
    print(f"{count} applications")
    for name, seconds in costs.items():
        print(f"{name:8} {seconds:6.2f} s  {seconds / costs['check']:.2f}")


def cost(command: tuple[str, ...], work: Path) -> float:
    """User time of one command, in seconds."""
    before = os.times().children_user
    quiet = ("--snapshot", str(work / "fleet"), "-q", "-o", f"json={work / 'report.json'}", "--fail-on", "never")
    subprocess.run([sys.executable, "-m", "argolint", *command, *quiet, "--allow-incomplete"], check=True)
    return os.times().children_user - before


if __name__ == "__main__":
    main()
