"""`argolint config`: what is in force, and from where."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from argolint.cli import session as common
from argolint.redaction import without_secrets

_FROM = {
    ParameterSource.COMMANDLINE: "flag",
    ParameterSource.ENVIRONMENT: "environment",
    ParameterSource.DEFAULT: "default",
    ParameterSource.DEFAULT_MAP: "default",
}
# option: key of the file
_KEYS = {"select": "select", "ignore": "deselect", "fail_on": "fail_on", "outputs": "output", "baseline": "baseline"}


@click.command()
@common.rule_options
@common.fail_options
@common.output_options
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Check the configuration, and print what is in force and from where: flag, environment, file or default."""
    run = common.prepare({**common.NO_SELECTION, **given})
    loaded = run.wishes.loaded
    in_force = {
        "select": given["select"] or loaded.config.select,
        "ignore": given["ignore"] or loaded.config.deselect,
        "fail_on": run.fail_on,
        "outputs": [o.format + (f"={o.file}" if o.file else "") for o in run.outputs],
        "baseline": given["baseline"] or loaded.config.baseline,
    }
    click.echo(f"{'configuration':16} {loaded.file or 'none'}")
    for option, key in _KEYS.items():
        source = _FROM.get(ctx.get_parameter_source(option) or ParameterSource.DEFAULT, "flag")
        if source == "default" and getattr(loaded.config, key):
            source = str(loaded.file)
        value = in_force[option]
        told = ", ".join(map(str, value)) if isinstance(value, tuple | list) else value
        click.echo(without_secrets(f"{key.replace('_', '-'):16} {told or '-'}  ({source})"))
    for name, own in sorted(loaded.config.rules.items()):
        told = [f"severity {own.severity}"] if own.severity else []
        told += [f"{k} {v}" for k, v in sorted(own.options.items())]
        click.echo(without_secrets(f"{'rules.' + name:16} {', '.join(told) or '-'}  ({loaded.file})"))
    for index, entry in enumerate(loaded.config.ignore):
        until = f" until {entry.expires}" if entry.expires else ""
        click.echo(f"{'ignore':16} {entry.rule}{until}: {entry.reason}  ({loaded.file}:{loaded.ignore_lines[index]})")
    shown = sum(run.plan.shown.may_take(c.rule.id, c.rule.family) for c in run.plan.rules)
    click.echo(f"All {len(run.plan.rules)} rules run; findings of {shown} are shown.")
    return 0
