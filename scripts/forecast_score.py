"""Measures a forecast of an upgrade: `python scripts/forecast_score.py BEFORE AFTER TRUTH VERSION`.

BEFORE and AFTER are snapshots of one fleet, before and after the upgrade of Argo CD to VERSION; TRUTH is a YAML file whose `faults` name objects
that differ by chance. Prints recall and false forecasts. The exit status is 1 if recall is below 0.95 or any forecast is false.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.forecast_truth import forecast_of, score

_ENOUGH = 0.95


def main(before: str, after: str, truth: str, version: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "forecast.json"
        command = [
            "argolint",
            "forecast",
            "upgrade",
            "--argocd",
            version,
            "--snapshot",
            before,
            "-o",
            f"json={file}",
            "-q",
        ]
        ran = subprocess.run([*command, "--fail-on", "never", "--allow-incomplete"], check=False)
        if ran.returncode:
            return ran.returncode
        found = score(forecast_of(file), Path(before), Path(after), Path(truth))
    print(
        f"recall {found.recall:.2f} ({len(found.hits)} of {len(found.hits) + len(found.missed)}), false {len(found.false)}"
    )
    for name, changes in (("missed", found.missed), ("false", found.false)):
        for app, what, how in sorted(changes):
            print(f"{name}: {app} {what} {how}")
    return int(found.recall < _ENOUGH or bool(found.false))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
