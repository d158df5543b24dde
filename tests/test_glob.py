"""Argo CD's globs: what gobwas/glob answered, and no pattern that takes long."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argolint.values import glob


@pytest.mark.parametrize(
    ("pattern", "text", "same"),
    [
        ("a*c", "abbc", True),
        ("a*c", "abb", False),
        ("a**", "a", True),
        ("**/values.yaml", "a/b/values.yaml", True),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[abc-]x", "-x", True),
        ("[!ab]x", "cx", True),
        ("[c-a]x", "bx", False),  # does not compile
        ("[a-zA]x", "ax", False),  # nor do a range and more
        ("[ab", "a", False),
        ("{a,b*}c", "bbbc", True),
        ("{a,{b,c}}d", "cd", True),
        ("{*.yaml,*.json", "a.json", True),  # the end closes what is open
        ("a,b", "a,b", True),
        (r"\*.yaml", "*.yaml", True),
        (r"\*.yaml", "a.yaml", False),
        (r"{a\,b,c}", "a,b", True),
        ("a]}", "a]}", True),
        ("é?", "éü", True),
    ],
)
def test_it_matches_as_gobwas_does(pattern: str, text: str, same: bool) -> None:
    assert glob.matches(pattern, text) is same


@pytest.mark.parametrize(
    "pattern",
    ["*" * 1999 + "X", "*a" * 999 + "b", "{*,*}" * 390 + "X", "{" * 1000 + "}" * 999 + "X", "{*a,*aa}" * 240 + "b"],
)
def test_no_pattern_takes_long(pattern: str) -> None:
    assert not glob.matches(pattern, "a" * 253)  # a pattern that tries ways one after the other does not come back


def test_a_pattern_longer_than_any_name_matches_nothing() -> None:
    assert not glob.matches("*" * 2001, "a")


PIECES = st.sampled_from(["a", "b", "*", "?", "[ab]", "[!a]", "{a,b*}", "{*a,b}"])


@given(st.lists(PIECES, max_size=6), st.text("ab", max_size=5))
def test_it_matches_what_one_of_its_spellings_matches(pieces: list[str], text: str) -> None:
    """Alternatives and classes are written out, then stars are tried in every length."""
    ways = {"?": ["a", "b"], "[ab]": ["a", "b"], "[!a]": ["b"], "{a,b*}": ["a", "b*"], "{*a,b}": ["*a", "b"]}
    spelt = ("".join(way) for way in product(*(ways.get(piece, [piece]) for piece in pieces)))
    assert glob.matches("".join(pieces), text) is any(_plain(one, text) for one in spelt)


def _plain(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(_plain(pattern[1:], text[n:]) for n in range(len(text) + 1))
    return bool(text) and pattern[0] == text[0] and _plain(pattern[1:], text[1:])


@given(st.text("ab*?[]!-{},\\", max_size=30), st.text("ab,", max_size=10))
def test_any_pattern_is_answered(pattern: str, text: str) -> None:
    assert glob.matches(pattern, text) in (True, False)
