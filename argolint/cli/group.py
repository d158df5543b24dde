"""The list of commands. Each is imported when it runs, so that `--help` is quick."""

from __future__ import annotations

import importlib
import io
import os
from collections.abc import Mapping
from typing import Any

import click

from argolint import __version__
from argolint.errors import ArgolintError

# name: (module, short help), in an order of use. The short texts are here so that `argolint --help` imports no command.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "check": ("argolint.cli.check", "Lint applications."),
    "why": ("argolint.cli.why", "Explain one application, object or field: Git, live, writer, fix."),
    "fix": ("argolint.cli.fix", "Print fixes, or write them into Git checkouts."),
    "watch-fix": ("argolint.cli.watch_fix", "Wait until what was fixed is gone on the server."),
    "forecast": ("argolint.cli.forecast", "Predict what an upgrade, a deletion or a move does."),
    "owners": ("argolint.cli.owners", "Show who owns an object, and who else claims it."),
    "explain": ("argolint.cli.explain", "Show a rule's page."),
    "rules": ("argolint.cli.rules", "List the rules."),
    "demo": ("argolint.cli.demo", "Check a recorded Argo CD; no server needed."),
    "gate": ("argolint.cli.gate", "Show what a change does, before it is merged."),
    "comment": ("argolint.cli.comment", "Put a Markdown report on the pull request."),
    "init": ("argolint.cli.init", "Write a configuration, a baseline and a CI file."),
    "config": ("argolint.cli.config", "Print the effective settings and their origin."),
    "baseline": ("argolint.cli.baseline", "Accept today's findings."),
    "compare": ("argolint.cli.compare", "Two reports: new, gone, unchanged."),
    "report": ("argolint.cli.report", "Convert saved reports to any format."),
    "snapshot": ("argolint.cli.snapshot", "Save what a check reads, for offline use."),
    "merge": ("argolint.cli.merge", "Join shards into one report."),
    "serve": ("argolint.cli.serve", "Check repeatedly, and serve metrics and reports."),
    "extension": ("argolint.cli.extension", "Print the extension of Argo CD's UI."),
    "mcp": ("argolint.cli.mcp", "Tools for agents, over the Model Context Protocol."),
    "publish": ("argolint.cli.publish", "Write a report to a cluster, as OpenReports."),
    "schema": ("argolint.cli.schema", "Print a JSON Schema."),
    "completion": ("argolint.cli.completion", "Print the completion script of a shell."),
    "version": ("argolint.cli.version", "Print the versions of argolint, rules and Python."),
}


COMPLETING = "_ARGOLINT_COMPLETE"
"""The environment variable with which a shell asks click for completions."""


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if os.environ.get(COMPLETING, "").endswith("_complete"):
            from argolint.cli import complete

            return complete.command(cmd_name)
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command

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
    argolint why team/web         one application: from Git to the cluster, what is wrong, and how to fix it
    argolint check team/web -v    its findings with evidence and every fix
    argolint explain RULE         why it matters and what to do

    Exit codes: 0 nothing at or above --fail-on, 1 such findings, 2 cannot start, 3 incomplete.
    """


def command_line() -> int:
    """Run the command that the arguments name; return its exit code, or 2 after printing an expected error."""
    try:
        code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption) and error.ctx is not None:
            hidden = {name for o in error.ctx.command.params if getattr(o, "hidden", False) for name in o.opts}
            close = [name for name in error.possibilities or () if name not in hidden]
            error = click.NoSuchOption(error.option_name, None, close, error.ctx)
        shown = io.StringIO()
        error.show(shown)
        report(shown.getvalue())
        return 2
    except SystemExit as done:
        if COMPLETING not in os.environ:
            raise
        return done.code if isinstance(done.code, int) else 0  # click ends so after completions
    except click.Abort as abort:  # click raises it for Ctrl-C and at the end of a file
        raise abort.__cause__ or abort from None
    except ArgolintError as error:
        report(f"argolint: {error.message}\n" + (f"  → {error.hint}\n" if error.hint else ""))
        return 2
    return code if isinstance(code, int) else 0


def report(text: str) -> None:
    """Print an error. Options, addresses and answers that it quotes are masked."""
    from argolint.redaction import without_secrets  # only for errors: `--help` stays quick

    click.echo(without_secrets(text), err=True, nl=False)
