"""`argolint init`: the files that a repository needs for linting, and the steps in Argo CD."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import argolint
from argolint import ACTION, DOCS, PUBLISHED
from argolint.cli import session
from argolint.cli.given import CommandOptions
from argolint.cli.options import look_options, source_options
from argolint.cli.prepare import prepare
from argolint.cli.reading import examine_sources
from argolint.engine.config import DEFAULT_FILE, find
from argolint.errors import UsageError
from argolint.host.installed import Origin, origin
from argolint.reports import formats
from argolint.reports.baseline import baseline_of
from argolint.sources.files import own_path
from argolint.suppression.baseline import baseline_text
from argolint.values.patterns import regex

_USES = regex(rf"(uses: ){re.escape(ACTION)}@\S+.*")
_PACKAGE = regex(r"    # ARGOLINT_PACKAGE: .*")
_BASELINE = Path("argolint-baseline.json")
_CI = {
    "github": ("github-workflow.yml", Path(".github/workflows/argolint.yml")),
    "gitlab": ("gitlab-ci.yml", Path("argolint.gitlab-ci.yml")),
}
_SCHEMA = f"{DOCS.replace('/blob/', '/raw/')}schema/config-1.json"
_EDITORS = (
    f"# yaml-language-server: $schema={_SCHEMA}"
    if PUBLISHED
    else "# Editors learn the keys from `argolint schema config >FILE` and a first line `# yaml-language-server: $schema=FILE`."
)
_CONFIGURATION = f"""\
{_EDITORS}
# What argolint shows of this repository's applications. `argolint config` checks it and says what is in force.
# Where to connect and with what token is not said here: pass --server, set ARGOCD_SERVER, or log in with `argocd login`.

# Which findings are shown, by rule, family or severity. All rules run and explain, whatever is shown.
# select: [ownership, nondeterminism, secrets]
# deselect: [external-secret-hot-interval]
# pedantic: true  # also advice on GitOps itself, such as floating-revision

# The least severity that ends a run with exit code 1: error, warning, info or never.
# fail-on: error

# Where reports go, such as text, json=report.json, sarif=argolint.sarif, markdown=argolint.md.
# output: [text, sarif=argolint.sarif]

# Another severity for a rule, and its own options (`argolint explain RULE` lists them).
# rules:
#   live-edit: {{severity: error}}

# Findings that are not shown, each with a reason and perhaps an end.
# ignore:
# - rule: live-edit
#   app: team-a/*
#   reason: load test until the end of the month
#   expires: 2027-01-31

# Findings that were accepted: `argolint baseline -o argolint-baseline.json` writes them.
"""
_NEXT = """\
Next:
  argolint explain --setup    the account, its rights and its token in Argo CD
  argolint config             what is in force, and which server
  argolint check              what is wrong today
"""


@click.command()
@click.option("--ci", type=click.Choice(sorted(_CI)), help="Also write the file that runs the gate on pull requests.")
@click.option("--baseline", "accept", is_flag=True, help="Also accept today's findings, so that only new ones count.")
@source_options
@look_options
def command(ci: str | None, *, accept: bool, **options: Any) -> int:
    """Write a commented .argolint.yaml here, with a baseline and a CI file on request, and print the steps in Argo CD.

    Existing files are not changed.
    """
    opts = CommandOptions(**options)
    above = find()
    if above is not None and above != DEFAULT_FILE:
        raise UsageError(
            f"{above} is the configuration of this repository already", "edit it, or run it in that folder"
        )
    if accept:
        _accept(opts)
    named = f"baseline: {_BASELINE}\n" if _BASELINE.exists() else f"# baseline: {_BASELINE}\n"
    _write(DEFAULT_FILE, _CONFIGURATION + named)
    if ci is not None:
        name, file = _CI[ci]
        own_path(file)
        file.parent.mkdir(parents=True, exist_ok=True)
        came = origin(argolint.__version__)
        _write(file, filled(_template(name), came))
        click.echo(f"{file}: name your server in it, and give it the token as a secret")
        for line in _open_placeholders(ci, came):
            click.echo(f"{file}: {line}")
    click.echo(_NEXT, nl=False)
    return 0


def _accept(opts: CommandOptions) -> None:
    if _BASELINE.exists():
        click.echo(f"{_BASELINE}: there already, left as it is")
        return
    asked = replace(opts, no_baseline=True)
    run = prepare(asked)
    made = session.report_of(examine_sources(run, asked)[0], run)
    if not made.complete:
        raise UsageError(f"not everything could be looked at: {made.failures[0].error}", made.failures[0].hint)
    fresh = baseline_of(made)
    formats.put(_BASELINE, baseline_text(fresh))
    click.echo(f"{_BASELINE}: {len(fresh.findings)} findings accepted")


def _write(file: Path, text: str) -> None:
    if file.exists():
        click.echo(f"{file}: there already, left as it is")
        return
    formats.put(file, text)
    click.echo(f"{file}: written")


def filled(template: str, came: Origin) -> str:
    """The template with the origin of the running argolint at each place that names what to download."""
    uses = f"{came.action} # argolint {came.version}" if came.commit else came.action
    made = _USES.sub(lambda found: f"{found[1]}{uses}", template)
    return _PACKAGE.sub(f'    ARGOLINT_PACKAGE: "{came.requirement}"', made) if came.requirement else made


def _open_placeholders(ci: str, came: Origin) -> Iterator[str]:
    """What the user has to fill in, since this argolint knows no public origin of itself."""
    if ci == "github" and not came.can_be_fetched:
        yield f"`uses: {came.action}` names no place yet: put in OWNER/REPOSITORY of the argolint that you trust and a full commit id"
    if ci == "gitlab" and not came.requirement:
        yield "set the variable ARGOLINT_PACKAGE to git+https://HOST/PATH@COMMIT, with the full commit id, or to a wheel"


def _template(name: str) -> str:
    """The template's text, from the checkout that argolint runs from, else from the installed package."""
    shipped = Path(argolint.__file__).parents[1] / "templates" / name
    if shipped.is_file():
        return shipped.read_text()
    from importlib.resources import files

    return files("argolint_templates").joinpath(name).read_text()
