"""Write the generated pages: docs/rules/ from the rules' docstrings, docs/cli.md from the commands, docs/advice.md from the tables of advice,
docs/schema/, and the words of the patterns of messages. Run by `make docs`."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

import click
import yaml
from argolint_rules.shared.messages import catalogue

from argolint.application.rule import Rule
from argolint.cli.group import COMMANDS
from argolint.engine.config import schema
from argolint.messages import Entry
from argolint.messages.literals import written
from argolint.model import MISSING
from argolint.plugins import load_rules
from argolint.redaction import HIDDEN, without_secrets
from argolint.reports.document import ReportedEdit
from argolint.reports.document import schema as report_schema
from argolint.reports.formats.edits import as_text
from argolint.values import get, shorten
from argolint.values.knowledge import load

DOCS = Path(__file__).resolve().parents[1] / "docs"
WORDS = "../rules/shared/messages/words.json"
HEAD = "<!-- Made by `make docs` from the rule's docstring: change that. -->\n"
CLI_HEAD = "<!-- Made by `make docs` from the commands: change those. -->\n"


def pages() -> dict[str, str]:
    """Text by file name below docs/, for all generated files."""
    schemas = {"report": report_schema(), "config": schema()}
    return {
        **{f"rules/{name}": text for name, text in _rules().items()},
        "cli.md": _cli(),
        "advice.md": _advice(),
        **{f"schema/{name}-1.json": json.dumps(found, indent=1) + "\n" for name, found in schemas.items()},
        WORDS: written(pattern.pattern for _, _, pattern in catalogue().patterns()),
    }


_TABLES = (
    "argolint.relations",
    *(f"argolint_rules.{family}" for family in ("health", "ownership", "secrets", "shared", "sync")),
)
ADVICE_HEAD = "<!-- Made by `make docs` from the tables of advice and the catalogue of messages: change those. -->\n"


def _advice() -> str:
    """All advice of the tables, with its conditions."""
    lines = [
        ADVICE_HEAD,
        "# Advice and its conditions",
        "",
        "What the findings of a message advise, by topic, and what must hold of the known objects: what the server said, facts that a table asks for (`when`, `unless`) and releases.",
    ]
    for package in _TABLES:
        lines += ["", f"## {package}", "", "| topic | advice | given when |", "|---|---|---|"]
        for topic, entries in sorted(load(package, "advice.yaml").items()):
            said = conditions(topic, entries)
            for entry in entries:
                lines.append(f"| {topic} | {_cell(entry['title'])} | {_cell('; '.join((said, *_of_entry(entry))))} |")
    return "\n".join(lines) + "\n"


def conditions(topic: str, entries: Sequence[Mapping[str, Any]]) -> str:
    """The condition of a topic: from its table, else the messages that lead to it; empty if neither is known."""
    if held := next((entry["holds"] for entry in entries if "holds" in entry), ""):
        return str(held)
    name = topic.partition("/")[2] or topic
    said = leading_to(name) or leading_to(name.rpartition("/")[2])
    shown = [_quote(entry) for entry in said if entry.seen][:2]
    more = f" and {len(said) - len(shown)} more messages" if len(said) > len(shown) else ""
    stage = "no more is known than the stage: " if said and all(e.knows == "stage" for e in said) else ""
    return f"{stage}the server says {' or '.join(shown)}{more}" if shown else ""


def _quote(entry: Entry) -> str:
    """The first message of an entry; its id if the message looks like it contains a secret."""
    quoted = f"`{shorten(entry.seen[0].text, 90).replace('`', '')}`"
    line = f"the server says {_cell(quoted)} |"
    return quoted if without_secrets(line) == line else f"what `{entry.id}` reads"


def leading_to(topic: str) -> Sequence[Entry]:
    """The entries of the catalogue with this advice, or this cause."""
    entries = catalogue().entries
    return [e for e in entries if e.advice == topic] or [e for e in entries if e.cause == topic]


def _of_entry(entry: Mapping[str, Any]) -> Iterator[str]:
    for word in ("when", "unless"):
        if given := entry.get(word):
            yield f"{word} {given if isinstance(given, str) else ', '.join(given)}"
    for of, release in (entry.get("needs") or {}).items():
        yield f"{of} {release} or later"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _rules() -> dict[str, str]:
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


_HEADINGS = {
    "What it finds": "What",
    "Why it hurts": "Why",
    "How to fix": "How to fix it",
    "Example": "Example",
    "Examples": "Example",
    "Sources": "Sources",
    "Source": "Sources",
}
_SENTENCE = 400
_EDIT_LINES = 30


def _page(rule: Rule) -> str:
    title, _, body = inspect.cleandoc(rule.doc).partition("\n")
    facts = [f"family {rule.family}", f"severity {rule.severity}"]
    facts += ["shown with `--pedantic`, or when it is selected by name"] if rule.pedantic else []
    facts += ["`fix --write` changes it only when `--select` names it"] if rule.intent else []
    parts = [HEAD, f"# {rule.id}: {title.rstrip('.')}", "", ", ".join(facts), ""]
    cases = _cases(rule)
    sections = list(_sections(body))
    sources = [text for heading, text in sections if heading == "Sources"]
    parts += [text for heading, text in sections if heading != "Sources"]
    parts += _before_and_after(cases)
    if rule.causes:
        parts += ["## Causes", "", *_causes(rule, cases), ""]
    options = dataclasses.fields(rule.options)
    if options:
        about = " ".join(inspect.cleandoc(rule.options.__doc__ or "").split())
        parts += ["## Options", "", *([about.replace("; ", ";\n"), ""] if about else [])]
        parts += ["| option | default |", "|---|---|"]
        parts += [f"| `{o.name}` | {getattr(rule.default_options, o.name)} |" for o in options]
        first = options[0]
        value = json.dumps(getattr(rule.default_options, first.name), default=str)
        parts += ["", "```yaml", "rules:", f"  {rule.id}:", f"    options: {{{first.name}: {value}}}", "```", ""]
    parts += [
        "## Suppress it",
        "",
        f"`argolint.dev/ignore.{rule.id}: <reason>` on the object or on its Application; more ways are in [suppression](../suppression.md).",
        "",
        *sources,
    ]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


def _sections(body: str) -> Iterator[tuple[str, str]]:
    """The paragraphs of a docstring with their headings, unchanged; one without a heading belongs to the one before."""
    for paragraph in re.split(r"\n\n", body.strip("\n")):
        found = re.match(rf"({'|'.join(_HEADINGS)})(?:, ([^:\n]{{1,40}}))?:[ \n]?", paragraph)
        if found is None:
            yield "", paragraph + "\n"
            continue
        heading = _HEADINGS[found[1]]
        rest = (f"{found[2]}: " if found[2] else "") + paragraph[found.end() :]
        first = rest[:1] if heading == "Sources" else rest[:1].upper()
        yield heading, f"## {heading}\n\n{first}{rest[1:]}\n"


def _cases(rule: Rule) -> list[dict[str, Any]]:
    """The expectations of the rule's fixtures: findings with their message, fix and edit."""
    found = []
    for file in sorted((DOCS.parent / "tests" / "rules" / rule.id).glob("bad-*.yaml")):
        data = yaml.load(file.read_text(encoding="utf-8"), Loader=_LOADER)  # a safe one
        for case in data.get("expect") or ():
            if isinstance(case, dict) and case.get("message"):
                kind, _, name = str(case.get("resource") or "").partition("/")
                found.append({**case, "_object": _desired(data.get("apps"), kind, name) if name else None})
    return found


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _causes(rule: Rule, cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each cause: the message of a finding, and its first fix."""
    yield "| cause | for example | first fix |"
    yield "|---|---|---|"
    for cause in rule.causes:
        case = next((c for c in cases if c.get("cause") == cause), {})
        fix = case.get("fix") if isinstance(case.get("fix"), str) else ""
        yield f"| `{cause}` | {_cell(case.get('message') or '')} | {_cell(fix or '')} |"


def _cell(text: str) -> str:
    """Foreign text in a table: one line, without any markup."""
    line = shorten(" ".join(str(text).split()), _SENTENCE)
    return re.sub(r"([\\`*_\[\]<>|{}])", r"\\\1", line)


def _before_and_after(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A case of a fixture whose fix edits fields of an object in Git: the fields before and after it."""
    described = [case for case in cases if (sides := _sides(case)) and sides[0]] or [
        case for case in cases if _sides(case)
    ]
    for case in described[:1]:
        before, after = _sides(case) or ("", "")
        yield from ("## A case", "", str(_cell(str(case["message"]))), "")
        if before:
            yield from ("Before:", "", "```yaml", *before.splitlines(), "```", "", "After:", "")
        elif isinstance(case.get("fix"), str):
            yield from (f"{_cell(str(case['fix']))}:", "")
        yield from ("```yaml", *after.splitlines(), "```", "")


def _sides(case: Mapping[str, Any]) -> tuple[str, str] | None:
    """YAML of the edited fields before and after the fix; None if short YAML cannot show the edit."""
    edit = case.get("edit")
    if not isinstance(edit, list) or not all(isinstance(o, dict) and o.get("path") for o in edit):
        return None
    after = as_text(ReportedEdit("json-patch", edit))
    if after.startswith("-") or len(after.splitlines()) > _EDIT_LINES or HIDDEN in after:
        return None
    held = case.get("_object")
    old = [{"op": "add", "path": o["path"], "value": get(held, o["path"])} for o in edit] if held else []
    old = [o for o in old if o["value"] is not MISSING]
    before = as_text(ReportedEdit("json-patch", old)) if old else ""
    return ("" if before.startswith("-") or before == after or HIDDEN in before else before), after


def _desired(node: Any, kind: str, name: str) -> Any:
    """Git's object of that kind and name in a fixture."""
    if isinstance(node, dict):
        held = node.get("desired")
        if isinstance(held, dict) and held.get("kind") == kind and (held.get("metadata") or {}).get("name") == name:
            return held
        return next((found for child in node.values() if (found := _desired(child, kind, name))), None)
    if isinstance(node, list):
        return next((found for child in node if (found := _desired(child, kind, name))), None)
    return None


def _cli() -> str:
    lines = [
        CLI_HEAD,
        "# Commands",
        "",
        "Exit codes: 0 nothing at or above `--fail-on`, 1 such findings, 2 cannot start, 3 incomplete.",
    ]
    for name, (module, summary) in COMMANDS.items():
        command: click.Command = import_module(module).command
        lines += ["", f"## argolint {name}", "", summary, *_of_command(command, name)]
    return "\n".join(lines) + "\n"


def _of_command(command: click.Command, name: str) -> Iterator[str]:
    if isinstance(command, click.Group):
        for below in command.commands.values():
            yield from ("", f"### argolint {name} {below.name}", "", below.get_short_help_str(200))
            yield from _of_command(below, f"{name} {below.name}")
        return
    context = click.Context(command, info_name=f"argolint {name}")
    records = [p.get_help_record(context) for p in command.get_params(context)]
    yield from (
        "",
        "```console",
        command.get_usage(context).replace("Usage: ", "$ "),
        "```",
        "",
        "| option | what it does |",
        "|---|---|",
    )
    for option, text in filter(None, records):
        escaped = " ".join(text.split()).replace("|", "\\|")
        yield f"| `{option.replace('|', ' or ')}` | {escaped} |"


def main() -> int:
    """Write the pages; with --check only report whether they are current."""
    wanted = pages()
    have = {
        name: (DOCS / name).read_text(encoding="utf-8")
        for name in (
            *(p.relative_to(DOCS).as_posix() for p in DOCS.glob("*/*") if p.parent.name in ("rules", "schema")),
            "cli.md",
            "advice.md",
            WORDS,
        )
        if (DOCS / name).exists()
    }
    if "--check" in sys.argv:
        stale = sorted(n for n in have.keys() | wanted.keys() if have.get(n) != wanted.get(n))
        for name in stale:
            sys.stderr.write(f"docs/{name} is not current: run `make docs`\n")
        return int(bool(stale))
    for name in have.keys() - wanted.keys():
        (DOCS / name).unlink()
    for name, text in wanted.items():
        (DOCS / name).parent.mkdir(parents=True, exist_ok=True)
        (DOCS / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
