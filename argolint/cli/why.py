"""`argolint why`: the causal chain of one application, object or field."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import click

from argolint.app import App
from argolint.cli.connecting import open_transport
from argolint.cli.options import NO_FAILING, NO_SELECTION, look_options, rule_options, source_options
from argolint.cli.prepare import prepare
from argolint.engine import run as engine
from argolint.engine import suppress
from argolint.engine.inspect import inspect
from argolint.engine.join import join
from argolint.engine.load import load, load_fleet
from argolint.errors import ArgolintError, AuthError, UsageError
from argolint.fleet import Fleet
from argolint.model import Object
from argolint.redaction import without_secrets
from argolint.reports import chain as why
from argolint.reports.formats import Style, narrative
from argolint.server import api as argocd
from argolint.server.transport import Transport


@click.command()
@click.argument("app")
@click.argument("resource", required=False, default="", metavar="[KIND/[NAMESPACE/]NAME]")
@click.argument("pointer", required=False, default="", metavar="[POINTER]")
@click.option("--json", "as_json", is_flag=True, help="The chain as JSON.")
@source_options
@rule_options
@look_options
def command(app: str, resource: str, pointer: str, as_json: bool, **given: Any) -> int:
    """Explain why APP (NAME or NAMESPACE/NAME), one of its objects or one field is as it is.

    Where the desired state comes from, who wrote the live one, what differs, which rule explains it, who else is involved,
    and the way out. POINTER is a JSON pointer such as /spec/replicas.
    """
    run = prepare({**NO_SELECTION, **NO_FAILING, **given, "outputs": ()})
    t = open_transport({**given, "workers": 1})
    fleet, failures = load_fleet(t)
    asked = why.Asked(resource, pointer)
    wanted = _named(fleet, app)
    plan = replace(run.plan, workers=1)
    read, missing = load(t, wanted, fleet, plan, states=True)
    why.chosen(read, asked)  # refuses a wrong name before anything more is read
    others = why.sharing(read, fleet)
    results = [
        inspect(read, fleet, plan.rules),
        *engine.run(t, fleet, replace(plan, wanted=lambda other, fleet: other.ref in others)),
    ]
    outcome = suppress.apply(join(results, plan.rules), replace(run.suppressions, now=t.now()))
    found = why.explain(read, outcome.findings, asked, _revisions(t, read))
    if as_json:
        click.echo(why.to_json(found).decode(), nl=False)
    else:
        click.echo(narrative.render(found, Style.from_options(given)), nl=False)
    for failure in (*failures, *missing):
        click.echo(without_secrets(f"not looked at: {failure.stage}: {failure.error}"), err=True)
    return 3 if missing else 0


def _named(fleet: Fleet, name: str) -> App:
    """The application of that name; UsageError when there is none, or more than one."""
    namespace, slash, bare = name.rpartition("/")
    found = [a for a in fleet.apps if fnmatchcase(a.ref.name, bare) and (not slash or a.ref.namespace == namespace)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{name!r} names {len(found)} applications: {', '.join(str(a.ref) for a in found[:5])}",
            "name one of them as NAMESPACE/NAME",
        )
    raise UsageError(
        f"there is no application {name!r} on {fleet.server}, or the account may not see it",
        "`argocd app list` shows what it may see",
    )


def _revisions(t: Transport, app: App) -> dict[str, Object]:
    """Author, date and message of the revision of a single source; left out where they cannot be had (charts, snapshots)."""
    if len(app.sources) != 1 or app.sources[0].get("chart") or not app.revisions:
        return {}
    try:
        return {app.revisions[0]: argocd.revision_metadata(t, app.ref, app.revisions[0])}
    except AuthError:
        raise
    except ArgolintError:
        return {}  # the commit's author is a courtesy: the chain stands without it
