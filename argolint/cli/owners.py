"""`argolint owners`: who owns an object, who else claims it, and what a deletion deletes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from argolint.application.fleet import Fleet
from argolint.cli.connecting import read_lists
from argolint.cli.given import CommandOptions
from argolint.cli.options import source_options
from argolint.cli.reading import places, unread_note
from argolint.engine.crossings import JoinedServer, clusters
from argolint.engine.servers import Listing
from argolint.errors import UsageError
from argolint.host.plain_text import harmless
from argolint.model import UNREAD
from argolint.redaction import without_secrets
from argolint.reports import formats
from argolint.reports.ownership import diagrams, fleet, graph, made, svg, text

_FORMATS = ("text", "json", "mermaid", "dot", "svg")
_MOST = {"mermaid": diagrams.MERMAID_NODES, "dot": 40, "svg": 40}
_PICTURES = 30


@click.command()
@click.argument("wanted", required=False, default="", metavar="[KIND[/[NAMESPACE/]NAME]]")
@click.option(
    "-o", "--output", default="text", metavar="FORMAT[=FILE]", help=f"One of {', '.join(_FORMATS)} [default: text]."
)
@source_options
def command(wanted: str, output: str, **options: Any) -> int:
    """Show who owns an object, who else claims it, and what deleting an Application deletes. Globs are allowed.

    \b
    argolint owners                           every object that two Applications claim
    argolint owners deploy/prod/web           one object; kinds as in kubectl (cm, svc, es, ...)
    argolint owners secret/prod/db            also an object from an operator or a controller: a Pod, a Secret
    argolint owners 'ingress/*'               where Ingresses are deployed, and by whom
    argolint owners -o svg=conflicts.svg      a small picture of each conflict

    It reads one list of the Applications, no manifests. For an object that is not in the list, it reads their resource trees.
    """
    opts = CommandOptions(**options)
    form, named, file = output.partition("=")
    if form not in _FORMATS or (named and not file):
        raise UsageError(f"-o {output}: there is no such format", f"-o FORMAT[=FILE], formats: {', '.join(_FORMATS)}")
    target = Path(file) if file else None
    asked = fleet.parse_wanted(wanted) if wanted else None
    read, failures, remarks = read_lists(replace(opts, workers=1))
    servers = {one.source.name: without_secrets(one.fleet.server) for one in read}
    parts = [
        (one.fleet, fleet.matching_objects(one.fleet, asked) if asked else fleet.contested_objects(one.fleet))
        for one in read
    ]
    unread = 0
    if asked and asked.is_one and not any(found for _, found in parts):
        parts, unread = _made(read, asked)
    held = parts[0][1]
    if "" not in servers:
        common, _ = clusters([JoinedServer(one.source.name, one.fleet, one.source.aliases) for one in read])
        held = fleet.joined(parts, common)
    held = fleet.printed(held)
    if wanted and not held:
        raise UsageError(
            f"no Application of {places(name or url for name, url in servers.items())} lists {wanted}, or the account may not see it"
            + unread_note(failure.server for failure in failures if failure.stage in UNREAD),
            f"the trees of {unread} Applications could not be read; name its namespace: KIND/NAMESPACE/NAME"
            if unread
            else "check kind and name; KIND/NAMESPACE/NAME, and * stands for any text",
        )
    formats.put(target, harmless(_rendered(held, form, servers)))
    if not held:
        click.echo("no object is claimed by two Applications", err=True)
    for remark in remarks:
        click.echo(without_secrets(remark), err=True)
    for failure in failures:
        where = f"{failure.server}: " if failure.server else ""
        click.echo(without_secrets(f"not looked at: {where}{failure.stage}: {failure.error}"), err=True)
    return 3 if failures else 0


def _made(read: Sequence[Listing], wanted: fleet.Wanted) -> tuple[list[tuple[Fleet, tuple[graph.Held, ...]]], int]:
    """Owners from the resource trees, for an object that no Application lists; and the number of trees that could not be read."""
    parts, unread = [], 0
    for one in read:
        found, missing = made.holdings_made(one.transport, one.fleet, wanted)
        parts.append((one.fleet, found))
        unread += missing
    return parts, unread


def _rendered(held: tuple[graph.Held, ...], form: str, servers: Mapping[str, str]) -> str:
    if form == "text":
        return text.text(held)
    if form == "json":
        return text.as_json(held, servers)
    parts = graph.parts(held)
    pictures = [graph.picture(part, _MOST[form]) for part in parts[:_PICTURES]]
    if len(parts) > _PICTURES:
        click.echo(f"{len(parts) - _PICTURES} more conflicts have no picture: -o text and -o json have all", err=True)
    return {"mermaid": diagrams.mermaid, "dot": diagrams.dot, "svg": svg.svg}[form](pictures)
