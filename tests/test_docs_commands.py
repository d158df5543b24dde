"""Every command of every page: those of a console run on the demo, and all of them are understood by the command line."""

from __future__ import annotations

import importlib
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from argolint.cli.demo import RECORDING
from argolint.cli.group import COMMANDS
from tests.conftest import ROOT, run_argolint
from tests.few import named_applications

PAGES = sorted(
    [p for p in (ROOT / "docs").rglob("*.md") if p.relative_to(ROOT / "docs").parts[0] not in ("rules", "adr")]
    + [ROOT / "README.md"]
)
RUN = ["configuration", "suppression", "snapshots", "compare", "agents", "troubleshooting", "README"]
"""Pages whose consoles are run from the first command to the last, in one folder."""
ELSEWHERE = re.compile(
    r"argolint (gate|serve|comment|publish|mcp|merge)\b|--(servers|all-contexts|dask|checkout|repo)\b"
)
"""What needs a repository, a forge, a cluster, several servers, or does not end; tests of their own run these."""


def consoles(page: Path) -> Iterator[list[str]]:
    """The words of each `$ argolint ...` in a console of the page."""
    for block in re.findall(r"^```\w*\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("$ argolint "):
                yield shlex.split(line.removeprefix("$ "), comments=True)


@pytest.mark.parametrize("name", RUN)
def test_the_consoles_of_a_page_work_as_they_are_written(name: str, tmp_path: Path, demo_files: Path) -> None:
    page = ROOT / "docs" / f"{name}.md"
    commands = [words for words in consoles(page) if not ELSEWHERE.search(" ".join(words))]
    assert commands, page
    older = json.loads((demo_files / "report.json").read_text())
    (tmp_path / "monday.json").write_text(json.dumps({**older, "started_at": "2026-11-16T08:00:00Z"}))
    with named_applications() as env:
        for words in commands:
            ran = run_argolint(*words[1:], cwd=tmp_path, env=env)
            assert ran.code in (0, 1), (words, ran.err)


@pytest.mark.parametrize("page", ["README.md", "docs/README.md"])
def test_the_first_screen_of_a_page_is_what_the_demo_answers(page: str, tmp_path: Path) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.search(r"\$ (argolint why .*)\n```\n\n```text\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert found is not None
    ran = run_argolint(*shlex.split(found[1])[1:], "--snapshot", str(RECORDING), cwd=tmp_path)
    assert ran.out == found[2]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_command_of_a_page_is_one(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    inline = re.findall(r"`(argolint [a-z][^`\n]*)`", text)
    for line in [*inline, *map(shlex.join, consoles(page))]:
        name = line.split()[1]
        assert name in COMMANDS, line
        command: click.Command = importlib.import_module(COMMANDS[name][0]).command
        known = {option for o in _params(command) for option in (*o.opts, *o.secondary_opts)} | {"--help", "-h"}
        used = {word.partition("=")[0] for word in re.findall(r"(?<=\s)--?[a-z][a-z-]*", line)}
        assert used <= known, (line, used - known)


def _params(command: click.Command) -> Iterator[click.Parameter]:
    yield from command.params
    if isinstance(command, click.Group):
        for below in command.commands.values():
            yield from _params(below)


def test_rule_pages_say_what_why_and_how_and_every_cause_in_a_row() -> None:
    from argolint.plugins import load_rules

    for rule in load_rules().values():
        text = (ROOT / "docs" / "rules" / f"{rule.id}.md").read_text(encoding="utf-8")
        assert [h for h in ("## What", "## Why", "## How to fix it") if h not in text] == [], rule.id
        assert [c for c in rule.causes if f"| `{c}` |" not in text] == [], rule.id


def test_the_site_loads_nothing_from_other_hosts() -> None:
    site = (ROOT / "mkdocs.yml").read_text()
    assert "font: false" in site
    assert not re.search(r"https?://(?!argolint)", site), "no font and no script of another host"
