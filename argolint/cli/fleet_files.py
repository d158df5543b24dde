"""--fleet: the list of applications from a file instead of the server."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click

from argolint.cli.given import CommandOptions
from argolint.engine.servers import Source
from argolint.errors import ArgolintError, UsageError
from argolint.model import Failure
from argolint.server.transport import Transport


def with_fleets(opts: CommandOptions, sources: Sequence[Source]) -> Sequence[Source]:
    """The Argo CDs, with the files of --fleet in place of their own lists. A server that fails becomes a failure of its own.

    A file is given as NAME=FILE; for a server without a name as FILE.
    """
    if opts.fleets and not sources[0].name:
        if len(opts.fleets) > 1:
            raise UsageError("--fleet is given more than once, for a single server", "pass the file of this server")
        return [_with_file(sources[0], opts.fleets[0])]
    files: dict[str, str] = {}
    read = {source.name for source in sources}
    some = read if opts.only else None
    for name, file in (pair for text in opts.fleets for pair in _named(text, some)):
        if name in files:
            raise UsageError(f"--fleet has two files for {name}: {files[name]} and {file}", "pass one of them")
        files[name] = file
        if not file or name not in read:
            hint = f"write --fleet NAME=FILE; the servers are {', '.join(source.name for source in sources)}"
            raise UsageError(
                f"--fleet {name!r} names no server of this run" if file else "--fleet names no server", hint
            )
        if not Path(file).exists():
            raise UsageError(
                f"--fleet: there is no {file} for {name}", "name what `argolint snapshot --fleet-only` wrote"
            )
    return [_with_file(source, files.get(source.name)) for source in sources]


def _named(text: str, only: Collection[str] | None) -> Iterator[tuple[str, str]]:
    """Name and file of NAME=FILE; for a folder from `snapshot --servers`, those of its servers, limited by `only`."""
    made = Path(text, "servers.yaml")
    if not made.is_file():
        yield text.partition("=")[::2]
        return
    from argolint.server.servers_file import read_servers

    for entry in read_servers(made, "", {}, Path.home(), datetime.now(UTC)):
        if only is None or entry.name in only:
            yield entry.name, str(entry.snapshot or "")


def _with_file(source: Source, file: str | None) -> Source:
    if source.transport is None or file is None:
        return source
    try:
        return replace(source, transport=_listed_in(Path(file), source.transport))
    except ArgolintError as error:
        if isinstance(error, UsageError) or not source.name:
            raise
        failure = Failure("server", error.message, error.hint, server=source.name)
        return replace(source, transport=None, failure=failure)


def _listed_in(file: Path, t: Transport) -> Transport:
    if t.offline:
        raise UsageError("--fleet and --snapshot exclude each other: a snapshot holds its list", "pass one of them")
    from argolint.snapshots.fleet_file import OLD, FleetTransport
    from argolint.values import age_text

    found = FleetTransport(file, t)
    if found.age > OLD:
        click.echo(f"warning: the fleet in {file} was read {age_text(found.age)} ago, states are read now", err=True)
    return found
