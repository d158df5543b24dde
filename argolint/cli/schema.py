"""`argolint schema`: the JSON Schema of the report or of the configuration."""

from __future__ import annotations

import json

import click


@click.command()
@click.argument("what", type=click.Choice(["report", "config"]))
def command(what: str) -> None:
    """Print the JSON Schema (2020-12) of the JSON report or of .argolint.yaml."""
    if what == "report":
        from argolint.reports.document import schema
    else:
        from argolint.engine.config import schema
    click.echo(json.dumps(schema(), indent=1))
