"""The Argo CDs of a run, one or more: each is read and examined separately, and the results form one part.

Findings and fingerprints of an Argo CD do not depend on the others. Only rules whose facts meet `across` see more. An Argo CD that cannot
be read is a failure with its name, and the findings of the others stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import msgspec

from argolint.application.fleet import Fleet
from argolint.engine.crossings import JoinedServer, with_shared_objects
from argolint.engine.load import ReadFleet, read_fleet
from argolint.engine.pipeline import Part, examine_shard
from argolint.engine.plan import Plan, Progress
from argolint.engine.run import Look, unread_result
from argolint.errors import ArgolintError, ConnectError, UsageError
from argolint.host import threads
from argolint.host.timing import charged, measured, measuring
from argolint.model import Failure
from argolint.model.results import AppResult
from argolint.model.stats import Cost, Stats
from argolint.server.connection import Connection
from argolint.server.limits import NONE, Limits
from argolint.server.servers_file import in_entry
from argolint.server.transport import Transport
from argolint.values import dig

S = TypeVar("S")
T = TypeVar("T")
NOTHING: Mapping[str, ReadFleet] = MappingProxyType({})
AT_ONCE = 4
"""Argo CDs to read at the same time: each has its own workers, but this process handles all answers."""


@dataclass(frozen=True)
class Source:
    """One Argo CD of a run. `name` is empty for a single one without a user's name. `aliases`: the user's names for clusters.

    Without a transport, `failure` says why it cannot be read. `opened` makes another transport with that many threads, for another process.
    `reached`: its connection, or the files of its snapshot. `entry`: it comes from a servers file.
    """

    name: str
    transport: Transport | None
    aliases: Mapping[str, str] = field(default_factory=dict)
    failure: Failure | None = None
    opened: Callable[[int | None], Transport] | None = None
    reached: Connection | tuple[Path, ...] = ()
    entry: bool = False

    @property
    def limits(self) -> Limits:
        """The request limits of its entry."""
        return self.reached.limits if isinstance(self.reached, Connection) else NONE

    def workers(self, most: int) -> int:
        """The number of requests in flight to it, at most `most`."""
        return min(most, self.limits.workers or most)

    def labelled(self, failure: Failure) -> Failure:
        """The failure with the server's name, if no application says it, and a hint for its user."""
        place = self.reached.token_place if isinstance(self.reached, Connection) else ""
        hint = in_entry(failure.hint, place) if self.entry else failure.hint
        if failure.app is not None:
            return failure if hint == failure.hint else replace(failure, hint=hint)
        return replace(failure, hint=hint, server=self.name)

    def says(self, line: str) -> str:
        """A line that begins with the server's name, if it has one."""
        return f"{self.name}: {line}" if self.name else line


@dataclass(frozen=True)
class _Unread:
    """An Argo CD that cannot be read: as a failure in the others' report, and as an error to raise if there are no others."""

    failure: Failure
    error: ArgolintError


@dataclass(frozen=True)
class Listing:
    """An Argo CD with its list of applications, its failures, and the cost if measured."""

    source: Source
    transport: Transport
    fleet: Fleet
    failures: tuple[Failure, ...]
    spent: tuple[Cost, ...] = ()

    @property
    def member(self) -> JoinedServer:
        """This Argo CD as one of several that may share clusters."""
        return JoinedServer(self.source.name, self.fleet, self.source.aliases)

    def bounded(self, plan: Plan) -> Plan:
        """The plan with at most as many requests in flight as this Argo CD allows; a snapshot is read by one thread."""
        return replace(plan, workers=1 if self.transport.offline else self.source.workers(plan.workers))


def read_servers(
    sources: Sequence[Source], read: Mapping[str, ReadFleet] = NOTHING
) -> tuple[tuple[Listing, ...], tuple[Failure, ...], tuple[str, ...]]:
    """The Argo CDs that can be read, each with what it shares with others; failures of the rest; and remarks.

    `read`: functions that read some of them, by name, if earlier checks are known.

    Raises ArgolintError if none can be read.
    """
    wanted = measuring()

    def loaded(source: Source) -> Listing | _Unread:
        with measured(wanted) as ledger, charged("list"):
            found = _loaded(source, read.get(source.name, read_fleet))
        return replace(found, spent=ledger.costs) if isinstance(found, Listing) else found

    found = each(sources, loaded)
    with charged("list"):
        return _joined_listings(found)


def _joined_listings(
    found: Sequence[Listing | _Unread],
) -> tuple[tuple[Listing, ...], tuple[Failure, ...], tuple[str, ...]]:
    """See read_servers: separates readable Argo CDs from failures, and finds the objects that they share."""
    readable = tuple(r for r in found if isinstance(r, Listing))
    unread = tuple(r for r in found if isinstance(r, _Unread))
    if not readable:
        raise _nothing_read_error(unread)
    readable, remarks = _distinguished(readable)
    members = [r.member for r in readable]
    fleets, more = with_shared_objects(members)
    unknown = (
        Failure(
            "clusters",
            f"there is an alias for cluster {key}, and neither a cluster nor an application of it is called so",
            "correct `clusters:` of its entry, with a cluster's name or address as `argocd cluster list` shows it",
            server=member.name,
        )
        for member in members
        for key in member.unknown
    )
    readable = tuple(replace(r, fleet=fleet) for r, fleet in zip(readable, fleets, strict=True))
    return readable, (*(one.failure for one in unread), *unknown), (*remarks, *more)


def _nothing_read_error(unread: Sequence[_Unread]) -> ArgolintError:
    first = unread[0]
    if not first.failure.server:
        return first.error
    reasons = "; ".join(f"{one.failure.server}: {one.failure.error}" for one in unread)
    return ArgolintError(f"none of the Argo CDs can be read: {reasons}", first.failure.hint)


def examine_servers(
    read: Sequence[Listing],
    failures: Iterable[Failure],
    remarks: Iterable[str],
    plan: Plan,
    progress: Callable[[str], Progress],
    look: Callable[[Source], Look | None] = lambda source: None,
    *,
    apart: bool = True,
) -> Part:
    """The applications of all of them as one part. `progress` makes a callback for each Argo CD, by its name.

    `look` returns the function that looks at the applications of each. If other processes do (`apart`), the Argo CDs are read one after the
    other.
    """
    begun: list[Listing] = []
    gone: list[ConnectError] = []

    def tried(one: Listing) -> Part | ArgolintError:
        if gone:  # every other look would wait for it again
            return gone[0]
        try:
            part = _examined(one, plan, progress, look(one.source))
        except (UsageError, ConnectError) as error:  # wrong options, or no cluster
            if not begun:
                raise
            if isinstance(error, ConnectError):
                gone.append(error)
            return error
        except ArgolintError as error:
            return error
        begun.append(one)
        return part

    found = each(read, tried, alone=all(one.transport.offline or (apart and look(one.source)) for one in read))
    if not begun:
        raise next(error for error in found if isinstance(error, ArgolintError))
    parts = [
        part if isinstance(part, Part) else _examined(one, plan, progress, _no_worker_look(part))
        for one, part in zip(read, found, strict=True)
    ]
    results: list[AppResult] = sorted((r for part in parts for r in part.results), key=lambda r: r.ref)
    return msgspec.structs.replace(
        parts[0],
        servers=tuple(server for part in parts for server in part.servers),
        started_at=min(part.started_at for part in parts),
        results=tuple(results),
        failures=(*failures, *(failure for part in parts for failure in part.failures)),
        remarks=(*remarks, *(remark for part in parts for remark in part.remarks)),
        stats=stats_of([one.transport for one in read]),
    )


def _examined(one: Listing, plan: Plan, progress: Callable[[str], Progress], look: Look | None) -> Part:
    """The applications of one Argo CD, and its failures and remarks with its name."""
    part = examine_shard(one.transport, one.bounded(plan), progress(one.source.name), one.fleet, look)
    return msgspec.structs.replace(
        part,
        servers=tuple(replace(s, name=one.source.name) for s in part.servers),
        results=tuple(
            replace(r, failures=labelled_failures(one.source, r.failures)) if r.failures else r for r in part.results
        ),
        failures=(*one.failures, *labelled_failures(one.source, part.failures)),
        remarks=tuple(map(one.source.says, part.remarks)),
    )


def stats_of(transports: Sequence[Transport], seconds: float = 0.0) -> Stats:
    """What the requests to these Argo CDs cost together."""
    return Stats(
        sum(t.stats.requests for t in transports),
        sum(t.stats.bytes for t in transports),
        seconds,
        sum(t.stats.slowed for t in transports) or msgspec.UNSET,
    )


def _no_worker_look(why: ArgolintError) -> Look:
    """A look for a run without any worker: each application becomes a failure."""
    return lambda t, fleet, plan, apps: (
        unread_result(app, Failure("worker", why.message, why.hint, app.ref)) for app in apps
    )


def each(items: Sequence[S], call: Callable[[S], T], *, alone: bool = False) -> list[T]:
    """The results of `call` for each item, some at the same time; with `alone`, one after the other."""
    return threads.each(items, call, 1 if alone else AT_ONCE, "argolint-server")


def _loaded(source: Source, read: ReadFleet) -> Listing | _Unread:
    if source.transport is None:
        why = source.failure or Failure("server", "it cannot be read", server=source.name)
        return _Unread(why, ArgolintError(why.error, why.hint))
    try:
        fleet, failures = read(source.transport)
    except ArgolintError as error:
        return _Unread(source.labelled(Failure("server", error.message, error.hint)), error)
    return Listing(source, source.transport, replace(fleet, name=source.name), labelled_failures(source, failures))


def _distinguished(read: Sequence[Listing]) -> tuple[tuple[Listing, ...], tuple[str, ...]]:
    """The Argo CDs, each with a unique URL: ones set up in the same way may report the same.

    Such ones are distinguished by the address that was used, else by name.
    """
    by_url: dict[str, list[Listing]] = {}
    for one in read:
        by_url.setdefault(one.fleet.server, []).append(one)
    remarks = []
    found: dict[str, Listing] = {}
    for url, group in by_url.items():
        addresses = {one.transport.server.rstrip("/") for one in group}
        for one in group:
            if len(group) == 1:
                found[one.source.name] = one
                continue
            own = one.transport.server.rstrip("/") if len(addresses) == len(group) else f"{url}#{one.source.name}"
            found[one.source.name] = replace(
                one, fleet=_with_url(one.fleet, own), failures=_failures_with_url(one.failures, own)
            )
        if len(group) > 1:
            names = ", ".join(one.source.name for one in group)
            remarks.append(f"{names} all say that their address is {url}: correct `url` in the argocd-cm of each.")
    return tuple(found[one.source.name] for one in read), (*remarks, *_same_server_remarks(read))


def _same_server_remarks(read: Sequence[Listing]) -> Iterator[str]:
    """A remark on servers that show the very same Applications, by their uid."""
    first: dict[object, str] = {}
    pairs = {
        (first.setdefault(uid, one.source.name), one.source.name)
        for one in read
        for app in one.fleet.apps
        if (uid := dig(app.brief, "metadata", "uid"))
    }
    for one_name, other in sorted(pair for pair in pairs if pair[0] != pair[1]):
        yield f"{one_name} and {other} show the same Applications, so they are one Argo CD under two names: name it once."


def _with_url(fleet: Fleet, url: str) -> Fleet:
    apps = tuple(replace(app, ref=msgspec.structs.replace(app.ref, server=url)) for app in fleet.apps)
    return replace(fleet, server=url, apps=apps)


def _failures_with_url(failures: Iterable[Failure], url: str) -> tuple[Failure, ...]:
    return tuple(
        replace(f, app=msgspec.structs.replace(f.app, server=url)) if f.app is not None else f for f in failures
    )


def labelled_failures(source: Source, failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """See `Source.labelled`."""
    return tuple(map(source.labelled, failures))
