"""`argolint snapshot`: save what a check reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from argolint.cli.connecting import open_transport
from argolint.cli.options import NO_FAILING, look_options, rule_options, run_options, selection_options, source_options
from argolint.cli.prepare import prepare
from argolint.cli.reading import collect
from argolint.engine.load import load_fleet
from argolint.errors import UsageError
from argolint.redaction import without_secrets
from argolint.snapshots.mask import KEPT
from argolint.snapshots.recorder import record


@click.command()
@click.argument("apps", nargs=-1, metavar="[APP]...")
@click.option(
    "-o",
    "--output",
    "target",
    required=True,
    type=click.Path(path_type=Path),
    help="A new directory, or a .tar.gz, .tgz or .zip file.",
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
    """
    if fleet_only and apps:
        raise UsageError("--fleet-only saves the list of all applications", "name no application, or leave it out")
    run = prepare({**NO_FAILING, **given, "baseline": None, "outputs": ()}, apps)
    with record(open_transport(given), target) as recorder:
        if fleet_only:
            fleet, unread = load_fleet(recorder)
            server, number, failures = fleet.server, len(fleet.apps), [*unread]
        else:
            part = collect(run, given, recorder)
            server, number = part.servers[0].url, len(part.results)
            failures = [*part.failures, *(failure for result in part.results for failure in result.failures)]
    for failure in failures:
        about = f"{failure.app.namespace}/{failure.app.name}: " if failure.app else ""
        click.echo(without_secrets(f"not saved: {about}{failure.error}"), err=True)
    what = f"{'the list of ' if fleet_only else ''}{number} applications of {without_secrets(server)}"
    click.echo(f"{target}: {what}, {recorder.stats.requests} requests", err=True)
    if not given["quiet"]:
        click.echo(f"masked: {_counted(recorder.masked)} that could be secrets", err=True)
        for what in KEPT:
            click.echo(f"in clear: {what}", err=True)
    return 3 if failures else 0


def _counted(values: int) -> str:
    return f"{values:,} value{'' if values == 1 else 's'}"
