"""Resource quantities: their amount, and how Kubernetes prints them.

Powers of ten are counted, never computed: `1e30000000` is a quantity, and a manifest may contain it. Source: k8s.io/apimachinery
pkg/api/resource/quantity.go (ParseQuantity, RoundUp, CanonicalizeBytes).
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache

from argolint.model import Json
from argolint.values.patterns import regex

_QUANTITY = regex(
    r"([+-]?)(?:(\d{1,100})(?:\.(\d{0,100}))?|\.(\d{1,100}))(?:([KMGTPE]i)|([numkMGTPE]?)|[eE]([+-]?\d{1,18}))",
    re.ASCII,
)
"""At most 100 digits: more than real quantities have, and few enough to be fast."""
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_DECIMAL_POWER = {suffix: power for power, suffix in _DECIMAL.items()}
_MOST_BINARY = 2**63 - 1
NANO, MILLI = -9, -3
"""The smallest powers of ten of a quantity, and of one in a resource list (SetDefaults_ResourceList)."""


def quantity(value: Json, finest: int = MILLI) -> Json:
    """See `_quantity`; a container stays as it is. Resource lists are rounded to thousandths."""
    return value if isinstance(value, dict | list) else _quantity(value, finest)


@lru_cache(maxsize=4096, typed=True)
def _quantity(value: Json, finest: int) -> Json:
    """A resource quantity as Go prints it (`1000m` is `1`, `0.5Gi` is `512Mi`), rounded up to 10^finest; anything else unchanged.

    Powers of ten are counted, never computed: `1e30000000` is a quantity. Source: k8s.io/apimachinery pkg/api/resource/quantity.go,
    ParseQuantity, RoundUp and CanonicalizeBytes.
    """
    match = _match(value)
    if match is None:
        return value
    sign, whole, places, only_places, binary, decimal, exponent = match.groups()
    places = only_places or places or ""
    digits = (whole or "").lstrip("0") or "0"
    power = (_int32(int(exponent)) if exponent else _DECIMAL_POWER[decimal or ""]) - len(places)
    if power >= finest and _spelt_as_printed(digits + places, power, places, _BINARY.index(binary) if binary else 0):
        return match[0]
    amount = int(digits + places)
    if binary:
        amount *= 1024 ** _BINARY.index(binary)
    amount, power = _rounded_up(amount, power, finest)
    if not amount:
        return "0"
    if binary:
        amount = min(amount, _MOST_BINARY * 10**-power)
        if amount % 10**-power == 0 and amount >= 1024 * 10**-power:
            return sign.strip("+") + _in_1024s(amount // 10**-power)
    while amount % 10 == 0:
        amount, power = amount // 10, power + 1
    while power % 3:
        amount, power = amount * 10, power - 1
    suffix = (f"e{power}" if power else "") if exponent else _DECIMAL.get(power, "")
    return f"{sign.strip('+')}{amount}{suffix}"


def amount(value: Json) -> Decimal | None:
    """The exact amount of a resource quantity (text or number); None if it is no quantity."""
    match = _match(value)
    if match is None:
        return None
    sign, whole, places, only_places, binary, decimal, exponent = match.groups()
    places = only_places or places or ""
    power = (_int32(int(exponent)) if exponent else _DECIMAL_POWER[decimal or ""]) - len(places)
    units = int((whole or "") + places) * 1024 ** _BINARY.index(binary or "")
    return Decimal((1 if sign == "-" else 0, tuple(map(int, str(units))), power))


def countable(value: Json) -> Decimal | None:
    """The amount of a quantity to count with: none beyond 2^63-1, whose digits a sum would write out, or finer than a billionth."""
    exact = amount(value)
    return exact if exact is None or not exact or _FINEST <= exact.copy_abs() <= _MOST_BINARY else None


_FINEST = Decimal(1).scaleb(NANO)


def _match(value: Json) -> re.Match[str] | None:
    text = str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    return _QUANTITY.fullmatch(text.strip())


def _spelt_as_printed(digits: str, power: int, places: str, binary: int) -> bool:
    """True for a form that Go treats as canonical and prints unchanged, including `1E3` and `5.`."""
    if binary:
        exact = not places and 15 - len(digits) - binary * 3 - 1 >= 0
        return exact and int(digits) % 8 != 0
    return len(digits) <= 18 and power >= -9 and power % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _int32(number: int) -> int:
    """The number truncated like Go's conversion to 32 bits."""
    return (number + 2**31) % 2**32 - 2**31


def _rounded_up(amount: int, power: int, finest: int) -> tuple[int, int]:
    """Round up to 10^finest, so that a small request does not become zero."""
    drop = finest - power
    if drop <= 0 or not amount:
        return amount, power
    if drop > 400:  # more digits than an amount can have
        return 1, finest
    return -(-amount // 10**drop), finest


def _in_1024s(amount: int) -> str:
    power = 0
    while power < len(_BINARY) - 1 and amount % 1024 == 0:
        amount, power = amount // 1024, power + 1
    return f"{amount}{_BINARY[power]}"
