"""Words that every match of a regular expression contains: a catalogue uses them to find the few patterns to try."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from importlib.resources import files
from itertools import product
from re import _constants as code  # type: ignore[attr-defined]  # the parser of `re` knows its own syntax best
from re import _parser as parser  # type: ignore[attr-defined]  # the same
from typing import Any

import msgspec

from argolint.values.decoding import decoder

KNOWN = "words.json"
"""The file next to a package's messages with the words of its patterns. `make docs` writes argolint's own."""
SHORTEST = 3
"""Fewest characters. Shorter words occur in nearly every text."""
_SPELLINGS = 40
"""Most spellings of one word to search for: `(fail|failed) to (get|list)` has four."""

_REPEATS = (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT)
_NOTHING: frozenset[str] = frozenset()
Items = Iterable[tuple[Any, Any]]
_KNOWN = decoder(dict[str, frozenset[str]])


def literals(pattern: str) -> frozenset[str]:
    """Lower-case texts of which each match of the pattern contains at least one; empty if none can be derived."""
    found = _best(parser.parse(pattern, re.IGNORECASE))
    return found if _worth(found) else _NOTHING


def key_of(pattern: str) -> str:
    """The pattern's key in `words.json`."""
    return hashlib.blake2b(pattern.encode(), digest_size=9).hexdigest()


def known_words(package: str) -> Mapping[str, frozenset[str]]:
    """The content of a package's `words.json`, empty if it has none."""
    file = files(package).joinpath(KNOWN)
    return _KNOWN(file.read_bytes()) if file.is_file() else {}


def written(patterns: Iterable[str]) -> str:
    """The text of `words.json` for these patterns: one line each, in an order in which two branches rarely insert at one place."""
    found = {key_of(pattern): sorted(literals(pattern)) for pattern in patterns}
    lines = [f'"{key}": {msgspec.json.encode(words).decode()}' for key, words in sorted(found.items()) if words]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _best(items: Items) -> frozenset[str]:
    """The most selective words of a sequence: those whose shortest one is longest."""
    found: list[frozenset[str]] = []
    run = frozenset({""})
    for op, argument in items:
        spelled = _spellings(op, argument)
        longer = _joined(run, spelled) if spelled is not None else None
        if longer is not None:
            run = longer
            continue
        found += [run, _of(op, argument)]
        run = frozenset({""}) if spelled is None or len(spelled) > _SPELLINGS else spelled
    return max((*found, run), key=_worth)


def _joined(run: frozenset[str], more: frozenset[str]) -> frozenset[str] | None:
    """Every text of the first followed by every text of the second; None if there are too many."""
    return frozenset(a + b for a, b in product(run, more)) if len(run) * len(more) <= _SPELLINGS else None


def _spellings(op: Any, argument: Any) -> frozenset[str] | None:
    """All texts that an item matches, in lower case; None if there are too many."""
    if op is code.LITERAL:
        return frozenset({chr(argument).lower()})
    if op is code.IN:
        return _members(argument)
    if op is code.SUBPATTERN:
        return _sequence(argument[3])
    if op is code.BRANCH:
        parts = [_sequence(branch) for branch in argument[1]]
        return None if None in parts else frozenset().union(*(part for part in parts if part is not None))
    if op in _REPEATS and argument[:2] == (0, 1):
        once = _sequence(argument[2])
        return None if once is None else once | {""}
    return frozenset({""}) if op is code.AT else None


def _members(members: Any) -> frozenset[str] | None:
    found: set[str] = set()
    for op, argument in members:
        if op is code.LITERAL:
            found.add(chr(argument).lower())
        elif op is code.RANGE and argument[1] - argument[0] < _SPELLINGS:
            found |= {chr(place).lower() for place in range(argument[0], argument[1] + 1)}
        else:
            return None
    return frozenset(found) if len(found) <= 8 else None


def _sequence(items: Items) -> frozenset[str] | None:
    found: frozenset[str] | None = frozenset({""})
    for op, argument in items:
        spelled = _spellings(op, argument)
        found = _joined(found, spelled) if found is not None and spelled is not None else None
        if found is None:
            return None
    return found


def _of(op: Any, argument: Any) -> frozenset[str]:
    """The required words of one item, whose neighbours cannot be enumerated."""
    if op is code.SUBPATTERN:
        return _best(argument[3])
    if op is code.ATOMIC_GROUP:
        return _best(argument)
    if op is code.BRANCH:
        parts = [_best(branch) for branch in argument[1]]
        return _NOTHING.union(*parts) if all(_worth(part) for part in parts) else _NOTHING
    if op in _REPEATS and argument[0]:
        return _best(argument[2])
    if op is code.ASSERT and argument[0] > 0:
        return _best(argument[1])
    return _NOTHING


def _worth(words: frozenset[str]) -> int:
    shortest = min(map(len, words), default=0)
    return shortest if shortest >= SHORTEST else 0
