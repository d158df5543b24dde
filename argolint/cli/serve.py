"""`argolint serve`: checks repeatedly, and serves the last report."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

import click

from argolint import __version__
from argolint.cli import session
from argolint.cli.connecting import requested_servers, sources_of
from argolint.cli.given import CommandOptions
from argolint.cli.options import (
    rule_options,
    selection_options,
    source_options,
    state_option,
    workers_option,
)
from argolint.cli.prepare import Run, prepare, workers
from argolint.cli.reading import examine_sources
from argolint.engine.pipeline import Part
from argolint.engine.servers import Source
from argolint.errors import AuthError, UsageError
from argolint.host import threads
from argolint.host.addresses import is_loopback
from argolint.host.folder import readable
from argolint.host.plain_text import plain
from argolint.reports import assemble, document
from argolint.sources.files import read_text

if TYPE_CHECKING:
    from argolint.reports.history import History
    from argolint.serve.check_result import CheckResult
    from argolint.serve.followers import Followers
    from argolint.serve.times import Times
    from argolint.serve.web import Web
    from argolint.server.http import HttpTransport

_UNITS_S = {"s": 1, "m": 60, "h": 3600}
_LEAST_S = 10
_MAX_TOKEN_BYTES = 10_000
_GRACE_S = 5.0
_TOKEN = "ARGOLINT_SERVE_TOKEN"  # noqa: S105  # the variable's name
_EXTENSION_TOKEN = "ARGOLINT_EXTENSION_TOKEN"  # noqa: S105  # the same


@click.command()
@click.option("--interval", default="10m", show_default=True, metavar="TIME", help="Time between checks: 90s, 10m, 1h.")
@click.option(
    "--listen", default="127.0.0.1:9797", show_default=True, metavar="HOST:PORT", help="The address to listen on."
)
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Also answer requests for this host name, for example from a proxy. Needed if --listen is loopback and no token is set: "
    "otherwise any web page could read the report through a host name of its own (DNS rebinding). Repeatable.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"Require this bearer token [default: ${_TOKEN}, if set].",
)
@click.option(
    "--extension-token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"The bearer token of Argo CD's UI extension [default: ${_EXTENSION_TOKEN}, if set].",
)
@click.option(
    "--extension-show-other-projects",
    is_flag=True,
    help="Show names of related applications of other projects in Argo CD's UI, even to users without a right to them.",
)
@click.option(
    "--extension-server",
    metavar="NAME",
    help="With --servers: the one whose UI has the extension. It gets answers on its own applications only.",
)
@click.option(
    "--watch",
    is_flag=True,
    help="Follow Argo CD's stream of changes, check what changed, and list all applications every 10 minutes "
    "instead of every --interval.",
)
@state_option
@source_options
@selection_options
@rule_options
@workers_option
@click.option("--deep", is_flag=True, help="Read the states of every application, even of healthy and synced ones.")
def command(
    interval: str,
    listen: str,
    hosts: tuple[str, ...],
    token_file: Path | None,
    extension_token_file: Path | None,
    extension_show_other_projects: bool,
    extension_server: str | None,
    watch: bool,
    **options: Any,
) -> int:
    """Check every --interval, or with --watch whenever something changes, and serve the last report until SIGTERM.

    \b
    /metrics                             for Prometheus
    /report.html /report.json            the last report
    /api/v1/applications[/NAMESPACE/NAME]  findings of one application; SERVER/NAMESPACE/NAME with --servers
    /api/v1/application                  for Argo CD's UI: `argolint explain --setup extension`
    /healthz /readyz                     the process runs; a check has succeeded, and the token is accepted

    While Argo CD cannot be read, the last good report is served, marked as incomplete, with its time.
    """
    opts = CommandOptions(**options)
    from argolint.serve.checker import Checker
    from argolint.serve.extension import Extension
    from argolint.serve.web import Web, address

    wait_s, (host, port), token = seconds(interval), address(listen), _token(token_file, _TOKEN, "--token-file")
    extension_token = _token(extension_token_file, _EXTENSION_TOKEN, "--extension-token-file")
    if token and token == extension_token:
        raise UsageError(
            "the extension has the token of the service", "give it its own: Argo CD's users act with the extension's"
        )
    run = prepare(replace(opts, quiet=True, color="never"))
    with session.history(opts) as known:
        empty = _empty_report(opts)
        extension = Extension(
            extension_token,
            show_other_projects=extension_show_other_projects,
            server=_named_server(extension_server, empty) if extension_token else "",
        )
        follower = _followers(run, opts, known) if watch else None
        checker = Checker(lambda: _checked(run, opts, known), empty, wait_s, run.style, _say, follower)
        with Web(host, port, checker, token, extension, hosts) as web:
            stop = _end_requested()
            often = "following changes" if watch else f"checking every {interval}"
            _announce(f"listening on http://{_shown_address(web)}, {often}")
            if not token and not is_loopback(host):
                _announce("anyone who reaches this address reads the report: set a token, or let a proxy ask for one")
            checker.start()
            _serve(web, stop)
            checker.stop()
    _announce("ended")
    return 0


def _named_server(name: str | None, empty: document.Report) -> str:
    """The address of the Argo CD that has the extension; empty if only one is checked."""
    names = {server.name: server.url for server in empty.servers if server.name}
    if not names and name is None:
        return ""
    if name not in names:
        raise UsageError(
            f"--extension-server {name!r} is none of the servers"
            if name
            else "several servers are checked, and one has the extension",
            f"say which: --extension-server {'|'.join(sorted(names))}"
            if names
            else "leave it out: a single one is checked",
        )
    return names[name]


def seconds(text: str) -> float:
    """`90s`, `10m` or `1h` in seconds. UsageError for other texts and for intervals that would overload the server."""
    found = re.fullmatch(r"([0-9]{1,6})([smh])", text)
    if not found:
        raise UsageError(f"--interval {text!r} is no time", "for example 90s, 10m or 1h")
    value = int(found[1]) * _UNITS_S[found[2]]
    if value < _LEAST_S:
        raise UsageError(f"--interval {text} is too short", f"each check lists every application: {_LEAST_S}s at least")
    return value


def _checked(run: Run, opts: CommandOptions, known: History | None) -> CheckResult:
    return _published(examine_sources(run, replace(opts, quiet=True))[0], run, known, whole=True)


def _published(part: Part, run: Run, known: History | None, *, whole: bool) -> CheckResult:
    from argolint.serve.check_result import CheckResult

    made = session.report_of(part, run)
    if known is not None:
        made = session.remember(made, part, run, known, whole=whole)
    return CheckResult(made, frozenset(assemble.app(r.ref) for r in part.results if not r.alongside))


def _followers(run: Run, opts: CommandOptions, known: History | None, times: Times | None = None) -> Followers:
    """One stream of changes per server; a snapshot never changes."""
    from argolint.serve.fleet_reader import FleetReader
    from argolint.serve.follower import Follower
    from argolint.serve.followers import FleetReaders, Followers, Ways
    from argolint.serve.times import Times

    times = times or Times()

    def look_again(ways: Ways, *, whole: bool) -> CheckResult:
        part, _ = examine_sources(run, replace(opts, quiet=True), ways=ways)
        return _published(part, run, known, whole=whole)

    def connect(name: str) -> HttpTransport:
        """A new connection with the current token."""
        source = next(s for s in sources_of(opts)[0] if s.name == name)
        if source.transport is None:
            why = source.failure
            raise AuthError(why.error, why.hint) if why else AuthError("there is no way to it")
        return cast("HttpTransport", source.transport)

    sources, _ = sources_of(opts)
    live = [source for source in sources if source.transport is None or not source.transport.offline]
    if not live:
        raise UsageError("a snapshot never changes, so there is nothing to watch", "leave --watch out, or name servers")
    looks = {source.name: FleetReader(times, workers(opts)) for source in sources}
    turn = threading.Condition()

    def following(source: Source) -> Follower:
        def say(line: str) -> None:
            _say(source.says(line))

        return Follower(looks[source.name], partial(connect, source.name), times, say, turn)

    followers = {source.name: following(source) for source in live}
    return Followers(followers, FleetReaders(looks, look_again), turn)


def _empty_report(opts: CommandOptions) -> document.Report:
    """The report before the first check: no findings. UsageError and the like if there is nothing to check."""
    return document.Report(
        document.SCHEMA_VERSION,
        document.Tool("argolint", __version__),
        "",
        False,
        requested_servers(opts),
        assemble.summarise((), 0, apps=0, resources=0),
        (),
    )


def _token(file: Path | None, variable: str, option: str) -> str:
    """The token that clients must send, from a file or an environment variable; never from the command line, which every process can read."""
    if file is None:
        return os.environ.get(variable, "").strip()
    with readable(f"the token in {file}", f"name another with {option}"):
        token = read_text(file, _MAX_TOKEN_BYTES).strip()
    if not token:
        raise UsageError(f"{file} holds no token", "write one into it, for example of `openssl rand -hex 32`")
    return token


def _end_requested() -> threading.Event:
    """An event that SIGTERM or Ctrl-C sets."""
    stop = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            os._exit(128 + number)  # a second signal ends at once
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, ask)
    return stop


def _serve(web: Web, stop: threading.Event) -> None:
    """Serve until `stop` is set; then accept no more requests and give running ones some seconds to end."""
    thread = threading.Thread(target=web.serve_forever, args=(0.2,), name="argolint-web", daemon=True)
    thread.start()
    threads.until(stop)
    web.shutdown()
    until = time.monotonic() + _GRACE_S
    while web.answering and time.monotonic() < until:
        time.sleep(0.05)


def _shown_address(web: Web) -> str:
    host, port = str(web.server_address[0]), web.server_address[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _say(line: str) -> None:
    """Print a line that may contain foreign text."""
    _announce(plain(line))


def _announce(line: str) -> None:
    click.echo(f"argolint: {line}", err=True)
