"""Removes wrappers from a message: Argo CD, gRPC, Helm and kubectl each add words before an error (wrappers.yaml).

The reason is at its end; the stage in Argo CD is at its beginning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from argolint.redaction import excerpt
from argolint.values.knowledge import load

_SHOWN = 240
"""Most characters of a message in a quotation."""
READ = 1 << 16
"""Most characters of a text that are read."""


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """The parts of a text.

    `stage`: where Argo CD failed (server-side-diff, structured-merge, three-way, target-state, live-state; empty if the text does not show
    it); `said`: the text from the program's own words on; `innermost`: the rest without any wrapper.
    """

    text: str
    stage: str
    said: str
    innermost: str


@lru_cache(maxsize=4096)
def unwrap(text: str) -> Unwrapped:
    """The text without its wrappers; only its first 65,536 characters are read."""
    read = text[:READ]
    remainder = _without_remarks(read)
    remainder = remainder[max((found.end() for found in _program().finditer(remainder)), default=0) :]
    inner = remainder
    while (found := _wrappers().match(inner)) is not None:
        inner = inner[found.end() :]
    stage = next((name for name, match in _stages() if match.search(read)), "")
    return Unwrapped(text, stage, without_quotes(remainder), without_quotes(inner))


def without_quotes(text: str) -> str:
    """The text without quotes around the whole of it: a sentence that quotes it adds its own."""
    line = text.strip()
    return line[1:-1] if line[:1] == line[-1:] == '"' and line.count('"') == 2 else text


def quoted(message: str, limit: int = _SHOWN) -> str:
    """The message for a quotation; a long one first loses its wrappers, then its middle."""
    whole = without_quotes(excerpt(message, limit))
    return shortened(unwrap(message).innermost, limit) if whole.endswith("…") else whole


def shortened(text: str, limit: int = _SHOWN) -> str:
    """The text without its middle if it is too long: the subject is at its beginning, the reason at its end."""
    whole = excerpt(_without_remarks(text[:READ]), 10_000)
    if len(whole) <= limit:
        return whole
    head = limit * 2 // 5
    return f"{whole[:head].rstrip()} … {whole[len(whole) - (limit - head - 3) :].lstrip()}"


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


def _without_remarks(text: str) -> str:
    """The text without hints, and without what says less than the reason."""
    left = _remarks().sub("", text)
    for seen, drop in _weaker():
        left = drop.sub("", left) if seen.search(left) else left
    return left


@cache
def _weaker() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    entries = load(__package__, "wrappers.yaml")["weaker"]
    return tuple((re.compile(entry["seen"]), re.compile(entry["drop"])) for entry in entries)


@cache
def _stages() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (entry["name"], re.compile("|".join(entry["match"]), re.IGNORECASE))
        for entry in load(__package__, "wrappers.yaml")["stages"]
    )
