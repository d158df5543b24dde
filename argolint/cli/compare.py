"""`argolint compare`: what changed between reports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click
import msgspec

from argolint.cli.options import look_options
from argolint.errors import UsageError
from argolint.model.fingerprint import Identity
from argolint.reports import document
from argolint.reports.causes import causes, causes_of, grouped, identity
from argolint.reports.document import Cause, Report, ReportedFinding
from argolint.reports.formats import Style, app_name, for_people, with_server_names
from argolint.reports.formats.blocks import cause_block, named
from argolint.reports.formats.ending import counts_text
from argolint.reports.formats.layout import number, paint, wrapped
from argolint.reports.trend import apps_of, is_looked_at
from argolint.values import plain


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="OLD [BETWEEN]... NEW", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", "form", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True
)
@look_options
def command(files: tuple[Path, ...], form: str, color: str, quiet: bool, verbose: bool) -> int:
    """Show which findings of NEW are new, by cause and with their fixes, which of OLD are gone, and how many stayed.

    Reports between them show the trend. Exit code 1 if there are new findings.
    """
    if len(files) < 2:
        raise UsageError("compare needs two reports", "argolint compare OLD.json NEW.json")
    reports = [with_server_names(document.read(file)) for file in files]
    old, new = reports[0], reports[-1]
    servers = {server.url for server in new.servers}
    several = any(document.is_of_several(made) for made in reports)
    if {server.url for server in old.servers} != servers and old.servers and servers:
        click.echo(f"argolint: {files[0]} is of {_servers(old)}, {files[-1]} of {_servers(new)}", err=True)
    was, now = _active_by_identity(old, several), _active_by_identity(new, several)
    fresh = [f for mark, f in now.items() if mark not in was]
    missing = [f for mark, f in was.items() if mark not in now]
    gone = [f for f in missing if not several or _is_looked_for(f, new)]
    unread = len(missing) - len(gone)
    same = len(now) - len(fresh)
    total = f"{len(fresh)} new, {len(gone)} gone, {same} unchanged"
    total += f", {unread} that the last report could not look for" if unread else ""
    style = Style.for_terminal(color, quiet=quiet, verbose=verbose)
    if form == "json":
        data = {"new": fresh, "gone": gone, "unchanged": same, "causes": _with_only(new, fresh).causes}
        data |= {"not_looked_for": unread} if several else {}
        trend = [{"started_at": r.started_at, "findings": r.summary.findings, "causes": _causes(r)} for r in reports]
        click.echo(json.dumps(document.plain_data({**data, "trend": trend}), indent=1, ensure_ascii=False))
    elif form == "markdown":
        click.echo(f"**argolint**: {total}")
        for title, findings in (("New", fresh), ("Gone", gone)):
            if findings:
                click.echo(f"\n**{title}**\n")
                for f in findings:
                    click.echo(f"- {f.severity} `{f.rule}` {_code(_subject(f))}: {_escaped(f.message)}")
    else:
        lines = [] if quiet else [*_trend(reports, style), *_new_lines(new, fresh, style), *_gone_lines(gone, style)]
        click.echo("\n".join((*lines, total)), color=style.color)
    return int(bool(fresh))


def _is_looked_for(f: ReportedFinding, new: Report) -> bool:
    """Whether the report would have the finding if the fault existed. A later run over several servers may leave one out."""
    apps = apps_of(f)
    servers = {server.url for server in new.servers}
    return {app.server for app in apps} <= servers and is_looked_at(f.rule, apps, new)


def _active_by_identity(made: Report, several: bool) -> dict[Identity, ReportedFinding]:
    """Unsuppressed findings by identity. For reports of one server each the server is ignored: its address may have changed."""
    active = (f for f in made.findings if f.suppressed is None)
    return {identity(f) if several else ("", f.fingerprint): f for f in active}


def _servers(made: Report) -> str:
    return ", ".join(server.url for server in made.servers)


def _with_only(made: Report, findings: Sequence[ReportedFinding]) -> Report:
    """The report with only these findings, under the causes that it has for them."""
    titles = {(server, c.fingerprint): c.title for c in made.causes for server in _servers_of_cause(c, made)}
    titles |= {identity(f): f.message for f in made.findings}
    return msgspec.structs.replace(made, findings=tuple(findings), causes=causes(findings, titles))


def _servers_of_cause(cause: Cause, made: Report) -> Iterable[str]:
    return (cause.server,) if cause.server is not msgspec.UNSET else {f.app.server for f in made.findings}


def _causes(made: Report) -> int:
    return len(grouped(made.findings))


def _trend(reports: Sequence[Report], style: Style) -> Iterator[str]:
    """One line per report, if there are more than two."""
    if len(reports) > 2:
        for made in reports:
            counts = counts_text(made.summary.findings) or "nothing found"
            yield from wrapped(
                f"{plain(made.started_at)}  {counts}, {number(_causes(made), 'cause')}", style, hang="  "
            )
        yield ""


def _new_lines(made: Report, fresh: Sequence[ReportedFinding], style: Style) -> Iterator[str]:
    """Each cause with new findings, and its fix. An old cause is shown with its new findings only."""
    part = for_people(_with_only(made, fresh))
    known = {identity(f) for f in made.findings} - {identity(f) for f in fresh}
    for cause, group in causes_of(part):
        sign = "+ more of a known cause" if (group[0].app.server, cause.fingerprint) in known else "+ new"
        yield paint(sign, style, fg="red", bold=True)
        yield from cause_block(cause, group, style, named(made))
        yield ""


def _gone_lines(gone: Sequence[ReportedFinding], style: Style) -> Iterator[str]:
    for f in gone:
        sign = paint(f"- {f.severity:7} {f.rule}", style, fg="green")
        yield from wrapped(f"{sign}  {_subject(f)}: {plain(f.message)}", style, hang="    ")
    if gone:
        yield ""


def _subject(f: ReportedFinding) -> str:
    resource = f"{f.resource.kind} {f.resource.namespace}/{f.resource.name}" if f.resource else ""
    return plain(" ".join(filter(None, (app_name(f.app), resource, f.pointer))))


def _code(text: str) -> str:
    return "`" + text.replace("`", "'") + "`"


def _escaped(text: str) -> str:
    escaped = plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for sign in "\\`*_[]|#@":
        escaped = escaped.replace(sign, "\\" + sign)
    return escaped
