"""`argolint snapshot`: save what a check reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from argolint.cli import common
from argolint.record import record
from argolint.redaction import without_secrets


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
@common.source_options
@common.selection_options
@common.rule_options
@common.run_options
@common.look_options
def command(apps: tuple[str, ...], target: Path, **given: Any) -> int:
    """Save what `argolint check` with the same options reads, for `argolint check --snapshot PATH`.

    What could be a secret is masked, and no token is in it. Look through it all the same before you hand it on: it holds
    the names of your applications, hosts and repositories, and every manifest.
    """
    run = common.prepare({**common.NO_FAILING, **given, "baseline": None, "outputs": ()}, apps)
    with record(common.open_transport(given, run.wishes.loaded.config), target) as recorder:
        part = common.collect(run, given, recorder)
    failures = [*part.failures, *(failure for result in part.results for failure in result.failures)]
    for failure in failures:
        about = f"{failure.app.namespace}/{failure.app.name}: " if failure.app else ""
        click.echo(without_secrets(f"not saved: {about}{failure.error}"), err=True)
    click.echo(f"{target}: {len(part.results)} applications of {part.server}, {part.stats.requests} requests", err=True)
    return 3 if failures else 0
