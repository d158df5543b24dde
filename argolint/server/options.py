"""The options of Argo CD's own command line: those that argolint uses, ignores, or cannot use (cmd/argocd/commands/root.go).

A command line that works with `argocd` works here. Options for gRPC, logs and prompts have no effect; options that bypass the server's HTTP
API are refused on connecting, with an alternative.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from typing import Any

import click

UNUSABLE = ("core", "port-forward", "port-forward-namespace", "kube-context")
"""Options with which `argocd` reads the cluster instead of the server."""

PASSED_OVER = (
    "http-retry-max",
    "loglevel",
    "logformat",
    "server-name",
    "redis-name",
    "redis-haproxy-name",
    "controller-name",
)
"""Options with a value that do not affect argolint."""

_TRUE, _FALSE = ("true", "t", "1"), ("false", "f", "0")


class Switch(click.Option):
    """A flag that also accepts `--insecure=true` and `--insecure=false`, like Argo CD's command line."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Add the flag. click's parser splits at `=` before it looks up an option, so this hook runs before that."""
        super().add_to_parser(parser, ctx)
        otherwise: Callable[[str, Any], None] = parser._process_opts  # click has no public API for it

        def process(word: str, state: Any) -> None:
            name, given, value = word.partition("=")
            if not given or name not in self.opts:
                otherwise(word, state)
            elif value.lower() in _TRUE:
                otherwise(name, state)
            elif value.lower() not in _FALSE:
                raise click.BadParameter(f"{value!r} is neither true nor false", ctx, self)

        parser._process_opts = process


def header_list(text: str) -> list[str]:
    """The headers of one -H: a line of comma-separated values in which quotes protect a comma (pflag's StringSlice)."""
    try:
        return [header for header in next(csv.reader([text]), []) if header]
    except csv.Error:  # a line break: refused like the header in it
        return [text]


def _headers(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(header for text in given for header in header_list(text))


def _unusable(ctx: click.Context, option: click.Parameter, given: Any) -> None:
    if given:
        ctx.meta.setdefault(__name__, []).append(option.opts[0])


def unusable() -> str:
    """The first given option that argolint cannot use; empty if there is none."""
    ctx = click.get_current_context(silent=True)
    found: list[str] = ctx.meta.get(__name__, []) if ctx else []
    return found[0] if found else ""


def _without_effect(name: str, **how: Any) -> Callable[[Any], Any]:
    return click.option(f"--{name}", expose_value=False, hidden=True, **how)


OPTIONS = (
    click.option("--server", metavar="HOST[:PORT]", help="Argo CD server."),
    click.option(
        "--auth-token", metavar="TOKEN", help="Token; better set ARGOCD_AUTH_TOKEN, which no process list shows."
    ),
    click.option("--argocd-context", metavar="NAME", help="Login to use from Argo CD's own configuration."),
    click.option("--config", metavar="FILE", help="Argo CD's own configuration, written by `argocd login`."),
    click.option("--plaintext", is_flag=True, cls=Switch, help="Connect without TLS."),
    click.option("--insecure", is_flag=True, cls=Switch, help="Do not verify the server's certificate."),
    click.option("--server-crt", metavar="FILE", help="Certificate of the server or of its authority (PEM)."),
    click.option("--client-crt", metavar="FILE", help="Client certificate (PEM)."),
    click.option("--client-crt-key", metavar="FILE", help="Key of the client certificate (PEM)."),
    click.option(
        "--grpc-web-root-path", metavar="PATH", help="Root path of the server behind a proxy, such as /argocd."
    ),
    click.option(
        "-H",
        "--header",
        metavar="'K: V'",
        multiple=True,
        callback=_headers,
        help="Header to send with each request; repeatable.",
    ),
    *(_without_effect(name, is_flag=True, cls=Switch) for name in ("grpc-web", "prompts-enabled")),
    *(_without_effect(name) for name in PASSED_OVER),
    *(_without_effect(name, callback=_unusable, is_flag=name in ("core", "port-forward")) for name in UNUSABLE),
)
"""Every connection option; --help hides those without effect."""
