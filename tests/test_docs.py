"""The documentation is current, and docs/add-a-rule.md works as it is written."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from argolint import testing
from argolint.cli.group import COMMANDS
from argolint.plugins import load_rules
from tests.conftest import ROOT


def test_the_rules_pages_are_those_of_the_docstrings() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/docs.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_rule_of_the_tutorial_finds_what_its_fixture_expects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs" / "add-a-rule.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"```(python|yaml)\n(.*?)```", text, re.DOTALL))
    package = tmp_path / "tutorial_rules" / "health"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "scaled_to_zero.py").write_text(blocks["python"], encoding="utf-8")
    fixture = tmp_path / "bad-zero.yaml"
    fixture.write_text(blocks["yaml"], encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    rule = importlib.import_module("tutorial_rules.health.scaled_to_zero").RULE
    assert f"rules/{rule.family}/{rule.id.replace('-', '_')}.py" in text
    assert f"tests/rules/{rule.id}/{fixture.name}" in text

    read = testing.load_fixture(fixture)
    found = testing.check(read, [*load_rules().values(), rule])

    assert read.expected
    assert testing.mismatches(found, rule.id, read.expected) == []


PAGES = sorted(p for p in (ROOT / "docs").rglob("*.md") if "rules" not in p.relative_to(ROOT / "docs").parts[:1])


@pytest.mark.parametrize(
    "page", [*PAGES, *(ROOT / n for n in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))], ids=str
)
def test_every_link_option_and_rule_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), target
        if page.is_relative_to(ROOT / "docs"):
            assert (page.parent / target).resolve().is_relative_to(ROOT / "docs"), f"{target} is no page of the site"
    options = set(re.findall(r"argolint [a-z]+ [^\n`|]*?(--[a-z][a-z-]+)", text))
    assert options <= _options(), options - _options()
    named = set(re.findall(r"argolint explain ([a-z]+(?:-[a-z]+)+)", text))
    assert named <= set(load_rules()), named


def test_how_it_works_names_places_that_exist_and_says_how_many_lines_they_are() -> None:
    parts = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8").split("\n## ")[1:]
    named = [dict.fromkeys(re.findall(r"`([\w/]+\.py)(?::(\w+))?`", part)) for part in parts]
    assert sum(map(len, named)) > 40
    for part, places in zip(parts, named, strict=True):
        lines = sum(_lines_of(file, name) for file, name in places)
        said = re.search(r"^About (\d+) lines\.$", part, re.MULTILINE)
        assert said is None or abs(lines - int(said[1])) <= 75, f"{lines} lines: {part.splitlines()[0]}"


def _lines_of(file: str, name: str) -> int:
    """The lines of a function or class of this module; 0 without a name, which stands for the module as a place."""
    module = ast.parse((ROOT / "argolint" / file).read_text(encoding="utf-8"))
    found = {n.name: n for n in module.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    return (found[name].end_lineno or 0) - found[name].lineno + 1 if name else 0


def test_every_exception_from_a_check_of_the_code_says_why() -> None:
    bare = re.compile(r"#\s*(?:noqa: [A-Z0-9, ]+|type: ignore\[[^\]]+\])$", re.MULTILINE)
    files = (file for room in ("argolint", "rules") for file in (ROOT / room).rglob("*.py"))
    assert [str(file) for file in files if bare.search(file.read_text(encoding="utf-8"))] == []


def test_every_page_stands_in_the_navigation_of_the_site() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    made = {"cli.md", "rules/README.md"}
    written = {p.relative_to(ROOT / "docs").as_posix() for p in PAGES if "adr" not in p.parts}
    assert _pages(site["nav"]) == written | made


def _pages(node: Any) -> set[str]:
    if isinstance(node, str):
        return {node}
    children = node.values() if isinstance(node, dict) else node
    return {page for child in children for page in _pages(child)}


def _options() -> set[str]:
    """Of every command, and of those below it."""
    commands = [importlib.import_module(module).command for module, _ in COMMANDS.values()]
    commands += [below for command in commands for below in getattr(command, "commands", {}).values()]
    return {
        option
        for command in commands
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts, "--help")
    }
