"""`argolint fix`: print fixes, or write them into Git checkouts. The cluster and the server are never changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from argolint.checkouts import checkout
from argolint.checkouts.checkout import Checkout
from argolint.checkouts.yaml_text import EditError, documents
from argolint.cli import session as common
from argolint.decoding import json_value
from argolint.engine import pipeline as lint
from argolint.engine import run as engine
from argolint.errors import ArgolintError, UsageError
from argolint.fixes import placement as edit
from argolint.fixes.placement import Arranged, Choice, Outcome, Site
from argolint.fleet import Fleet
from argolint.model import AppRef, Object, ResourceKey
from argolint.redaction import PRINTED
from argolint.reports import document as report
from argolint.reports.document import App, Finding, Fix, Report, Resource
from argolint.reports.formats import Style, app_name, resource_name
from argolint.reports.formats.edits import as_text, steps_before, told_effects
from argolint.server import api as argocd
from argolint.server.transport import Transport
from argolint.values import plain


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
    help="Change the files of this Git checkout (repeatable); URL when its remote is another one.",
)
@click.option("--dry-run", is_flag=True, help="With --write: print the diff and change nothing.")
@click.option("--force", is_flag=True, help="With --write: also change files that have uncommitted changes.")
@common.source_options
@common.selection_options
@common.rule_options
@common.run_options
@common.look_options
def command(
    apps: tuple[str, ...],
    saved: Path | None,
    alternative: int,
    safe_only: bool,
    targets: tuple[str, ...],
    dry_run: bool,
    force: bool,
    **given: Any,
) -> int:
    """Print the fix of each finding, or write it into checkouts of the repositories with --write.

    APP is NAME or NAMESPACE/NAME and may hold globs. Exit codes: 0 all printed or placed, 1 some could not be placed,
    2 cannot start.
    """
    if (dry_run or force) and not targets:
        raise UsageError("--dry-run and --force belong to --write", "name a checkout: --write DIR")
    if given["shard"]:
        raise UsageError("fixes are made from whole reports", "leave out --shard")
    checkouts = checkout.open_checkouts(targets)
    made, site = _read(saved, apps, given, checkouts)
    findings = [f for f in made.findings if f.suppressed is None]
    choices = [
        Choice(f, f.fixes[alternative - 1], alternative)
        for f in findings
        if len(f.fixes) >= alternative and (f.fixes[alternative - 1].safe or not safe_only)
    ]
    style = Style.from_options(given)
    if not made.complete:
        click.echo(f"argolint: incomplete: {len(made.failures)} looks failed, so fixes may be missing", err=True)
    if not checkouts:
        for choice in choices:
            click.echo("\n".join(_printed(choice, style)) + "\n")
        click.echo(_counted(len(choices), len(findings)), err=True)
        return 0
    arranged = edit.arrange(choices, site, dirty=force)
    if dry_run:
        click.echo("".join(_diffs(arranged, checkouts)), nl=False)
    else:
        checkout.write(arranged.texts)
    for outcome in arranged.outcomes:
        click.echo("\n".join(_told(outcome, style, many=len(checkouts) > 1)), err=dry_run)
    click.echo(_summary(arranged, len(findings), dry_run=dry_run), err=True)
    return int(any(outcome.why for outcome in arranged.outcomes))


def _read(
    saved: Path | None, names: Sequence[str], given: Mapping[str, Any], checkouts: tuple[Checkout, ...]
) -> tuple[Report, Site]:
    """The findings, and what is known of the applications: from a check, or from a report (with a snapshot if one is given)."""
    run = common.prepare({**common.NO_FAILING, **given, "outputs": ()}, names)
    if saved is None:
        transport = common.open_transport(given)
        fleet, failures = engine.load_fleet(transport)
        part = lint.collect(transport, run.plan, common.progress(given), fleet)
        part = msgspec.structs.replace(part, failures=(*failures, *part.failures))
        return common.conclude(part, run), _site(checkouts, transport, fleet)
    made = report.read(saved)
    rules = {chosen.rule.id for chosen in run.plan.rules}
    selected = bool(given["select"] or given["ignore"])
    findings = tuple(
        f
        for f in made.findings
        if (f.rule in rules or not selected) and (not names or run.selection.names_ref(_ref(f.app)))
    )
    made = msgspec.structs.replace(made, findings=findings)
    if not given["snapshots"]:
        return made, Site(checkouts)
    transport = common.open_transport(given)
    return made, _site(checkouts, transport, engine.load_fleet(transport)[0])


def _ref(app: App) -> AppRef:
    return AppRef(app.namespace, app.name, app.project, app.server)


def _site(checkouts: tuple[Checkout, ...], transport: Transport, fleet: Fleet) -> Site:
    """What the server tells beyond the report: the Applications, who owns an object, and what is rendered of it."""
    states: dict[App, Mapping[ResourceKey, str | None]] = {}

    def rendered(app: App, resource: Resource) -> Object | None:
        if app not in states:
            try:
                managed = argocd.managed_resources(transport, _ref(app))
            except ArgolintError:  # the checkout's own history may tell; if not, the outcome says so
                managed = ()
            states[app] = {ResourceKey("", m.group, m.kind, m.namespace, m.name): m.target_state for m in managed}
        key = ResourceKey("", resource.group, resource.kind, resource.namespace, resource.name)
        state = states[app].get(key)
        found = json_value(state) if state else None
        return found if isinstance(found, Mapping) else None

    def owners(resource: Resource) -> Iterable[App]:
        key = ResourceKey(resource.cluster, resource.group, resource.kind, resource.namespace, resource.name)
        return (App(r.server, r.namespace, r.name, r.project) for r in fleet.owners(key))

    return Site(checkouts, {(a.ref.namespace, a.ref.name): a.raw for a in fleet.apps}, rendered, owners)


# What is told


def _subject(finding: Finding) -> str:
    resource = resource_name(finding.resource) if finding.resource else ""
    return plain(" ".join(filter(None, (app_name(finding.app), resource, finding.pointer))))


def _printed(choice: Choice, style: Style) -> Iterator[str]:
    finding, fix = choice.finding, choice.fix
    yield f"{click.style(finding.rule, bold=style.color or None)}  {_subject(finding)}"
    yield f"  {plain(finding.message)}"
    yield f"  fix {choice.number} of {len(finding.fixes)}: {plain(fix.title)}{f' [{plain(fix.where)}]' if fix.where else ''}"
    yield from (f"      first: {line}" for line in steps_before(fix))
    yield from (f"      {line}" for line in as_text(fix.edit).splitlines())
    yield from (f"    {line}" for line in _doubts(fix))


def _doubts(fix: Fix) -> Iterator[str]:
    if fix.verified:
        how = "two renders with it no longer differ" if fix.proof == "rendered-twice" else "replayed in memory"
        yield f"verified: {how}, the finding is gone"
    elif fix.unverified:
        yield f"not verified: {plain(fix.unverified)}"
    if fix.effects:
        yield f"effects: {told_effects(fix)}"
    if fix.caveat:
        yield f"caveat: {plain(fix.caveat)}"


def _told(outcome: Outcome, style: Style, *, many: bool) -> Iterator[str]:
    fix, finding = outcome.choice.fix, outcome.choice.finding
    head = f"{finding.rule}  {_subject(finding)}: "
    if outcome.why:
        sign = click.style("left  ", fg="yellow") if style.color else "left  "
        yield f"{sign}  {head}{plain(outcome.why)} → {plain(outcome.todo)}"
        return
    sign = click.style("placed", fg="green") if style.color else "placed"
    files = ", ".join(str(where.root / file) if many else file for where, file in outcome.files)
    yield f"{sign}  {head}{plain(fix.title)} → {plain(files)}"
    first = (f"first, before it is synced: {line}" for line in steps_before(fix))
    notes = (f"note: {plain(note)}" for note in outcome.notes)
    yield from (f"          {line}" for line in (*first, *_doubts(fix), *notes))


def _counted(chosen: int, findings: int) -> str:
    return f"{chosen} of {findings} findings have such a fix"


def _summary(arranged: Arranged, findings: int, *, dry_run: bool) -> str:
    placed = sum(not outcome.why for outcome in arranged.outcomes)
    does = "would change" if dry_run else "changed"
    return (
        f"{placed} of {len(arranged.outcomes)} fixes placed, {len(arranged.texts)} files {does}; "
        + _counted(len(arranged.outcomes), findings)
        + ("" if dry_run or not arranged.texts else "; review with `git diff`")
    )


def _diffs(arranged: Arranged, checkouts: Sequence[Checkout]) -> Iterator[str]:
    """What `git diff` will show, checkout by checkout, without secrets. A file with a Secret is only named."""
    for where in checkouts:
        texts = {file: text for (of, file), text in arranged.texts.items() if of == where}
        if texts and len(checkouts) > 1:
            yield f"# in {where.root}\n"
        hidden = sorted(file for file, text in texts.items() if _holds_secret(text))
        yield checkout.diff(where, {f: text for f, text in texts.items() if f not in hidden}, PRINTED.document)
        yield from (f"# {file} holds a Secret: its diff is not shown\n" for file in hidden)


def _holds_secret(text: str) -> bool:
    try:
        kinds = [d.data.get("kind") for d in documents(text) if isinstance(d.data, Mapping)]
    except EditError:
        return True
    return "Secret" in kinds or "List" in kinds
