"""`argolint rules`: what can be found."""

from __future__ import annotations

import json
from itertools import groupby

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="A JSON list: id, family, severity, title, causes, options.")
def command(as_json: bool) -> None:
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
                "options": sorted(getattr(r.options, "__dataclass_fields__", {})),
            }
            for r in rules
        ]
        click.echo(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    width = max(len(r.id) for r in rules)
    for family, group in groupby(rules, key=lambda r: r.family):
        click.echo(click.style(family, bold=True))
        for r in group:
            click.echo(f"  {r.id:{width}}  {r.severity:7}  {r.title}")
    click.echo(f"\n{len(rules)} rules. `argolint explain RULE` shows a rule's page.")
