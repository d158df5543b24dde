"""`argolint demo`: the main job on a recorded Argo CD, over real HTTP."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from argolint.cli import session
from argolint.cli.given import CommandOptions
from argolint.cli.options import Sectioned, output_options, rule_options
from argolint.cli.prepare import prepare
from argolint.cli.reading import examine_sources
from argolint.errors import UsageError
from argolint.host import threads
from argolint.reports.formats import SCREEN
from argolint.snapshots.http_server import USERNAME, ReplayServer
from argolint.snapshots.reader import SnapshotTransport

RECORDING = Path(__file__).resolve().parents[1] / "snapshots" / "demo" / "harbourline.tar.gz"


@click.command(cls=Sectioned)
@click.option("--serve", is_flag=True, help="Keep the server up, and print how to log in to it.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the server [default: a free one].")
@click.option(
    "--snapshot", "snapshots", multiple=True, metavar="PATH", help="Serve this snapshot instead of the embedded one."
)
@rule_options
@output_options
def command(serve: bool, port: int, snapshots: tuple[str, ...], **options: Any) -> int:
    """Check a recording of a logistics company's Argo CD, served on loopback like the real one.

    The exit code is 0 even with findings, since a demo is meant to have some.
    """
    opts = CommandOptions(**options)
    recorded = SnapshotTransport([Path(p) for p in snapshots] or [RECORDING])
    try:
        replay = ReplayServer(recorded, port=port)
    except OSError as error:
        hint = "name another with --port, or none for a free one"
        raise UsageError(f"cannot serve on port {port}: {error.strerror}", hint) from None
    with replay as server:
        if serve:
            return _serve(server)
        return _check(server, opts)


def _check(server: ReplayServer, opts: CommandOptions) -> int:
    from argolint.engine.servers import Source
    from argolint.server.connection import Connection
    from argolint.server.http import HttpTransport

    run = prepare(replace(opts, fail_on="never", allow_incomplete=False))
    run = replace(run, style=replace(run.style, lines=run.style.lines or SCREEN, again="argolint demo"))
    transport = HttpTransport(Connection(server.url, server.token()), workers=run.plan.workers)
    part, _ = examine_sources(run, opts, ((Source("", transport),), ()))
    return session.publish(session.report_of(part, run), run)


def _serve(server: ReplayServer) -> int:
    click.echo(f"""\
A recorded Argo CD answers at {server.url} until Ctrl-C.

  argolint check --server {server.address} --plaintext --auth-token {server.token()}

User {USERNAME}, password {server.password}, to log in without argolint:

  curl -H 'Content-Type: application/json' {server.url}/api/v1/session \\
       -d '{{"username": "{USERNAME}", "password": "{server.password}"}}'
""")
    try:
        threads.until(threading.Event())
    except KeyboardInterrupt:
        click.echo("ended")
    return 0
