"""Write the list of promises that a test compares with argolint: tests/golden/promises.json. `make release` runs it.

The list only grows: a name that argolint lost is kept, and the test reports it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click

FILE = Path(__file__).resolve().parents[1] / "tests" / "golden" / "promises.json"


def promised() -> dict[str, list[str]]:
    """Everything in argolint that belongs to a promise, sorted."""
    import argolint
    from argolint.cli.group import COMMANDS
    from argolint.engine.config import schema as config_schema
    from argolint.plugins import load_rules
    from argolint.reports.document import schema as report_schema

    rules = load_rules()
    return {
        "command line": sorted(
            word for name, (module, _) in COMMANDS.items() for word in _words(import_module(module).command, name)
        ),
        "report": sorted(set(_fields(report_schema()))),
        "configuration": sorted(set(_fields(config_schema()))),
        "rules": sorted(rules),
        "causes": sorted(f"{rule.id}/{cause}" for rule in rules.values() for cause in rule.causes),
        "python": sorted(argolint.__all__),
    }


def _words(command: click.Command, name: str) -> Iterator[str]:
    yield name
    if isinstance(command, click.Group):
        for below in command.commands.values():
            yield from _words(below, f"{name} {below.name}")
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            yield from (f"{name} {word}" for word in option.opts if word.startswith("--"))


def _fields(schema: Mapping[str, Any]) -> Iterator[str]:
    """`Type.field` of a JSON Schema."""
    for name, made in schema["$defs"].items():
        yield from (f"{name}.{field}" for field in made.get("properties", ()))


def main() -> int:
    kept = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    made = {what: sorted({*names, *kept.get(what, ())}) for what, names in promised().items()}
    FILE.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
