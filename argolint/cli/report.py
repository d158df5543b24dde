"""`argolint report`: saved reports in any format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from argolint.cli.given import Given
from argolint.cli.options import output_options
from argolint.engine import config
from argolint.reports import document, trend
from argolint.reports import formats as reporters


@click.command()
@click.argument("saved", nargs=-1, required=True, metavar="SAVED.json...", type=click.Path(path_type=Path))
@click.option(
    "--config-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    envvar="ARGOLINT_CONFIG_FILE",
    help="Whose `metrics:` count for -o prometheus [default: .argolint.yaml].",
)
@output_options
def command(saved: tuple[Path, ...], config_file: Path | None, **options: Any) -> int:
    """Turn a saved JSON report into any format; several of one Argo CD make a trend.

    \b
    argolint check -o json=today.json
    argolint report today.json -o html=report.html -o markdown
    argolint report monday.json tuesday.json today.json -o html=week.html

    Of several, the newest is written, and each finding says since when it is there. Exit code 0, whatever was found.
    """
    given = Given(**options)
    outputs = reporters.parse_outputs(given.outputs)
    style = replace(given.style, metrics=config.load(config_file).config.metrics)
    made = trend.joined([(str(file), document.read(file)) for file in saved])
    reporters.write(made, outputs, style)
    return 0
