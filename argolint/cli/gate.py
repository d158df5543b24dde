"""`argolint gate`: the effect of a change, before it is merged."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import click
import msgspec

from argolint import __version__
from argolint.cli import session
from argolint.cli.connecting import sources_of
from argolint.cli.given import CommandOptions
from argolint.cli.options import (
    fail_options,
    options,
    output_options,
    place_options,
    rule_options,
    source_options,
    workers_option,
)
from argolint.cli.prepare import Run, prepare
from argolint.cli.progress import Clock
from argolint.engine import trusted
from argolint.engine.servers import stats_of
from argolint.errors import ArgolintError, UsageError
from argolint.fixes import anchors
from argolint.fixes.site import Site, place_of
from argolint.gate import files as files_of
from argolint.gate.branch_wait import USUAL_S, BranchWait
from argolint.gate.change import GatedChange
from argolint.gate.judge import judge
from argolint.gate.moved_files import moved_first, moves
from argolint.gate.undo import undo_first
from argolint.gate.verdict import Verdict, gate_report
from argolint.model import SEVERITIES, Object, ResourceKey, Severity
from argolint.model.results import ServerRead
from argolint.redaction import without_secrets
from argolint.reports import assemble, document, formats
from argolint.reports.causes import worst_first
from argolint.reports.formats import app_name, markdown, resource_name, subject_of, with_server_names
from argolint.sources.checkout import Checkout, Committed
from argolint.sources.git import Git, has_repository
from argolint.values import same_repository, shorten


class _Command(click.Command):
    """Refuses options that are names of changed files: such a file name could otherwise select the server."""

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
@source_options
@options(
    click.option("-r", "--repo", metavar="URL", help="The repository's URL, as in the Applications."),
    click.option("--head", metavar="REV", help="The change: a branch, tag or commit that Argo CD can fetch."),
    click.option(
        "--base", metavar="REV", help="The target of the merge [default: what most of its Applications follow]."
    ),
    click.option(
        "--checkout",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="A clone with both revisions: only what changed files touch is rendered.",
    ),
    click.option(
        "--all", "everything", is_flag=True, help="Check every application of the repository, whatever files changed."
    ),
    click.option(
        "--rendered",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Head's manifests, rendered elsewhere: DIR/NAMESPACE/NAME/ or DIR/NAME/ per application.",
    ),
    click.option(
        "--helm-render",
        is_flag=True,
        help="Render the Helm applications of --checkout here, base and head, with the helm on PATH, instead of on the server.",
    ),
    click.option(
        "--render-twice",
        is_flag=True,
        help="Render head once more without the cache, to find values that change with each render (Argo CD 3.0 and later).",
    ),
    click.option(
        "--wait",
        type=click.FloatRange(0, 3600),
        metavar="SECONDS",
        default=USUAL_S,
        show_default=True,
        help="How long to wait for a just pushed head that Argo CD does not know yet.",
    ),
    place_options,
    workers_option,
)
@rule_options
@fail_options
@output_options
def command(files: tuple[Path, ...], **options: Any) -> int:
    """Show what a change does in Argo CD: only the findings that it adds, and those that it fixes.

    With FILEs, manifests of Applications are compared with the live ones, and nothing is rendered.

    With several servers (--servers, --all-contexts), those with the change's applications judge it.
    """
    opts = CommandOptions(**options)
    try:
        return _judge(files, opts)
    except ArgolintError as error:
        _say_comment(opts.outputs, error)
        raise


def _say_comment(outputs: Sequence[str], error: ArgolintError) -> None:
    """Write the error to the comment: otherwise an earlier verdict would stay on the pull request."""
    with suppress(ArgolintError):  # of two errors, report the first
        for output in formats.parse_outputs(outputs):
            if output.format == "markdown" and output.file is not None:
                formats.put(output.file, markdown.problem(without_secrets(error.message), without_secrets(error.hint)))


def _judge(files: tuple[Path, ...], opts: CommandOptions) -> int:
    if bool(files) == bool(opts.repo and opts.head):
        raise UsageError("name a change to judge", "either --repo URL and --head REV, or files that hold Applications")
    git = Git(opts.checkout) if opts.checkout else None
    if opts.helm_render and (opts.rendered or not (git and opts.repo)):
        raise UsageError(
            "--helm-render renders from --checkout, in place of --rendered",
            "pass --repo URL, --head REV and --checkout DIR",
        )
    opts = replace(opts, checkouts=(f"{opts.repo}={opts.checkout}",) if opts.helm_render else ())
    configured = trusted.read_for_change(opts.named, opts.checkout, opts.base, opts.head, os.environ)
    run = prepare(replace(opts, render_twice=False), configured=configured)
    if not files:
        change = _change(opts, git, run)
        made, verdict = _gated_report(opts, change, run, configured)
        return session.publish(_anchored(made, verdict, change), run)
    held = files_of.read(files, opts.trusted_config or opts.base or trusted.base_of(Path.cwd(), os.environ))
    if held.empty:
        click.echo("no Application in the files: nothing was judged", err=True)
        return 0
    change = GatedChange("", "files", "live", files=held.written, projects=held.projects)
    made, verdict = _gated_report(opts, change, run, configured)
    return session.publish(_in_files(made, verdict, held), run)


def _change(opts: CommandOptions, git: Git | None, run: Run) -> GatedChange:
    repo, head = opts.repo or "", opts.head or ""
    return GatedChange(
        repo,
        head,
        opts.base or "",
        git=git,
        rendered=opts.rendered,
        everything=opts.everything,
        renders_twice=opts.render_twice,
        commit=_commit(git or _own_clone(repo), head),
        branch_wait=BranchWait(opts.wait, _waiting),
        local=run.plan.local,
    )


def _gated_report(
    opts: CommandOptions, change: GatedChange, run: Run, configured: trusted.Trusted
) -> tuple[document.Report, Verdict]:
    """The report of a judged change, not yet with places in files, and the verdict that it was made of."""
    sources, remarks = sources_of(opts)
    clock = Clock()
    verdict, more = judge(sources, change, run.plan)
    suppressions = once_merged = replace(run.suppressions, servers={f.server: f.name for f in verdict.fleets})
    if later := configured.after_merge:
        once_merged = replace(suppressions, entries=later.loaded.entries, baseline=later.baseline)
    transports = [source.transport for source in sources if source.transport is not None]
    of_fleets = [
        f"{fleet.name}: {remark}" if fleet.name else remark for fleet in verdict.fleets for remark in fleet.remarks
    ]
    built = assemble.build(
        verdict.outcome(suppressions, once_merged),
        servers=[ServerRead(fleet.server, fleet.version, fleet.name) for fleet in verdict.fleets],
        started_at=min(t.now() for t in transports).strftime("%Y-%m-%dT%H:%M:%SZ"),
        stats=stats_of(transports, clock.seconds),
        tool_version=__version__,
        remarks=(*remarks, *more, *of_fleets, *configured.remarks),
    )
    described = gate_report(verdict, change)
    judged = msgspec.structs.replace(built, gate=described)
    fails = _fails(judged, run.fail_on, allow_incomplete=run.allow_incomplete)
    made = undo_first(msgspec.structs.replace(judged, gate=msgspec.structs.replace(described, fails=fails)))
    moved = moves(change.git.changes(verdict.base_name or "HEAD", change.head)) if change.git is not None else {}
    return moved_first(made, verdict, moved), verdict


def _in_files(made: document.Report, verdict: Verdict, held: files_of.Files) -> document.Report:
    """The report with lines of the named files; the failure of an application begins with its line."""
    site = _site(held.places, verdict)

    def placed(failure: document.ReportedFailure) -> document.ReportedFailure:
        line = anchors.of_application(failure.app, site) if failure.app else ""
        return msgspec.structs.replace(failure, error=f"{line}: {failure.error}") if line else failure

    return msgspec.structs.replace(anchors.anchored(made, site), failures=tuple(map(placed, made.failures)))


def _fails(made: document.Report, fail_on: str, *, allow_incomplete: bool) -> str:
    """Why the gate does not pass, in one sentence; empty if it passes."""
    code = session.exit_code(made, fail_on, allow_incomplete=allow_incomplete)
    if code == 0:
        return ""
    made = with_server_names(made)
    if code == 3:
        first = made.failures[0]
        about = f"{subject}: " if (subject := subject_of(first)) else ""
        more = f", and {len(made.failures) - 1} more" if made.failures[1:] else ""
        return f"not everything could be judged ({about}{shorten(first.error, 200)}{more})"
    bad = SEVERITIES[SEVERITIES.index(cast(Severity, fail_on)) :]
    blocking = [f for f in worst_first(made) if f.severity in bad]
    worst = blocking[0]
    what = resource_name(worst.resource) if worst.resource else "the application"
    touched = {a.app for a in made.gate.apps} if made.gate else set()
    party = next((r.app for r in worst.related if r.app in touched), None) if worst.app not in touched else None
    also = f" and {app_name(party)}" if party else ""
    others = len(blocking) - 1
    more = f" and {others} more finding{'s' if others > 1 else ''}" if others else ""
    return f"it brings {worst.rule} on {what} in {app_name(worst.app)}{also}{more}"


def _anchored(made: document.Report, verdict: Verdict, change: GatedChange) -> document.Report:
    """The report with file and line, from the named clone or the clone of the working directory."""
    clone = change.git or _own_clone(change.repo)
    if clone is None:
        return made
    base = verdict.base_name or "HEAD"
    try:
        head = Committed(clone.path, frozenset((change.repo, *clone.remotes())), revision=clone.commit(change.head))
        changed = {c.path: c for c in clone.changes(base, change.head)}
    except UsageError:
        if change.git is not None:
            raise
        return made  # the user did not name this clone: it need not have the revisions
    touching = {(ref.server, ref.namespace, ref.name): files for ref, files in verdict.files.items()}
    return anchors.anchored(made, _site((head,), verdict), anchors.Diff(head, changed, touching, base))


def _commit(clone: Git | None, head: str) -> str:
    """The commit of a name in a clone; empty if it is unknown."""
    try:
        return clone.commit(head) if clone is not None else ""
    except UsageError:
        return ""


def _waiting(revision: str, name: str) -> None:
    """Say that a revision is awaited. `name`: of the Argo CD, in a run over several."""
    who = name or "Argo CD"
    click.echo(
        f"argolint: {who} does not know {revision} yet; waiting for it to look at the repository again", err=True
    )


def _own_clone(repo: str) -> Git | None:
    """The clone of the working directory, if it is one of this repository."""
    folder = has_repository(Path.cwd())
    if folder is None:
        return None
    clone = Git(folder)
    return clone if any(same_repository(repo, url) for url in clone.remotes()) else None


def _site(checkouts: tuple[Checkout, ...], verdict: Verdict) -> Site:
    """The state of the applications after the change."""
    ahead = {j.ref: j.after for j in verdict.apps if j.after is not None}
    now = {ref: app for fleet in verdict.fleets for ref, app in fleet.by_ref.items()}
    apps = {ref: ahead.get(ref, app) for ref, app in now.items()} | ahead
    raws = {(ref.server, ref.namespace, ref.name): app.raw for ref, app in apps.items()}
    known = {(ref.server, ref.namespace, ref.name): app for ref, app in ahead.items()}

    def rendered(app: document.ReportedApp, resource: document.ReportedResource) -> Object | None:
        found = known.get(place_of(app))
        key = ResourceKey(resource.cluster, resource.group, resource.kind, resource.namespace, resource.name)
        of = found.resource(key) if found else None
        return of.desired if of else None

    return Site(checkouts, raws, rendered)
