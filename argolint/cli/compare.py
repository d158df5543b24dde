"""`argolint compare`: what changed between two reports."""

from __future__ import annotations

import json
from pathlib import Path

import click

from argolint.reports import document as report
from argolint.reports.document import Finding, Report
from argolint.values import plain


@click.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", "form", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True
)
def command(old: Path, new: Path, form: str) -> int:
    """Say which findings of NEW are new, which of OLD are gone, and how many stayed. Exit code 1 when there are new ones."""
    before, after = report.read(old), report.read(new)
    if before.servers and after.servers and before.servers[0].url != after.servers[0].url:
        click.echo(f"note: {old} is of {before.servers[0].url}, {new} of {after.servers[0].url}", err=True)
    was, now = _active(before), _active(after)
    fresh = [f for mark, f in now.items() if mark not in was]
    gone = [f for mark, f in was.items() if mark not in now]
    same = len(now) - len(fresh)
    if form == "json":
        data = {"new": fresh, "gone": gone, "unchanged": same}
        click.echo(json.dumps(report.plain_data(data), indent=1, ensure_ascii=False))
    elif form == "markdown":
        click.echo(f"**argolint**: {len(fresh)} new, {len(gone)} gone, {same} unchanged")
        for title, findings in (("New", fresh), ("Gone", gone)):
            if findings:
                click.echo(f"\n**{title}**\n")
                for f in findings:
                    click.echo(f"- {f.severity} `{f.rule}` {_code(_subject(f))}: {_escaped(f.message)}")
    else:
        for sign, color, findings in (("+", "red", fresh), ("-", "green", gone)):
            for f in findings:
                click.echo(click.style(f"{sign} {f.severity:7} {f.rule:32} {_subject(f)}", fg=color))
                click.echo(f"    {plain(f.message)}")
        click.echo(f"{len(fresh)} new, {len(gone)} gone, {same} unchanged")
    return int(bool(fresh))


def _active(made: Report) -> dict[str, Finding]:
    return {f.fingerprint: f for f in made.findings if f.suppressed is None}


def _subject(f: Finding) -> str:
    resource = f"{f.resource.kind} {f.resource.namespace}/{f.resource.name}" if f.resource else ""
    return plain(" ".join(filter(None, (f"{f.app.namespace}/{f.app.name}", resource, f.pointer))))


def _code(text: str) -> str:
    return "`" + text.replace("`", "'") + "`"


def _escaped(text: str) -> str:
    escaped = plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for sign in "\\`*_[]|#@":
        escaped = escaped.replace(sign, "\\" + sign)
    return escaped
