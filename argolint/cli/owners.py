"""`argolint owners`: who owns an object, who else claims it, and what a deletion takes along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from argolint.cli.connecting import open_transport
from argolint.cli.options import source_options
from argolint.engine.load import load_fleet
from argolint.errors import UsageError
from argolint.harmless import harmless
from argolint.redaction import without_secrets
from argolint.reports import formats as reporters
from argolint.reports.ownership import diagrams, fleet, graph, svg, text

_FORMATS = ("text", "json", "mermaid", "dot", "svg")
_MOST = {"mermaid": diagrams.MERMAID_NODES, "dot": 40, "svg": 40}
_PICTURES = 30


@click.command()
@click.argument("wanted", required=False, default="", metavar="[KIND[/[NAMESPACE/]NAME]]")
@click.option(
    "-o", "--output", default="text", metavar="FORMAT[=FILE]", help=f"One of {', '.join(_FORMATS)} [default: text]."
)
@source_options
def command(wanted: str, output: str, **given: Any) -> int:
    """Say who owns an object, who else claims it, and what deleting an Application deletes. Globs are understood.

    \b
    argolint owners                           every object that two Applications claim
    argolint owners deployment/prod/web       one object
    argolint owners 'ingress/*'               where Ingresses are deployed, and by whom
    argolint owners -o svg=conflicts.svg      a small picture of each conflict

    One list of the Applications tells it; no manifest is read.
    """
    form, named, file = output.partition("=")
    if form not in _FORMATS or (named and not file):
        raise UsageError(f"-o {output}: there is no such format", f"-o FORMAT[=FILE], formats: {', '.join(_FORMATS)}")
    target = Path(file) if file else None
    known, failures = load_fleet(open_transport({**given, "workers": 1}))
    held = fleet.matching(known, wanted) if wanted else fleet.contested(known)
    reporters.put(target, harmless(_rendered(held, form, without_secrets(known.server))))
    if not held:
        click.echo("no object is claimed by two Applications", err=True)
    for failure in failures:
        click.echo(without_secrets(f"not looked at: {failure.stage}: {failure.error}"), err=True)
    return 3 if failures else 0


def _rendered(held: tuple[graph.Held, ...], form: str, server: str) -> str:
    if form == "text":
        return text.text(held)
    if form == "json":
        return text.as_json(held, server)
    parts = graph.parts(held)
    pictures = [graph.drawn(part, _MOST[form]) for part in parts[:_PICTURES]]
    if len(parts) > _PICTURES:
        click.echo(f"{len(parts) - _PICTURES} more conflicts are not drawn: -o text and -o json have all", err=True)
    return {"mermaid": diagrams.mermaid, "dot": diagrams.dot, "svg": svg.svg}[form](pictures)
