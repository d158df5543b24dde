"""Masks several values of one place: a part that is masked in one is masked in all.

A password that looks like a word is recognized only by the generated one that replaces it.
"""

from __future__ import annotations

from collections.abc import Sequence

from argolint.model import Json
from argolint.redaction.names import is_secret, looks_typed
from argolint.redaction.redactor import HIDDEN
from argolint.values.patterns import regex

_TELLING = 3
"""Most values that are compared; an object that thousands of applications share has thousands."""
_WORD = regex(r"[^\s\"'=:,;/@{}\[\]()<>|&]{6,200}")


def alike(values: Sequence[Json], printed: Sequence[Json]) -> list[Json]:
    """The values for printing, each masked wherever another one is."""
    found = list(printed)
    differ = [pair for pair in zip(values, printed, strict=True) if pair[0] is not pair[1] and pair[0] != pair[1]]
    for raw, without in differ[:_TELLING]:
        found = [_shown_where_alike(raw, without, value, one) for value, one in zip(values, found, strict=True)]
    return found


def _shown_where_alike(raw: Json, printed: Json, value: Json, found: Json) -> Json:
    """The masked value `found`, additionally masked at the places where another value `raw` was masked to `printed`."""
    if printed is raw:
        return found
    if isinstance(printed, dict) and isinstance(raw, dict) and isinstance(value, dict) and isinstance(found, dict):
        if found.keys() != value.keys():
            return found  # a key was masked
        known = raw.keys() & printed.keys() & value.keys()
        return {k: _shown_where_alike(raw[k], printed[k], value[k], v) if k in known else v for k, v in found.items()}
    if isinstance(printed, list) and isinstance(raw, list) and isinstance(value, list) and isinstance(found, list):
        if len(raw) != len(value):
            return found
        return [_shown_where_alike(*four) for four in zip(raw, printed, value, found, strict=True)]
    if isinstance(printed, str) and isinstance(raw, str) and isinstance(found, str) and isinstance(value, str):
        return found if raw in (printed, value) else _text(raw, printed, found, unread=found == value)
    return found


def _text(raw: str, printed: str, found: str, *, unread: bool) -> str:
    if printed == HIDDEN:
        return HIDDEN if is_secret("secret", found) else found
    kept = printed.split(HIDDEN)
    if (places := _places(kept, found)) is not None:
        parts = [kept[0]]
        for (start, end), after in zip(places, kept[1:], strict=True):
            parts += [HIDDEN if is_secret("secret", found[start:end]) else found[start:end], after]
        return "".join(parts)
    if not unread:
        return found
    known = set(_WORD.findall(raw))
    return _WORD.sub(lambda word: HIDDEN if word[0] not in known and looks_typed(word[0]) else word[0], found)


def _places(kept: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """The spans of the text that lie between the unmasked parts (`kept`) of another text; None if it lacks one of these parts."""
    first, last = kept[0], kept[-1]
    end = len(text) - len(last)
    if len(kept) < 2 or end < len(first) or not (text.startswith(first) and text.endswith(last)):
        return None
    places, at = [], len(first)
    for part in kept[1:-1]:
        found = text.find(part, at, end)
        if found < 0:
            return None
        places.append((at, found))
        at = found + len(part)
    return [*places, (at, end)]
