"""Runs collections of cases in one process and prints the disagreements: `python peers_answers.py FOLDER COLLECTION...`.

It needs its own process, because the cases import argolint's modules by their old names from `peers_names.py`.
Prints JSON: {collection: {"cases": N, "disagree": [[name, what argolint says], ...]}}.
"""

from __future__ import annotations

import importlib
import json
import sys
from types import SimpleNamespace
from typing import Any


def copied(value: Any) -> Any:
    """A deep copy of a JSON value."""
    if isinstance(value, dict):
        return {key: copied(part) for key, part in value.items()}
    return [copied(part) for part in value] if isinstance(value, list) else value


def main(folder: str, *collections: str) -> None:
    """Every case of the collections; one without a counterpart here does not count."""
    sys.path.insert(0, folder)
    harness = importlib.import_module("harness")
    vars(importlib.import_module("gen_pairs"))["copy"] = SimpleNamespace(
        deepcopy=copied
    )  # deepcopy takes half of the time otherwise
    found = {}
    for name in collections:
        results = [r for r in harness.run(f"c_{name}") if r["result"] != "n/a"]
        wrong = [[r["id"], r["detail"]] for r in results if r["result"] != "agree"]
        found[name] = {"cases": len(results), "disagree": wrong}
    json.dump(found, sys.stdout)


main(*sys.argv[1:])
