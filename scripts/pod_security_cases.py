"""Fills `said` of each case in tests/pod_security.yaml: python -m scripts.pod_security_cases PROGRAM, built by
`scripts/kubernetes_program.sh scripts/pod_security v1.34.1 PROGRAM`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).parents[1] / "tests" / "pod_security.yaml"
_HEAD = "# Pod specs, and the checks of Pod Security 1.33 that each level fails. Written by scripts/pod_security_cases.py, which keeps the specs.\n"
LEVELS = ("baseline", "restricted")


def _main(program: str) -> None:
    specs: list[Any] = [case["spec"] for case in yaml.safe_load(FILE.read_text())]
    asked = "\n".join(json.dumps({"level": level, "spec": spec}) for spec in specs for level in LEVELS)
    said = iter(subprocess.run([program], input=asked, capture_output=True, text=True, check=True).stdout.splitlines())
    with FILE.open("w") as out:
        out.write(_HEAD)
        for spec in specs:
            out.write(f"- spec: {json.dumps(spec)}\n" + "".join(f"  {level}: {next(said)}\n" for level in LEVELS))


if __name__ == "__main__":
    _main(*sys.argv[1:])
