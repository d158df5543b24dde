"""Runs collections of cases in one process and prints the disagreements: `python peers_answers.py FOLDER SHARE COLLECTION...`.

It needs its own process, because the cases import argolint's modules by their old names from `peers_names.py`.
Of a collection of hundreds, whose cases a program made, one case in SHARE is run, and each that a known disagreement names.
Prints JSON: {collection: {"cases": N, "disagree": [[name, what argolint says], ...]}}.
"""

from __future__ import annotations

import importlib
import json
import marshal
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from argolint.values.knowledge import parse

REASONS = Path(__file__).with_name("peers_disagreements.yaml")
HUNDREDS = 300


def copied(value: Any) -> Any:
    """A deep copy of a JSON value."""
    return marshal.loads(marshal.dumps(value))


def some(cases: Sequence[Any], collection: str, share: int) -> Iterator[Any]:
    """The cases of a collection that are run."""
    known = [reason["match"] for reason in parse(REASONS.read_text("utf-8")) if reason["in"] == collection]
    for case in cases:
        if (
            len(cases) < HUNDREDS
            or zlib.crc32(case.id.encode()) % share == 0
            or any(re.search(k, case.id) for k in known)
        ):
            yield case


def main(folder: str, share: str, *collections: str) -> None:
    """Every chosen case of the collections; one without a counterpart here does not count."""
    sys.path.insert(0, folder)
    harness = importlib.import_module("harness")
    vars(importlib.import_module("gen_pairs"))["copy"] = SimpleNamespace(deepcopy=copied)  # half of the time otherwise
    found = {}
    for name in collections:
        module = importlib.import_module(f"c_{name}")
        chosen = list(some(module.cases(), name, int(share)))
        vars(module)["cases"] = partial(iter, chosen)
        results = [r for r in harness.run(module.__name__) if r["result"] != "n/a"]
        wrong = [[r["id"], r["detail"]] for r in results if r["result"] != "agree"]
        found[name] = {"cases": len(results), "disagree": wrong}
    json.dump(found, sys.stdout)


main(*sys.argv[1:])
