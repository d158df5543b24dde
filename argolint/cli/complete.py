"""Shell completion of values: rules with their causes, families, severities and formats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import click
from click.shell_completion import CompletionItem

from argolint.model import SEVERITIES


def _fitting(words: Mapping[str, str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(word, help=text) for word, text in sorted(words.items()) if word.startswith(incomplete)]


def pages(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Values of `argolint explain`: RULE, RULE/CAUSE or FAMILY."""
    from argolint.plugins import load_rules

    rules = load_rules().values()
    causes = {f"{r.id}/{cause}": r.title for r in rules for cause in r.causes}
    return _fitting({**{r.family: "a family" for r in rules}, **{r.id: r.title for r in rules}, **causes}, incomplete)


def shown(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Values of --select and --ignore: completes the last word of a comma list."""
    from argolint.plugins import load_rules

    rules = load_rules().values()
    before, comma, last = incomplete.rpartition(",")
    words: dict[str, str] = dict.fromkeys(SEVERITIES, "a severity")
    words |= {r.family: "a family" for r in rules} | {r.id: r.title for r in rules}
    return [CompletionItem(before + comma + item.value, help=item.help) for item in _fitting(words, last)]


def formats(ctx: click.Context, param: click.Parameter, incomplete: str) -> Iterable[CompletionItem]:
    """Values of -o, before the file."""
    from argolint.reports.formats import FORMATS

    return _fitting(FORMATS, incomplete)
