"""`argolint report`: converts saved reports to any format."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from argolint.cli.given import CommandOptions
from argolint.cli.options import output_options
from argolint.engine import config
from argolint.errors import UsageError
from argolint.reports import document, formats, trend


@click.command()
@click.argument("saved", nargs=-1, required=True, metavar="SAVED.json...", type=click.Path(path_type=Path))
@click.option(
    "--config-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    envvar="ARGOLINT_CONFIG_FILE",
    help="The file whose `metrics:` apply to -o prometheus [default: .argolint.yaml].",
)
@output_options
def command(saved: tuple[Path, ...], config_file: Path | None, **options: Any) -> int:
    """Convert a saved JSON report to any format; several of one Argo CD show a trend.

    \b
    argolint check -o json=today.json
    argolint report today.json -o html=report.html -o markdown
    argolint check -o json | argolint report - -o html=report.html
    argolint report monday.json tuesday.json today.json -o html=week.html

    - is standard input. For several reports, the newest is written, and each finding has the date of its first report. The exit code is 0.
    """
    opts = CommandOptions(**options)
    outputs = formats.parse_outputs(opts.outputs)
    style = replace(opts.style, metrics=config.load(config_file).config.metrics)
    if sum(map(_is_input, saved)) > 1:
        raise UsageError("- is standard input, and there is one", "name it once")
    made = trend.joined([_read(file) for file in saved])
    formats.write(made, outputs, style)
    return 0


def _is_input(file: Path) -> bool:
    return file == Path("-")


def _read(file: Path) -> tuple[str, document.Report]:
    """A saved report with its name; - reads standard input."""
    if not _is_input(file):
        return str(file), document.read(file)
    name = "standard input"
    if sys.stdin.isatty():
        raise UsageError(
            "report - reads a report from standard input, and that is a terminal",
            "argolint check -o json | argolint report -",
        )
    text = sys.stdin.buffer.read(document.MAX_BYTES + 1)
    if len(text) > document.MAX_BYTES:
        raise UsageError(f"{name} has more than {document.MAX_BYTES >> 20} MB", "name the file in place of -")
    return name, document.from_json(text, name)
