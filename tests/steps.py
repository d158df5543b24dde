"""Counts the steps of a regular expression on a text: the same number on every machine.

`Steps` follows CPython's `sre` engine on the tree that `re` itself parses. It backtracks as sre does, and counts each comparison of a character
and each retry. A run of one character class counts each of its characters, although sre takes it at once: a count may grow before the clock
shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from re import _compiler as compiler  # type: ignore[attr-defined]
from re import _constants as code  # type: ignore[attr-defined]  # the parser of `re` knows its own syntax best
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

REPEATS = (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT)
_ONE = (code.LITERAL, code.NOT_LITERAL, code.ANY, code.IN)
"""Items that take one character."""
_LOCAL = int(re.IGNORECASE | re.MULTILINE | re.DOTALL | re.ASCII | re.UNICODE)


class TooManyError(Exception):
    """A text takes more steps than allowed."""


class Steps:
    """A pattern that counts: `taken` is the number of steps of the last call, which has the limit `limit`.

    `most` lowers every finite upper bound of a repetition to that number (or to its lower bound). It does not make anything linear, or the
    reverse; it shows on a text of a few hundred characters the effect of `{0,2000}` on one of many thousand.
    """

    def __init__(self, pattern: str, flags: int = 0, most: int | None = None) -> None:
        tree = parser.parse(pattern, flags)
        self.taken = 0
        self._limit = 0
        self._most = most
        self._groups = tree.state.groups
        self._remembers = any(op in (code.GROUPREF, code.GROUPREF_EXISTS) for op, _ in items(tree))
        self._program: list[list[Any]] = []
        self._add(tree, tree.state.flags)
        self._put("match")

    def spans(self, text: str, limit: int) -> list[tuple[int, int]]:
        """The positions of matches, as in `finditer`; TooManyError after `limit` steps."""
        self.taken, self._limit = 0, limit
        found: list[tuple[int, int]] = []
        start, empty = 0, -1
        first = self._program[0] if self._program[0][0] == "one" else None
        while start <= len(text):
            self._count(1)
            if first and (start == len(text) or not _is(first, text, start)):
                self._count(
                    1
                )  # counted as in `_run`, without its preparations: most places fail at the first character
                start += 1
                continue
            end = self._run(0, text, start, (), empty, 0)[0]
            if end is None:
                start += 1
            else:
                found.append((start, end))
                start, empty = end, end if start == end else -1
        return found

    def whole(self, text: str, limit: int) -> bool:
        """Whether the pattern matches the whole text, as `fullmatch`; TooManyError after `limit` steps."""
        self.taken, self._limit = 0, limit
        return self._run(0, text, 0, (), -1, len(text))[0] is not None

    def _count(self, steps: int) -> None:
        self.taken += steps
        if self.taken > self._limit:
            raise TooManyError

    # --- From the tree to a program: lists of an operation and its arguments ---

    def _put(self, *words: Any) -> int:
        self._program.append(list(words))
        return len(self._program) - 1

    def _add(self, items: Any, flags: int) -> None:
        for op, argument in items:
            if op in _ONE:
                self._put("one", {}, _native(op, argument, flags))
            elif op in REPEATS:
                self._add_repeat(op, argument, flags)
            elif op is code.SUBPATTERN:
                group, on, off, body = argument
                self._mark(group, 0)
                self._add(body, (flags & ~off) | on)
                self._mark(group, 1)
            elif op is code.BRANCH:
                self._add_branch([(body, flags) for body in argument[1]])
            elif op in (code.ASSERT, code.ASSERT_NOT):
                direction, body = argument
                back = body.getwidth()[0] if direction < 0 else 0
                self._add_inner("look" if op is code.ASSERT else "look-not", body, flags, back)
            elif op is code.ATOMIC_GROUP:
                self._add_inner("atomic", argument, flags, 0)
            elif op is code.AT:
                self._put("at", _native(op, argument, flags))
            elif op is code.GROUPREF:
                self._put("again", argument, bool(flags & re.IGNORECASE))
            elif op is code.GROUPREF_EXISTS:
                group, yes, no = argument
                choice = self._put("if", group, 0)
                self._add(yes, flags)
                leave = self._put("jump", 0)
                self._program[choice][2] = len(self._program)
                self._add(no or (), flags)
                self._program[leave][1] = len(self._program)
            else:
                assert op is code.FAILURE, f"no way to count {op}"
                self._put("fail")

    def _add_repeat(self, op: Any, argument: Any, flags: int) -> None:
        least, most, body = argument
        if self._most is not None and most is not code.MAXREPEAT:
            most = max(least, min(most, self._most))
        if len(body) == 1 and body[0][0] in _ONE:
            kind = {code.MAX_REPEAT: "many", code.MIN_REPEAT: "few", code.POSSESSIVE_REPEAT: "all"}[op]
            one = body[0]
            run = _native(code.MAX_REPEAT, (0, most, [one]), flags)
            self._put(kind, least, most, run)
        elif op is code.POSSESSIVE_REPEAT:
            self._add_inner("atomic", [(code.MAX_REPEAT, (least, most, body))], flags, 0)
        else:
            self._put("enter")
            loop = self._put("loop", least, most, op is code.MAX_REPEAT, 0)
            self._add(body, flags)
            self._put("jump", loop)
            self._program[loop][4] = len(self._program)

    def _add_branch(self, bodies: list[tuple[Any, int]]) -> None:
        leaves = []
        for body, flags in bodies[:-1]:
            split = self._put("split", 0)
            self._add(body, flags)
            leaves.append(self._put("jump", 0))
            self._program[split][1] = len(self._program)
        self._add(*bodies[-1])
        for leave in leaves:
            self._program[leave][1] = len(self._program)

    def _add_inner(self, kind: str, body: Any, flags: int, back: int) -> None:
        inner = self._put(kind, back, 0)
        self._add(body, flags)
        self._put("match")
        self._program[inner][2] = len(self._program)

    def _mark(self, group: int | None, end: int) -> None:
        if self._remembers and group is not None:
            self._put("mark", 2 * group + end)

    # --- The program on a text ---

    def _run(
        self, at: int, text: str, pos: int, marks: tuple[int, ...], empty: int, least_end: int
    ) -> tuple[int | None, tuple[int, ...]]:
        """The end of a match that begins at `pos`, not at `empty` and not before `least_end`; None if there is none."""
        program, length = self._program, len(text)
        marks = marks or (-1,) * (2 * self._groups if self._remembers else 1)
        loops: Any = None
        ways: list[tuple[int, int, Any, tuple[int, ...]]] = []
        while True:
            words = program[at]
            op = words[0]
            held = True
            if op == "one":
                self.taken += 1  # compared with the limit at the next retry
                held = pos < length and (
                    known if (known := words[1].get(text[pos])) is not None else _is(words, text, pos)
                )
                pos += 1
            elif op in ("many", "few", "all"):
                _, least, most, run = words
                end = run.match(text, pos).end()
                self._count(end - pos + 1)
                held = end - pos >= least
                if held and op == "all":
                    pos = end
                elif held and op == "many":
                    ways += [(at + 1, place, loops, marks) for place in range(pos + least, end)]
                    pos = end
                elif held:
                    ways += [(at + 1, place, loops, marks) for place in range(end, pos + least, -1)]
                    pos += least
            elif op == "jump":
                at = words[1] - 1
            elif op == "split":
                ways.append((words[1], pos, loops, marks))
            elif op == "enter":
                loops = (0, -1, loops)
            elif op == "loop":
                self._count(1)
                _, least, most, greedy, leave = words
                count, last, outer = loops
                again = count < most and pos != last
                if count < least or (again and greedy):
                    if count >= least:
                        ways.append((leave, pos, outer, marks))
                    loops = (count + 1, pos if count >= least else -1, outer)
                else:
                    if again:
                        ways.append((~at, pos, loops, marks))
                    loops, at = outer, leave - 1
            elif op in ("look", "look-not", "atomic"):
                _, back, after = words
                end_of, kept = (None, marks) if pos < back else self._run(at + 1, text, pos - back, marks, -1, 0)
                held = (end_of is not None) is (op != "look-not")
                if held and op != "look-not":
                    marks = kept
                if held and op == "atomic":
                    assert end_of is not None
                    pos = end_of
                at = after - 1
            elif op == "at":
                self._count(1)
                held = words[1].match(text, pos) is not None
            elif op == "mark":
                number = words[1]
                marks = (*marks[:number], pos, *marks[number + 1 :])
            elif op == "again":
                begin, end = marks[2 * words[1]], marks[2 * words[1] + 1]
                said, here = text[begin:end], text[pos : pos + end - begin]
                self._count(end - begin + 1)
                held = begin >= 0 and end >= 0 and (said == here or (words[2] and said.lower() == here.lower()))
                pos += end - begin
            elif op == "if":
                at = at if marks[2 * words[1] + 1] >= 0 else words[2] - 1
            elif op == "match":
                if pos != empty and pos >= least_end:
                    return pos, marks
                held = False
            else:
                held = False
            at += 1
            if not held:
                if not ways:
                    return None, marks
                self._count(1)
                at, pos, loops, marks = ways.pop()
                if at < 0:  # one more round of a lazy loop
                    at = ~at
                    count, last, outer = loops
                    loops = (count + 1, pos, outer)
                    at += 1


def _is(words: list[Any], text: str, pos: int) -> bool:
    known: dict[str, bool] = words[1]
    character = text[pos]
    if character not in known:
        known[character] = words[2].match(character) is not None
    return known[character]


def _native(op: Any, argument: Any, flags: int) -> re.Pattern[str]:
    """sre's own program for one item of a tree, under its flags."""
    state = parser.State()
    state.flags = flags & _LOCAL
    if op is code.MAX_REPEAT:
        least, most, body = argument
        argument = (least, most, parser.SubPattern(state, body))
    return compiler.compile(parser.SubPattern(state, [(op, argument)]), flags & _LOCAL)  # type: ignore[no-any-return]


def bodies(op: Any, argument: Any) -> list[Any]:
    """The parts of an item that are themselves sequences of items."""
    if op in REPEATS:
        return [argument[2]]
    if op is code.SUBPATTERN:
        return [argument[3]]
    if op is code.BRANCH:
        return list(argument[1])
    if op is code.ATOMIC_GROUP:
        return [argument]
    if op is code.GROUPREF_EXISTS:
        return [body for body in argument[1:] if body]
    return [argument[1]] if op in (code.ASSERT, code.ASSERT_NOT) else []


def items(tree: Any) -> Iterator[tuple[Any, Any]]:
    for op, argument in tree:
        yield op, argument
        for body in bodies(op, argument):
            yield from items(body)
