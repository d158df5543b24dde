"""Whether two sides mean one value: Kubernetes quantities, Go durations, empty values, the same items in another order."""

from __future__ import annotations

from collections.abc import Mapping

from argolint import MISSING, Change, Json
from argolint.comparison import reordered
from argolint.values import parse_duration
from argolint.values.quantities import amount


def is_same_quantity(one: Json, other: Json) -> bool:
    """True for two spellings of one amount. Of two plain numbers, one must be no text (`"1"` and 1): `1.10` and `1.1` may be versions."""
    if amount(one) is None or amount(one) != amount(other):
        return False
    return _has_unit(one) or _has_unit(other) or isinstance(one, str) != isinstance(other, str)


def _has_unit(value: Json) -> bool:
    return (isinstance(value, str) and value[-1:].isalpha()) or "e" in str(value).lower()


def is_same_duration(one: Json, other: Json) -> bool:
    """True for two spellings of one Go duration."""
    return one != other and parse_duration(one) is not None and parse_duration(one) == parse_duration(other)


def is_hollow(value: Json) -> bool:
    """True for values that Go's `omitempty` omits: null, false, 0, an empty text, list or map, and maps of such values."""
    if isinstance(value, Mapping):
        return all(is_hollow(child) for child in value.values())
    return value is None or value in ("", [], 0)


def is_hollow_difference(desired: Json, live: Json) -> bool:
    """True if both sides are empty in different ways, or one is empty and the other absent."""
    return all(side is MISSING or is_hollow(side) for side in (desired, live))


def is_reordered_list(change: Change) -> bool:
    """True for a list with exactly Git's own items in another order."""
    return not change.masked and reordered(change.desired, change.live)
