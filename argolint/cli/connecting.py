"""Connects to the Argo CDs that the options name and reads their lists of applications."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from argolint.cli import servers
from argolint.cli.given import CommandOptions
from argolint.cli.prepare import pacing
from argolint.engine.servers import Listing, Source, read_servers
from argolint.host.memory import expect_answers
from argolint.model import Failure
from argolint.redaction import without_secrets
from argolint.reports.document import Server
from argolint.server.connection import Connection
from argolint.server.transport import Transport

Sources = tuple[Sequence[Source], Sequence[str]]
"""The Argo CDs of a run, and remarks on them."""


def connected(connection: Connection, opts: CommandOptions, threads: int | None = None) -> Transport:
    """A transport to the server; `threads`: this process is one of several workers and may have that many requests in flight."""
    from argolint.server.http import ANSWER_S, MAX_ANSWER_BYTES, HttpTransport

    pace = pacing(opts, connection.limits)
    pace = pace if threads is None else pace.part(threads)
    return HttpTransport(
        connection,
        workers=pace.workers,
        rate=pace.rate,
        per_cluster=pace.per_cluster,
        answer_s=opts.timeout or ANSWER_S,
        max_bytes=opts.max_answer << 20 if opts.max_answer else MAX_ANSWER_BYTES,
    )


def sources_of(opts: CommandOptions) -> Sources:
    """The Argo CDs that the options name, and remarks on them."""
    return servers.sources(opts, lambda connection, threads: connected(connection, opts, threads))


def read_lists(opts: CommandOptions) -> tuple[tuple[Listing, ...], tuple[Failure, ...], tuple[str, ...]]:
    """The Argo CDs that the options name, with only the lists of applications; failures; and remarks.

    Raises ArgolintError if none can be read.
    """
    sources, remarks = sources_of(opts)
    expect_answers()
    read, failures, more = read_servers(sources)
    return read, (*failures, *(f for one in read for f in one.failures)), (*remarks, *more)


def requested_servers(opts: CommandOptions) -> tuple[Server, ...]:
    """The Argo CDs that the options name, not yet read."""
    return tuple(
        Server(without_secrets(s.transport.server) if s.transport else "", "", 0, s.name or msgspec.UNSET)
        for s in sources_of(opts)[0]
    )
