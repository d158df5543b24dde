"""Desired and live states to Changes.

Argo CD's own normalised and predicted states are compared, so a Change is a difference that Argo CD itself sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from argolint.comparison import managed_fields
from argolint.kubernetes import ITEM_NAMES
from argolint.model import MISSING, Change, Json, Object, Writer
from argolint.redaction import is_hidden, of_secret
from argolint.values import join_pointer

Pair = tuple[str, Json, Json]
"""pointer, desired, live; a side that lacks the field is MISSING."""


def changes(desired: Object, live: Object, raw_live: Object | None = None) -> tuple[Change, ...]:
    """Every difference of the two states, sorted by pointer; `raw_live` (with managedFields) names the writers."""
    source = raw_live or live
    return tuple(
        change(pointer, want, have, desired, live, managed_fields.writer(source, pointer))
        for pointer, want, have in sorted(differences(desired, live), key=lambda pair: pair[0])
    )


def change(
    pointer: str, want: Json, have: Json, desired: Object | None, live: Object | None, writer: Writer | None = None
) -> Change:
    """One difference of two states, with what may be printed of it."""
    masked = of_secret(live, pointer)
    secret = masked or is_hidden(have, live, pointer) or is_hidden(want, desired, pointer)
    return Change(pointer, want, have, writer, secret or is_hidden(want, live, pointer), masked)


def differences(desired: Json, live: Json, pointer: str = "") -> Iterator[Pair]:
    """The deepest pairs that differ. Equal subtrees are dropped on the way; pointers of lists are the live side's
    indexes, those of items that only desired holds are desired's."""
    if desired == live and type(desired) is type(live):
        return
    if isinstance(desired, dict) and isinstance(live, dict):
        for key in desired.keys() | live.keys():
            yield from differences(desired.get(key, MISSING), live.get(key, MISSING), pointer + join_pointer(key))
    elif isinstance(desired, list) and isinstance(live, list):
        if len(desired) == len(live):
            for index, (want, have) in enumerate(zip(desired, live, strict=True)):
                yield from differences(want, have, f"{pointer}/{index}")
        else:
            yield from _unequal_lists(desired, live, pointer)
    elif desired is not live and not _same_number(desired, live):
        yield pointer, desired, live


def _same_number(desired: Json, live: Json) -> bool:
    """JSON knows one kind of number: 1 and 1.0 are equal, true is no number."""
    numbers = (int, float)
    return (
        isinstance(desired, numbers)
        and isinstance(live, numbers)
        and not isinstance(desired, bool)
        and not isinstance(live, bool)
        and desired == live
    )


def _unequal_lists(desired: list[Any], live: list[Any], pointer: str) -> Iterator[Pair]:
    """Items are paired by the first key that names each one on both sides; what nothing names by place, texts and numbers by the
    runs that both lists hold where that leaves less that differs."""
    key = next((k for k in ITEM_NAMES if _unique(desired, k) and _unique(live, k)), None)
    if key is not None:
        have_at = {item[key]: index for index, item in enumerate(live)}
        want_names = {item[key] for item in desired}
        for index, want in enumerate(desired):
            place = have_at.get(want[key])
            if place is None:
                yield f"{pointer}/{index}", want, MISSING
            else:
                yield from differences(want, live[place], f"{pointer}/{place}")
        for index, have in enumerate(live):
            if have[key] not in want_names:
                yield f"{pointer}/{index}", MISSING, have
        return
    placed = _by_place(desired, live, pointer, 0, 0)
    if not all(isinstance(item, _SCALARS) for item in (*desired, *live)):
        yield from placed
        return
    by_place, aligned = list(placed), list(_by_value(desired, live, pointer))
    yield from _joined(aligned) if len(aligned) < len(by_place) else by_place


def _joined(pairs: list[Pair]) -> Iterator[Pair]:
    """What only desired holds and what only live holds at one index, as one pair."""
    left = {pointer: want for pointer, want, have in pairs if have is MISSING}
    gone = {pointer: have for pointer, want, have in pairs if want is MISSING}
    both = left.keys() & gone.keys()
    yield from (pair for pair in pairs if pair[0] not in both or MISSING not in pair[1:])
    yield from ((pointer, left[pointer], gone[pointer]) for pointer in sorted(both))


_SCALARS = (str, int, float, type(None))


def _by_place(desired: list[Any], live: list[Any], pointer: str, want_from: int, have_from: int) -> Iterator[Pair]:
    """Items beside each other, from these indexes of the two lists on."""
    for at, (want, have) in enumerate(zip_longest(desired, live, fillvalue=MISSING)):
        yield from differences(want, have, f"{pointer}/{at + (want_from if have is MISSING else have_from)}")


def _by_value(desired: list[Any], live: list[Any], pointer: str) -> Iterator[Pair]:
    """Items as the longest runs that both lists hold align them."""
    for _, have, have_end, want, want_end in SequenceMatcher(None, live, desired, autojunk=False).get_opcodes():
        yield from _by_place(desired[want:want_end], live[have:have_end], pointer, want, have)


def _unique(found: list[Any], key: str) -> bool:
    names = [item.get(key) if isinstance(item, dict) else None for item in found]
    return all(isinstance(name, str | int) for name in names) and len(set(names)) == len(names)
