"""`argolint config`: the settings in force, and their origin."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec
from click.core import ParameterSource

from argolint.cli import servers
from argolint.cli.given import CommandOptions
from argolint.cli.group import report
from argolint.cli.options import fail_options, output_options, rule_options
from argolint.cli.prepare import prepare
from argolint.cli.servers import servers_options
from argolint.engine import trusted
from argolint.engine.config import Config, Loaded
from argolint.engine.trusted import Trusted
from argolint.errors import ArgolintError, UsageError
from argolint.plugins import load_rules
from argolint.redaction import without_secrets
from argolint.server.connection import Flags, connect, connection_options, origins
from argolint.server.limits import Limits
from argolint.server.servers_file import Named
from argolint.server.user import read_settings, settings_file
from argolint.values.strict_yaml import nearest

_FROM = {
    ParameterSource.COMMANDLINE: "flag",
    ParameterSource.ENVIRONMENT: "environment",
    ParameterSource.DEFAULT: "default",
    ParameterSource.DEFAULT_MAP: "default",
}
# option: key of the file
_KEYS = {"select": "select", "ignore": "deselect", "fail_on": "fail_on", "outputs": "output", "baseline": "baseline"}


@click.command()
@click.option(
    "--check",
    "only_check",
    is_flag=True,
    help="Only report unknown settings in the configuration, the baseline and your settings; send no request.",
)
@connection_options
@servers_options
@rule_options
@fail_options
@output_options
@click.pass_context
def command(ctx: click.Context, /, connection: Flags, *, only_check: bool, **options: Any) -> int:
    """Check the configuration, and print the effective settings with their origin: flag, environment, file or default.

    An invalid configuration is reported, and the settings without it are printed; the exit code is 2.
    """
    opts = CommandOptions(**options)
    if only_check:
        return _check(opts)
    broken: UsageError | None = None
    configured = Trusted(Loaded(Config()))
    try:
        configured = trusted.read(opts.named)
        # errors of the user's settings get a line of their own below
        run = prepare(opts, configured=configured, settings=False)
    except UsageError as error:
        broken = error
        report(f"argolint: {error.message}\n" + (f"  → {error.hint}\n" if error.hint else ""))
        configured = Trusted(Loaded(Config()))
        run = prepare(
            replace(opts, select=(), ignore=(), outputs=(), min_severity=None), configured=configured, settings=False
        )
    loaded = configured.loaded
    in_force = {
        "select": opts.select or loaded.config.select,
        "ignore": opts.ignore or loaded.config.deselect,
        "fail_on": run.fail_on,
        "outputs": [o.format + (f"={o.file}" if o.file else "") for o in run.outputs],
        "baseline": opts.baseline or loaded.config.baseline,
    }
    click.echo(f"{'configuration':16} {'not usable, see above' if broken else loaded.file or 'none'}")
    for remark in configured.remarks:
        click.echo(f"{'change':16} {without_secrets(remark)}")
    for option, key in _KEYS.items():
        source = _FROM.get(ctx.get_parameter_source(option) or ParameterSource.DEFAULT, "flag")
        if source == "default" and getattr(loaded.config, key):
            source = str(loaded.file)
        value = in_force[option]
        shown = ", ".join(map(str, value)) if isinstance(value, tuple | list) else value
        click.echo(without_secrets(f"{key.replace('_', '-'):16} {shown or '-'}  ({source})"))
    for name, own in sorted(loaded.config.rules.items()):
        words = [f"severity {own.severity}"] if own.severity else []
        words += [f"{k} {v}" for k, v in sorted(own.options.items())]
        click.echo(without_secrets(f"{'rules.' + name:16} {', '.join(words) or '-'}  ({loaded.file})"))
    for entry in loaded.entries:
        until = f" until {entry.ignore.expires}" if entry.ignore.expires else ""
        accepts = without_secrets(f"{entry.ignore.rule}{until}: {entry.ignore.reason}")
        click.echo(f"{'ignore':16} {accepts}  ({entry.place})")
    several = _servers(replace(opts, connection=connection))
    for line in several or _connection(connection, os.environ, Path.home()):
        click.echo(without_secrets(line))
    for line in _limits(os.environ, Path.home()):
        click.echo(line)
    rules = sum(run.plan.shown.may_take(c.rule.id, c.rule.family) for c in run.plan.rules)
    click.echo(f"All {len(run.plan.rules)} rules run; findings of {rules} are shown.")
    return 2 if broken else 0


def _check(opts: CommandOptions) -> int:
    """Print each setting that this argolint does not know, such as a removed rule; 2 if there is one, else 0."""
    problems: list[tuple[str, str]] = []
    configured = Trusted(Loaded(Config()))
    with _noted(problems):
        configured = trusted.read(opts.named)
        prepare(opts, configured=configured)
    with _noted(problems):
        read_settings(os.environ, Path.home())
    known = load_rules()
    gone = Counter(a.rule for a in (configured.baseline.findings if configured.baseline else ()) if a.rule not in known)
    for rule, number in sorted(gone.items()):
        of = f"{number} finding{'s' * (number > 1)}"
        problems.append(
            (
                f"the baseline accepts {of} of {rule!r}, a rule that this argolint does not have{nearest(rule, known)}",
                "write it again: `argolint baseline -o FILE`",
            )
        )
    for message, hint in problems:
        report(f"argolint: {message}\n" + (f"  → {hint}\n" if hint else ""))
    if not problems:
        click.echo(f"{configured.loaded.file or 'no configuration'}: all of it is read")
    return 2 if problems else 0


@contextlib.contextmanager
def _noted(problems: list[tuple[str, str]]) -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        problems.append((error.message, error.hint))


def _limits(environ: Mapping[str, str], home: Path) -> Iterator[str]:
    """The request limits of each server, if the user's settings have some."""
    with contextlib.suppress(UsageError):  # already reported above, with the server
        limits = read_settings(environ, home).limits
        if words := _limits_text(limits):
            yield f"{'limits':16} {words}  ({settings_file(environ, home)})"


def _limits_text(limits: Limits) -> str:
    return ", ".join(f"{name} {value}" for name, value in msgspec.to_builtins(limits).items() if value)


def _servers(opts: CommandOptions) -> list[str]:
    """The servers that `check` reads, if there are several, and whether there is a token for each; never the token."""
    try:
        found = servers.several_places(opts)
    except ArgolintError as error:
        return [f"{'servers':16} -  ({error.message})"]
    return [line for one in (found[0] if found else ()) for line in _server(one)]


def _server(one: Named) -> Iterator[str]:
    """One of several servers: its address, the origin of its token, its request limits, and the names of its clusters."""
    connection = one.connection
    place = connection.url if connection else one.snapshot or one.problem
    token_note = f", {connection.token_place}" if connection and connection.token_place else ""
    token = (f"token set{token_note}" if connection.token else "anonymous") if connection else "-"
    yield f"{'server ' + one.name:16} {place}  ({token})"
    if connection and (limits := _limits_text(connection.limits)):
        yield f"{'  limits':16} {limits}"
    if one.aliases:
        yield f"{'  clusters':16} {', '.join(f'{known} = {alias}' for known, alias in one.aliases.items())}"


def _connection(flags: Flags, environ: Mapping[str, str], home: Path) -> Iterator[str]:
    """The server, and whether there is a token for it; never the token."""
    try:
        found = connect(flags, environ, home, datetime.now(UTC))
        server_by, token_by = origins(flags, environ, home)
    except ArgolintError as error:
        yield f"{'server':16} -  ({error.message})"
        return
    yield f"{'server':16} {found.url}  ({server_by})"
    yield f"{'token':16} {f'set  ({token_by})' if found.token else '-  (anonymous)'}"
