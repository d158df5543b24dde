"""`argolint completion`: the script by which a shell completes commands, options, rules and formats."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def command(shell: str) -> None:
    """Print the script that completes argolint's commands, options, rules and formats in SHELL.

    \b
    eval "$(argolint completion bash)"                                        in ~/.bashrc
    eval "$(argolint completion zsh)"                                         in ~/.zshrc
    argolint completion fish > ~/.config/fish/completions/argolint.fish
    """
    from argolint.cli.group import COMPLETING, cli

    found = get_completion_class(shell)
    assert found is not None  # click supports these three shells
    script = ShellComplete.source(found(cli, {}, "argolint", COMPLETING))
    click.echo(script)
