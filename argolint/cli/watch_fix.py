"""`argolint watch-fix`: watches for a limited time whether fixed findings are gone from the server. It writes nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from argolint.cli import session
from argolint.cli.fix_text import subject
from argolint.cli.given import CommandOptions
from argolint.cli.options import look_options, rule_options, run_options, source_options
from argolint.cli.prepare import Run, prepare
from argolint.cli.reading import examine_sources
from argolint.errors import ConnectError, UsageError
from argolint.model.fingerprint import Identity
from argolint.reports import document
from argolint.reports.causes import identity
from argolint.reports.document import Report, ReportedApp, ReportedFinding
from argolint.reports.formats import server_name, with_server_names
from argolint.reports.formats.layout import number
from argolint.reports.trend import apps_of, is_looked_at
from argolint.values import plain

_UNITS_S = {"s": 1, "m": 60, "h": 3600}
_LEAST_S, _MOST_S = 5, 24 * 3600


class Time(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic in new versions of click only
    """Parses `90s`, `10m` or `1h` as seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = re.fullmatch(r"([0-9]{1,6})([smh])", str(value))
        if not found:
            self.fail(f"{value!r} is no time; for example 90s, 10m or 1h", param, ctx)
        return float(int(found[1]) * _UNITS_S[found[2]])


@click.command()
@click.argument("saved", metavar="REPORT.json", type=click.Path(path_type=Path))
@click.argument("wanted", nargs=-1, metavar="[RULE|FINGERPRINT]...")
@click.option(
    "--within", type=Time(), default="10m", show_default=True, metavar="TIME", help="How long to watch: at most 24h."
)
@click.option("--every", type=Time(), default="30s", show_default=True, metavar="TIME", help="Time between two looks.")
@source_options
@rule_options
@run_options
@look_options
def command(saved: Path, wanted: tuple[str, ...], within: float, every: float, **options: Any) -> int:
    """Watch the applications of a saved report until its findings are gone, or the time is over.

    Pass the report with the fixes. RULE or FINGERPRINT selects some of its findings. Exit codes: 0 all are gone, 1 some are
    still there when the time is over, 2 cannot start, 3 some could not be looked at.
    """
    if within > _MOST_S or every < _LEAST_S:
        raise UsageError("--within is 24h at most, and --every 5s at least", "--within 30m --every 1m")
    opts = CommandOptions(**options)
    if opts.shard:
        raise UsageError("a fix is looked for in whole reports", "leave out --shard")
    findings = _chosen(with_server_names(document.read(saved)), wanted, saved)
    names = sorted({_name(app) for f in findings for app in apps_of(f)})
    left = {identity(f): f for f in findings}
    began = time.monotonic()
    apps = len({f.app for f in findings})
    click.echo(
        f"{number(len(left), 'finding')} of {number(apps, 'application')}; {_duration_text(within)} at most", err=True
    )
    unseen: set[Identity] = set()
    opts = replace(opts, outputs=(), quiet=True)
    run = prepare(opts, names)
    while True:
        made = _fresh_report(run, opts)
        if made is not None:
            gone, unseen = _gone_and_unseen(left, made)
            for mark in gone:
                finding = left.pop(mark)
                click.echo(f"gone after {_duration_text(time.monotonic() - began)}: {finding.rule}  {subject(finding)}")
        if not left or opts.snapshots or time.monotonic() - began + every > within:
            break
        time.sleep(every)
    for mark, finding in left.items():
        state = "could not be looked at" if made is None or mark in unseen else "still there"
        click.echo(f"{state}: {finding.rule}  {subject(finding)}: {plain(finding.message)}")
    if not left:
        return 0
    return 3 if made is None or unseen & left.keys() else 1


def _chosen(made: Report, wanted: Sequence[str], saved: Path) -> list[ReportedFinding]:
    """The findings to wait for. UsageError if there is none."""
    active = [f for f in made.findings if f.suppressed is None]
    for word in wanted:
        if not any(_is_named(f, word) for f in active):
            raise UsageError(
                f"no finding of {saved} has the rule or fingerprint {word!r}", "`argolint report` shows them"
            )
    found = [f for f in active if not wanted or any(_is_named(f, word) for word in wanted)]
    if not found:
        raise UsageError(f"{saved} has no finding to look for", "pass the report that the fixes were made from")
    return found


def _is_named(finding: ReportedFinding, word: str) -> bool:
    return word == finding.rule or (len(word) >= 7 and finding.fingerprint.startswith(word))


def _name(app: ReportedApp) -> str:
    """The application as a glob: it never matches like a plain name, so a deleted application is no error."""
    name = f"[{app.name[:1]}]{app.name[1:]}"
    server = server_name(app)
    return f"{server}/{app.namespace}/{name}" if server else f"{app.namespace}/{name}"


def _fresh_report(run: Run, opts: CommandOptions) -> Report | None:
    """The report of one look; None if the server did not answer."""
    try:
        part, _ = examine_sources(run, opts)
    except ConnectError as error:
        click.echo(f"argolint: {error.message}", err=True)
        return None
    return with_server_names(session.report_of(part, run))


def _gone_and_unseen(left: Mapping[Identity, ReportedFinding], made: Report) -> tuple[list[Identity], set[Identity]]:
    """The findings that are gone, and those that this look could not see: they would be missing even if the fault existed."""
    present = {identity(f) for f in made.findings}
    servers = {server.url for server in made.servers}
    unseen = {
        mark
        for mark, f in left.items()
        if mark not in present and not (f.app.server in servers and is_looked_at(f.rule, apps_of(f), made))
    }
    return [mark for mark in left if mark not in present and mark not in unseen], unseen


def _duration_text(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"
