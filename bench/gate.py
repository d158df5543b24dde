"""A gate over a change of a chart that many applications render: `python bench/gate.py [APPS]`.

The server is a recorded company, multiplied (`recorded.py`), and waits 50 ms before each answer, like a remote one. The change is a release of
the company's own chart: of 1,053 applications 91 change, and as many that read the same objects are checked.

gate    seconds by the clock and of the processor, the requests, and the least time for these: with only the server's wait and eight requests in
        flight
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import recorded
import scale

BRANCHES = recorded.HARBOURLINE.with_name("3-after-commits-branches")
REPOSITORY, HEAD = "http://git.example.com/charts.git", "release-1.4.3"
SLOW_S, IN_FLIGHT = 0.05, 8


def main() -> None:
    if not BRANCHES.is_dir():
        print("gate     the recording of branches is not beside the project: not measured")
        return
    apps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        number = recorded.write(folder / "company", apps, renders=BRANCHES)
        with scale.serving(folder / "company", SLOW_S) as (server, address, token, _):
            where = ["--server", address, "--plaintext", "--auth-token", token, "-q", "--fail-on", "never"]
            command = [
                *scale.ARGOLINT,
                "gate",
                *where,
                "-r",
                REPOSITORY,
                "--head",
                HEAD,
                "-o",
                f"json={folder}/report.json",
            ]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            started = time.monotonic()
            subprocess.run(command, check=True, timeout=scale.LIMIT_S)
            took = time.monotonic() - started
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            asked, _ = scale.told(server)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        report = json.loads((folder / "report.json").read_text())
        changed, waits = len(report["applications"]), asked * SLOW_S / IN_FLIGHT
        print(
            f"gate     {changed} changed applications of {number}, {len(report['findings'])} findings: {took:.1f} s (goal 30), {spent:.1f} s of"
            f" the processor, {asked} requests; {took / waits:.2f} x what the server's wait alone takes ({waits:.1f} s)"
        )


if __name__ == "__main__":
    main()
