"""`argolint mcp`: read-only tools for agents."""

from __future__ import annotations

import click

from argolint.errors import UsageError


@click.command()
@click.option("--snapshot", "snapshots", multiple=True, metavar="PATH", help="Read a snapshot in place of a server.")
@click.option("--argocd-context", metavar="NAME", help="Login to use out of Argo CD's own configuration.")
def command(snapshots: tuple[str, ...], argocd_context: str | None) -> int:
    """Offer findings to an agent over the Model Context Protocol, on standard input and output (`pip install argolint[mcp]`).

    Five read-only tools: list_findings, get_finding, why, owners, explain_rule. The server and its token come from the environment or a login,
    as for every command. No answer is larger than 20 kB.
    """
    try:
        import mcp.server  # noqa: F401  # an extra
    except ImportError:
        raise UsageError("the package mcp is not installed", "pip install 'argolint[mcp]'") from None
    from argolint.agents.tools import serve

    source = [word for path in snapshots for word in ("--snapshot", path)]
    serve([*source, *(("--argocd-context", argocd_context) if argocd_context else ())])
    return 0
