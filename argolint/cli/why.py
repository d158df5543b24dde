"""`argolint why`: the causal chain of one application, object or field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import msgspec

from argolint.application.app import App
from argolint.cli.connecting import read_lists
from argolint.cli.given import CommandOptions
from argolint.cli.options import look_options, rule_options, source_options
from argolint.cli.prepare import prepare
from argolint.cli.reading import full_name, named, unknown
from argolint.engine import run as engine
from argolint.engine.inspect import inspect
from argolint.engine.join import join
from argolint.engine.load import read_application
from argolint.engine.plan import Plan
from argolint.engine.servers import Listing
from argolint.errors import ArgolintError, AuthError, UsageError
from argolint.model import Object, ResourceKey
from argolint.model.results import AppResult
from argolint.redaction import without_secrets
from argolint.reports import chain
from argolint.reports.document import ReportedApp, ReportedFinding, ReportedResource
from argolint.reports.formats import narrative, with_names
from argolint.server import api
from argolint.server.transport import Transport
from argolint.sources.checkout import Checkout, open_checkouts
from argolint.sources.git import has_repository
from argolint.suppression import suppress
from argolint.values import same_repository


@click.command()
@click.argument("app")
@click.argument("resource", required=False, default="", metavar="[KIND/[NAMESPACE/]NAME]")
@click.argument("pointer", required=False, default="", metavar="[POINTER]")
@click.option("--json", "as_json", is_flag=True, help="The chain as JSON.")
@click.option(
    "--checkout",
    "checkouts",
    multiple=True,
    metavar="[URL=]DIR",
    help="A clone of the application's repository (repeatable), to show file and line; else the clone of the working directory.",
)
@source_options
@rule_options
@look_options
def command(app: str, resource: str, pointer: str, as_json: bool, **options: Any) -> int:
    """Explain why APP (NAME, NAMESPACE/NAME or SERVER/NAMESPACE/NAME), one of its objects or one field is in its current state.

    Where the desired state comes from, who wrote the live one, what differs, which rule explains it, who else is involved,
    and how to fix it. POINTER is a JSON pointer such as /spec/replicas.
    """
    opts = CommandOptions(**options)
    run = prepare(replace(opts, outputs=()))
    servers, failures, _ = read_lists(replace(opts, workers=1))
    target = chain.Target(resource, pointer)
    one, wanted = _named(servers, app, [f.server for f in failures if f.server])
    t, fleet = one.transport, one.fleet
    plan = replace(run.plan, workers=1)
    read, missing = read_application(t, wanted, fleet, plan, states=True)
    chain.chosen(read, target)  # refuses a wrong name before more is read
    others = chain.sharing_applications(read, fleet)
    results = [
        inspect(read, fleet, plan.rules),
        *engine.run(t, fleet, replace(plan, wanted=lambda other, fleet: other.ref in others)),
        *_other_server_results(one, wanted, servers, plan),
    ]
    outcome = suppress.apply(join(results, plan.rules), replace(run.suppressions, now=t.now()))
    found = chain.explain(read, fleet, outcome.findings, target, _revisions(t, read))
    unasked = run.plan.shown.unasked
    found = msgspec.structs.replace(found, also=tuple(f for f in found.also if f.rule not in unasked))
    found = _with_places(found, read, opts)
    if as_json:
        click.echo(chain.to_json(found).decode(), nl=False)
    else:
        names = {one.fleet.server: one.source.name for one in servers if one.source.name}
        click.echo(narrative.render(with_names(found, names), opts.style), nl=False)
    for failure in (*failures, *missing):
        where = f"{failure.server}: " if failure.server else ""
        click.echo(without_secrets(f"not looked at: {where}{failure.stage}: {failure.error}"), err=True)
    return 3 if missing else 0


def _with_places(found: chain.Why, app: App, opts: CommandOptions) -> chain.Why:
    """The chain with file and line, from the named checkouts, else from the clone of the working directory."""
    checkouts = open_checkouts(opts.checkouts, "--checkout") if opts.checkouts else _own_clone(app)
    if not checkouts:
        return found
    from argolint.fixes.anchors import of_field, of_finding
    from argolint.fixes.site import Site

    site = Site(checkouts, {(app.ref.server, app.ref.namespace, app.ref.name): app.raw}, _rendered(app))

    def anchored(findings: Sequence[ReportedFinding]) -> tuple[ReportedFinding, ...]:
        return tuple(of_finding(f, site) for f in findings)

    def linked(link: chain.Link) -> chain.Link:
        because, also = anchored(link.because), anchored(link.also)
        about = link.resource
        fields = link.fields
        if about is not None:
            answer = next(iter((*because, *also)), _placeholder_finding(found.app, about))
            fields = tuple(
                msgspec.structs.replace(f, source=of_field(found.app, about, f.pointer, answer, site)) for f in fields
            )
        return msgspec.structs.replace(link, because=because, also=also, fields=fields)

    return msgspec.structs.replace(found, chain=tuple(map(linked, found.chain)), also=anchored(found.also))


def _own_clone(app: App) -> tuple[Checkout, ...]:
    """The clone of the working directory, if it is one of the application's repository."""
    folder = has_repository(Path.cwd())
    if folder is None:
        return ()
    try:
        opened = open_checkouts([str(folder)])
    except UsageError:  # the user did not ask for it
        return ()
    urls = {str(source.get("repoURL") or "") for source in app.sources}
    return opened if any(same_repository(url, own) for c in opened for own in c.urls for url in urls if url) else ()


def _rendered(app: App) -> Callable[[ReportedApp, ReportedResource], Object | None]:
    """A function that returns Argo CD's render of an object: lists there may have other positions than in the file."""

    def rendered(of: ReportedApp, resource: ReportedResource) -> Object | None:
        found = app.resource(
            ResourceKey(resource.cluster, resource.group, resource.kind, resource.namespace, resource.name)
        )
        return found.desired if found else None

    return rendered


def _placeholder_finding(app: ReportedApp, resource: ReportedResource) -> ReportedFinding:
    """A placeholder finding for an object without one: file positions are looked up by finding."""
    return ReportedFinding("", "", "info", "possible", app, "", "", "", resource=resource)


def _named(servers: Sequence[Listing], name: str, unread: Sequence[str]) -> tuple[Listing, App]:
    """The application of that name and its server. UsageError if there is none, or more than one."""
    fleets = [one.fleet for one in servers]
    found = named(fleets, name)
    if not found:
        raise unknown(name, fleets, unread)
    if len(found) > 1:
        names = ", ".join(full_name(fleet, app) for fleet, app in found[:5])
        several = "SERVER/" if fleets[0].name else ""
        raise UsageError(
            f"{name!r} names {len(found)} applications: {names}", f"name one of them as {several}NAMESPACE/NAME"
        )
    ((fleet, app),) = found
    return next(one for one in servers if one.fleet is fleet), app


def _other_server_results(own: Listing, app: App, servers: Sequence[Listing], plan: Plan) -> Iterator[AppResult]:
    """Results of the applications of other servers that share an object with this one."""
    refs = {
        c.app for crossing in own.fleet.crossings.get(app.ref, ()) for c in (*crossing.claimants, *crossing.pruners)
    }
    for one in servers:
        if one is not own and refs:
            yield from engine.run(
                one.transport, one.fleet, replace(plan, wanted=lambda other, fleet: other.ref in refs)
            )


def _revisions(t: Transport, app: App) -> dict[str, Object]:
    """Author, date and message of the revision of a single source; empty if not available (charts, snapshots)."""
    if len(app.sources) != 1 or app.sources[0].get("chart") or not app.revisions:
        return {}
    try:
        return {app.revisions[0]: api.revision_metadata(t, app.ref, app.revisions[0])}
    except AuthError:
        raise
    except ArgolintError:
        return {}  # the author is optional: the chain is valid without it
