"""Numbers, indexes, durations and quantities that somebody else wrote."""

from __future__ import annotations

import re
import shlex
from fractions import Fraction
from typing import Any

import pytest
from argolint_rules.drift import _grammar as grammar
from hypothesis import assume, given
from hypothesis import strategies as st

from argolint.comparison.ignore import without
from argolint.values import (
    get,
    index_of,
    integer,
    join_pointer,
    joined,
    number_at,
    parse_duration,
    plain,
    sh,
    split_pointer,
)
from argolint.values.quantities import amount, quantity

ODD = ["²", "٣", "1_0", "0x1", " 1", "1 ", "--1", "", "9" * 5000, "1e3", "½", "\N{FULLWIDTH DIGIT ONE}"]


@pytest.mark.parametrize("token", [*ODD, "-1", "+1", "01"])
def test_what_is_no_index_names_no_item(token: str) -> None:
    assert index_of(token) is None
    assert get({"list": [1, 2, 3]}, f"/list/{token}", "none") == "none"


@pytest.mark.parametrize("text", ODD)
def test_what_is_no_number_of_64_bits_is_none(text: str) -> None:
    assert integer(text) is None
    assert without({"list": [1, 2, 3]}, f"/list/{text}") == {"list": [1, 2, 3]}


@pytest.mark.parametrize(
    ("token", "left"),
    [
        ("0", [2, 3]),
        ("-1", [1, 2]),
        ("-3", [2, 3]),
        ("+1", [1, 3]),
        ("01", [1, 3]),
        ("-4", [1, 2, 3]),
        ("3", [1, 2, 3]),
    ],
)
def test_ignored_indexes_are_read_as_argo_cd_reads_them(token: str, left: list[int]) -> None:
    assert without({"list": [1, 2, 3]}, f"/list/{token}") == {"list": left}


@given(st.lists(st.text(max_size=5), max_size=4))
def test_pointers_come_back_as_their_tokens(tokens: list[str]) -> None:
    assert split_pointer(join_pointer(*tokens)) == tuple(tokens)


@given(st.text(max_size=20))
def test_a_word_of_a_command_is_one_word_on_one_line(word: str) -> None:
    assert shlex.split(f"get {sh(word)} -n x") == ["get", plain(word), "-n", "x"]
    assert "\n" not in sh(word)


@pytest.mark.parametrize("number", [float("inf"), float("nan"), "1", None, [1]])
def test_a_number_that_is_none_counts_as_zero(number: Any) -> None:
    assert number_at({"n": number}, "n") == 0


@pytest.mark.parametrize(
    "text", ["1d", "1", "h", "..s", "1..5s", "1h1", "1 h", "9" * 400 + "h", "99999999999h", "٣s", "--1s"]
)
def test_what_go_cannot_parse_is_no_duration(text: str) -> None:
    assert parse_duration(text) is None


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("1000m", "1"),
        ("0.5Gi", "512Mi"),
        ("1.5Mi", "1536Ki"),
        ("1024Mi", "1Gi"),
        ("1E3", "1E3"),
        ("5.", "5."),
        ("+1", "+1"),
        ("1u", "1m"),
        ("1.0005", "1001m"),
        (0.30000000000000004, "301m"),
        ("1e100000", "10e99999"),
        ("1e30000000", "1e30000000"),
        ("1.5e30000000", "1500e29999997"),
        ("1e-30000000", "1e-3"),
        ("123456789012345678901e100000", "1234567890123456789010e99999"),
        ("9" * 101, "9" * 101),
        ("9999999999Ei", "9223372036854775807"),
        ("1e", "1e"),
        ("1²", "1²"),
    ],
)
def test_quantities_are_printed_as_go_prints_them_and_powers_are_not_computed(
    written: str | float, printed: str
) -> None:
    assert quantity(written) == printed


_UNITS = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
    "e3": 3,
    "e-2": -2,
    "E1": 1,
}


@given(st.integers(0, 10**9), st.integers(0, 6), st.sampled_from(sorted(_UNITS)))
def test_a_quantity_keeps_its_amount_or_is_rounded_up_to_the_next_thousandth(
    number: int, places: int, unit: str
) -> None:
    digits = str(number).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    amount = Fraction(number, 10**places) * Fraction(10) ** _UNITS[unit]
    assume(amount < 10**21)  # Go has no suffix for more, and writes none
    printed = str(quantity(text + unit))
    assert 0 <= _amount(printed) - amount < Fraction(1, 1000)
    assert quantity(printed) == printed or _amount(printed) == _amount(str(quantity(printed)))


def _amount(text: str) -> Fraction:
    found = re.fullmatch(r"([0-9.]+)(?:([numkMGTPE]?)|[eE]([+-]?[0-9]+))", text)
    assert found is not None
    return Fraction(found[1]) * Fraction(10) ** (int(found[3]) if found[3] else _UNITS[found[2] or ""])


@given(st.text("0123456789.eE+-numkKMGTPi ", max_size=20))
def test_any_text_is_a_quantity_or_stays_as_it_is(text: str) -> None:
    assert isinstance(quantity(text), str)
    assert amount(text) is None or grammar.is_same_quantity(text, text) in (True, False)


def test_remarks_are_joined_by_semicolons_and_the_last_keeps_its_full_stop() -> None:
    assert joined("", "Second choice. Hides it.", "sync again") == "Second choice. Hides it; sync again"
    assert (joined("Alone.", ""), joined("", "")) == ("Alone.", "")
