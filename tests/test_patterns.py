"""No regular expression of ours takes more steps than in proportion to a hostile text.

Every pattern is found by itself, with the flags that it runs under: the compiled ones of all modules and of what they make of the
knowledge files, literal ones in calls of `re`, and each other text of a knowledge file that is one. tests/hostile_texts.py counts.
A pattern has the same steps in each run, so one whose digest is kept is not counted again, except with the profile `long`.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from argolint_rules.shared.messages import catalogue

from argolint.values.knowledge import parse
from argolint.values.patterns import Later
from tests.conftest import PROFILE
from tests.hostile_texts import complaint

ROOT = Path(__file__).resolve().parents[1]
MATCHED_WHOLE = {"writers.yaml": ({"fullmatch"}, 0), "cloud.yaml": ({"fullmatch"}, int(re.DOTALL))}
"""Knowledge files whose patterns are held against whole names and pointers, and the flags of those that are compiled for each."""
PROSE = {"where", "content"}
"""Keys of knowledge files whose texts are for people."""
KEPT = ROOT / "tests" / "golden" / "linear_patterns.txt"
"""Digests of patterns that were counted, below that of the way to count: `scripts/linear_patterns.py` writes them."""
METHODS = frozenset({"search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"})


@cache
def patterns() -> dict[tuple[str, int], tuple[str, set[str]]]:
    """(pattern, flags) -> where it is, and the methods that it is used with; none where they cannot be known."""
    found: dict[tuple[str, int], tuple[str, set[str]]] = {}
    for package in ("argolint", "argolint_rules"):
        for module in _modules(package):
            file = Path(str(module.__file__))
            calls = list(_calls(ast.parse(file.read_text("utf-8"))))
            for name, value in vars(module).items():
                for pattern in _compiled(value() if _is_table(value, module) else value):
                    known = found.setdefault((pattern.pattern, pattern.flags), (f"{module.__name__}.{name}", set()))
                    known[1].update(method for owner, method, _, _, _ in calls if owner == name)
            for owner, method, text, flags, line in calls:
                if owner == "re" and text is not None:
                    found.setdefault((text, flags), (f"{file.name}:{line}", set()))[1].add(method)
    for file, id_, pattern in catalogue().patterns():
        found.setdefault((pattern.pattern, pattern.flags), (f"{file} {id_}", {"search"}))
    compiled = {text: (text, flags) for text, flags in found}
    knowledge = (*(ROOT / "rules").glob("*/*.yaml"), *(ROOT / "argolint").glob("*/*.yaml"))
    for file in sorted(knowledge):
        whole, flags = MATCHED_WHOLE.get(file.name, (set(), 0))
        for text in _texts(parse(file.read_text("utf-8"))):
            if text in compiled:
                found[compiled[text]][1].update(whole)
            elif re.search(r"[*+}]", text) and _parses(text):
                found.setdefault((text, flags), (file.name, whole))
    return found


def _is_table(value: object, module: Any) -> bool:
    """Whether it is a cached function of this module without arguments: what compiles a knowledge file's patterns."""
    return (
        hasattr(value, "cache_info")
        and inspect.unwrap(value).__module__ == module.__name__  # type: ignore[arg-type]
        and not inspect.signature(value).parameters  # type: ignore[arg-type]
    )


def _modules(package: str) -> Iterator[Any]:
    top = importlib.import_module(package)
    yield top
    for info in pkgutil.walk_packages(top.__path__, package + "."):
        if not info.name.endswith("__main__"):
            yield importlib.import_module(info.name)


def _compiled(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, Later):
        yield from _compiled(value.compiled)
    elif isinstance(value, re.Pattern):
        of_bytes = isinstance(value.pattern, bytes)
        yield re.compile(value.pattern.decode(), value.flags | re.UNICODE) if of_bytes else value
    elif isinstance(value, dict | list | tuple | set | frozenset):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _compiled(one)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _compiled(getattr(value, field.name))


def _calls(tree: ast.AST) -> Iterator[tuple[str, str, str | None, int, int]]:
    """`owner.method("text", flags)`, or of `owner()`, for everything that may be a pattern's method, or a function of `re`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            owner = node.value.func if isinstance(node.value, ast.Call) else node.value
            if isinstance(owner, ast.Name):
                yield owner.id, node.attr, None, 0, node.lineno
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            first = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
            if node.func.attr in METHODS and isinstance(first, str):
                named = [
                    n.attr
                    for argument in (*node.args[1:], *node.keywords)
                    for n in ast.walk(argument)
                    if isinstance(n, ast.Attribute)
                ]
                flags = sum(int(getattr(re, name)) for name in named if name.isupper() and hasattr(re, name))
                yield node.func.value.id, node.func.attr, first, flags, node.lineno


def _texts(node: object) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict | list):
        for one in (*node, *(v for k, v in node.items() if k not in PROSE)) if isinstance(node, dict) else node:
            yield from _texts(one)


def _parses(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def digest(*told: object) -> str:
    return hashlib.sha256(repr(told).encode()).hexdigest()[:12]


def way() -> str:
    """The digest of the program that counts."""
    return digest(*(Path(__file__).with_name(name).read_text("utf-8") for name in ("hostile_texts.py", "steps.py")))


def kept() -> set[str]:
    """The digests of patterns that were counted in this way."""
    first, *digests = KEPT.read_text("utf-8").split()
    return set(digests) if first == way() else set()


def counted(known: set[str]) -> tuple[dict[str, str], set[str]]:
    """The complaints about patterns that are not known, by their places; the digests of all others."""
    complaints: dict[str, str] = {}
    good: set[str] = set()
    for (pattern, flags), (place, methods) in patterns().items():
        mark = digest(pattern, int(flags), sorted(methods))
        if mark not in known and (said := complaint(pattern, flags, methods)):
            complaints[f"{place}: {pattern!r}"] = said
        else:
            good.add(mark)
    return complaints, good


def test_no_pattern_takes_more_steps_than_in_proportion_to_a_text() -> None:
    assert len(patterns()) > 1000
    complaints, _ = counted(set() if PROFILE == "long" else kept())
    assert complaints == {}


def test_what_was_counted_was_counted_in_this_way() -> None:
    """Else each run counts all of them anew. `python -m scripts.linear_patterns` does so once, after a change of how it is counted."""
    assert len(kept()) > 1000


def test_patterns_are_found_with_the_flags_that_they_run_under() -> None:
    flags = {flags for (text, flags), _ in patterns().items() if "gzip: invalid header" in text}
    assert flags == {int(re.IGNORECASE | re.UNICODE)}


SLOW = [
    "(a+)+b",
    "(a|a)*b",
    "a+b",
    "at <([^>]+)>: error",
    "x.*y",
    r"\s+$",
    "(?=a*b)a*c",
    r"(a*)\1b",
    "[a-z]{1,300}[b-y]{1,300}Z",
    "(?:a?){40}b",
]
LINEAR = [
    "(?<!a)a++b",
    "at <([^<>]+)>: error",
    r"\Ax.*y",
    "a{1,100}b",
    "(?>a+)*",
    "[^\n]*",
    "^(?:ab)*$",
    "a*+",
    r"(?P<q>['\"])[^'\"]{0,9}(?P=q)",
]


@pytest.mark.parametrize("pattern", SLOW)
def test_what_is_slow_is_found(pattern: str) -> None:
    assert complaint(pattern, 0, {"search"})


@pytest.mark.parametrize("pattern", LINEAR)
def test_what_is_linear_is_not(pattern: str) -> None:
    assert complaint(pattern, 0, {"search"}) is None
