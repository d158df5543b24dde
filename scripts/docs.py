"""Write the pages that are made: docs/rules/ from the rules' docstrings, docs/cli.md from the commands, docs/schema/. Run by `make docs`."""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path

import click

from argolint.application.rule import Rule
from argolint.cli.group import COMMANDS
from argolint.engine.config import schema as config_schema
from argolint.plugins import load_rules
from argolint.reports.document import schema as report_schema

DOCS = Path(__file__).resolve().parents[1] / "docs"
HEAD = "<!-- Made by `make docs` from the rule's docstring: change that. -->\n"
CLI_HEAD = "<!-- Made by `make docs` from the commands: change those. -->\n"


def pages() -> dict[str, str]:
    """File name below docs/ to text, for everything that is made."""
    schemas = {"report": report_schema(), "config": config_schema()}
    return {
        **{f"rules/{name}": text for name, text in _rules().items()},
        "cli.md": _cli(),
        **{f"schema/{name}-1.json": json.dumps(found, indent=1) + "\n" for name, found in schemas.items()},
    }


def _rules() -> dict[str, str]:
    rules = sorted(load_rules().values(), key=lambda r: (r.family, r.id))
    made = {f"{rule.id}.md": _page(rule) for rule in rules}
    lines = [
        HEAD,
        "# Rules",
        "",
        f"{len(rules)} rules, by family. `argolint explain RULE` shows a page in the terminal.",
    ]
    for family, group in groupby(rules, key=lambda r: r.family):
        lines += ["", f"## {family}", "", "| rule | severity | what it finds |", "|---|---|---|"]
        lines += [f"| [{r.id}]({r.id}.md) | {r.severity} | {r.title} |" for r in group]
    made["README.md"] = "\n".join(lines) + "\n"
    return made


def _page(rule: Rule) -> str:
    title, _, body = inspect.cleandoc(rule.doc).partition("\n")
    facts = [f"family {rule.family}", f"severity {rule.severity}"]
    parts = [HEAD, f"# {rule.id}: {title.rstrip('.')}", "", ", ".join(facts), body.rstrip()]
    if rule.causes:
        parts += ["", "## Causes", "", *(f"- `{cause}`" for cause in rule.causes)]
    options = dataclasses.fields(rule.options)
    if options:
        parts += ["", "## Options", "", *(f"- `{o.name}`: {getattr(rule.default_options, o.name)}" for o in options)]
    parts += [
        "",
        "## Suppress it",
        "",
        f"`argolint.dev/ignore.{rule.id}: <reason>` on the object or on its Application.",
    ]
    return "\n".join(parts) + "\n"


def _cli() -> str:
    lines = [
        CLI_HEAD,
        "# Commands",
        "",
        "Exit codes: 0 nothing at or above `--fail-on`, 1 such findings, 2 cannot start, 3 incomplete.",
    ]
    for name, (module, summary) in COMMANDS.items():
        command: click.Command = import_module(module).command
        lines += ["", f"## argolint {name}", "", summary, *_of_command(command, name)]
    return "\n".join(lines) + "\n"


def _of_command(command: click.Command, name: str) -> Iterator[str]:
    if isinstance(command, click.Group):
        for below in command.commands.values():
            yield from ("", f"### argolint {name} {below.name}", "", below.get_short_help_str(200))
            yield from _of_command(below, f"{name} {below.name}")
        return
    context = click.Context(command, info_name=f"argolint {name}")
    records = [p.get_help_record(context) for p in command.get_params(context)]
    yield from (
        "",
        "```console",
        command.get_usage(context).replace("Usage: ", "$ "),
        "```",
        "",
        "| option | what it does |",
        "|---|---|",
    )
    for option, text in filter(None, records):
        escaped = " ".join(text.split()).replace("|", "\\|")
        yield f"| `{option.replace('|', ' or ')}` | {escaped} |"


def main() -> int:
    """Write the pages; with --check only say whether they are current."""
    wanted = pages()
    have = {
        path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8")
        for path in (*DOCS.glob("rules/*.md"), *DOCS.glob("schema/*.json"), DOCS / "cli.md")
        if path.exists()
    }
    if "--check" in sys.argv:
        stale = sorted(n for n in have.keys() | wanted.keys() if have.get(n) != wanted.get(n))
        for name in stale:
            sys.stderr.write(f"docs/{name} is not current: run `make docs`\n")
        return int(bool(stale))
    for name in have.keys() - wanted.keys():
        (DOCS / name).unlink()
    for name, text in wanted.items():
        (DOCS / name).parent.mkdir(parents=True, exist_ok=True)
        (DOCS / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
