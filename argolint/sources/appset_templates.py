"""Fills the parameters of one element into texts of an ApplicationSet, as its controller does.

Without `goTemplate`, `{{ key }}` is one parameter, and unknown ones stay as written (valyala/fasttemplate). With it, a text is a Go
template with the functions of sprig. Supported is the subset that names use: paths, pipes, literals and the functions below. Anything else
in a template raises an error; nothing is guessed.

Sources: applicationset/utils/utils.go (Replace), template_functions.go of Argo CD; text/template of Go; Masterminds/sprig.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from argolint.model import MISSING
from argolint.values import plain, shorten
from argolint.values.patterns import regex


class NotEvaluatedError(Exception):
    """A generator or a template is not evaluated here; the text is the end of a sentence that says why."""


Params = Mapping[str, Any]
MAX_TEXT = 100_000
"""Most characters of a template, and of its result."""
_MAX_DEPTH = 20
_SHOWN = 80


def fill(text: str, params: Params, *, go: bool, strict: bool) -> str:
    """The text with the parameters filled in. `strict`: a missing parameter is an error (goTemplateOptions missingkey=error)."""
    if len(text) > MAX_TEXT:
        raise NotEvaluatedError("a text of its template is too long")
    if "{{" not in text:
        return text
    made = _go(text, params, strict=strict) if go else _fast(text, params)
    if len(made) > MAX_TEXT:
        raise NotEvaluatedError("a text that it makes is too long")
    return made


def _fast(text: str, params: Params) -> str:
    if not any("}}" in line.partition("{{")[2] for line in text.split("\n")):
        return text
    found = [text.partition("{{")[0]]
    for part in text.split("{{")[1:]:
        tag, end, rest = part.partition("}}")
        if not end:
            raise NotEvaluatedError("its template has {{ without }}")
        value = params.get(tag.strip())
        found.append(value if isinstance(value, str) and tag.strip() else "{{" + tag + "}}")
        found.append(rest)
    return "".join(found)


# Go templates

_ACTION = regex(r"\{\{((?:[^{}]|\{(?!\{)|\}(?!\}))*+)\}\}")
_TOKEN = regex(
    r"""\s*(?:
    (?P<text>"(?:[^"\\\n]|\\.)*"|`[^`]*`)
    |(?P<number>-?[0-9]{1,18}(?![.\w]))
    |(?P<path>\$?(?:\.[A-Za-z_]\w*)+|\$?\.(?!\w)|\$(?!\w))
    |(?P<word>[A-Za-z]\w*)
    |(?P<mark>[|()])
    )(?P<space>\s?)""",
    re.VERBOSE,
)


def _go(text: str, params: Params, *, strict: bool) -> str:
    found, at, trims = [], 0, False
    for action in _ACTION.finditer(text):
        before = text[at : action.start()]
        if "{{" in before:
            raise NotEvaluatedError("its template has {{ inside of {{")
        before = before.lstrip(_SPACE) if trims else before
        body = action[1]
        trims_before = body[:1] == "-" and body[1:2] in _SPACES
        found.append(before.rstrip(_SPACE) if trims_before else before)
        at, trims = action.end(), body[-1:] == "-" and body[-2:-1] in _SPACES
        inside = body[1 if trims_before else 0 : -1 if trims else None].strip()
        if not (inside.startswith("/*") and inside.endswith("*/")):
            found.append(_printed(_Pipeline(inside, params, strict=strict).value()))
    rest = text[at:]
    if "{{" in rest:
        raise NotEvaluatedError("its template has {{ without }}")
    return "".join((*found, rest.lstrip(_SPACE) if trims else rest))


_SPACE = " \t\r\n"
_SPACES = tuple(_SPACE)


@lru_cache(maxsize=4096)
def _tokens(text: str) -> tuple[tuple[str, str, bool], ...]:
    """(kind, text, whether a space follows) of each token."""
    found, at = [], 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise NotEvaluatedError(f"its template has {{{{ {plain(shorten(text, _SHOWN))} }}}}")
        kind = token.lastgroup if token.lastgroup != "space" else next(k for k in _KINDS if token[k] is not None)
        assert kind is not None
        found.append((kind, token[kind], bool(token["space"])))
        at = token.end()
    return tuple(found)


_KINDS = ("text", "number", "path", "word", "mark")


@dataclass
class _Pipeline:
    """One action: commands separated by bars; each gets the result of the previous one as its last argument."""

    text: str
    params: Params
    strict: bool
    at: int = 0
    depth: int = 0

    def __post_init__(self) -> None:
        self._all = _tokens(self.text)

    def value(self) -> Any:
        made = self._pipe()
        if self.at < len(self._all):
            raise self._unknown()
        return made

    def _unknown(self) -> NotEvaluatedError:
        return NotEvaluatedError(f"its template has {{{{ {plain(shorten(self.text, _SHOWN))} }}}}")

    def _peek(self) -> tuple[str, str]:
        kind, text, _ = self._all[self.at] if self.at < len(self._all) else ("", "", False)
        return kind, text

    def _pipe(self) -> Any:
        made = self._command(())
        while self._peek() == ("mark", "|"):
            self.at += 1
            if self._peek()[0] != "word":
                raise self._unknown()
            made = self._command((made,))
        return made

    def _command(self, last: tuple[Any, ...]) -> Any:
        kind, text = self._peek()
        if kind == "word" and text not in _CONSTANTS:
            function = _FUNCTIONS.get(text)
            if function is None:
                raise self._unknown()
            self.at += 1
            arguments = []
            while self._peek()[0] and self._peek() not in (("mark", "|"), ("mark", ")")):
                arguments.append(self._operand())
            try:
                return function(*arguments, *last)
            except (TypeError, ValueError, IndexError, AttributeError):
                raise self._unknown() from None
        return self._operand()

    def _operand(self) -> Any:
        kind, text = self._peek()
        self.at += 1
        if kind == "text":
            return _literal(text, self)
        if kind == "number":
            return int(text)
        if kind == "path":
            return self._walk(self.params, text.lstrip("$").strip("."))
        if kind == "word" and text in _CONSTANTS:
            return _CONSTANTS[text]
        if (kind, text) == ("mark", "("):
            self.depth += 1
            if self.depth > _MAX_DEPTH:
                raise self._unknown()
            made = self._pipe()
            if self._peek() != ("mark", ")"):
                raise self._unknown()
            spaced = self._all[self.at][2]
            self.at += 1
            self.depth -= 1
            following, path = self._peek()
            if following == "path" and not spaced:
                self.at += 1
                return self._walk(made, path.strip("."))
            return made
        raise self._unknown()

    def _walk(self, node: Any, path: str) -> Any:
        for name in path.split(".") if path else ():
            if node is MISSING or node is None or not isinstance(node, Mapping):
                raise NotEvaluatedError(f"its template names the parameter .{plain(path)}, which an element lacks")
            if name not in node and self.strict:
                raise NotEvaluatedError(f"its template names the parameter .{plain(path)}, which an element lacks")
            node = node.get(name, MISSING)
        return _number(node)


def _number(value: Any) -> Any:
    """The parameter as Go has it: numbers from JSON are float64."""
    return float(value) if type(value) is int and abs(value) < 10**15 else value


def _literal(text: str, pipeline: _Pipeline) -> str:
    if text.startswith("`"):
        return text[1:-1]
    try:
        found = json.loads(text)
    except ValueError:
        raise pipeline._unknown() from None
    return str(found)


def _printed(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if whole and abs(value) < 10**15:
        return str(int(value))
    raise NotEvaluatedError("its template prints a parameter that is no plain text or number, or that an element lacks")


def sanitized(name: str) -> str:
    """Argo CD's `normalize`: the text as a valid name."""
    return re.sub("[^-a-z0-9.]", "-", name.lower())[:253].strip("-.")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(value)
    return value


def _index(node: Any, *keys: Any) -> Any:
    for key in keys:
        if isinstance(node, Mapping) and isinstance(key, str):
            node = node.get(key, MISSING)
        elif isinstance(node, Sequence) and not isinstance(node, str) and type(key) is int and 0 <= key < len(node):
            node = node[key]
        else:
            raise TypeError(node)
    return _number(node)


def _empty(value: Any) -> bool:
    return value is MISSING or value is None or value in ("", 0, False, [], {})


def _printf(pattern: Any, *values: Any) -> str:
    parts = re.split(r"%([sdv%])", _text(pattern))
    if any("%" in part for part in parts[::2]):
        raise ValueError(pattern)
    left, found = list(values), [parts[0]]
    for verb, rest in zip(parts[1::2], parts[2::2], strict=True):
        if verb == "%":
            found.append("%")
        else:
            value = left.pop(0)
            if (verb == "s" and not isinstance(value, str)) or (verb == "d" and type(value) is not int):
                raise TypeError(value)
            found.append(_printed(value))
        found.append(rest)
    if left:
        raise ValueError(pattern)
    return "".join(found)


def _replaced(old: Any, new: Any, text: Any) -> str:
    if not old or len(_text(text)) * (len(_text(new)) + 1) > MAX_TEXT:
        raise ValueError(old)
    return _text(text).replace(_text(old), _text(new))


def _truncated(count: Any, text: Any) -> str:
    if type(count) is not int:
        raise TypeError(count)
    return _text(text)[:count] if count >= 0 else _text(text)[count:]


_CONSTANTS: Mapping[str, Any] = {"true": True, "false": False}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "default": lambda given, value: given if _empty(value) else value,
    "first": lambda some: _listed(some)[0],
    "index": _index,
    "join": lambda sign, some: _text(sign).join(map(_text, _listed(some))),
    "last": lambda some: _listed(some)[-1],
    "lower": lambda text: _text(text).lower(),
    "normalize": lambda text: sanitized(_text(text)),
    "printf": _printf,
    "quote": lambda text: json.dumps(_text(text), ensure_ascii=False),
    "replace": _replaced,
    "splitList": lambda sign, text: _text(text).split(_text(sign)),
    "squote": lambda text: f"'{_text(text)}'",
    "toString": _printed,
    "trim": lambda text: _text(text).strip(),
    "trimPrefix": lambda prefix, text: _text(text).removeprefix(_text(prefix)),
    "trimSuffix": lambda suffix, text: _text(text).removesuffix(_text(suffix)),
    "trunc": _truncated,
    "upper": lambda text: _text(text).upper(),
}
