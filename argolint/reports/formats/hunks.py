"""Changed fields as a YAML diff: the keys above once, then the old and new values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import yaml

from argolint.reports.document import GateField
from argolint.values import index_of, split_pointer
from argolint.values.decoding import json_value

_MOST_LINES = 12
"""Most lines of one value."""


def hunk(fields: Iterable[GateField]) -> Iterator[str]:
    """The lines, each with a blank, `-` or `+` in front."""
    above: tuple[str, ...] = ()
    for field in sorted(fields, key=lambda f: _order(f.pointer)):
        *keys, last = split_pointer(field.pointer) or ("",)
        common = 0
        while common < min(len(above), len(keys)) and above[common] == keys[common]:
            common += 1
        for depth, key in enumerate(keys[common:], common):
            yield f"  {'  ' * depth}{_key(key)}"
        above = tuple(keys)
        for sign, side in (("-", field.base), ("+", field.head)):
            if side is not None:
                yield from (f"{sign} {'  ' * len(keys)}{line}" for line in _value(last, side))


def _order(pointer: str) -> tuple[tuple[int, str], ...]:
    tokens = split_pointer(pointer) if pointer else ()
    return tuple((index_of(token) or 0, token) for token in tokens)


def _key(token: str) -> str:
    return f"- # item {token}" if index_of(token) is not None else f"{_scalar(token)}:"


def _scalar(token: str) -> str:
    """A key as YAML writes it."""
    return yaml.safe_dump(token, width=2**31, allow_unicode=True).partition("\n")[0]


def _value(key: str, text: str) -> Sequence[str]:
    """A key with its value: as YAML if the text is JSON, else the text as it is, cut or masked."""
    item = index_of(key) is not None
    try:
        value = json_value(text.encode())
    except (msgspec.DecodeError, UnicodeEncodeError):
        return [f"- {text}" if item else f"{_scalar(key)}: {text}"]
    held = [value] if item else {key: value}
    lines = yaml.safe_dump(held, sort_keys=False, allow_unicode=True, width=2**31).rstrip().splitlines()
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"… {len(lines) - _MOST_LINES} more lines"]
    return lines
