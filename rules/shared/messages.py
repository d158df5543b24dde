"""What an error text says, for every rule that reads one: its innermost statement, the object that it names, the fields it refuses.

Argo CD, gRPC, Helm and kubectl each put words of their own before an error (wrappers.yaml); what decides stands at its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from argolint.redaction import excerpt
from argolint.values import join_pointer
from argolint.values.knowledge import load

_SHOWN = 240
"""Characters of a message that a sentence quotes."""


@cache
def _wrappers() -> re.Pattern[str]:
    entries = load(__package__, "wrappers.yaml")["before"]
    return re.compile(r"\s*+(?:" + "|".join(f"(?:{entry})" for entry in entries) + r"):?\s++(?=\S)", re.IGNORECASE)


@cache
def _program() -> re.Pattern[str]:
    return re.compile("|".join(load(__package__, "wrappers.yaml")["through"]), re.DOTALL)


@cache
def _remarks() -> re.Pattern[str]:
    return re.compile("|".join(load(__package__, "wrappers.yaml")["remarks"]))


def innermost(message: str) -> str:
    """The message without what gRPC, the command line, the cache and Argo CD's own callers put around it."""
    text = said(message)
    while (found := _wrappers().match(text)) is not None:
        text = text[found.end() :]
    return text


def said(message: str) -> str:
    """The message from where a program's own words begin, all of it when it quotes none."""
    text = _remarks().sub("", message)
    return text[max((found.end() for found in _program().finditer(text)), default=0) :]


def quoted(message: str, limit: int = _SHOWN) -> str:
    """The message as a sentence may quote it; of a long one what decides: the wrappers go first, the middle goes next."""
    whole = excerpt(message, limit)
    return shortened(innermost(message), limit) if whole.endswith("…") else whole


def shortened(text: str, limit: int = _SHOWN) -> str:
    """The text without its middle where it is too long: who it is about stands at its beginning, the reason at its end."""
    whole = excerpt(text, 10_000)
    if len(whole) <= limit:
        return whole
    head = limit * 2 // 5
    return f"{whole[:head].rstrip()} … {whole[len(whole) - (limit - head - 3) :].lstrip()}"


@cache
def _stages() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (entry["name"], re.compile("|".join(entry["match"]), re.IGNORECASE))
        for entry in load(__package__, "wrappers.yaml")["stages"]
    )


def stage(message: str) -> str:
    """Where Argo CD was when it failed: server-side-diff, structured-merge, three-way, target-state, live-state or empty."""
    return next((name for name, match in _stages() if match.search(message)), "")


@dataclass(frozen=True, slots=True)
class Named:
    """The object that a message names; what it does not tell is empty. `group` is None when it is not told."""

    kind: str
    name: str
    namespace: str = ""
    group: str | None = None


_INVALID = re.compile(
    r'\b([A-Z]\w{0,100})(?:\.([\w.-]{1,200}))? "([^"\s]{1,253})" (?:is|was) (?:invalid|forbidden|not found)'
)
_DRY_RUN = re.compile(r"for resource ([A-Z]\w{0,100})/([^\s:]{1,253})")
_TYPED = re.compile(
    r"\((?:([^/;()\s]{1,253})/)?([^/;()\s]{1,253}); (?:([^,()/\s]{1,253})/)?[^,()/\s]{1,100}, Kind=(\w{1,100})\)"
)


def named(message: str) -> Named | None:
    """The object that the message is about, as the API server and the diff write it."""
    if found := _TYPED.search(message):
        return Named(found[4], found[2], found[1] or "", found[3] or "")
    if found := _INVALID.search(message):
        return Named(found[1], found[3], "", found[2] or "")
    if found := _DRY_RUN.search(message):
        return Named(found[1], found[2])
    return None


@dataclass(frozen=True, slots=True)
class FieldError:
    """One field that is refused: its path as written (`spec.containers[0].image`), as a pointer, the sort of error and the rest."""

    path: str
    pointer: str
    sort: str
    detail: str


# k8s.io/apimachinery pkg/util/validation/field, ErrorType.String
_SORTS = "Not found|Required value|Duplicate value|Invalid value|Unsupported value|Forbidden|Too long|Too many|Too few|Internal error"
_FIELD = re.compile(
    r"(?<![\w.\]])([a-zA-Z][\w-]{0,100}(?:\.[\w/-]{1,100}|\[[^\[\]]{0,200}\]){0,30}): (?!Internal error occurred)("
    + _SORTS
    + r")(?::\s|(?=[,\]\s])|$)"
)
# k8s.io/kube-openapi pkg/util/proto/validation, which kubectl asks before it sends anything
_UNSENT = re.compile(r'ValidationError\(\w{1,100}\.?([\w.\[\]-]{0,500})\): missing required field "([^"]{1,200})" in ')
_STEP = re.compile(r"\[([^\[\]]*)\]|([^.\[\]]+)")
_VALUE = re.compile(r'^(?:"(?:[^"\\]|\\.)*+"|map\[[^\n]{0,2000}?\](?:\{[^{}]*+\})?|\S{1,2000}):\s')

_RETRIED = re.compile(r"\(retried \d{1,9} times\)\.?")


def field_errors(message: str) -> tuple[FieldError, ...]:
    """The fields that a validation refuses, as all of Kubernetes and most operators write them; empty without any."""
    return tuple(_fields(message)) or tuple(
        FieldError(path, join_pointer(*_tokens(path)), "Required value", "its schema asks for it")
        for path in (f"{above}.{name}".lstrip(".") for above, name in _UNSENT.findall(message))
    )


def _tokens(path: str) -> list[str]:
    return [key if key else name for key, name in _STEP.findall(path)]


def _fields(message: str) -> Iterator[FieldError]:
    found = list(_FIELD.finditer(message))
    for place, one in enumerate(found):
        end = found[place + 1].start() if place + 1 < len(found) else len(message)
        rest = _RETRIED.sub("", message[one.end() : end]).strip(" \n,.]")
        detail = _VALUE.sub("", rest, count=1) if one[2] in ("Invalid value", "Unsupported value") else rest
        yield FieldError(one[1], join_pointer(*_tokens(one[1])), one[2], detail)
