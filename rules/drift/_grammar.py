"""When two spellings mean one value: Kubernetes quantities, Go durations, and values that say nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from argolint import MISSING, Json
from argolint.values import parse_duration

_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]{1,100}(?:\.[0-9]{0,100})?|\.[0-9]{1,100}))(?:([eE][+-]?[0-9]{1,2})|(n|u|m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei))?"
)
_FACTOR = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", 1)},
}


def quantity(value: Json) -> Decimal | None:
    """The amount of a Kubernetes quantity (text, or a plain number); None for anything else (apimachinery, api/resource)."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    found = _QUANTITY.fullmatch(str(value))
    if found is None:
        return None
    number, exponent, unit = found.groups()
    return Decimal(number + (exponent or "")) * _FACTOR.get(unit, Decimal(1))


def same_quantity(one: Json, other: Json) -> bool:
    """True for two spellings of one amount. Two plain numbers count only when one of them is no text (`"1"` and 1): `1.10`
    and `1.1` may well be versions."""
    if quantity(one) is None or quantity(one) != quantity(other):
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
