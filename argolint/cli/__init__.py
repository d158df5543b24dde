"""The command line: one file a command, imported when it runs, so that `--help` stays quick."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
import traceback
from collections.abc import Mapping
from typing import Any

import click

from argolint import __version__
from argolint.errors import ArgolintError

# name: (module, what it does). The short texts stand here so that `argolint --help` imports no command.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "check": ("argolint.cli.check", "Lint applications."),
    "demo": ("argolint.cli.demo", "Check a recorded Argo CD; no server needed."),
    "fix": ("argolint.cli.fix", "Print fixes, or write them into Git checkouts."),
    "snapshot": ("argolint.cli.snapshot", "Save what a check reads, for offline use."),
    "gate": ("argolint.cli.gate", "Say what a change brings, before it is merged."),
    "comment": ("argolint.cli.comment", "Put a Markdown report on the pull request."),
    "merge": ("argolint.cli.merge", "Join shards into one report."),
    "baseline": ("argolint.cli.baseline", "Accept today's findings."),
    "compare": ("argolint.cli.compare", "Two reports: new, gone, unchanged."),
    "config": ("argolint.cli.config", "Print what is in force and from where."),
    "rules": ("argolint.cli.rules", "List the rules."),
    "why": ("argolint.cli.why", "Explain one application, object or field."),
    "explain": ("argolint.cli.explain", "Show a rule's page."),
    "schema": ("argolint.cli.schema", "Print a JSON Schema."),
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return importlib.import_module(COMMANDS[cmd_name][0]).command  # type: ignore[no-any-return]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        import difflib

        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = difflib.get_close_matches(args[0], COMMANDS, 1)
            if not close:
                raise
            raise click.UsageError(f"{error.message} Did you mean {close[0]}?", ctx) from None


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="argolint", message="%(prog)s %(version)s")
def cli() -> None:
    """The linter for what Argo CD does rather than for what Git says.

    \b
    argolint demo                 see it work, no server needed
    argolint check                lint every application of the server you are logged in to
    argolint check team/web -v    one application, with evidence and every fix
    argolint explain RULE         why it matters and what to do

    Exit codes: 0 nothing at or above --fail-on, 1 such findings, 2 cannot start, 3 incomplete.
    """


def main() -> None:
    """Run, and turn every foreseen error into two lines: what and where, then what to do."""
    try:
        code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        click.echo(_safe(shown.getvalue()), err=True, nl=False)
        code = 2
    except click.Abort:
        click.echo("argolint: interrupted", err=True)
        code = 130
    except ArgolintError as error:
        click.echo(_safe(f"argolint: {error.message}"), err=True)
        if error.hint:
            click.echo(_safe(f"  → {error.hint}"), err=True)
        code = 2
    except BrokenPipeError:
        sys.stderr.close()  # the reader left; there is nobody to tell
        code = 0
    except OSError as error:  # what a command foresees it tells better; this is a full disk or a lost terminal
        where = f" {error.filename}" if error.filename else ""
        click.echo(_safe(f"argolint: cannot read or write{where}: {error.strerror or error}"), err=True)
        click.echo("  → check the space left, and the rights there", err=True)
        code = 2
        with contextlib.suppress(OSError):
            sys.stdout.close()  # what it still holds cannot be written: not once more at exit
    except Exception as error:  # a bug of argolint's: told whole, but for what the texts of errors quote
        click.echo(_safe("".join(traceback.format_exception(error))), err=True, nl=False)
        click.echo("argolint: this is a bug of argolint; report it with the lines above", err=True)
        code = 3
    sys.exit(code if isinstance(code, int) else 0)


def _safe(text: str) -> str:
    """What may be printed of a text that quotes others (option values, addresses, answers): no secrets, no control characters."""
    from argolint.redaction import without_secrets  # only where there is something to tell: `--help` stays quick
    from argolint.values import plain

    return "\n".join(map(plain, without_secrets(text).split("\n")))
