"""`argolint baseline`: accept today's findings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import msgspec

from argolint.cli import session
from argolint.cli.given import CommandOptions
from argolint.cli.options import (
    Sectioned,
    look_options,
    rule_options,
    run_options,
    selection_options,
    source_options,
)
from argolint.cli.prepare import prepare
from argolint.cli.reading import examine_sources
from argolint.cli.selection import Selection
from argolint.errors import UsageError
from argolint.reports import document, formats
from argolint.reports.baseline import baseline_of
from argolint.suppression.baseline import baseline_text, read_baseline, require_servers, stale


@click.command(cls=Sectioned)
@click.option("-o", "--output", "file", required=True, type=click.Path(path_type=Path), help="The baseline file.")
@click.option("--report", "saved", type=click.Path(path_type=Path), help="Take the findings of a saved JSON report.")
@click.option("--prune", is_flag=True, help="Only drop from FILE what is gone; accept nothing new.")
@source_options
@selection_options
@rule_options
@run_options
@look_options
def command(file: Path, saved: Path | None, prune: bool, **options: Any) -> int:
    """Write the fingerprints of today's findings, so that `--baseline FILE` hides them and shows only new ones."""
    opts = CommandOptions(**options)
    if opts.shard:
        raise UsageError("a baseline is made from a whole check", "leave out --shard")
    old = read_baseline(file) if prune else None
    if saved is not None:
        made = document.read(saved)
    else:
        run = prepare(replace(opts, baseline=None, no_baseline=True, outputs=()))
        part_only = run.selection != Selection() or any(
            getattr(opts, name) for name in ("select", "ignore", "min_severity")
        )
        if prune and part_only:
            hint = "leave out the options that choose applications or findings"
            raise UsageError("--prune drops what a check does not find, so it takes a check of everything", hint)
        made = session.report_of(examine_sources(run, opts)[0], run)
    if not made.complete:
        raise UsageError(
            f"{len(made.failures)} applications or rules could not be looked at, so the baseline would lack their findings",
            made.failures[0].error,
        )
    fresh = baseline_of(made)
    if old is not None:
        from argolint.plugins import load_rules

        looked = {server.url: server.name or "" for server in made.servers}
        require_servers(old, looked)
        across = {rule.id for rule in load_rules().values() if rule.across}
        gone = set(stale(old, fresh.of(looked), looked, across))
        fresh = msgspec.structs.replace(old, findings=tuple(a for a in old.findings if a not in gone))
        formats.put(file, baseline_text(fresh))
        click.echo(f"{file}: {len(gone)} entries dropped, {len(fresh.findings)} kept", err=True)
    else:
        formats.put(file, baseline_text(fresh))
        click.echo(f"{file}: {len(fresh.findings)} findings accepted", err=True)
    return 0
