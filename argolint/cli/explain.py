"""`argolint explain`: a rule's page, the rules of a family or of a condition, or how to set up argolint."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence

import click

from argolint.application.rule import Rule
from argolint.cli.complete import pages
from argolint.cli.options import color_options
from argolint.errors import UsageError
from argolint.reports.formats import Style
from argolint.reports.formats.layout import paint, wrapped
from argolint.values.patterns import regex

_HEADING = regex(r"(What it finds|Why it hurts|How to fix|Example|Examples|Sources|Source): ?")


@click.command()
@click.argument("what", required=False, metavar="RULE[/CAUSE]|FAMILY|CONDITION", shell_complete=pages)
@click.option(
    "--setup",
    is_flag=True,
    help="How to set up argolint in Argo CD, and how to create its token; or the setup of openreports, extension or deep-link.",
)
@color_options
def command(what: str | None, color: str, *, setup: bool) -> None:
    """Show a rule's page: what it finds, why it matters, how to fix it. Or list the rules of a family, or on a condition."""
    if setup:
        from argolint.cli.setup_text import SETUPS

        if (what or "") not in SETUPS:
            raise UsageError(
                f"there is no setup {what!r}",
                f"there are: {', '.join(filter(None, SETUPS))}; or none for what a check needs",
            )
        click.echo(SETUPS[what or ""], nl=False)
        return
    if what is None:
        raise UsageError(
            "explain needs a rule", "`argolint rules` lists them; `argolint explain --setup` lists the required rights"
        )
    from argolint.plugins import load_rules

    style = Style.for_terminal(color)
    lines = _page(what, style, load_rules())
    click.echo("\n".join(lines), color=style.color)


def _page(what: str, style: Style, rules: Mapping[str, Rule]) -> Iterator[str]:
    name, _, cause = what.partition("/")
    if name in rules:
        return _rule(rules[name], cause, style)
    family = [r for r in rules.values() if r.family == what]
    if family:
        return _list(f"{what}: {len(family)} rules", family, style)
    word = re.compile(rf"\b{re.escape(what)}\b")
    speaking = [r for r in rules.values() if word.search(r.doc)] if re.fullmatch(r"[A-Z]\w{3,}", what) else []
    if speaking:
        return _list(f"{what}: rules about it", speaking, style)
    known = [*rules, *{r.family for r in rules.values()}]
    close = difflib.get_close_matches(name, known, 1)
    raise UsageError(
        f"there is no rule {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""),
        "`argolint rules` lists them; a family and a condition of Argo CD are explained as well",
    )


def _list(title: str, rules: Sequence[Rule], style: Style) -> Iterator[str]:
    yield paint(title, style, bold=True)
    for rule in sorted(rules, key=lambda r: r.id):
        yield from wrapped(
            f"{rule.id}  {paint(f'({rule.severity})', style, dim=True)}  {rule.title}", style, "  ", "    "
        )


def _rule(rule: Rule, cause: str, style: Style) -> Iterator[str]:
    if cause and cause not in rule.causes:
        hint = f"its causes: {', '.join(rule.causes)}" if rule.causes else "it has none"
        raise UsageError(f"rule {rule.id} has no cause {cause!r}", hint)
    page = inspect.cleandoc(rule.doc)
    pedantic_note = ", shown with --pedantic" if rule.pedantic else ""
    yield paint(f"{rule.id} ({rule.family}, {rule.severity}{pedantic_note})", style, bold=True)
    yield from _paragraphs(_only(page, cause) if cause else page, style)
    if rule.causes and not cause and "\n\nCauses:" not in page:
        yield ""
        yield from wrapped(f"Causes: {', '.join(rule.causes)}", style)
    fields = getattr(rule.options, "__dataclass_fields__", {})
    if fields:
        yield ""
        yield "Options (in .argolint.yaml under `rules`):"
        for field in fields:
            yield f"  {field}: {getattr(rule.default_options, field)}"


def _paragraphs(page: str, style: Style) -> Iterator[str]:
    """Prose in the terminal's width under headings; indented text stays as it is."""
    for index, paragraph in enumerate(page.split("\n\n")):
        if index:
            yield ""
        found = _HEADING.match(paragraph)
        if found:
            yield paint(found.group(1), style, bold=True)
            rest = paragraph[found.end() :].lstrip("\n")
            paragraph = rest if "Source" in found.group(1) else rest[:1].upper() + rest[1:]  # noqa: PLW2901  the rest of it
        if any(line.startswith((" ", "\t", "- ", "* ")) for line in paragraph.splitlines()):
            yield from (f"  {line}" if found else line for line in paragraph.splitlines())
        elif paragraph:
            yield from wrapped(" ".join(paragraph.split()), style, indent="  " if found else "")


def _only(page: str, cause: str) -> str:
    """The title, the paragraphs that name the cause, why it hurts, and how to fix it; the whole page if no paragraph names it."""
    title, *paragraphs = page.split("\n\n")
    naming = [p for p in paragraphs if re.search(rf"\b{re.escape(cause)}\b", p)]
    kept = [p for p in paragraphs if p in naming or p.startswith(("Why it hurts", "How to fix"))]
    return "\n\n".join([title, *kept]) if naming else page
