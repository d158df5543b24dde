"""Commands to paste: whatever others call their things, in any fixture of a rule, stays one word of them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from argolint import Rule, testing
from argolint.plugins import load_rules
from argolint.values.knowledge import parse

FIXTURES = Path(__file__).parent / "rules"
EVIL = "x;touch pwned;$(touch pwned)`touch pwned`"
FREE = {"repoURL", "path", "targetRevision", "chart", "message", "key", "property", "store", "project", "server"}
"""Fields of which others choose the words freely."""


def _names(node: Any) -> Iterator[str]:
    """The names of applications, objects and what they refer to."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("name", "namespace", "secretName", "resourceName") and isinstance(value, str) and len(value) > 2:
                yield value
            yield from _names(value)
    elif isinstance(node, list):
        for value in node:
            yield from _names(value)


def _hostile(node: Any, names: re.Pattern[str] | None, key: str = "") -> Any:
    """The fixture with words for a shell at the end of every name and of every free field."""
    if isinstance(node, dict):
        return {k: _hostile(v, names, str(k)) for k, v in node.items()}
    if isinstance(node, list):
        return [_hostile(v, names, key) for v in node]
    if not isinstance(node, str):
        return node
    named = names.sub(lambda found: found[0] + EVIL, node) if names else node
    return named + EVIL if key in FREE and node and named == node else named


def _commands(path: Path, rule: Rule) -> Iterator[str]:
    """The commands that a rule prints of its fixture, whose names and free fields hold words for a shell."""
    data = {key: value for key, value in parse(path.read_text("utf-8")).items() if key != "near"}
    names = "|".join(map(re.escape, sorted(set(_names(data)), key=len, reverse=True)))
    word = re.compile(rf"(?<![\w.-])(?:{names})(?![\w.-])") if names else None
    kept = ("expect", "about", "server", "version")
    changed = {k: v if k in kept else _hostile(v, word) for k, v in data.items()}
    for finding in testing.check(testing.Fixture(path, changed), [rule]).findings:
        for fix in finding.fixes:
            if fix.edit.kind == "command":
                yield from str(fix.edit.content).splitlines()


def _runs(line: str) -> bool:
    """Whether a shell would take a part of the words for a command of its own."""
    if "pwned" not in line or line.lstrip().startswith("#"):
        return False
    try:
        words = list(shlex.shlex(line, posix=True, punctuation_chars=";|&()`"))
    except ValueError:
        return True
    return any(words[n + 1 : n + 2] == ["touch"] for n in range(len(words))) or any(w in ("$(", "`") for w in words)


@pytest.mark.parametrize("rule", load_rules().values(), ids=lambda rule: rule.id)
def test_no_word_of_others_is_run_when_a_command_is_pasted(rule: Rule) -> None:
    files = sorted((FIXTURES / rule.id).glob("bad-*.yaml"))
    assert [(path.stem, line) for path in files for line in _commands(path, rule) if _runs(line)] == []


def test_what_runs_is_seen() -> None:
    assert _runs(f"kubectl get pod {EVIL}")
    assert not _runs(f"kubectl get pod {shlex.quote(EVIL)}")
