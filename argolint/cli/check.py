"""`argolint check`: the main job."""

from __future__ import annotations

from typing import Any

import click

from argolint.cli import session, timings
from argolint.cli.given import CommandOptions
from argolint.cli.options import (
    Sectioned,
    fail_options,
    history_option,
    output_options,
    rule_options,
    run_options,
    scale_options,
    selection_options,
    source_options,
    state_option,
)


@click.command(cls=Sectioned)
@click.argument("apps", nargs=-1, metavar="[APP]...")
@source_options
@selection_options
@rule_options
@run_options
@scale_options
@state_option
@history_option
@timings.option
@fail_options
@output_options
def command(apps: tuple[str, ...], **options: Any) -> int:
    """Lint applications: all of them, or those named (NAME, NAMESPACE/NAME, globs).

    A check of all applications also says what is new since the day before. For that it stores hashes of findings in the user's cache
    (~/.cache/argolint); --no-history turns this off.
    """
    opts = CommandOptions(**options)
    return session.check(apps, opts)
