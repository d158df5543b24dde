"""`argolint merge`: joins shards into one report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from argolint.cli import session
from argolint.cli.given import CommandOptions
from argolint.cli.options import Sectioned, fail_options, output_options, rule_options
from argolint.cli.prepare import prepare
from argolint.engine import pipeline
from argolint.host.folder import named_bytes, readable
from argolint.reports.document import MAX_BYTES


@click.command(cls=Sectioned)
@click.argument("shards", nargs=-1, required=True, metavar="SHARD...", type=click.Path(path_type=Path))
@rule_options
@fail_options
@output_options
def command(shards: tuple[Path, ...], **options: Any) -> int:
    """Join the shards of one run (`argolint check --shard I/N -o json=FILE`) into the report a plain run would give."""
    opts = CommandOptions(**options)
    parts = []
    for shard in shards:
        with readable(shard, "write it with `argolint check --shard I/N -o json=FILE`"):
            parts.append((str(shard), pipeline.from_json(named_bytes(shard, MAX_BYTES), str(shard))))
    part = pipeline.merge(parts)
    run = prepare(opts)
    if any(getattr(opts, name) for name in ("select", "ignore", "min_severity")):
        part = msgspec.structs.replace(part, shown=run.plan.shown)
    return session.publish(session.report_of(part, run), run)
