"""Transports to what the options mean: a server, several, or a snapshot."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from argolint.cli import servers
from argolint.cli.prepare import pacing
from argolint.engine.load import load_fleet
from argolint.model import Failure
from argolint.redaction import without_secrets
from argolint.reports import document as report
from argolint.server.transport import Transport

if TYPE_CHECKING:
    from argolint.engine.several import Read, Source
    from argolint.server.connection import Connection


def open_transport(given: Mapping[str, Any], threads: int | None = None) -> Transport:
    """The snapshot or the server that options, environment, the user's settings and login file name, in this order."""
    if given["snapshots"]:
        from argolint.snapshots.reader import SnapshotTransport

        return SnapshotTransport([Path(p) for p in given["snapshots"]])
    from argolint.server.connection import connect

    return connected(connect(given["connection"], os.environ, Path.home(), datetime.now(UTC)), given, threads)


def connected(connection: Connection, given: Mapping[str, Any], threads: int | None = None) -> Transport:
    """The server; `threads` says that this is one of several workers, with so many requests in flight."""
    from argolint.server.http import ANSWER_S, MAX_ANSWER_BYTES, HttpTransport

    pace = pacing(given, connection.limits)
    pace = pace if threads is None else pace.part(threads)
    return HttpTransport(
        connection,
        workers=pace.workers,
        rate=pace.rate,
        per_cluster=pace.per_cluster,
        answer_s=given["timeout"] or ANSWER_S,
        max_bytes=given["max_answer"] << 20 if given["max_answer"] else MAX_ANSWER_BYTES,
    )


def sources_of(given: Mapping[str, Any]) -> tuple[tuple[Source, ...], tuple[str, ...]] | None:
    return servers.sources(given, lambda connection, threads: connected(connection, given, threads))


def read_lists(given: Mapping[str, Any]) -> tuple[tuple[Read, ...], tuple[Failure, ...], tuple[str, ...]]:
    """The Argo CDs that the options mean, their applications listed and nothing more; what could not be read, and remarks.

    Raises ArgolintError when none can be read.
    """
    from argolint.engine import several as engine

    several = sources_of(given)
    if several is not None:
        read, failures, remarks = engine.load(several[0])
        return read, (*failures, *(f for one in read for f in one.failures)), (*several[1], *remarks)
    t = open_transport(given)
    fleet, failures = load_fleet(t)
    return (engine.Read(engine.Source("", t), t, fleet, failures),), failures, ()


def asked(given: Mapping[str, Any]) -> tuple[report.Server, ...]:
    """The Argo CDs that the options mean, before they are read."""
    several = sources_of(given)
    if several is None:
        return (report.Server(without_secrets(open_transport(given).server), "", 0),)
    return tuple(
        report.Server(without_secrets(s.transport.server) if s.transport else "", "", 0, s.name) for s in several[0]
    )
