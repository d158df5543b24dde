"""`argolint rules`: lists the rules."""

from __future__ import annotations

import json
from itertools import groupby

import click

from argolint.cli.options import color_options


@click.command()
@click.option("--json", "as_json", is_flag=True, help="A JSON list: id, family, severity, title, causes, options.")
@color_options
def command(as_json: bool, color: str) -> None:
    """List the rules: id, severity and what each one finds, by family."""
    from argolint.plugins import load_rules

    rules = sorted(load_rules().values(), key=lambda r: (r.family, r.id))
    if as_json:
        rows = [
            {
                "id": r.id,
                "family": r.family,
                "severity": r.severity,
                "title": r.title,
                "causes": list(r.causes),
                "pedantic": r.pedantic,
                "options": sorted(getattr(r.options, "__dataclass_fields__", {})),
            }
            for r in rules
        ]
        click.echo(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    from argolint.reports.formats import Style
    from argolint.reports.formats.layout import paint, wrapped

    style = Style.for_terminal(color)
    width = max(len(r.id) for r in rules)
    hang = " " * (width + 13) if style.width > width + 50 else "      "
    lines: list[str] = []
    for family, group in groupby(rules, key=lambda r: r.family):
        lines.append(paint(family, style, bold=True))
        for r in group:
            lines += wrapped(
                f"{r.id:{width}}  {r.severity:7}  {r.title}{' (pedantic)' if r.pedantic else ''}",
                style,
                indent="  ",
                hang=hang,
            )
    lines.append(f"\n{len(rules)} rules. `argolint explain RULE` shows a rule's page.")
    click.echo("\n".join(lines), color=style.color)
