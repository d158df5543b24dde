"""`argolint mcp`: read-only tools for agents."""

from __future__ import annotations

import click

from argolint.errors import UsageError
from argolint.host.installed import for_extra


@click.command()
@click.option("--snapshot", "snapshots", multiple=True, metavar="PATH", help="Read a snapshot instead of a server.")
@click.option("--argocd-context", metavar="NAME", help="Login to use from Argo CD's own configuration.")
@click.option("--servers", metavar="FILE", help="Read every Argo CD that this file names.")
@click.option("--all-contexts", is_flag=True, help="Read every Argo CD that you are logged in to.")
@click.option("--only", multiple=True, metavar="NAME", help="Read only these of several servers (repeatable, glob).")
def command(
    snapshots: tuple[str, ...],
    argocd_context: str | None,
    servers: str | None,
    only: tuple[str, ...],
    *,
    all_contexts: bool,
) -> int:
    """Serve findings to an agent over the Model Context Protocol, on standard input and output.

    It needs the package mcp.

    Five read-only tools: list_findings, get_finding, why, owners, explain_rule. The server and its token come from the environment or a login,
    as for every command. No answer is larger than 20 kB.
    """
    try:
        import mcp.server  # noqa: F401  # an extra
    except ImportError:
        raise UsageError("the package mcp is not installed", for_extra("mcp")) from None
    from argolint.serve.agent_tools import serve

    source = [word for path in snapshots for word in ("--snapshot", path)]
    named = (("--argocd-context", argocd_context), ("--servers", servers))
    source += [word for name in only for word in ("--only", name)]
    source += [word for option, value in named if value for word in (option, value)]
    serve([*source, *(("--all-contexts",) if all_contexts else ())])
    return 0
