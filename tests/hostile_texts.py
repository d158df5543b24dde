"""What a regular expression costs at worst: hostile texts are made of each of its repetitions, and the steps on them are counted.

The repetition takes such a text in, and the rest of the pattern does not. Steps are counted (tests/steps.py), so no machine is too slow.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from re import _constants as code  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from tests.conftest import PROFILE
from tests.steps import REPEATS, Steps, TooManyError, bodies, items

MOST_A_CHARACTER = 400
"""Steps. A search takes some ten for each character of a text; what takes thousands is slow though its repetitions have bounds."""
LENGTH = 2000 if PROFILE == "long" else 400
"""Characters, at least, of the text on which bounded repetitions show what they cost: they take no more of a longer one."""
TWICE = 2.3
"""The steps for a text of double length, at most: 2 in linear time, 4 in quadratic."""


def attacks(pattern: str, flags: int) -> set[tuple[str, str, str]]:
    """For each repetition: what comes before it, what it takes again and again, and something that nothing takes."""
    found: set[tuple[str, str, str]] = set()
    for before, body in set(_repetitions(parser.parse(pattern, flags), "")):
        for unit in {body, before + body} - {""}:
            found |= {(before, unit, "\0\n"), ("", unit, "\0")}
    return found


def _repetitions(items: Any, before: str) -> Iterator[tuple[str, str]]:
    for op, argument in items:
        for body in bodies(op, argument):
            if op in REPEATS and argument[1] > 10:
                yield before, "".join(_sample(one) for one in body)
            yield from _repetitions(body, before)
        before += _sample((op, argument))


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
    if op in REPEATS:
        return "".join(_sample(one) for one in argument[2]) * max(1, min(argument[0], 50)) if argument[1] else ""
    taken = bodies(op, argument)[:1] if op not in (code.ASSERT, code.ASSERT_NOT) else []
    return "".join(_sample(one) for body in taken for one in body)


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


class _Counted:
    """The steps of a pattern on texts: of its use as `fullmatch` where it is used in no other way."""

    def __init__(self, pattern: str, flags: int, methods: set[str]) -> None:
        self._pattern, self._flags = pattern, flags
        self._whole = bool(methods) and methods <= {"match", "fullmatch"}
        self._short = Steps(pattern, flags, most=8)
        self._full = Steps(pattern, flags)
        repeats = (argument for op, argument in items(parser.parse(pattern, flags)) if op in REPEATS)
        self._bounds = [most for _, most, _ in repeats if most is not code.MAXREPEAT]

    def agrees(self, text: str) -> None:
        """The count is worth something only where it goes the way of `re`."""
        assert self._full.spans(text, 10**6) == [m.span() for m in re.finditer(self._pattern, text, self._flags)], text

    def complaint(self, before: str, unit: str, after: str) -> str | None:
        """What is wrong where the unit is repeated, if something is."""
        if not self._is_linear(before, unit, after):
            return "takes more than in proportion to"
        if math.prod(self._bounds) > MOST_A_CHARACTER:
            text = before + unit * (max(LENGTH, *self._bounds) // len(unit)) + after
            if self._steps(self._full, text) > MOST_A_CHARACTER * len(text):
                return f"takes more than {MOST_A_CHARACTER} steps for each character of"
        return None

    def _is_linear(self, before: str, unit: str, after: str) -> bool:
        """Bounds of repetitions are lowered for this, so that they end within the text; those that follow each other add up."""
        last: float = math.inf
        for times in (12, 24, 48, 96, 192):
            taken = self._steps(self._short, before + unit * times + after)
            if taken == math.inf or taken <= TWICE * last < math.inf:
                return taken < math.inf
            last = taken
        return False

    def _steps(self, steps: Steps, text: str) -> float:
        try:
            (steps.whole if self._whole else steps.spans)(text, 1000 * (len(text) + 1))
        except TooManyError:
            return math.inf
        return steps.taken


def complaint(pattern: str, flags: int, methods: set[str]) -> str | None:
    """What is wrong with the pattern on one of the texts; None where nothing is."""
    counted = _Counted(pattern, flags, methods)
    for before, unit, after in sorted(attacks(pattern, flags)):
        counted.agrees(before + unit * 3 + after)
        if said := counted.complaint(before, unit, after):
            return f"{said} {before!r} + {unit!r} * n + {after!r}"
    return None
