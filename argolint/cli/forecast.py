"""`argolint forecast`: predicts upgrades, deletions and moves."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar, get_args

import click
import msgspec

from argolint.cli import session
from argolint.cli.connecting import read_lists
from argolint.cli.demo import RECORDING
from argolint.cli.given import CommandOptions
from argolint.cli.options import (
    Sectioned,
    fail_options,
    options,
    output_options,
    rule_options,
    selection_options,
    source_options,
    workers_option,
)
from argolint.cli.prepare import Run, prepare
from argolint.cli.progress import Clock, progress
from argolint.engine.servers import Listing
from argolint.errors import UsageError
from argolint.forecast import move, report
from argolint.forecast.moves.plan import EFFECT, Where
from argolint.model import Failure, Finding
from argolint.model.stats import Stats
from argolint.reports.document import Forecast

F = TypeVar("F", bound=Callable[..., Any])

_demo = click.option("--demo", is_flag=True, help="Look at the embedded recording; no server, no account.")
common_options = options(
    source_options, _demo, selection_options, workers_option, rule_options, fail_options, output_options
)


@click.group()
def command() -> None:
    """Predict what an upgrade, a deletion or a move does.

    \b
    argolint forecast upgrade --argocd 3.6          what breaks, what only looks different, what to do first
    argolint forecast delete APP                    what a deletion deletes, what stays, what gets stuck
    argolint forecast prune APP                     what the next sync with prune deletes
    argolint forecast move APP --rename NAME        the plan in order, with a check after each step

    Exit codes: 0 nothing at or above --fail-on, 1 something breaks or is deleted, 2 cannot start, 3 something cannot be known.
    """


@command.command("upgrade", cls=Sectioned)
@click.option("--argocd", metavar="V", help="The new Argo CD version, such as 3.6 or 3.6.1.")
@click.option("--external-secrets", metavar="V", help="The new External Secrets Operator version.")
@click.option("--kubernetes", metavar="V", help="The new Kubernetes version, on every cluster or those of --cluster.")
@click.option("--helm", metavar="V", help="The Helm that renders the charts; an Argo CD upgrade includes its own.")
@click.option(
    "--chart",
    "charts",
    multiple=True,
    metavar="NAME[=V]",
    help="A chart with its new release, such as redis=20; `all` for every chart, at any later release.",
)
@common_options
def upgrade_command(
    argocd: str | None,
    external_secrets: str | None,
    kubernetes: str | None,
    helm: str | None,
    charts: tuple[str, ...],
    demo: bool,
    **given: Any,
) -> int:
    """Show what an upgrade breaks, what only looks different afterwards, and what to do first."""
    wanted = {
        name: version
        for name, version in (
            ("argocd", argocd),
            ("external-secrets", external_secrets),
            ("kubernetes", kubernetes),
            ("helm", helm),
        )
        if version
    }
    if not (wanted or charts):
        raise UsageError(
            "no upgrade is named",
            "pass --argocd, --kubernetes, --helm, --external-secrets or --chart with a version; several at once are fine",
        )
    return _forecast(
        CommandOptions(**given), demo, (), lambda read, run: _upgrade(read, run, wanted, charts, given.get("cluster"))
    )


Made = tuple[Forecast, Sequence[Finding], Sequence[Failure], Sequence[Any], int]
"""A forecast, its findings, the failures, the applications that were looked at, and the number of their objects."""


def _forecast(opts: CommandOptions, demo: bool, names: Sequence[str], made: Callable[[Listing, Run], Made]) -> int:
    """Read the one Argo CD that the options name, make the forecast, and write it."""
    if demo:
        if opts.snapshots:
            raise UsageError("--demo and --snapshot both say what to read", "pass one of them")
        opts = replace(opts, snapshots=(str(RECORDING),))
    run = prepare(opts, names)
    clock = Clock()
    shown = progress(opts)
    shown.say("listing the applications")
    with shown:
        read, failures, remarks = read_lists(replace(opts, workers=1))
        if len(read) != 1:
            raise UsageError("a forecast looks at one Argo CD, and several were read", "name it: --only NAME")
        one = read[0]
        shown.say("looking ahead")
        forecast, findings, more, apps, resources = made(one, run)
    t = one.transport
    stats = Stats(t.stats.requests, t.stats.bytes, clock.seconds, t.stats.slowed or msgspec.UNSET)
    made_report = report.report(
        forecast,
        findings,
        tuple(dict.fromkeys((*failures, *more))),
        one.fleet,
        apps=apps,
        resources=resources,
        started_at=t.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        stats=stats,
        remarks=(*remarks, *one.fleet.remarks),
    )
    return session.publish(made_report, run)


def _upgrade(read: Listing, run: Run, wanted: dict[str, str], charts: tuple[str, ...], cluster: str | None) -> Made:
    from argolint.forecast.wanted import upgrades

    forecast, found = upgrades(read.transport, read.fleet, read.failures, wanted, run.plan, cluster or "", charts)
    return forecast, found.findings, (*read.failures, *found.failures), found.apps, found.resources


_APPS = click.argument("named", nargs=-1, required=True, metavar="APP|APPSET|FILE...")


@command.command("delete", cls=Sectioned)
@_APPS
@click.option(
    "--cascade",
    type=click.Choice(["auto", "foreground", "background", "none"]),
    default="auto",
    show_default=True,
    help="auto: as the finalizers say, like `kubectl delete`.",
)
@click.option("--manifests", is_flag=True, help="Also request the render: it shows what hooks of the deletion need.")
@common_options
def delete_command(named: tuple[str, ...], cascade: str, demo: bool, **given: Any) -> int:
    """Show what deleting Applications or ApplicationSets deletes, in which order, what stays, and what gets stuck.

    A FILE has manifests: the forecast assumes that they leave Git or are deleted.
    """
    return _forecast(CommandOptions(**given), demo, (), lambda read, run: _removal(read, run, named, "delete", cascade))


@command.command("prune", cls=Sectioned)
@click.argument("named", nargs=-1, metavar="[APP|FILE]...")
@common_options
def prune_command(named: tuple[str, ...], demo: bool, **given: Any) -> int:
    """Show what the next sync with prune deletes: in all applications, in those named, or from a FILE of manifests as if they left Git."""
    return _forecast(CommandOptions(**given), demo, (), lambda read, run: _removal(read, run, named, "prune", "auto"))


def _removal(read: Listing, run: Run, named: Sequence[str], way: Literal["delete", "prune"], cascade: str) -> Made:
    from argolint.forecast import removal

    targets = removal.removal_targets(read.fleet, named, run.selection.takes, way)
    removal_found, failures, apps = removal.removal_forecast(
        read.transport, read.fleet, targets, run.plan, way, cascade
    )
    forecast = Forecast(
        way,
        about=targets.about,
        causes=tuple(removal.forecast_causes(removal_found)),
        steps=tuple(removal.steps(removal_found)),
    )
    return forecast, removal_found.findings, (*read.failures, *failures), apps, len(removal_found.deleted)


@command.command("move", cls=Sectioned)
@click.argument("app")
@click.option("--rename", metavar="NAME", help="Give it another name.")
@click.option("--to", metavar="APP", help="Move its objects into this Application.")
@click.option("--to-set", metavar="APPSET", help="Let this ApplicationSet generate it.")
@click.option("--to-cluster", metavar="C", help="Deploy it to another cluster (name or URL).")
@click.option("--to-argocd", metavar="CONTEXT", help="Move it to another Argo CD, by its context of `argocd login`.")
@common_options
def move_command(app: str, demo: bool, **given: Any) -> int:
    """Print the plan of a move, with a check after each step; refuses a move that would delete an object."""
    ways: tuple[Where, ...] = get_args(Where)
    named_ways = [(way, target) for way in ways if (target := given.pop(way.replace("-", "_")))]
    if len(named_ways) != 1:
        raise UsageError("name one place to move to", f"one of {', '.join(f'--{way}' for way in ways)}")
    ((way, target),) = named_ways
    if way == "rename" and not re.fullmatch(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", target):
        raise UsageError(
            f"--rename {target!r} is no name", "small letters, digits, `-` and `.`, as Kubernetes has them"
        )
    return _forecast(CommandOptions(**given), demo, (), lambda read, run: _move(read, run, app, way, target))


def _move(read: Listing, run: Run, name: str, way: Where, target: str) -> Made:
    from argolint.engine.load import controller
    from argolint.forecast import removal

    app, failures = removal.application_named(read.transport, read.fleet, name, run.plan)
    plan = move.plan(app, read.fleet, way, target, controller(read.transport, read.fleet))
    forecast = Forecast(
        "move",
        about=(plan.about,),
        causes=tuple(removal.causes_of(EFFECT, plan.findings)),
        steps=tuple(removal.move_steps(app, plan)),
    )
    return forecast, plan.findings, (*read.failures, *failures), (app.ref,), len(app.resources)
