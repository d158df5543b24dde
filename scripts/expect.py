"""Writes `expect` of fixtures from the rules' present findings: `scripts/expect.py tests/rules/<rule-id>/bad-*.yaml`. Read the result.

The rule is that of the folder's name. A fixture without a finding of it is left unchanged, and listed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import yaml

from argolint import testing
from argolint.plugins import load_rules


class Dumper(yaml.SafeDumper):
    """Texts of several lines as several lines, lists below their key."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    lines = "\n" in text and not any(line != line.rstrip() for line in text.split("\n"))
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if lines else None)


Dumper.add_representer(str, _text)


def _section(findings: list[dict[str, Any]]) -> str:
    return yaml.dump({"expect": findings}, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100_000)


def main(paths: list[Path]) -> int:
    rules = list(load_rules().values())
    silent = []
    for path in paths:
        fixture = testing.load_fixture(path)
        found = [testing.whole(f) for f in testing.check(fixture, rules).findings if f.rule == path.parent.name]
        if not found:
            silent.append(path)
            continue
        text = path.read_text(encoding="utf-8")
        given = re.split(r"(?m)^expect:", text)[0].rstrip("\n") + "\n"
        path.write_text(given + _section(found), encoding="utf-8")
    for path in silent:
        print(f"{path}: {path.parent.name} says nothing here, so `expect` stays as it is", file=sys.stderr)
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main([Path(name) for name in sys.argv[1:]]))
