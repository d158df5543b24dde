"""No regular expression of ours takes more than time in proportion to a hostile text.

Every pattern is found by itself: the compiled ones of all modules, literal ones in calls of `re`, and each text of the knowledge files
that is one. For each repetition in it a text is made that the repetition takes in and the rest of the pattern does not.
"""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from re import _constants as code  # type: ignore[attr-defined]  # the parser of `re` knows its own syntax best
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from argolint_rules.shared.messages import catalogue

from argolint.values.knowledge import parse

ROOT = Path(__file__).resolve().parents[1]
WHOLE = os.environ.get("HYPOTHESIS_PROFILE") == "long"
"""Whether every hostile text is tried: `make long`."""
LENGTH = 100_000 if WHOLE else 15_000
"""Characters. A search in linear time takes a few milliseconds, in quadratic time seconds."""
LIMIT_S = 0.25
MATCHED_WHOLE = {"writers.yaml", "cloud.yaml"}
"""Knowledge files whose patterns are held against whole names and pointers."""
METHODS = frozenset({"search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"})


def patterns() -> dict[tuple[str, int], tuple[str, set[str]]]:
    """(pattern, flags) -> where it stands, and the methods that it is used with; none where nobody can tell."""
    found: dict[tuple[str, int], tuple[str, set[str]]] = {}
    for package in ("argolint", "argolint_rules"):
        for module in _modules(package):
            file = Path(str(module.__file__))
            calls = list(_calls(ast.parse(file.read_text("utf-8"))))
            for name, value in vars(module).items():
                for pattern in _compiled(value):
                    known = found.setdefault((pattern.pattern, pattern.flags), (f"{module.__name__}.{name}", set()))
                    known[1].update(method for owner, method, _, _, _ in calls if owner == name)
            for owner, method, text, flags, line in calls:
                if owner == "re" and text is not None:
                    found.setdefault((text, flags), (f"{file.name}:{line}", set()))[1].add(method)
    for file, id_, pattern in catalogue().patterns():
        found.setdefault((pattern.pattern, pattern.flags), (f"{file} {id_}", {"search"}))
    knowledge = (*(ROOT / "rules").glob("*/*.yaml"), *(ROOT / "argolint").glob("*/*.yaml"))
    for file in sorted(knowledge):
        for text in _texts(parse(file.read_text("utf-8"))):
            if re.search(r"[*+}]", text) and _parses(text):
                found.setdefault(
                    (text, int(re.DOTALL)), (file.name, {"fullmatch"} if file.name in MATCHED_WHOLE else set())
                )
    return found


def _modules(package: str) -> Iterator[Any]:
    top = importlib.import_module(package)
    yield top
    for info in pkgutil.walk_packages(top.__path__, package + "."):
        if not info.name.endswith("__main__"):
            yield importlib.import_module(info.name)


def _compiled(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        of_bytes = isinstance(value.pattern, bytes)
        yield re.compile(value.pattern.decode(), value.flags | re.UNICODE) if of_bytes else value
    elif isinstance(value, dict | list | tuple | set | frozenset):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _compiled(one)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _compiled(getattr(value, field.name))


def _calls(tree: ast.AST) -> Iterator[tuple[str, str, str | None, int, int]]:
    """`owner.method("text", flags)` for everything that may be a pattern's method, or a function of `re`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in METHODS:
            yield node.value.id, node.attr, None, 0, node.lineno
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
        for one in (*node, *node.values()) if isinstance(node, dict) else node:
            yield from _texts(one)


def _parses(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def attacks(pattern: str, flags: int) -> set[str]:
    """For each repetition: what comes before it, what it takes again and again, and something that nothing takes."""
    found: set[str] = set()
    for before, body in set(_repetitions(parser.parse(pattern, flags), "")):
        for unit in {body, before + body} - {""}:
            long = unit * (LENGTH // len(unit))
            found |= {before + long + "\0\n", long + "\0", *([before + long] if WHOLE else [])}
    return found


def _repetitions(items: Any, before: str) -> Iterator[tuple[str, str]]:
    for op, argument in items:
        for body in _bodies(op, argument):
            if op in _REPEATS and argument[1] > 10:
                yield before, "".join(_sample(one) for one in body)
            yield from _repetitions(body, before)
        before += _sample((op, argument))


_REPEATS = (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT)


def _bodies(op: Any, argument: Any) -> list[Any]:
    if op in _REPEATS:
        return [argument[2]]
    if op is code.SUBPATTERN:
        return [argument[3]]
    if op is code.BRANCH:
        return list(argument[1])
    if op is code.ATOMIC_GROUP:
        return [argument]
    return [argument[1]] if op in (code.ASSERT, code.ASSERT_NOT) else []


def _sample(item: tuple[Any, Any]) -> str:
    """A text that the item takes, as well as can be told without trying."""
    op, argument = item
    if op is code.LITERAL:
        return chr(argument)
    if op is code.NOT_LITERAL:
        return "a" if argument != ord("a") else "b"
    if op is code.ANY:
        return "a"
    if op is code.IN:
        return next((c for c in "aA1 .-/\t\n=:_\"'{}[](),;\\|<>$@x" if _in(argument, c)), "a")
    if op in _REPEATS:
        return "".join(_sample(one) for one in argument[2]) * max(1, min(argument[0], 50)) if argument[1] else ""
    bodies = _bodies(op, argument)[:1] if op not in (code.ASSERT, code.ASSERT_NOT) else []
    return "".join(_sample(one) for body in bodies for one in body)


_CATEGORIES = {
    code.CATEGORY_DIGIT: r"\d",
    code.CATEGORY_SPACE: r"\s",
    code.CATEGORY_WORD: r"\w",
    code.CATEGORY_NOT_DIGIT: r"\D",
    code.CATEGORY_NOT_SPACE: r"\S",
    code.CATEGORY_NOT_WORD: r"\W",
}


def _in(members: Any, character: str) -> bool:
    held = any(
        (op is code.LITERAL and argument == ord(character))
        or (op is code.RANGE and argument[0] <= ord(character) <= argument[1])
        or (op is code.CATEGORY and re.match(_CATEGORIES[argument], character) is not None)
        for op, argument in members
    )
    return held is not (members[0][0] is code.NEGATE)


def slow() -> Iterator[str]:
    """One line for each pattern that is slow, with the text that makes it so."""
    signal.signal(signal.SIGVTALRM, _over)
    for (pattern, flags), (place, methods) in patterns().items():
        compiled = re.compile(pattern, flags)
        whole = methods and methods <= {"match", "fullmatch"}
        for text in sorted(attacks(pattern, flags)):
            try:
                signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
                if whole:
                    compiled.fullmatch(text)
                else:
                    sum(1 for _ in compiled.finditer(text))
            except TimeoutError:
                yield f"{place}: {pattern!r} takes more than {LIMIT_S} s for {len(text):,} characters of {text[:40]!r}"
                break
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _over(number: int, frame: object) -> None:
    raise TimeoutError


def test_no_pattern_takes_more_than_its_share_of_time() -> None:
    command = [sys.executable, __file__]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=280, cwd=ROOT)
    assert done.stdout.splitlines() == []


if __name__ == "__main__":
    for line in slow():
        sys.stdout.write(line + "\n")
