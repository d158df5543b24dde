"""`argolint publish`: the one command that writes to a cluster."""

from __future__ import annotations

import os
from pathlib import Path

import click

from argolint.errors import UsageError


class Everything:
    """A set that contains everything."""

    def __contains__(self, place: object) -> bool:
        return True


@click.group()
def command() -> None:
    """Write a saved report to a cluster. No other command writes to a cluster."""


@command.command()
@click.argument("saved", metavar="REPORT.json", type=click.Path(path_type=Path))
@click.option("--kube-api", metavar="URL", default="", help="The API server [default: that of the pod's own cluster].")
@click.option("--kube-token-file", type=click.Path(path_type=Path), metavar="FILE", help="The token for it.")
@click.option("--kube-ca", type=click.Path(path_type=Path), metavar="FILE", help="Its certificate authority (PEM).")
@click.option("--force", is_flag=True, help="Take over fields that someone else has edited.")
@click.option("--prune-all", is_flag=True, help="Delete Reports of applications that the report does not name, too.")
def openreports(
    saved: Path, kube_api: str, kube_token_file: Path | None, kube_ca: Path | None, force: bool, prune_all: bool
) -> int:
    """Make one OpenReports Report for each application with findings, next to the Application.

    Only Reports with the label argolint.dev/report are changed and deleted: those of applications that were looked at and have no findings
    any more. With --prune-all, which needs a complete report of everything, also those of deleted applications. A report over several
    Argo CDs goes to this one cluster, and each result says of which Argo CD it is.

    `argolint explain --setup openreports` prints the Role, and the exclusion that keeps Argo CD from seeing the Reports.
    """
    from argolint.reports import document, publishing
    from argolint.reports.formats import with_server_names
    from argolint.reports.formats.openreports import name_of, reports

    report = document.read(saved)
    if prune_all and not report.complete:
        raise UsageError(f"{saved} is incomplete: --prune-all would delete what is only not known", "check again first")
    looked_at = (
        Everything()
        if prune_all
        else {f"{a.app.namespace}/{name_of(a.app.server, a.app.name)}" for a in report.applications}
    )
    cluster = publishing.connect(kube_api, kube_token_file, kube_ca, os.environ)
    done = publishing.publish(cluster, reports(with_server_names(report)), looked_at, force=force)
    click.echo(f"{len(done.applied)} written, {len(done.unchanged)} unchanged, {len(done.deleted)} deleted")
    for refused in done.refused:
        click.echo(f"not written: {refused}", err=True)
    if done.refused:
        click.echo("  → someone else has edited these; --force takes the fields over", err=True)
    return 3 if done.refused else 0
