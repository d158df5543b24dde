"""When two sides mean one value: Kubernetes quantities, Go durations, values that say nothing, the same items in another order."""

from __future__ import annotations

from collections.abc import Mapping

from argolint import MISSING, Change, Json
from argolint.comparison import reordered
from argolint.values import parse_duration
from argolint.values.quantities import amount


def same_quantity(one: Json, other: Json) -> bool:
    """True for two spellings of one amount. Two plain numbers count only when one of them is no text (`"1"` and 1): `1.10`
    and `1.1` may well be versions."""
    if amount(one) is None or amount(one) != amount(other):
        return False
    return _has_unit(one) or _has_unit(other) or isinstance(one, str) != isinstance(other, str)


def _has_unit(value: Json) -> bool:
    return (isinstance(value, str) and value[-1:].isalpha()) or "e" in str(value).lower()


def same_duration(one: Json, other: Json) -> bool:
    """True for two spellings of one Go duration."""
    return one != other and parse_duration(one) is not None and parse_duration(one) == parse_duration(other)


def hollow(value: Json) -> bool:
    """True for what Go's `omitempty` leaves out: null, false, 0, an empty text, list or map, and maps of such values."""
    if isinstance(value, Mapping):
        return all(hollow(child) for child in value.values())
    return value is None or value in ("", [], 0)


def only_hollow(desired: Json, live: Json) -> bool:
    """True when one side says nothing in some way and the other in another way, or not at all."""
    return all(side is MISSING or hollow(side) for side in (desired, live))


def in_another_order(change: Change) -> bool:
    """True for a list that holds Git's own items, each of them and no other, in another order."""
    return not change.masked and reordered(change.desired, change.live)
