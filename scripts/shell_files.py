"""Write the files for shells: completions, what they complete, and the man page, of the commands. Run by `make docs`; --check only reports whether they are current."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from argolint.cli import complete
from argolint.cli.group import COMMANDS, cli

ROOT = Path(__file__).resolve().parents[1]
CONTRIB = "contrib"
SHELLS: dict[str, tuple[type[ShellComplete], str]] = {
    "completions/bash/argolint": (BashComplete, "argolint"),
    "completions/zsh/_argolint": (ZshComplete, "argolint"),
    "completions/fish/argolint.fish": (FishComplete, "argolint"),
}
_CODES = (
    ("0", "nothing at or above --fail-on"),
    ("1", "such findings"),
    ("2", "cannot start: usage, configuration, authentication; or a crash"),
    ("3", "incomplete: some application or rule could not be looked at"),
)
_FILES = (
    (".argolint.yaml", "what argolint shows of a repository's applications; argolint init writes one"),
    ("~/.config/argolint/config.yaml", "your own settings: which Argo CD to read"),
    ("~/.config/argocd/config", "the logins of Argo CD's own command line"),
)
_VARIABLES = (
    ("ARGOCD_SERVER, ARGOCD_AUTH_TOKEN, ARGOCD_OPTS", "as Argo CD's own command line reads them"),
    ("NO_COLOR", "print without colours"),
)


def files() -> dict[str, str]:
    """Text by file name."""
    scripts = {f"{CONTRIB}/{name}": _completion(*how) for name, how in SHELLS.items()}
    return {**scripts, f"{CONTRIB}/man/argolint.1": _man(), f"argolint/cli/{complete.FILE}": _completed()}


def _completion(shell: type[ShellComplete], name: str) -> str:
    made = shell(cli, {}, name, "_ARGOLINT_COMPLETE")
    return made.source_template % made.source_vars() + "\n"


def _completed() -> str:
    """The form is that of argolint/cli/complete.py; one line for each parameter, so that two branches rarely change the same."""
    numbers: dict[str, int] = {}

    def of(command: click.Command) -> list[Any]:
        text = command.get_short_help_str()
        if isinstance(command, click.Group):
            return [text, {name: of(below) for name, below in command.commands.items()}]
        seen = [p for p in command.params if not getattr(p, "hidden", False)]
        return [text, [numbers.setdefault(json.dumps(_parameter(p), ensure_ascii=False), len(numbers)) for p in seen]]

    commands = {name: of(import_module(module).command) for name, (module, _) in COMMANDS.items()}
    lines = (
        f'"words": {json.dumps(complete.words(), indent=1, ensure_ascii=False)}',
        f'"commands": {json.dumps(commands)}',
    )
    return "{" + ",\n".join((*lines, '"parameters": [\n' + ",\n".join(numbers) + "\n]")) + "}\n"


def _parameter(of: click.Parameter) -> dict[str, Any]:
    """What the shell needs of it."""
    row: dict[str, Any] = {"values": getattr(of._custom_shell_complete, "__name__", None), "multiple": of.multiple}
    if isinstance(of, click.Option):
        row |= {"param_decls": [*of.opts, *of.secondary_opts], "is_flag": of.is_flag, "help": of.help}
    else:
        row |= {"param_decls": [of.name], "argument": True, "nargs": of.nargs if of.nargs != 1 else None}
    row |= {"is_path": isinstance(of.type, click.Path)}
    row |= {"choices": of.type.choices} if isinstance(of.type, click.Choice) else {}
    return {key: value for key, value in row.items() if value}


def _man() -> str:
    lines = [
        r".\" Made by `make docs` from the commands: change those.",
        '.TH ARGOLINT 1 "" "argolint" "User Commands"',
        ".SH NAME",
        r"argolint \- the linter for what Argo CD does rather than for what Git says",
        ".SH SYNOPSIS",
        r".B argolint",
        r"\fICOMMAND\fR [\fIOPTION\fR]... [\fIARGUMENT\fR]...",
        ".SH DESCRIPTION",
        "argolint reads an Argo CD and says why an application is OutOfSync, Degraded or warned about, and what to change.",
        "It reads, and writes nothing to Argo CD or to a cluster, but for",
        ".BR argolint\\ publish .",
        ".SH COMMANDS",
    ]
    for name, (module, summary) in COMMANDS.items():
        lines += _command(import_module(module).command, name, summary)
    lines += [".SH EXIT STATUS", *_terms(_CODES), ".SH ENVIRONMENT", *_terms(_VARIABLES), ".SH FILES", *_terms(_FILES)]
    lines += [".SH SEE ALSO", ".BR argocd (1),", ".BR kubectl (1)"]
    return "\n".join(lines) + "\n"


def _command(command: click.Command, name: str, summary: str) -> Iterator[str]:
    if isinstance(command, click.Group):
        yield from (f'.SS "argolint {name}"', _text(summary))
        for below in command.commands.values():
            yield from _command(below, f"{name} {below.name}", below.get_short_help_str(200))
        return
    context = click.Context(command, info_name=f"argolint {name}")
    yield from (f'.SS "argolint {name}"', _text(summary), ".PP")
    yield _text(command.get_usage(context).removeprefix("Usage: "))
    records = [found for p in command.get_params(context) if (found := p.get_help_record(context))]
    yield from _terms(records)


def _terms(rows: list[tuple[str, str]] | tuple[tuple[str, str], ...]) -> Iterator[str]:
    for term, text in rows:
        yield from (".TP", rf"\fB{_text(term)}\fR", _text(text))


def _text(text: str) -> str:
    """One line of running text, with troff's own escapes escaped."""
    line = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{line}" if line.startswith((".", "'")) else line


def main() -> int:
    """Write the files; with --check only report whether they are current."""
    stale = [
        (name, text)
        for name, text in files().items()
        if not (ROOT / name).is_file() or (ROOT / name).read_text(encoding="utf-8") != text
    ]
    for name, text in stale:
        if "--check" in sys.argv:
            sys.stderr.write(f"{name} is not current: run `make docs`\n")
        else:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(text, encoding="utf-8")
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
