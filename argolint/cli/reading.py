"""Reads the fleet and examines its applications, with the checks and warnings that all commands share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import click
import msgspec

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.cli.connecting import Sources, sources_of
from argolint.cli.fleet_files import with_fleets
from argolint.cli.given import CommandOptions
from argolint.cli.prepare import Run
from argolint.cli.progress import Clock, progress
from argolint.cli.selection import Selection
from argolint.cli.workers import look_of
from argolint.engine import pipeline
from argolint.engine.load import ReadFleet
from argolint.engine.run import Look
from argolint.engine.servers import Listing, examine_servers, read_servers
from argolint.errors import UsageError
from argolint.host.memory import expect_answers
from argolint.host.timing import measured, summed
from argolint.server import api
from argolint.server.transport import Transport
from argolint.values import enumerated


def examine_sources(
    run: Run,
    opts: CommandOptions,
    sources: Sources | None = None,
    ways: Mapping[str, tuple[ReadFleet, Look]] | None = None,
) -> tuple[pipeline.Part, tuple[Listing, ...]]:
    """Read and examine the `sources`, by default those of the options; the stats have the cost. All commands read with this function.

    `ways`: how to read the fleet and the applications of a source, by its name, if earlier checks are known.
    """
    servers, remarks = sources or sources_of(opts)
    clock = Clock()
    expect_answers()
    ways = ways or {}
    looks = {s.name: ways[s.name][1] if s.name in ways else look_of(opts, s) for s in servers if s.transport}
    servers = with_fleets(opts, servers)
    shown = progress(opts)
    shown.say(f"listing the applications of {places(s.name or s.transport.server for s in servers if s.transport)}")
    with shown:
        with measured(run.plan.timings) as ledger:
            read, failures, more = read_servers(servers, {name: read for name, (read, _) in ways.items()})
        unread = [f.server for f in failures if f.stage != "clusters"]
        _require_named(run.selection, [one.fleet for one in read], unread)
        for one in read if run.plan.renders else ():
            if not one.transport.offline:
                _warn_of_renders(one.transport)
        part = examine_servers(
            read,
            failures,
            (*run.remarks, *remarks, *more),
            run.plan,
            shown.of,
            lambda source: looks.get(source.name),
            apart=not ways,
        )
    stats = msgspec.structs.replace(part.stats, seconds=clock.seconds)
    spent = summed(ledger.costs, *(one.spent for one in read))
    part = msgspec.structs.replace(part, stats=stats, spent=spent, whole=run.suppressions.whole, asked=run.asked)
    return part, read


def _require_named(selection: Selection, fleets: Sequence[Fleet], unread: Sequence[str] = ()) -> None:
    """UsageError for a plain name on the command line that matches no application; it names the most similar one."""
    for name in sorted(n for n in selection.names if not set("*?[") & set(n)):
        if not named(fleets, name):
            raise unknown(name, fleets, unread)


def named(fleets: Sequence[Fleet], name: str) -> list[tuple[Fleet, App]]:
    """The applications that match a name on the command line, with their Argo CDs."""
    wanted = Selection((name,))
    return [(fleet, app) for fleet in fleets for app in fleet.apps if wanted.names_ref(app.ref, fleet.name)]


def full_name(fleet: Fleet, app: App) -> str:
    """The application's name as commands accept it; with the server in a run over several."""
    return f"{fleet.name}/{app.ref}" if fleet.name else str(app.ref)


def unknown(name: str, fleets: Sequence[Fleet], unread: Sequence[str] = ()) -> UsageError:
    """The error for a name that matches no application, with the most similar name; `unread`: servers that could not be read."""
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
    """The names of Argo CDs for a sentence, cut: a run may have hundreds."""
    return enumerated([*servers], limit=_PLACES)


_PLACES = 5


def unread_note(servers: Iterable[str]) -> str:
    """A sentence to add to "not found", if some servers could not be read."""
    names = [*dict.fromkeys(filter(None, servers))]
    return f" ({places(names)} could not be read)" if names else ""


def _warn_of_renders(t: Transport) -> None:
    """Warn about the cost of fresh renders. UsageError if the server would answer them from its cache."""
    if not api.renders_afresh(t):
        raise UsageError(
            f"{t.server} does not know noCache, so it would answer both renders from its cache and all would look alike",
            "leave --render-twice out: Argo CD 2.14 and older cannot render past the cache",
        )
    click.echo(
        "warning: --render-twice renders each chart again on the server, one at a time, and replaces its manifest cache; "
        "where a chart draws random values the application turns OutOfSync, and self-heal may deploy them",
        err=True,
    )
