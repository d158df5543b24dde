"""Go's regular expressions (RE2) in jq programs: which ones Go compiles, and their translation for Oniguruma, which C jq uses.

Go has no look-around, no back-references, no possessive or atomic groups. A jq program that reaches such an expression fails, and Argo CD
skips the ignore rule.

Source: Go regexp/syntax (parse.go), with the flags that regexp.Compile sets (syntax.Perl).
"""

from __future__ import annotations

import re
import sys

from argolint.values.patterns import regex

_MAX_REPEAT = 1000
_REPEAT = regex(r"[*+?]\??|\{([0-9]+)(?:(,)([0-9]*))?\}\??")
_GROUP = regex(r"\(\?(?:P?<([^>]*)>|([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)]))")
_NAME = regex(r"[A-Za-z0-9_]+")
_ESCAPE = regex(
    r"\\(?:0[0-7]{0,2}|[1-7][0-7]{1,2}|x[0-9A-Fa-f]{2}|x\{0*(?:10|[0-9A-Fa-f])?[0-9A-Fa-f]{1,4}\}|[pP](?:[A-Za-z]|\{\^?\w+\})|[AzbBaftnrvdDsSwW]|[^0-9A-Za-z\x80-\U0010ffff])"
)
_POSIX = regex(r"\[:\^?[a-z]+:\]")
_POSIX_NAMES = frozenset("alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit".split())
_CONTROLS = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_NOT_IN_CLASS = frozenset("AzbB")


def for_oniguruma(pattern: str) -> str | None:
    """The expression for Oniguruma in Perl's syntax, or None if Go does not compile it."""
    try:
        return _Reader(pattern).read()
    except _NotOfGoError:
        return None


class _NotOfGoError(Exception):
    """Go does not compile the expression."""


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._names: set[str] = set()
        self._lines = bool(re.search(r"\(\?[a-zA-Z]*m", pattern))
        """Whether `$` may match the end of a line."""

    def read(self) -> str:
        """The translated expression in one pass; groups are counted without recursion."""
        out: list[str] = []
        repeatable: list[bool] = [False]
        after_repeat = False
        while self._at < len(self._pattern):
            mark = self._pattern[self._at]
            repeat = _REPEAT.match(self._pattern, self._at)
            if repeat is not None and self._counts(repeat):
                if not repeatable[-1] or after_repeat:
                    raise _NotOfGoError
                after_repeat = True
                out.append(self._take(repeat))
                continue
            after_repeat = False
            if mark == "(":
                out.append(self._open(repeatable))
            elif mark == ")":
                if len(repeatable) == 1:
                    raise _NotOfGoError
                repeatable.pop()
                repeatable[-1] = True
                out.append(self._one())
            else:
                repeatable[-1] = mark != "|"
                out.append(self._item(mark))
        if len(repeatable) > 1:
            raise _NotOfGoError
        return "".join(out)

    def _take(self, found: re.Match[str]) -> str:
        self._at = found.end()
        return found[0]

    def _one(self) -> str:
        self._at += 1
        return self._pattern[self._at - 1]

    def _counts(self, repeat: re.Match[str]) -> bool:
        """False for a `{` that begins no repetition. Raises if the numbers are too large or in the wrong order."""
        if repeat[1] is None:
            return True
        low = _bounded(repeat[1])
        high = low if repeat[2] is None else _bounded(repeat[3]) if repeat[3] else _MAX_REPEAT
        if low > _MAX_REPEAT or high > _MAX_REPEAT or low > high:
            raise _NotOfGoError
        return True

    def _open(self, repeatable: list[bool]) -> str:
        if not self._pattern.startswith("(?", self._at):
            repeatable.append(False)
            return self._one()
        found = _GROUP.match(self._pattern, self._at)
        if found is None:
            raise _NotOfGoError
        self._at = found.end()
        if found[1] is not None:
            if not _NAME.fullmatch(found[1]) or found[1] in self._names:
                raise _NotOfGoError
            self._names.add(found[1])
            repeatable.append(False)
            return f"(?<{found[1]}>"
        flags = (found[2] or "") + (found[3] or "")
        if not set(flags) <= set("imsU"):
            raise _NotOfGoError
        if found[4] == ":":
            repeatable.append(False)
        return found[0]

    def _item(self, mark: str) -> str:
        if mark == "\\":
            if self._pattern.startswith("\\Q", self._at):
                return self._quoted()
            return self._escape()
        if mark == "[":
            return self._set()
        if mark == "$" and not self._lines:
            self._at += 1
            return r"\z"
        return self._one()

    def _quoted(self) -> str:
        end = self._pattern.find("\\E", self._at)
        text = self._pattern[self._at + 2 : end if end >= 0 else None]
        self._at = end + 2 if end >= 0 else len(self._pattern)
        return re.escape(text)

    def _escape(self) -> str:
        found = _ESCAPE.match(self._pattern, self._at)
        if found is None:
            raise _NotOfGoError
        self._at = found.end()
        text = found[0]
        return f"\\{text[1]}{{{text[2]}}}" if re.fullmatch(r"\\[pP][A-Za-z]", text) else text

    def _set(self) -> str:
        """A character class, up to its closing bracket. A bracket in first position is literal."""
        start = self._at
        self._at += 2 if self._pattern.startswith("[^", start) else 1
        out = [self._pattern[start : self._at]]
        first, low = True, ""
        while first or not self._pattern.startswith("]", self._at):
            if self._at >= len(self._pattern):
                raise _NotOfGoError
            first = False
            text, plain = self._member()
            if low and (not plain or low > plain):
                raise _NotOfGoError
            low = ""
            out.append(text)
            following = self._pattern[self._at : self._at + 2]
            if plain and len(following) == 2 and following[0] == "-" and following[1] != "]":
                low = plain
                out.append("-")
                self._at += 1
        self._at += 1
        return "".join(out) + "]"

    def _member(self) -> tuple[str, str]:
        """One member of a class as written, and its character if it is a single one."""
        posix = _POSIX.match(self._pattern, self._at)
        if posix is not None:
            if posix[0].strip("[:^]") not in _POSIX_NAMES:
                raise _NotOfGoError
            return self._take(posix), ""
        if self._pattern[self._at] == "\\":
            text = self._escape()
            if text[1] in _NOT_IN_CLASS:
                raise _NotOfGoError
            return text, _character(text)
        mark = self._one()
        return ("\\" + mark if mark in "[&]" else mark), mark


def _character(escape: str) -> str:
    """The character of an escape; empty for a class."""
    kind = escape[1]
    if kind == "x":
        return chr(min(int(escape[2:].strip("{}"), 16), sys.maxunicode))
    if kind.isdigit():
        return chr(int(escape[1:], 8))
    return _CONTROLS.get(kind, "") if kind.isalpha() else kind


def _bounded(digits: str) -> int:
    """The number, or a number above the limit if it has too many digits."""
    return int(digits) if len(digits) <= 4 else _MAX_REPEAT + 1
