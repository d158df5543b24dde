"""`argolint explain`: a rule's page, or how to let argolint in."""

from __future__ import annotations

import inspect

import click

from argolint.errors import UsageError


@click.command()
@click.argument("what", required=False, metavar="RULE[/CAUSE]")
@click.option("--setup", is_flag=True, help="The rights argolint needs in Argo CD, and how to make its token.")
def command(what: str | None, setup: bool) -> None:
    """Show a rule's page: what it finds, why it hurts, how to fix it."""
    if setup:
        from argolint.cli.setup_text import OPENREPORTS, SETUP

        click.echo(OPENREPORTS if what == "openreports" else SETUP)
        return
    if what is None:
        raise UsageError(
            "explain needs a rule", "`argolint rules` lists them; `argolint explain --setup` tells the rights needed"
        )
    from argolint.plugins import load_rules

    rules = load_rules()
    name, _, cause = what.partition("/")
    if name not in rules:
        import difflib

        close = difflib.get_close_matches(name, rules, 1)
        raise UsageError(
            f"there is no rule {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""),
            "`argolint rules` lists them",
        )
    rule = rules[name]
    if cause and cause not in rule.causes:
        told = f"its causes: {', '.join(rule.causes)}" if rule.causes else "it has none"
        raise UsageError(f"rule {name} has no cause {cause!r}", told)
    page = inspect.cleandoc(rule.doc)
    click.echo(click.style(f"{rule.id} ({rule.family}, {rule.severity})", bold=True))
    click.echo(_only(page, cause) if cause else page)
    if rule.causes and not cause:
        click.echo(f"\nCauses: {', '.join(rule.causes)}")
    fields = getattr(rule.options, "__dataclass_fields__", {})
    if fields:
        click.echo("\nOptions (in .argolint.yaml under `rules`):")
        for field in fields:
            click.echo(f"  {field}: {getattr(rule.default_options, field)}")


def _only(page: str, cause: str) -> str:
    """The title and the paragraphs that name the cause; the whole page when none does."""
    title, *paragraphs = page.split("\n\n")
    lines = [p for p in paragraphs if cause in p]
    return "\n\n".join([title, *lines]) if lines else page
