"""Computes Changes between desired and live states. The only importer of deepdiff.

It compares Argo CD's own normalized and predicted states, so a Change is a difference that Argo CD itself sees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from argolint.comparison import managed_fields
from argolint.model import MISSING, Change, Json, Object, Writer
from argolint.redaction import HIDDEN, in_places, is_hidden, of_secret
from argolint.values import join_pointer
from argolint.values.kubernetes import ITEM_NAMES

Pair = tuple[str, Json, Json]
"""pointer, desired, live; MISSING on a side without the field."""


def changes(desired: Object, live: Object, raw_live: Object | None = None) -> tuple[Change, ...]:
    """Every difference of the two states, sorted by pointer; `raw_live` (with managedFields) shows the writers."""
    source = raw_live or live
    return tuple(
        change(pointer, want, have, desired, live, managed_fields.writer(source, pointer))
        for pointer, want, have in sorted(differences(desired, live), key=lambda pair: pair[0])
    )


def change(
    pointer: str, want: Json, have: Json, desired: Object | None, live: Object | None, writer: Writer | None = None
) -> Change:
    """One difference, with its printable values."""
    masked = of_secret(live, pointer)
    shown = in_places(pointer, (want, desired), (have, live))
    secret = masked or HIDDEN in shown or is_hidden(want, live, pointer)
    return Change(pointer, want, have, writer, secret, masked, None if shown == [want, have] else tuple(shown))


def differences(desired: Json, live: Json, pointer: str = "") -> Iterator[Pair]:
    """The deepest pairs that differ.

    Equal subtrees are skipped. Pointers use the list indexes of live, or of desired for items that only desired has.
    """
    if desired != live or type(desired) is not type(live):
        yield from _unequal(desired, live, pointer)


def _unequal(desired: Json, live: Json, pointer: str) -> Iterator[Pair]:
    if isinstance(desired, dict) and isinstance(live, dict):
        for key in desired.keys() | live.keys():
            want, have = desired.get(key, MISSING), live.get(key, MISSING)
            if want != have or type(want) is not type(have):
                yield from _unequal(want, have, pointer + join_pointer(key))
    elif isinstance(desired, list) and isinstance(live, list):
        if reordered(desired, live):
            yield pointer, desired, live
        elif len(desired) == len(live):
            for index, (want, have) in enumerate(zip(desired, live, strict=True)):
                yield from differences(want, have, f"{pointer}/{index}")
        else:
            yield from _unequal_lists(desired, live, pointer)
    elif desired is not live and not _same_number(desired, live):
        yield pointer, desired, live


def reordered(desired: Json, live: Json) -> bool:
    """True for two lists with the same items in another order; linear in their size."""
    if not (isinstance(desired, list) and isinstance(live, list)) or len(desired) != len(live) or desired == live:
        return False
    wanted, held = (
        Counter(msgspec.json.encode(item, order="deterministic") for item in side) for side in (desired, live)
    )
    return wanted == held


def _same_number(desired: Json, live: Json) -> bool:
    """True for equal numbers in JSON, where 1 equals 1.0 and true is no number."""
    numbers = (int, float)
    return (
        isinstance(desired, numbers)
        and isinstance(live, numbers)
        and not isinstance(desired, bool)
        and not isinstance(live, bool)
        and desired == live
    )


_ALIGNED = 250_000
"""Most pairs of items to align, which takes quadratic time; beyond it the list differs as a whole."""


def _unequal_lists(desired: list[Any], live: list[Any], pointer: str) -> Iterator[Pair]:
    """Pairs of items, matched by the first key that is unique on both sides, else by deepdiff's alignment."""
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
    if len(desired) * len(live) > _ALIGNED:
        yield pointer, desired, live
        return
    from deepdiff import DeepDiff  # its import costs 145 ms and is seldom needed

    tree = DeepDiff(live, desired, view="tree", verbose_level=2, threshold_to_diff_deeper=0)
    found: list[Pair] = []
    for group in tree.values():
        for level in group:
            tokens = level.path(output_format="list", force="fake")
            side = [
                MISSING
                if type(value).__name__ in ("NotPresent", "ListItemRemovedOrAdded") or repr(value) == "not present"
                else value
                for value in (level.t2, level.t1)
            ]
            found.append((pointer + join_pointer(*tokens), side[0], side[1]))
    yield from sorted(found, key=lambda pair: pair[0])  # deepdiff returns sets


def _unique(found: list[Any], key: str) -> bool:
    names = [item.get(key) if isinstance(item, dict) else None for item in found]
    return all(isinstance(name, str | int) for name in names) and len(set(names)) == len(names)
