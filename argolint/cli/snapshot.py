"""`argolint snapshot`: save what a check reads."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from argolint.cli.connecting import open_transport, sources_of
from argolint.cli.options import NO_FAILING, look_options, rule_options, run_options, selection_options, source_options
from argolint.cli.prepare import Run, prepare
from argolint.cli.reading import collect, collect_all
from argolint.cli.selection import Selection
from argolint.engine.load import load_fleet
from argolint.engine.pipeline import Part
from argolint.errors import UsageError
from argolint.model import Failure
from argolint.redaction import without_secrets
from argolint.snapshots.mask import KEPT
from argolint.snapshots.recorder import ARCHIVES, RecordingTransport, beside, record

if TYPE_CHECKING:
    from argolint.cli.reading import Several
    from argolint.engine.several import Read, Source


@click.command()
@click.argument("apps", nargs=-1, metavar="[APP]...")
@click.option(
    "-o",
    "--output",
    "target",
    required=True,
    type=click.Path(path_type=Path),
    help="A new directory, or a .tar.gz, .tgz or .zip file. Of several servers a directory, which holds one for each.",
)
@click.option(
    "--fleet-only", is_flag=True, help="Save the list and what belongs to no application, for `check --fleet`."
)
@source_options
@selection_options
@rule_options
@run_options
@look_options
def command(apps: tuple[str, ...], target: Path, fleet_only: bool, **given: Any) -> int:
    """Save what `argolint check` with the same options reads, for `argolint check --snapshot PATH`.

    What could be a secret is masked, and no token is in it. What stays in clear is printed at the end: look through it before
    you hand it on, for it holds the names of your applications, hosts and repositories, and every manifest.

    Of several servers (--servers, --all-contexts) each gets a snapshot in the directory, beside a servers.yaml that names them:
    `argolint check --servers DIR/servers.yaml`.
    """
    run = prepare({**NO_FAILING, **given, "baseline": None, "outputs": ()}, apps)
    if fleet_only:
        _require_the_list_alone(run.selection, given)
    several = sources_of(given)
    if several is not None:
        return _save_all(several, target, fleet_only, run, given)
    with record(open_transport(given), target) as recorder:
        if fleet_only:
            fleet, unread = load_fleet(recorder)
            server, number, failures = fleet.server, len(fleet.apps), [*unread]
        else:
            part = collect(run, given, recorder)
            server, number, failures = part.servers[0].url, len(part.results), _failures(part)
    _tell_unsaved(failures)
    _tell_saved(f"{target}: ", fleet_only, number, server, recorder)
    _tell_masked(recorder.masked, given)
    return 3 if failures else 0


def _require_the_list_alone(selection: Selection, given: Mapping[str, Any]) -> None:
    """UsageError for what --fleet-only does not do."""
    if selection != Selection():
        hint = "select applications where `check` takes the list, or leave it out"
        raise UsageError("--fleet-only saves the list of all applications", hint)
    for option in ("shard", "deep", "manifests", "render_twice", "helm_render"):
        if given[option]:
            told = f"--fleet-only reads the list alone, and --{option.replace('_', '-')} is about reading applications"
            raise UsageError(told, "pass it to `check --fleet`, or leave --fleet-only out")


def _save_all(several: Several, target: Path, fleet_only: bool, run: Run, given: Mapping[str, Any]) -> int:
    """A snapshot of each of several servers, and the file that names them."""
    if target.name.endswith(ARCHIVES):
        hint = "name a directory: each server gets a snapshot in it, and `check --servers DIR/servers.yaml` reads them"
        raise UsageError(f"{target} is one file, and {len(several[0])} servers are to be saved", hint)
    with beside(target) as (whole, work):
        folder = work / "all"
        folder.mkdir()
        places = {source.name: folder / name for source, name in zip(several[0], _folders(several[0]), strict=True)}
        saved = _recorded(several, places, fleet_only, run, given)
        _name_servers(folder, places, saved.read)
        folder.replace(whole)
    _tell_unsaved(saved.failures)
    for one in saved.read:
        name, number = one.source.name, len(one.fleet.apps)
        _tell_saved(f"{target}: {name}: ", fleet_only, number, one.fleet.server, saved.recorders[name])
    way = (
        f"give them to the same servers with --fleet {target}"
        if fleet_only
        else f"read them with --servers {target / 'servers.yaml'}"
    )
    click.echo(way, err=True)
    _tell_masked(sum(recorder.masked for recorder in saved.recorders.values()), given)
    return 3 if saved.failures else 0


@dataclass(frozen=True)
class _Saved:
    """Servers that were read, the recorders of all that were asked, by name, and what could not be read."""

    read: tuple[Read, ...]
    recorders: Mapping[str, RecordingTransport]
    failures: Sequence[Failure]


def _recorded(
    several: Several, places: Mapping[str, Path], fleet_only: bool, run: Run, given: Mapping[str, Any]
) -> _Saved:
    """Read all servers, each into its place."""
    from argolint.engine import several as engine

    sources, remarks = several
    with ExitStack() as recording:
        recorders = {
            source.name: recording.enter_context(record(source.transport, places[source.name]))
            for source in sources
            if source.transport is not None
        }
        recorded = [replace(s, transport=recorders.get(s.name)) for s in sources]
        if fleet_only:
            read, found, _ = engine.load(recorded)
            return _Saved(read, recorders, [*found, *(f for one in read for f in one.failures)])
        part, read = collect_all(run, given, several=(recorded, remarks))
        return _Saved(read, recorders, _failures(part))


def _name_servers(folder: Path, places: Mapping[str, Path], read: Sequence[Read]) -> None:
    """Write the file that names the snapshots, and remove those of servers that could not be read."""
    entries = []
    for one in read:
        source, place = one.source, places[one.source.name].name
        name = place if set("/@") & set(source.name) else source.name  # a login may be called what no entry may
        entries.append(
            {"name": name, "snapshot": place} | ({"clusters": dict(source.aliases)} if source.aliases else {})
        )
    for unread in places.keys() - {one.source.name for one in read}:
        shutil.rmtree(places[unread], ignore_errors=True)
    lines = "".join(f"- {json.dumps(entry, ensure_ascii=False)}\n" for entry in entries)
    (folder / "servers.yaml").write_text(f"servers:\n{lines}", encoding="utf-8")


def _folders(sources: Sequence[Source]) -> list[str]:
    """A folder's name for each server, its own as far as a folder may be called so; no other server's own name."""
    plain = {s.name: re.sub(r"[^A-Za-z0-9._-]", "-", s.name).strip(".-") or "server" for s in sources}
    found: dict[str, str] = {}
    for own in sorted(plain, key=lambda own: plain[own] != own):  # who is called so comes first
        free = (f"{plain[own]}-{number}" for number in itertools.count(2))
        taken = {*found.values(), "servers.yaml"}
        found[own] = next(n for n in itertools.chain((plain[own],), free) if n not in taken)
    return [found[s.name] for s in sources]


def _failures(part: Part) -> list[Failure]:
    return [*part.failures, *(failure for result in part.results for failure in result.failures)]


def _tell_unsaved(failures: Sequence[Failure]) -> None:
    for failure in failures:
        about = f"{failure.app.namespace}/{failure.app.name}: " if failure.app else ""
        where = f"{failure.server}: " if failure.server else ""
        click.echo(without_secrets(f"not saved: {where}{about}{failure.error}"), err=True)


def _tell_saved(where: str, fleet_only: bool, number: int, server: str, recorder: RecordingTransport) -> None:
    what = f"{'the list of ' if fleet_only else ''}{number} applications of {without_secrets(server)}"
    click.echo(f"{where}{what}, {recorder.stats.requests} requests", err=True)


def _tell_masked(values: int, given: Mapping[str, Any]) -> None:
    """How much is hidden, and what is not."""
    if not given["quiet"]:
        click.echo(f"masked: {values:,} value{'' if values == 1 else 's'} that could be secrets", err=True)
        for what in KEPT:
            click.echo(f"in clear: {what}", err=True)
