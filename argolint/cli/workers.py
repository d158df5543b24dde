"""--processes and --dask: other processes look at the applications."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click
from click.core import ParameterSource

from argolint.cli.given import CommandOptions
from argolint.cli.prepare import pacing, wanted_workers
from argolint.engine.run import Look
from argolint.engine.servers import Source
from argolint.errors import UsageError
from argolint.redaction import without_secrets
from argolint.server.connection import Connection
from argolint.values import plain

if TYPE_CHECKING:
    from argolint.engine.workers.spec import Server


def look_of(opts: CommandOptions, source: Source) -> Look | None:
    """The function that looks at the applications of a server in other processes, or None. UsageError for sources that cannot be shared."""
    offline = isinstance(source.reached, tuple)
    count, dask = opts.processes or 1, opts.dask
    lonely = next((name for name in ("worker_token", "dask_insecure") if getattr(opts, name) and _by_option(name)), "")
    if lonely and not dask:
        option = f"--{lonely.replace('_', '-')}"
        raise UsageError(f"{option} is for a Dask cluster, and none is named", "pass --dask ADDRESS as well")
    if dask and count > 1:
        if _by_option("processes") == _by_option("dask"):
            raise UsageError("--dask and --processes both say who looks at applications", "pass one of them")
        # an option wins over an environment variable
        count, dask = (count, None) if _by_option("processes") else (1, dask)
    if count == 1 and not dask:
        return None
    option = "--dask" if dask else "--processes"
    if opts.render_twice and not offline:
        raise UsageError(
            "--render-twice renders one application at a time", f"leave {option} out: it would gain nothing"
        )
    if dask:
        return _look_in_cluster(opts, source)
    if sys.platform != "linux":
        hint = "divide the work with --shard I/N, and join it with `argolint merge`"
        raise UsageError("--processes needs Linux", hint)
    most = wanted_workers(opts)
    if not offline and count > most:
        raise UsageError(
            f"{count} processes need {count} requests in flight at least, and {most} are allowed",
            f"pass --workers {count} if the server may be asked so much, or fewer --processes",
        )
    from argolint.engine.workers.processes import in_processes

    if not offline:
        count = pacing(opts, source.limits).shared_by(count)
    assert source.opened is not None
    return in_processes(count, source.opened)


def _by_option(name: str) -> bool:
    """Whether the command line has the option, rather than an environment variable that may be meant for other runs."""
    context = click.get_current_context(silent=True)
    return context is not None and context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _look_in_cluster(opts: CommandOptions, source: Source) -> Look:
    """A look on a Dask cluster. Secrets of the connection stay here: each worker has its own token."""
    from argolint.engine.workers.cluster import in_cluster
    from argolint.engine.workers.spec import TOKEN, require_place

    if opts.helm_render:
        raise UsageError(
            "--helm-render needs the checkouts, which the Dask workers do not have", "leave one of both out"
        )
    place = require_place(opts.worker_token or TOKEN)
    reached, server = source.reached, None
    if isinstance(reached, Connection):
        if source.name and opts.worker_token:
            raise UsageError(
                "--worker-token is for a single server", "the entries of --servers say where each token is"
            )
        if source.name and not reached.token_place:
            hint = "name it in a servers file, with auth-token-env or auth-token-file, and give every worker the same variable or file"
            raise UsageError(f"{source.name}: no Dask worker has the token of this login", hint)
        server = _elsewhere(opts, reached, reached.token_place or place)
    return in_cluster(
        opts.dask or "",
        insecure=opts.dask_insecure,
        snapshots=[] if server else [str(file.absolute()) for file in cast("tuple[Path, ...]", reached)],
        server=server,
        warn=lambda text: click.echo(f"warning: {without_secrets(plain(text))}", err=True),
    )


def _elsewhere(opts: CommandOptions, connection: Connection, place: str) -> Server:
    """The connection of a remote worker to a server. UsageError for settings that only this process has."""
    from argolint.engine.workers.spec import Server
    from argolint.server.http import ANSWER_S, MAX_ANSWER_BYTES

    certificate, key = connection.client_files
    pace = pacing(opts, connection.limits)
    for what, there in (
        ("headers", connection.headers),
        ("client certificate", connection.client_pem and not certificate),
    ):
        if there:
            hint = "with --dask, name a client certificate by files that are on every worker; headers cannot be sent"
            raise UsageError(f"the {what} of this connection would have to travel to the Dask workers", hint)
    return Server(
        connection.url,
        place,
        connection.insecure,
        connection.ca_pem,
        certificate,
        key,
        opts.timeout or ANSWER_S,
        opts.max_answer << 20 if opts.max_answer else MAX_ANSWER_BYTES,
        pace.rate,
        pace.per_cluster,
    )
