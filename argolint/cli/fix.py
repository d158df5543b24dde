"""`argolint fix`: print fixes, or write them into Git checkouts. The cluster and the server are never changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import msgspec

from argolint.cli import fix_opening, fix_text, session
from argolint.cli.connecting import read_lists
from argolint.cli.given import CommandOptions
from argolint.cli.options import look_options, rule_options, run_options, selection_options, source_options
from argolint.cli.prepare import prepare
from argolint.cli.reading import examine_sources
from argolint.engine.servers import Listing
from argolint.errors import ArgolintError, UsageError
from argolint.fixes import allowed, placement
from argolint.fixes.anchors import holds_secret
from argolint.fixes.placement import Outcome
from argolint.fixes.site import Choice, Site
from argolint.model import AppRef, Object, ResourceKey
from argolint.plugins import load_rules
from argolint.redaction import PRINTED
from argolint.reports import document
from argolint.reports.causes import with_causes, worst_first
from argolint.reports.document import Report, ReportedApp, ReportedFinding, ReportedResource
from argolint.reports.formats import Style, server_name, with_server_names
from argolint.reports.formats.edits import as_text, steps_before
from argolint.reports.formats.fixes import MASKED, is_masked
from argolint.server import api
from argolint.sources import branches, checkout
from argolint.sources.checkout import Checkout, Committed
from argolint.sources.yaml_text import EditError, documents
from argolint.values import plain, sh
from argolint.values.decoding import json_value


@click.command()
@click.argument("apps", nargs=-1, metavar="[APP]...")
@click.option("--report", "saved", type=click.Path(path_type=Path), help="Take the findings of a saved JSON report.")
@click.option(
    "--alternative",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Which of a finding's fixes, as the report numbers them.",
)
@click.option("--safe-only", is_flag=True, help="Only fixes that restart, delete and hide nothing.")
@click.option(
    "--write",
    "targets",
    multiple=True,
    metavar="[URL=]DIR",
    help="Change the files of this Git checkout (repeatable); URL if its remote is another one.",
)
@click.option("--dry-run", is_flag=True, help="With --write: print the diff and change nothing.")
@click.option("--force", is_flag=True, help="With --write: also change files that have uncommitted changes.")
@click.option(
    "--unverified",
    multiple=True,
    is_flag=False,
    flag_value="all",
    metavar="[RULE|FINGERPRINT]",
    help="With --write: also write fixes that are neither verified nor safe; all, or those of a rule or finding (repeatable).",
)
@click.option(
    "--branch",
    metavar="NAME",
    help="With --write: commit to this new branch, one commit per cause; work tree and current branch stay unchanged.",
)
@click.option(
    "--pull-request",
    "page",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --branch: the file for the pull request's title and text [default: next to Git's own files].",
)
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@source_options
@selection_options
@rule_options
@run_options
@look_options
def command(apps: tuple[str, ...], **options: Any) -> int:
    """Print the fix of each finding, or write it into checkouts of the repositories with --write.

    --write writes verified or safe fixes of errors and warnings, and with --unverified others, too. Fixes of infos, and of faults that
    someone stated on purpose (a suspended CronJob), are written if --select names their rule. APP is NAME or NAMESPACE/NAME and may have
    globs. Exit codes: 0 every fix with a place was written, 1 a file did not accept its fix, lacks its place, or a fix is not verified, 2 cannot start.
    """
    asked = _Asked(**{name: options.pop(name) for name in _Asked.__dataclass_fields__})
    opts = CommandOptions(**options)
    _require_consistent(asked, opts)
    opened = checkout.open_checkouts(asked.targets)
    checkouts: tuple[Checkout, ...] = branches.at_head(opened, asked.branch) if asked.branch else opened
    made, site = _read(asked.saved, apps, opts, checkouts)
    findings = worst_first(with_causes(made))
    choices = list(_choices(findings, asked))
    if not made.complete:
        click.echo(
            f"argolint: incomplete: {len(made.failures)} checks could not be completed, so fixes may be missing",
            err=True,
        )
    if not checkouts:
        _print(choices, len(findings), opts.style, asked.output)
        return 0
    written = _written(choices, site, asked, opts)
    _say_written(written, len(findings), checkouts, asked, opts.style)
    return int(any(t.outcome.refused or t.group == "unverified" for t in written.entries))


@dataclass(frozen=True)
class _Asked:
    """The options of this command alone."""

    saved: Path | None
    alternative: int
    safe_only: bool
    targets: tuple[str, ...]
    dry_run: bool
    force: bool
    unverified: tuple[str, ...]
    branch: str | None
    page: Path | None
    output: str


@dataclass(frozen=True)
class _Written:
    """What a write did, or with --dry-run would do: one entry for each fix, the new texts of files, and the commands that open pull requests."""

    outcomes: tuple[Outcome, ...]
    entries: tuple[fix_text.Entry, ...]
    texts: Mapping[tuple[Checkout, str], str]
    openings: tuple[fix_opening.Opening, ...] = ()


def _require_consistent(asked: _Asked, opts: CommandOptions) -> None:
    if (asked.dry_run or asked.force or asked.unverified or asked.branch) and not asked.targets:
        raise UsageError(
            "--dry-run, --force, --unverified and --branch belong to --write", "name a checkout: --write DIR"
        )
    if asked.page and not asked.branch:
        raise UsageError("--pull-request belongs to --branch", "name the branch: --branch NAME")
    fix_opening.require_free(asked.page)
    if asked.force and asked.branch:
        raise UsageError("--branch commits on top of what is committed", "leave out --force")
    if opts.shard:
        raise UsageError("fixes are made from whole reports", "leave out --shard")


def _choices(findings: Iterable[ReportedFinding], asked: _Asked) -> Iterator[Choice]:
    """The fix of each finding that --alternative and --safe-only choose."""
    for finding in findings:
        for fix in finding.fixes[asked.alternative - 1 : asked.alternative]:
            if fix.safe or not asked.safe_only:
                yield Choice(finding, fix, asked.alternative)


def _written(choices: Sequence[Choice], site: Site, asked: _Asked, opts: CommandOptions) -> _Written:
    """Write what may be written, to the work trees or to a new branch."""
    rules = load_rules()
    allowed.require_known(asked.unverified, choices, rules)
    selected = {word for group in opts.select for word in group.replace(",", " ").split()}
    named = {*selected, *asked.unverified, *(c.finding.rule for c in choices if allowed.is_named(c, asked.unverified))}
    infos = "info" in (opts.min_severity, *selected)
    left, choices = allowed.without_known_causes(choices, rules, named, infos=infos)
    held, wanted = allowed.split(choices, asked.unverified)
    openings: tuple[fix_opening.Opening, ...] = ()
    if asked.branch:
        outcomes, texts = _commit_fixes(wanted, site, asked.branch, dry_run=asked.dry_run)
        if not asked.dry_run:
            openings = tuple(_openings(outcomes, asked.branch, asked.page))
    else:
        arranged = placement.arrange(wanted, site, dirty=asked.force)
        outcomes, texts = arranged.outcomes, arranged.texts
        if not asked.dry_run:
            checkout.write(texts)
    many = len(site.checkouts) > 1
    entries = (
        *(fix_text.Entry(fix_text.group_of(o), o, many) for o in outcomes),
        *(_unwritten_entry(o) for o in placement.arrange(held, site, dirty=True).outcomes),
        *(fix_text.Entry("left", Outcome(c, why=why, todo=f"--select {c.finding.rule}")) for c, why in left),
    )
    return _Written(outcomes, entries, texts, openings)


def _say_written(written: _Written, findings: int, checkouts: Sequence[Checkout], asked: _Asked, style: Style) -> None:
    if asked.output == "json":
        pull_requests = {"pull_requests": [one.as_json() for one in written.openings]} if asked.branch else {}
        text = fix_text.as_json(
            written.entries,
            findings=findings,
            written=not asked.dry_run,
            branch=asked.branch or "",
            more=pull_requests,
        )
        click.echo(text, nl=False)
    else:
        if asked.dry_run:
            click.echo("".join(_diffs(written.texts, checkouts)), nl=False)
        click.echo(fix_text.text(written.entries, style), nl=False, err=asked.dry_run)
        for one in written.openings:
            click.echo("\n".join(("", *one.lines())))
    click.echo(_summary(written, findings, asked), err=True)


def _print(choices: Sequence[Choice], findings: int, style: Style, output: str) -> None:
    """Print the chosen fixes, for runs without a checkout."""
    if output == "json":
        entries = [
            fix_text.Entry("by_hand", Outcome(c, why="no checkout was named", todo="--write DIR")) for c in choices
        ]
        click.echo(fix_text.as_json(entries, findings=findings, written=False), nl=False)
    else:
        seen: dict[tuple[str, str, str], Choice] = {}
        for choice in choices:
            first = seen.setdefault((choice.fix.title, choice.fix.where, str(choice.fix.edit.content)), choice)
            click.echo("\n".join(_printed(choice, style, first)) + "\n")
    click.echo(_count_text(len(choices), findings), err=True)


def _read(
    saved: Path | None, names: Sequence[str], opts: CommandOptions, checkouts: tuple[Checkout, ...]
) -> tuple[Report, Site]:
    """The findings and the state of the applications: from a check, or from a report (with a snapshot if one is given)."""
    run = prepare(replace(opts, outputs=()), names)
    if saved is None:
        part, read = examine_sources(run, opts)
        return with_server_names(session.report_of(part, run)), _site(checkouts, read)
    made = with_server_names(document.read(saved))
    findings = tuple(
        f
        for f in made.findings
        if run.plan.shown.takes(f.rule, f.family, f.severity)
        and (not names or run.selection.names_ref(_ref(f.app), server_name(f.app)))
    )
    made = msgspec.structs.replace(made, findings=findings)
    if not opts.snapshots:
        return made, Site(checkouts)
    return made, _site(checkouts, read_lists(opts)[0])


def _ref(app: ReportedApp) -> AppRef:
    return AppRef(app.namespace, app.name, app.project, app.server)


def _site(checkouts: tuple[Checkout, ...], read: Sequence[Listing]) -> Site:
    """What the server knows beyond the report: the Applications, the owner of an object, and its rendered manifest."""
    states: dict[ReportedApp, Mapping[ResourceKey, str | None]] = {}
    servers = {one.fleet.server: one for one in read}

    def rendered(app: ReportedApp, resource: ReportedResource) -> Object | None:
        if app not in states:
            one = servers.get(app.server)
            try:
                managed = api.managed_resources(one.transport, _ref(app)) if one else ()
            except ArgolintError:  # the checkout's own history may help; if not, the outcome says so
                managed = ()
            states[app] = {ResourceKey("", m.group, m.kind, m.namespace, m.name): m.target_state for m in managed}
        key = ResourceKey("", resource.group, resource.kind, resource.namespace, resource.name)
        state = states[app].get(key)
        found = json_value(state) if state else None
        return found if isinstance(found, Mapping) else None

    def owners(app: ReportedApp, resource: ReportedResource) -> Iterable[ReportedApp]:
        key = ResourceKey(resource.cluster, resource.group, resource.kind, resource.namespace, resource.name)
        one = servers.get(app.server)
        return (ReportedApp(r.server, r.namespace, r.name, r.project) for r in (one.fleet.owners(key) if one else ()))

    apps = {(one.fleet.server, a.ref.namespace, a.ref.name): a.raw for one in read for a in one.fleet.apps}
    return Site(checkouts, apps, rendered, owners)


def _printed(choice: Choice, style: Style, first: Choice) -> Iterator[str]:
    """The lines of a finding and its fix; `first`: the earlier choice with the same commands."""
    finding, fix = choice.finding, choice.fix
    yield f"{click.style(finding.rule, bold=style.color or None)}  {fix_text.subject(finding)}"
    yield f"  {plain(finding.message)}"
    yield f"  fix {choice.number} of {len(finding.fixes)}: {plain(fix.title)}{f' [{plain(fix.where)}]' if fix.where else ''}"
    if first is not choice and fix.edit.kind == "command":
        yield f"    as for {first.finding.rule} above"
        return
    yield from (f"    {line}" for line in fix_text.doubts(fix))
    if is_masked(fix):
        yield f"    by hand: {MASKED}"
        return
    yield from (f"      first: {line}" for line in steps_before(fix))
    yield from (f"      {line}" for line in as_text(fix.edit).splitlines())


def _unwritten_entry(outcome: Outcome) -> fix_text.Entry:
    """An unverified fix that was not written although it has a place; another fix of its finding may be verified. A fix without a place is manual anyway."""
    if outcome.why:
        return fix_text.Entry("by_hand", outcome)
    fixes, mark = outcome.choice.finding.fixes, outcome.choice.finding.fingerprint[:12]
    if outcome.choice.fix.before:
        todo = f"do that step, then pass --unverified {mark}"
        return fix_text.Entry(
            "unverified", Outcome(outcome.choice, why="it needs a first step, which is a command", todo=todo)
        )
    proven = [str(n) for n, fix in enumerate(fixes, 1) if (fix.verified or fix.safe) and not fix.before]
    todo = f"--alternative {' or '.join(proven)} is verified or safe" if proven else ""
    return fix_text.Entry("unverified", Outcome(outcome.choice, why="it is not verified", todo=todo))


def _commit_fixes(
    choices: Sequence[Choice], site: Site, name: str, *, dry_run: bool
) -> tuple[tuple[Outcome, ...], Mapping[tuple[Checkout, str], str]]:
    """Commit the fixes on a new branch, one commit per cause. Return the outcomes, and the new texts of all files."""
    steps: dict[Committed, list[branches.Step]] = {c: [] for c in site.checkouts if isinstance(c, Committed)}
    outcomes: list[Outcome] = []
    before: Mapping[tuple[Checkout, str], str] = {}
    for arranged in placement.staged(fix_text.by_cause(choices), site):
        placed = [o for o in arranged.outcomes if not o.why]
        for where, commits in steps.items():
            texts = {f: t for (c, f), t in arranged.texts.items() if c == where and before.get((c, f)) != t}
            if texts:
                here = [o for o in placed if any(c == where for c, _ in o.files)]
                commits.append(branches.Step(texts, fix_text.message(here)))
        outcomes += arranged.outcomes
        before = arranged.texts
    if not dry_run:
        branches.write(steps, name, os.environ, Path.home())
    return tuple(outcomes), before


def _openings(outcomes: Sequence[Outcome], branch: str, page: Path | None) -> Iterator[fix_opening.Opening]:
    """For each checkout with commits: writes the text of its pull request, and returns the commands that open it."""
    placed = [o for o in outcomes if not o.why]
    changed = sorted({where.root: where for o in placed for where, _ in o.files}.values(), key=lambda c: c.root)
    for where in changed:
        committed = [o for o in placed if any(c == where for c, _ in o.files)]
        file = page.with_stem(f"{page.stem}-{where.root.name}") if page and len(changed) > 1 else page
        written = fix_opening.write(file, fix_opening.page(committed), where)
        yield fix_opening.Opening(where, branch, where.git.current_branch() or "main", written)


def _count_text(chosen: int, findings: int) -> str:
    return f"fixes for {chosen} of {findings} findings"


def _summary(written: _Written, findings: int, asked: _Asked) -> str:
    placed = sum(not outcome.why for outcome in written.outcomes)
    does = "would change" if asked.dry_run else "changed"
    after = f"; review with `git log -p {sh(asked.branch)}`" if asked.branch else "; review with `git diff`"
    return (
        f"{placed} of {len(written.outcomes)} fixes placed, {len(written.texts)} files {does}; "
        + _count_text(len(written.outcomes), findings)
        + ("" if asked.dry_run or not written.texts else after)
    )


def _diffs(changed: Mapping[tuple[Checkout, str], str], checkouts: Sequence[Checkout]) -> Iterator[str]:
    """The future output of `git diff` for each checkout, without secrets. A file with a Secret is only named."""
    for where in checkouts:
        texts = {file: text for (of, file), text in changed.items() if of == where}
        if texts and len(checkouts) > 1:
            yield f"# in {where.root}\n"
        hidden = sorted(file for file, text in texts.items() if _holds_secret(text))
        yield checkout.diff(where, {f: text for f, text in texts.items() if f not in hidden}, PRINTED.document)
        yield from (f"# {file} holds a Secret: its diff is not shown\n" for file in hidden)


def _holds_secret(text: str) -> bool:
    try:
        return holds_secret(documents(text))
    except EditError:
        return True
