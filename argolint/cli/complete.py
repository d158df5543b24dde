"""Shell completion, from a file that `make docs` writes, so that no command and no rule is imported: a shell asks at each Tab.

{"words": {"pages": {WORD: HELP}, ...},               completed values, by the name of their function
 "parameters": [{"param_decls": [...], ...}, ...],     arguments of click.Option and click.Argument
 "commands": {NAME: [0, 3], GROUP: {NAME: [...]}}}     numbers of parameters
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import click
from click.shell_completion import CompletionItem

FILE = "completions.json"


@cache
def _known() -> Any:
    return json.loads(
        pkgutil.get_data(__package__, FILE) or b""
    )  # importlib.resources takes as long to import as click


def command(name: str) -> click.Command:
    """A command with its parameters, which cannot run."""
    return _command(name, *_known()["commands"][name])


def _command(name: str, text: str, of: Any) -> click.Command:
    if isinstance(of, dict):
        return click.Group(name, [_command(below, *row) for below, row in of.items()], short_help=text)
    return click.Command(name, params=[_parameter(**_known()["parameters"][number]) for number in of], short_help=text)


def _parameter(
    argument: bool = False, choices: tuple[str, ...] = (), is_path: bool = False, values: str = "", **row: Any
) -> click.Parameter:
    row["type"] = click.Choice(choices) if choices else click.Path() if is_path else None
    row["shell_complete"] = _VALUES.get(values)
    return click.Argument(**row) if argument else click.Option(**row)


def pages(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Values of `argolint explain`: RULE, RULE/CAUSE or FAMILY."""
    return _fitting("pages", incomplete)


def shown(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Values of --select and --ignore: completes the last word of a comma list."""
    before, comma, last = incomplete.rpartition(",")
    return [CompletionItem(before + comma + item.value, help=item.help) for item in _fitting("shown", last)]


def formats(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Values of -o, before the file."""
    return _fitting("formats", incomplete)


_VALUES: Mapping[str, Callable[..., list[CompletionItem]]] = {"pages": pages, "shown": shown, "formats": formats}


def _fitting(kind: str, incomplete: str) -> list[CompletionItem]:
    from importlib.metadata import entry_points  # a fourth of a completion, and options need no rules

    found: dict[str, str] = (words() if entry_points(group="argolint.rules") else _known()["words"])[kind]
    return [CompletionItem(word, help=text) for word, text in sorted(found.items()) if word.startswith(incomplete)]


def words() -> dict[str, dict[str, str]]:
    """The words of FILE, of the rules that are installed."""
    from argolint.model import SEVERITIES
    from argolint.plugins import load_rules
    from argolint.reports.formats import FORMATS

    rules = load_rules().values()
    names = {r.family: "a family" for r in rules} | {r.id: r.title for r in rules}
    causes = {f"{r.id}/{cause}": r.title for r in rules for cause in r.causes}
    return {"pages": names | causes, "shown": dict.fromkeys(SEVERITIES, "a severity") | names, "formats": dict(FORMATS)}
