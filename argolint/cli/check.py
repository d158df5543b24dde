"""`argolint check`: the main job."""

from __future__ import annotations

from typing import Any

import click

from argolint.cli import session as common
from argolint.cli import timings
from argolint.cli.servers import servers_options


@click.command(cls=common.Sectioned)
@click.argument("apps", nargs=-1, metavar="[APP]...")
@common.source_options
@servers_options
@common.selection_options
@common.rule_options
@common.run_options
@common.scale_options
@common.state_option
@timings.option
@common.fail_options
@common.output_options
def command(apps: tuple[str, ...], **given: Any) -> int:
    """Lint applications: all of them, or those named (NAME, NAMESPACE/NAME, globs)."""
    return common.check(apps, given)
