"""What the folders promise: names that mean one thing, and one file for each rule."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import argolint_rules

import argolint
from argolint import Rule, comparison

PACKAGE = Path(argolint.__file__).parent
RULES = Path(argolint_rules.__file__).parent
FAMILIES = sorted(p.name for p in RULES.iterdir() if (p / "__init__.py").exists() and p.name != "shared")
MODULES = sorted(p for family in FAMILIES for p in (RULES / family).glob("*.py") if p.name != "__init__.py")


def test_no_public_name_is_the_name_of_a_module() -> None:
    """Importing the module would put it in the place of the name: `from argolint import name` then gives a module."""
    modules = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert sorted(set(argolint.__all__) & modules) == []


def test_the_comparison_names_what_rules_take_and_no_module() -> None:
    modules = {path.stem for path in (PACKAGE / "comparison").glob("*.py")}
    assert sorted(set(comparison.__all__) & modules) == []
    assert [name for name in comparison.__all__ if not hasattr(comparison, name)] == []


_SOURCE = re.compile(r"^\s*#.*\bsources?\b|\bsource:", re.IGNORECASE | re.MULTILINE)


def test_each_file_of_knowledge_names_its_sources() -> None:
    files = [*PACKAGE.rglob("*.yaml"), *RULES.rglob("*.yaml")]
    assert len(files) > 200
    assert [str(path) for path in files if not _SOURCE.search(path.read_text(encoding="utf-8"))] == []


def test_the_top_of_the_package_is_read_at_a_glance() -> None:
    unread = {"__pycache__", "__init__.py", "__main__.py", "py.typed"}
    shown = [path.name for path in PACKAGE.iterdir() if path.name not in unread]
    assert len(shown) <= 25


def test_a_module_of_a_family_is_one_rule_of_its_own_name_or_a_helper_with_an_underscore() -> None:
    for path in MODULES:
        module = importlib.import_module(f"argolint_rules.{path.parent.name}.{path.stem}")
        found = {name: (v.id, v.family) for name, v in vars(module).items() if isinstance(v, Rule)}
        own = {"RULE": (path.stem.replace("_", "-"), path.parent.name)}
        assert found == ({} if path.stem.startswith("_") else own), path


def test_what_rules_of_a_family_share_stands_in_a_helper() -> None:
    """A rule may be removed with its one file: nothing imports it."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                taken = [node.module] if node.module else [alias.name for alias in node.names]
                assert [name for name in taken if name[0] != "_"] == [], path


def test_what_families_share_holds_no_rule() -> None:
    for path in (RULES / "shared").glob("*.py"):
        module = importlib.import_module(f"argolint_rules.shared.{path.stem}")
        assert [value.id for value in vars(module).values() if isinstance(value, Rule)] == []
