"""Chooses the Argo CDs of a run: `--servers`, `--all-contexts`, the user's settings, or the single one that the options name."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from argolint.cli.given import CommandOptions, ServersFile
from argolint.engine.servers import Source
from argolint.errors import UsageError
from argolint.model import Failure
from argolint.server.connection import Connection, connect
from argolint.server.servers_file import Named as Place
from argolint.server.servers_file import of_logins, read_servers
from argolint.server.transport import Transport
from argolint.server.user import read_settings, settings_file

F = TypeVar("F", bound=Callable[..., Any])
_ONE = ("ARGOCD_SERVER", "ARGOCD_OPTS")


def servers_options(command: F) -> F:
    """Adds --servers, --all-contexts and --only to a click command."""
    file = click.option(
        "--servers",
        "servers",
        type=click.Path(path_type=Path),
        metavar="FILE",
        envvar="ARGOLINT_SERVERS",
        callback=_named,
        help="Read every Argo CD that this file names, each with its own token, in one run.",
    )
    contexts = click.option(
        "--all-contexts",
        is_flag=True,
        help="Read every Argo CD that you are logged in to (`argocd context` lists them).",
    )
    only = click.option(
        "--only",
        multiple=True,
        metavar="NAME",
        help="Read only these of several servers, by the name in the file or of the login (repeatable, glob).",
    )
    return file(contexts(only(command)))


def _named(ctx: click.Context, param: click.Parameter, value: Path | None) -> ServersFile | None:
    return ServersFile(value, ctx.get_parameter_source("servers") is ParameterSource.COMMANDLINE) if value else None


def sources(
    opts: CommandOptions, connected: Callable[[Connection, int | None], Transport]
) -> tuple[tuple[Source, ...], tuple[str, ...]]:
    """The Argo CDs to read, and remarks on them. UsageError before any request."""
    places = several_places(opts)
    if places is None:
        return (_single(opts, connected),), ()
    named, remarks = places
    found = []
    for one in named:
        opened: Callable[[int | None], Transport] | None = None
        failure: Failure | None = None
        if one.snapshot is not None:
            opened = partial(_recorded, [one.snapshot])
        elif one.connection is not None:
            opened = partial(connected, one.connection)
        elif one.problem is not None:
            failure = Failure("login", one.problem.message, one.problem.hint, server=one.name)
        transport = opened(None) if opened is not None else None
        reached = one.connection or ((one.snapshot,) if one.snapshot else ())
        found.append(Source(one.name, transport, one.aliases, failure, opened, reached, entry=one.entry))
    return tuple(found), remarks


def _single(opts: CommandOptions, connected: Callable[[Connection, int | None], Transport]) -> Source:
    """The single Argo CD from the options, the environment, the user's settings or the login file, in this order; or a snapshot."""
    files = tuple(Path(path) for path in opts.snapshots)
    if files:
        return Source("", _recorded(files, None), opened=partial(_recorded, files), reached=files)

    def connection() -> Connection:
        return connect(opts.flags, os.environ, Path.home(), datetime.now(UTC))

    reached = connection()
    return Source(
        "", connected(reached, None), opened=lambda threads: connected(connection(), threads), reached=reached
    )


def several_places(opts: CommandOptions) -> tuple[tuple[Place, ...], tuple[str, ...]] | None:
    """The places of several Argo CDs, and remarks; None if the options name a single one."""
    file, only = _file(opts), opts.only
    if file is None and not opts.all_contexts:
        if only:
            hint = "pass --servers FILE or --all-contexts as well"
            raise UsageError("--only chooses among several servers, and a single one is named", hint)
        return None
    now, home, config = datetime.now(UTC), Path.home(), opts.flags.config
    if file is None:
        return of_logins(config, os.environ, home, now, only)
    return read_servers(file, config, os.environ, home, now, _checkouts(opts), only), ()


def _checkouts(opts: CommandOptions) -> list[Path]:
    """The checkouts that the options name: a change under judgement may have written files in them."""
    from argolint.sources.checkout import url_and_folder

    named = [opts.checkout] if opts.checkout else []
    return [*named, *(Path(url_and_folder(text)[1]) for text in opts.checkouts or ())]


def _recorded(files: Sequence[Path], threads: int | None) -> Transport:
    from argolint.snapshots.reader import SnapshotTransport

    return SnapshotTransport(files)


def _file(opts: CommandOptions) -> Path | None:
    """The servers file. UsageError if options contradict each other. A single server on the command line wins over environment variables."""
    flags, named = opts.flags, opts.servers
    one = [f"--{name.replace('_', '-')}" for name in flags.__slots__ if name != "config" and getattr(flags, name)]
    one += ["--snapshot"] if opts.snapshots else []
    chosen = "--all-contexts" if opts.all_contexts else "--servers"
    if named is not None and not named.by_option and (one or opts.all_contexts):
        named = None
    if one and (named is not None or opts.all_contexts):
        own = "; an entry of the file has headers, token and TLS files of its own" if named is not None else ""
        raise UsageError(f"{one[0]} is for a single server, and {chosen} names several", f"pass one of them{own}")
    if named is not None and opts.all_contexts:
        raise UsageError("--servers and --all-contexts both say which servers to read", "pass one of them")
    if named is not None:
        return named.file
    if opts.all_contexts or one or any(os.environ.get(name) for name in _ONE):
        return None
    own = read_settings(os.environ, Path.home()).servers
    return settings_file(os.environ, Path.home()).parent / Path(own).expanduser() if own else None
