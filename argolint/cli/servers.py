"""Which Argo CDs a run over several of them reads: `--servers`, `--all-contexts`, or the user's settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.core import ParameterSource

from argolint.errors import UsageError
from argolint.model import Failure

if TYPE_CHECKING:
    from argolint.engine.several import Source
    from argolint.server.connection import Connection
    from argolint.server.several import Named as Place
    from argolint.server.transport import Transport

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


class Named(NamedTuple):
    """The file of --servers, and whether the command line names it rather than a variable."""

    file: Path
    by_option: bool


def _named(ctx: click.Context, param: click.Parameter, value: Path | None) -> Named | None:
    return Named(value, ctx.get_parameter_source("servers") is ParameterSource.COMMANDLINE) if value else None


def sources(
    given: Mapping[str, Any], connected: Callable[[Connection, int | None], Transport]
) -> tuple[tuple[Source, ...], tuple[str, ...]] | None:
    """The Argo CDs to read and remarks on them; None where the options mean a single one. UsageError before any request."""
    places = asked(given)
    if places is None:
        return None
    from argolint.engine.several import Source

    named, remarks = places
    found = []
    for one in named:
        opened: Callable[[int | None], Transport] | None = None
        failure: Failure | None = None
        if one.snapshot is not None:
            opened = partial(_recorded, one.snapshot)
        elif one.connection is not None:
            opened = partial(connected, one.connection)
        elif one.problem is not None:
            failure = Failure("login", one.problem.message, one.problem.hint, server=one.name)
        transport = opened(None) if opened is not None else None
        reached = one.connection or one.snapshot
        found.append(Source(one.name, transport, one.aliases, failure, opened, reached, entry=one.entry))
    return tuple(found), remarks


def asked(given: Mapping[str, Any]) -> tuple[tuple[Place, ...], tuple[str, ...]] | None:
    """Where they are, and remarks; None where the options mean a single one."""
    file, only = _file(given), given.get("only", ())
    if file is None and not given.get("all_contexts"):
        if only:
            hint = "pass --servers FILE or --all-contexts as well"
            raise UsageError("--only chooses among several servers, and a single one is named", hint)
        return None
    from argolint.server.several import of_logins, read_servers

    now, home, config = datetime.now(UTC), Path.home(), given["connection"].config
    if file is None:
        return of_logins(config, os.environ, home, now, only)
    return read_servers(file, config, os.environ, home, now, _checkouts(given), only), ()


def _checkouts(given: Mapping[str, Any]) -> list[Path]:
    """The checkouts that the options name: a change to one of them may be what is judged."""
    from argolint.sources.checkout import url_and_folder

    named = [given["checkout"]] if given.get("checkout") else []
    return [*named, *(Path(url_and_folder(text)[1]) for text in given.get("checkouts") or ())]


def _recorded(snapshot: Path, threads: int | None) -> Transport:
    from argolint.snapshots.reader import SnapshotTransport

    return SnapshotTransport([snapshot])


def _file(given: Mapping[str, Any]) -> Path | None:
    """The servers file; UsageError when options contradict each other. A single server on the command line wins over variables."""
    if "servers" not in given:  # a command that reads a single server
        return None
    flags, named = given["connection"], given["servers"]
    one = [f"--{name.replace('_', '-')}" for name in flags.__slots__ if name != "config" and getattr(flags, name)]
    one += ["--snapshot"] if given["snapshots"] else []
    chosen = "--all-contexts" if given["all_contexts"] else "--servers"
    if named is not None and not named.by_option and (one or given["all_contexts"]):
        named = None
    if one and (named is not None or given["all_contexts"]):
        own = "; an entry of the file has headers, token and TLS files of its own" if named is not None else ""
        raise UsageError(f"{one[0]} is of a single server, and {chosen} names several", f"pass one of them{own}")
    if named is not None and given["all_contexts"]:
        raise UsageError("--servers and --all-contexts both say which servers to read", "pass one of them")
    if named is not None:
        return named.file  # type: ignore[no-any-return]
    if given["all_contexts"] or one or any(os.environ.get(name) for name in _ONE):
        return None
    from argolint.server.user import read_settings, settings_file

    own = read_settings(os.environ, Path.home()).servers
    return settings_file(os.environ, Path.home()).parent / Path(own).expanduser() if own else None
