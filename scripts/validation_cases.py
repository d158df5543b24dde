"""Fills `said` of each case in tests/validation.yaml: python -m scripts.validation_cases PROGRAM VERSION (scripts/kubernetes_validation.sh calls it)."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).parents[1] / "tests" / "validation.yaml"
_HEAD = (
    "# Manifests with one change each (null removes a field), and what Kubernetes' own validation says of them.\n"
    "# Written by scripts/kubernetes_validation.sh, which keeps bases and cases.\n"
)


def manifest(bases: Mapping[str, Any], case: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest of a case: the base of its kind with some fields set, or removed."""
    made: dict[str, Any] = {"kind": case["of"], **copy.deepcopy(bases[case["of"]])}
    for pointer, value in case["set"].items():
        *above, last = [int(token) if token.isdecimal() else token for token in pointer.split("/")[1:]]
        node: Any = made
        for token in above:
            node = node.setdefault(token, {}) if isinstance(node, dict) else node[token]
        if value is None:
            node.pop(last, None)
        else:
            node[last] = value
    return made


def _main(program: str, version: str) -> None:
    held = yaml.safe_load(FILE.read_text())
    lines = "\n".join(json.dumps(manifest(held["bases"], case)) for case in held["cases"])
    ran = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    with FILE.open("w") as out:
        out.write(f"{_HEAD}version: {version}\nbases:\n")
        for kind, base in held["bases"].items():
            out.write(f"  {kind}: {json.dumps(base)}\n")
        out.write("cases:\n")
        for case, line in zip(held["cases"], ran.stdout.splitlines(), strict=True):
            said = [one for one in json.loads(line) if one != "metadata.uid: Required value"]  # of a Job: set before
            out.write(f"- of: {case['of']}\n  set: {json.dumps(case['set'])}\n  said: {json.dumps(said)}\n")


if __name__ == "__main__":
    _main(*sys.argv[1:])
