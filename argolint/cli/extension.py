"""`argolint extension`: the file that shows findings in Argo CD's own UI."""

from __future__ import annotations

from pathlib import Path

import click

_ARCHIVE = (".tar.gz", ".tgz")


@click.command()
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write it to this file; with .tar.gz as an archive for argocd-extension-installer.",
)
def command(file: Path | None) -> None:
    """Print the extension of Argo CD's UI: it shows findings in the status panel of an application and on a tab.

    It gets them from `argolint serve` through argocd-server. `argolint explain --setup extension` describes the setup.
    """
    from argolint.serve import ui
    from argolint.sources import files

    if file is None:
        click.echo(ui.source().decode("utf-8"), nl=False)
        return
    files.write(file, ui.archive() if file.name.endswith(_ARCHIVE) else ui.source())
