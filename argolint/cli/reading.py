"""The fleet read and its applications examined, with the guards and warnings of every command."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.cli.connecting import open_transport, sources_of
from argolint.cli.fleet_files import with_fleet, with_fleets
from argolint.cli.prepare import Run
from argolint.cli.progress import Clock, progress
from argolint.cli.selection import Selection
from argolint.cli.workers import look_of
from argolint.engine import pipeline as lint
from argolint.engine.load import ReadFleet, load_fleet
from argolint.engine.run import Look
from argolint.errors import UsageError
from argolint.host.memory import expect_answers
from argolint.host.timing import charged, measured, summed
from argolint.reports import document as report
from argolint.server import api as argocd
from argolint.server.transport import Transport
from argolint.values import enumerated

if TYPE_CHECKING:
    from argolint.engine.several import Read, Source

    Several = tuple[Sequence[Source], Sequence[str]]
    """The Argo CDs of a run, and remarks on them."""


def collect(
    run: Run,
    given: Mapping[str, Any],
    t: Transport | None = None,
    read: ReadFleet = load_fleet,
    look: Look | None = None,
) -> lint.Part:
    """Read and examine, from `t` or from where the options point; the stats say what it cost.

    `read` and `look` stand in for the reading of the fleet and of applications, where earlier checks are known.
    """
    return collect_all(run, given, t, read, look)[0]


def collect_all(
    run: Run,
    given: Mapping[str, Any],
    t: Transport | None = None,
    read: ReadFleet = load_fleet,
    look: Look | None = None,
    several: Several | None = None,
    ways: Mapping[str, tuple[ReadFleet, Look]] | None = None,
) -> tuple[lint.Part, tuple[Read, ...]]:
    """The part, and all servers that were read: `several`, or those that the options mean.

    `ways` are `read` and `look` of several servers, by name.
    """
    several = several or (sources_of(given) if t is None else None)
    if several is not None:
        return _collected_of(*several, run, given, ways or {})
    t = t or open_transport(given)
    part, fleet = collected(run, given, t, read, look)
    return part, (read_alone(t, fleet),)


def read_alone(t: Transport, fleet: Fleet) -> Read:
    """The server of a run of one, as runs of several have theirs."""
    from argolint.engine.several import Read, Source

    return Read(Source("", t), t, fleet, ())


def collected(
    run: Run,
    given: Mapping[str, Any],
    t: Transport | None = None,
    read: ReadFleet = load_fleet,
    look: Look | None = None,
) -> tuple[lint.Part, Fleet]:
    """As `collect` of a single server, and the fleet. The one way to read for every command, with its guards and warnings."""
    clock = Clock()
    _leave_garbage()
    t = t or open_transport(given)
    look = look or look_of(given, t)
    t = with_fleet(given, t)
    if run.plan.renders and not t.offline:
        _warn_of_renders(t)
    told = progress(given)
    told.say("reading the snapshot" if t.offline else f"connecting to {t.server} and listing applications")
    with told:
        with measured(run.plan.timings) as ledger, charged("list"):
            fleet, failures = read(t)
        _require_named(run.selection, [fleet])
        part = lint.collect(t, run.plan, told.count, fleet, look)
    part = msgspec.structs.replace(
        part,
        failures=(*failures, *part.failures),
        remarks=(*run.remarks, *part.remarks),
        stats=report.Stats(t.stats.requests, t.stats.bytes, clock.seconds, t.stats.slowed or msgspec.UNSET),
        spent=ledger.costs,
        whole=run.suppressions.whole,
        asked=run.asked,
    )
    return part, fleet


def _leave_garbage() -> None:
    """Decoded JSON is dropped application by application: looking for garbage costs a third of the time."""
    if not gc.get_freeze_count():  # once: what a service drops between its checks must be found again
        gc.freeze()
    expect_answers()


def _collected_of(
    sources: Sequence[Source],
    remarks: Sequence[str],
    run: Run,
    given: Mapping[str, Any],
    ways: Mapping[str, tuple[ReadFleet, Look]],
) -> tuple[lint.Part, tuple[Read, ...]]:
    """The same over several Argo CDs."""
    from argolint.engine import several

    sources = with_fleets(given, sources)
    clock = Clock()
    _leave_garbage()
    looks = {
        id(t): ways[s.name][1] if s.name in ways else look_of(given, t, s)
        for s in sources
        if (t := s.transport) is not None
    }
    told = progress(given)
    told.say(f"listing the applications of {len(sources)} servers")
    with told:
        with measured(run.plan.timings) as ledger:
            read, failures, more = several.load(sources, {name: read for name, (read, _) in ways.items()})
        _require_named(
            run.selection, [one.fleet for one in read], [f.server for f in failures if f.stage != "clusters"]
        )
        for one in read if run.plan.renders else ():
            if not one.transport.offline:
                _warn_of_renders(one.transport)
        part = several.examine(
            read,
            failures,
            (*run.remarks, *remarks, *more),
            run.plan,
            told.of,
            lambda t: looks.get(id(t)),
            apart=not ways,
        )
    stats = msgspec.structs.replace(part.stats, seconds=clock.seconds)
    spent = summed(ledger.costs, *(one.spent for one in read))
    part = msgspec.structs.replace(part, stats=stats, spent=spent, whole=run.suppressions.whole, asked=run.asked)
    return part, read


def _require_named(selection: Selection, fleets: Sequence[Fleet], unread: Sequence[str] = ()) -> None:
    """UsageError for a plain name on the command line that is no application's, with the nearest one that is."""
    for name in sorted(n for n in selection.names if not set("*?[") & set(n)):
        if not named(fleets, name):
            raise unknown(name, fleets, unread)


def named(fleets: Sequence[Fleet], name: str) -> list[tuple[Fleet, App]]:
    """The applications that a name of the command line means, and the Argo CDs that they are on."""
    wanted = Selection((name,))
    return [(fleet, app) for fleet in fleets for app in fleet.apps if wanted.names_ref(app.ref, fleet.name)]


def full_name(fleet: Fleet, app: App) -> str:
    """As every command takes it, and as reports of several servers say it."""
    return f"{fleet.name}/{app.ref}" if fleet.name else str(app.ref)


def unknown(name: str, fleets: Sequence[Fleet], unread: Sequence[str] = ()) -> UsageError:
    """For a name that is no application's, with the nearest one that is; `unread` are the servers that could not be read."""
    import difflib

    known = {
        text: said
        for fleet in fleets
        for a in fleet.apps
        for text, said in (
            (a.ref.name, a.ref.name),
            (str(a.ref), str(a.ref)),
            (f"{fleet.name}/{a.ref.name}", full_name(fleet, a)),
            (full_name(fleet, a), full_name(fleet, a)),
        )
    }
    close = difflib.get_close_matches(name, known, 1)
    return UsageError(
        f"there is no application {name!r} on {places(fleet.name or fleet.server for fleet in fleets)}, or the account may not see it"
        + unread_note(unread)
        + (f"; did you mean {known[close[0]]!r}?" if close else ""),
        "`argocd app list` shows what it may see",
    )


def places(servers: Iterable[str]) -> str:
    """Argo CDs for a sentence; a run may be of hundreds."""
    return enumerated([*servers], limit=_PLACES)


_PLACES = 5


def unread_note(servers: Iterable[str]) -> str:
    """What to add where something is not found, and some servers could not be read."""
    names = [*dict.fromkeys(filter(None, servers))]
    return f" ({places(names)} could not be read)" if names else ""


def _warn_of_renders(t: Transport) -> None:
    """Say aloud what fresh renders do. UsageError when the server would answer them from its cache."""
    if not argocd.renders_afresh(t):
        raise UsageError(
            f"{t.server} does not know noCache, so it would answer both renders from its cache and all would look alike",
            "leave --render-twice out: Argo CD 2.14 and older cannot render past the cache",
        )
    click.echo(
        "warning: --render-twice renders each chart anew on the server, one at a time, and replaces its manifest cache; "
        "where a chart draws random values the application turns OutOfSync, and self-heal may deploy them",
        err=True,
    )
