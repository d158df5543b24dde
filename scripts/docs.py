"""Write docs/rules/: one page a rule and the index, out of the rules' own docstrings. Run by `make docs`."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from itertools import groupby
from pathlib import Path

from argolint.plugins import load_rules
from argolint.rule import Rule

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "rules"
HEAD = "<!-- Made by `make docs` from the rule's docstring: change that. -->\n"


def pages() -> dict[str, str]:
    """File name to text, for every rule and the index."""
    rules = sorted(load_rules().values(), key=lambda r: (r.family, r.id))
    made = {f"{rule.id}.md": _page(rule) for rule in rules}
    lines = [
        HEAD,
        "# Rules",
        "",
        f"{len(rules)} rules, by family. `argolint explain RULE` shows a page in the terminal.",
    ]
    for family, group in groupby(rules, key=lambda r: r.family):
        lines += ["", f"## {family}", "", "| rule | severity | what it finds |", "|---|---|---|"]
        lines += [f"| [{r.id}]({r.id}.md) | {r.severity} | {r.title} |" for r in group]
    made["README.md"] = "\n".join(lines) + "\n"
    return made


def _page(rule: Rule) -> str:
    title, _, body = inspect.cleandoc(rule.doc).partition("\n")
    facts = [f"family {rule.family}", f"severity {rule.severity}"]
    parts = [HEAD, f"# {rule.id}: {title.rstrip('.')}", "", ", ".join(facts), body.rstrip()]
    if rule.causes:
        parts += ["", "## Causes", "", *(f"- `{cause}`" for cause in rule.causes)]
    options = dataclasses.fields(rule.options)
    if options:
        parts += ["", "## Options", "", *(f"- `{o.name}`: {getattr(rule.default_options, o.name)}" for o in options)]
    parts += [
        "",
        "## Suppress it",
        "",
        f"`argolint.dev/ignore.{rule.id}: <reason>` on the object or on its Application.",
    ]
    return "\n".join(parts) + "\n"


def main() -> int:
    """Write the pages; with --check only say whether they are current."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    if "--check" in sys.argv:
        have = {p.name: p.read_text(encoding="utf-8") for p in FOLDER.glob("*.md")}
        stale = sorted(n for n in have.keys() | wanted.keys() if have.get(n) != wanted.get(n))
        for name in stale:
            sys.stderr.write(f"docs/rules/{name} is not current: run `make docs`\n")
        return int(bool(stale))
    for old in FOLDER.glob("*.md"):
        old.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
