"""`argolint version`: versions for a bug report."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator

import click

from argolint import __version__


@click.command()
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object.")
def command(as_json: bool) -> None:
    """Print the versions of argolint, of its rules and of Python."""
    found = dict(facts())
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    for name, value in found.items():
        click.echo(f"{name:10} {value}")


def facts() -> Iterator[tuple[str, str]]:
    """Names and versions, in print order."""
    from argolint.cli.knowledge import take_settings
    from argolint.plugins import OWN, load_rules, providers
    from argolint.values.knowledge import about

    yield "argolint", __version__
    yield "python", platform.python_version()
    rules = load_rules()
    others = [name for name in providers() if name != OWN]
    yield "rules", f"{len(rules)}" + (f", also of {', '.join(others)}" if others else "")
    take_settings()
    yield "knowledge", about().version
