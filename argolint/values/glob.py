"""Argo CD's globs, matched in time proportional to pattern and text, so that no foreign pattern can take longer.

Argo CD compiles them with gobwas/glob and no separators: `*` and `**` are any text, `?` is one character, `[abc]`, `[!abc]` and `[a-z]` one
of some, `{a,b*}` one of several globs, and `\\` makes the next character literal.

Sources: argoproj/argo-cd util/glob/glob.go; gobwas/glob 0.2.3 syntax/lexer, syntax/ast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from argolint.quick.records import dataclass

MAX_LENGTH = 2000
"""Most characters of a pattern. The matched names have at most 253."""


@lru_cache(maxsize=16384)
def matches(pattern: str, text: str) -> bool:
    """True if the pattern matches the whole text. An invalid pattern matches nothing; an empty one matches the empty text."""
    if not _SPECIAL & set(pattern):
        return pattern == text
    program = _compiled(pattern)
    return program is not None and _run(program, text)


_SPECIAL = frozenset("*?[]{}\\")
_Test = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class _State:
    """One place in the pattern: `test` accepts a character and leads to the next state; without it, `ways` lead on without one."""

    test: _Test | None = None
    ways: tuple[int, ...] = ()


class _NoGlobError(Exception):
    """gobwas/glob rejects the pattern."""


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> tuple[_State, ...] | None:
    try:
        return _Compiler(pattern).states() if len(pattern) <= MAX_LENGTH else None
    except _NoGlobError:
        return None


class _Compiler:
    """Writes the states of a glob in one pass; alternatives are on a list, not on the call stack."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._states: list[_State] = []
        self._open: list[tuple[int, list[int], list[int]]] = []
        """For each `{`: the state that chooses, the starts of its alternatives, and their final states."""

    def states(self) -> tuple[_State, ...]:
        while self._at < len(self._pattern):
            self._one(self._next())
        while self._open:
            self._one("}")  # the end of the pattern closes open braces
        return tuple(self._states)

    def _next(self) -> str:
        if self._at >= len(self._pattern):
            raise _NoGlobError
        self._at += 1
        return self._pattern[self._at - 1]

    def _one(self, mark: str) -> None:
        here = len(self._states)
        if mark == "*":
            self._states += [_State(ways=(here + 1, here + 3)), _State(_any), _State(ways=(here,))]
        elif mark == "?":
            self._states.append(_State(_any))
        elif mark == "[":
            self._states.append(_State(self._class()))
        elif mark == "{":
            self._open.append((here, [here + 1], []))
            self._states.append(_State())
        elif mark == "," and self._open:
            self._open[-1][1].append(here + 1)
            self._open[-1][2].append(here)
            self._states.append(_State())
        elif mark == "}" and self._open:
            chooses, begins, leaves = self._open.pop()
            self._states[chooses] = _State(ways=tuple(begins))
            for state in leaves:
                self._states[state] = _State(ways=(here,))
        elif mark != "\\":
            self._states.append(_State(_is(mark)))
        elif self._at < len(self._pattern):
            self._states.append(_State(_is(self._next())))

    def _class(self) -> _Test:
        """The test after `[`: one range, or a list of characters."""
        negated = self._pattern.startswith("!", self._at)
        self._at += negated
        first = self._next()
        if self._pattern.startswith("-", self._at):
            self._at += 1
            low, high = first, self._next()
            if self._next() != "]" or high < low:
                raise _NoGlobError
            return lambda c: (low <= c <= high) is not negated
        listed = []
        while first != "]":
            listed.append(self._next() if first == "\\" else first)
            first = self._next()
        if not listed:
            raise _NoGlobError
        return lambda c: (c in listed) is not negated


def _any(character: str) -> bool:
    return True


def _is(wanted: str) -> _Test:
    return lambda character: character == wanted


def _run(states: tuple[_State, ...], text: str) -> bool:
    here = _reached(states, (0,))
    for character in text:
        if not here:
            return False
        passed = (state + 1 for state in here if state < len(states) and _passes(states[state], character))
        here = _reached(states, passed)
    return len(states) in here


def _passes(state: _State, character: str) -> bool:
    return state.test is not None and state.test(character)


def _reached(states: tuple[_State, ...], begins: Iterable[int]) -> set[int]:
    """The states that test a character, or the end, that can be reached from these without one."""
    found: set[int] = set()
    seen: set[int] = set()
    waiting = list(begins)
    while waiting:
        state = waiting.pop()
        if state in seen:
            continue
        seen.add(state)
        if state == len(states) or states[state].test is not None:
            found.add(state)
        else:
            waiting += states[state].ways
    return found
