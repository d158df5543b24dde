"""`argolint gate`: what a change brings, before it is merged."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import msgspec

from argolint import __version__, gate
from argolint.checkouts.files import read_text
from argolint.checkouts.git import MAX_TEXT_BYTES
from argolint.cli import session as common
from argolint.engine import trusted
from argolint.errors import UsageError
from argolint.gate import Git
from argolint.gate.candidates import UnreadableError, applications_of
from argolint.host.folder import FileError
from argolint.model import Object
from argolint.reports import document as report


class _Command(click.Command):
    """Refuses options that are names of files: what passes the files of a change on would let it choose the server."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = args[: args.index("--")] if "--" in args else args
        for word in options:
            if word.startswith("-") and os.path.lexists(word):
                raise UsageError(
                    f"there is a file called {word!r}, which would be taken for an option",
                    "put -- before the files, or rename it",
                )
        return super().parse_args(ctx, args)


@click.command(cls=_Command)
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="[FILE]...")
@common.source_options
@common.options(
    click.option("-r", "--repo", metavar="URL", help="The repository, as Applications name it."),
    click.option("--head", metavar="REV", help="The change: a branch, tag or commit that Argo CD can fetch."),
    click.option(
        "--base", metavar="REV", help="What it will be merged into [default: what most of its Applications follow]."
    ),
    click.option(
        "--checkout",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="A clone with both revisions: only what changed files touch is rendered.",
    ),
    click.option(
        "--all", "everything", is_flag=True, help="Every application of the repository, whatever files changed."
    ),
    click.option(
        "--rendered",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Head's manifests, rendered elsewhere: DIR/NAMESPACE/NAME/ or DIR/NAME/ per application.",
    ),
    click.option(
        "--helm-render",
        is_flag=True,
        help="Render the Helm applications of --checkout here, base and head, with the helm on PATH: the server is not asked.",
    ),
    click.option(
        "--render-twice",
        is_flag=True,
        help="Render head once more, past the cache: finds what each render draws anew (Argo CD 3.0 and later).",
    ),
    click.option("-p", "--project", "projects", multiple=True, help="Only applications of this project (repeatable)."),
    click.option("-l", "--selector", metavar="LABELS", help="Only applications with these labels (a=b,c!=d,e,!f)."),
    click.option("-N", "--app-namespace", help="Only applications of this namespace."),
    click.option("-c", "--cluster", help="Only applications of this destination (name or URL)."),
    common.workers_option,
)
@common.rule_options
@common.fail_options
@common.output_options
def command(files: tuple[Path, ...], **given: Any) -> int:
    """Say what a change does in Argo CD: only the findings that it brings, and what it mends.

    With FILEs, manifests of Applications, these are held against the live ones, and nothing is rendered.
    """
    if bool(files) == bool(given["repo"] and given["head"]):
        raise UsageError("name a change to judge", "either --repo URL and --head REV, or files that hold Applications")
    git = Git(given["checkout"]) if given["checkout"] else None
    if given["helm_render"] and (given["rendered"] or not (git and given["repo"])):
        raise UsageError(
            "--helm-render renders from --checkout, in place of --rendered",
            "pass --repo URL, --head REV and --checkout DIR",
        )
    checkouts = (f"{given['repo']}={given['checkout']}",) if given["helm_render"] else ()
    given = {**common.NO_SELECTION, **given, "checkouts": checkouts}
    counts = trusted.read_for_change(given, os.environ)
    twice = given.pop("render_twice")
    run = common.prepare({**given, "render_twice": False}, counts=counts)
    if files:
        change = gate.Change("", "files", "live", applications=tuple(_applications(files)))
        if not change.applications:
            return 0
    else:
        base, folder = given["base"] or "", given["rendered"]
        change = gate.Change(
            given["repo"], given["head"], base, git, folder, given["everything"], twice, local=run.plan.local
        )
    clock = common.Clock()
    t = common.open_transport(given)
    verdict = gate.judge(t, change, run.plan)
    later = counts.after_merge
    once_merged = later and replace(run.wishes, loaded=later.loaded, baseline=later.baseline)
    made = report.build(
        verdict.outcome(run.wishes, once_merged or run.wishes),
        server=verdict.fleet.server,
        version=verdict.fleet.version,
        started_at=t.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        stats=report.Stats(t.stats.requests, t.stats.bytes, clock.seconds),
        tool_version=__version__,
        remarks=(*verdict.fleet.remarks, *counts.remarks),
    )
    return common.publish(msgspec.structs.replace(made, gate=gate.told(verdict, change)), run)


def _applications(files: Sequence[Path]) -> Iterator[Object]:
    for file in files:
        try:
            yield from applications_of(read_text(file, MAX_TEXT_BYTES))
        except (OSError, FileError) as error:
            reason = error.strerror if isinstance(error, OSError) else error.message
            raise UsageError(f"cannot read {file}: {reason}", "pass YAML files") from None
        except UnreadableError:
            raise UsageError(f"{file} names Applications and is no YAML that can be read", "correct the file") from None
