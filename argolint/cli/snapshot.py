"""`argolint snapshot`: saves the answers that a check reads."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from argolint.cli.connecting import Sources, sources_of
from argolint.cli.given import CommandOptions
from argolint.cli.options import look_options, rule_options, run_options, selection_options, source_options
from argolint.cli.prepare import Run, prepare
from argolint.cli.reading import examine_sources
from argolint.cli.selection import Selection
from argolint.engine.pipeline import Part
from argolint.engine.servers import Listing, Source, read_servers
from argolint.errors import UsageError
from argolint.model import Failure
from argolint.redaction import without_secrets
from argolint.snapshots.mask import KEPT
from argolint.snapshots.recorder import ARCHIVES, RecordingTransport, record, written_whole


@click.command()
@click.argument("apps", nargs=-1, metavar="[APP]...")
@click.option(
    "-o",
    "--output",
    "target",
    required=True,
    type=click.Path(path_type=Path),
    help="A new directory, or a .tar.gz, .tgz or .zip file. For several servers a directory with one for each.",
)
@click.option(
    "--fleet-only", is_flag=True, help="Save only the list and data outside of applications, for `check --fleet`."
)
@source_options
@selection_options
@rule_options
@run_options
@look_options
def command(apps: tuple[str, ...], target: Path, fleet_only: bool, **options: Any) -> int:
    """Save what `argolint check` with the same options reads, for `argolint check --snapshot PATH`.

    Possible secrets are masked, and it contains no token. The end of the output lists what is not masked: review the snapshot before
    you share it, since it has the names of your applications, hosts and repositories, and every manifest.

    With several servers (--servers, --all-contexts), each gets a snapshot in the directory, next to a servers.yaml that names them:
    `argolint check --servers DIR/servers.yaml`.
    """
    opts = CommandOptions(**options)
    run = prepare(replace(opts, baseline=None, outputs=()), apps)
    if fleet_only:
        _require_the_list_alone(run.selection, opts)
    sources, remarks = sources_of(opts)
    if not sources[0].name:
        saved = _recorded((sources, remarks), {"": target}, fleet_only, run, opts)
        return _say_saved(saved, target, opts, fleet_only)
    if target.name.endswith(ARCHIVES):
        hint = "name a directory: each server gets a snapshot in it, and `check --servers DIR/servers.yaml` reads them"
        raise UsageError(f"{target} is one file, and {len(sources)} servers are to be saved", hint)
    with written_whole(target) as (whole, work):
        folder = work / "all"
        folder.mkdir()
        places = {source.name: folder / name for source, name in zip(sources, _folders(sources), strict=True)}
        saved = _recorded((sources, remarks), places, fleet_only, run, opts)
        _name_servers(folder, places, saved.read)
        folder.replace(whole)
    return _say_saved(saved, target, opts, fleet_only)


def _require_the_list_alone(selection: Selection, opts: CommandOptions) -> None:
    """UsageError for options that --fleet-only cannot serve."""
    if selection != Selection():
        hint = "select applications where `check` takes the list, or leave it out"
        raise UsageError("--fleet-only saves the list of all applications", hint)
    for option in ("shard", "deep", "manifests", "render_twice", "helm_render"):
        if getattr(opts, option):
            problem = (
                f"--fleet-only reads the list alone, and --{option.replace('_', '-')} is about reading applications"
            )
            raise UsageError(problem, "pass it to `check --fleet`, or leave --fleet-only out")


@dataclass(frozen=True)
class _Saved:
    """The servers that were read, the recorders of all requested servers by name, the number of applications, and the failures."""

    read: tuple[Listing, ...]
    apps: Mapping[str, int]
    recorders: Mapping[str, RecordingTransport]
    failures: Sequence[Failure]


def _recorded(of: Sources, places: Mapping[str, Path], fleet_only: bool, run: Run, opts: CommandOptions) -> _Saved:
    """Read all servers and save each in its place."""
    sources, remarks = of
    with ExitStack() as recording:
        recorders = {
            source.name: recording.enter_context(record(source.transport, places[source.name]))
            for source in sources
            if source.transport is not None
        }
        recorded = [replace(s, transport=recorders.get(s.name)) for s in sources]
        if fleet_only:
            read, found, _ = read_servers(recorded)
            apps = {one.source.name: len(one.fleet.apps) for one in read}
            return _Saved(read, apps, recorders, [*found, *(f for one in read for f in one.failures)])
        part, read = examine_sources(run, opts, (recorded, remarks))
        count = Counter(result.ref.server for result in part.results)
        apps = {one.source.name: count[one.fleet.server] for one in read}
        return _Saved(read, apps, recorders, _failures(part))


def _name_servers(folder: Path, places: Mapping[str, Path], read: Sequence[Listing]) -> None:
    """Write the file that names the snapshots, and remove snapshots of servers that could not be read."""
    entries = []
    for one in read:
        source, place = one.source, places[one.source.name].name
        # a context's name may contain characters that an entry must not
        name = place if set("/@") & set(source.name) else source.name
        entries.append(
            {"name": name, "snapshot": place} | ({"clusters": dict(source.aliases)} if source.aliases else {})
        )
    for unread in places.keys() - {one.source.name for one in read}:
        shutil.rmtree(places[unread], ignore_errors=True)
    lines = "".join(f"- {json.dumps(entry, ensure_ascii=False)}\n" for entry in entries)
    (folder / "servers.yaml").write_text(f"servers:\n{lines}", encoding="utf-8")


def _folders(sources: Sequence[Source]) -> list[str]:
    """A unique folder name for each server: its own name if that is a valid one."""
    plain = {s.name: re.sub(r"[^A-Za-z0-9._-]", "-", s.name).strip(".-") or "server" for s in sources}
    found: dict[str, str] = {}
    for own in sorted(plain, key=lambda own: plain[own] != own):  # exact names first
        free = (f"{plain[own]}-{number}" for number in itertools.count(2))
        taken = {*found.values(), "servers.yaml"}
        found[own] = next(n for n in itertools.chain((plain[own],), free) if n not in taken)
    return [found[s.name] for s in sources]


def _failures(part: Part) -> list[Failure]:
    return [*part.failures, *(failure for result in part.results for failure in result.failures)]


def _say_unsaved(failures: Sequence[Failure]) -> None:
    for failure in failures:
        about = f"{failure.app.namespace}/{failure.app.name}: " if failure.app else ""
        where = f"{failure.server}: " if failure.server else ""
        click.echo(without_secrets(f"not saved: {where}{about}{failure.error}"), err=True)


def _say_saved(saved: _Saved, target: Path, opts: CommandOptions, fleet_only: bool) -> int:
    """Print what was saved and what was not; 3 if something could not be read, else 0."""
    _say_unsaved(saved.failures)
    for one in saved.read:
        what = f"{'the list of ' if fleet_only else ''}{saved.apps[one.source.name]} applications of {without_secrets(one.fleet.server)}"
        requests = saved.recorders[one.source.name].stats.requests
        click.echo(f"{target}: {one.source.says(what)}, {requests} requests", err=True)
    if any(one.source.name for one in saved.read):
        reads = f"read them with --servers {target / 'servers.yaml'}"
        click.echo(f"give them to the same servers with --fleet {target}" if fleet_only else reads, err=True)
    _say_masked(sum(recorder.masked for recorder in saved.recorders.values()), opts)
    return 3 if saved.failures else 0


def _say_masked(values: int, opts: CommandOptions) -> None:
    """Print how much is masked, and what is not."""
    if not opts.quiet:
        click.echo(f"masked: {values:,} value{'' if values == 1 else 's'} that could be secrets", err=True)
        for what in KEPT:
            click.echo(f"not masked: {what}", err=True)
