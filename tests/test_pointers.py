"""Pointers against pointers, and words for sentences."""

from __future__ import annotations

import pytest

from argolint.values import at_and_above, below, common_pointer, enumerated, fits


@pytest.mark.parametrize(
    ("pointer", "other", "expected"),
    [
        ("/spec/replicas", "/spec/replicas", True),
        ("/spec/template/spec", "/spec", True),
        ("/spec", "/spec/template", False),
        ("/specification", "/spec", False),
        ("/metadata/uid", "", True),
        ("", "", True),
        ("", "/spec", False),
    ],
)
def test_a_pointer_is_below_itself_and_what_holds_it(pointer: str, other: str, expected: bool) -> None:
    assert below(pointer, other) is expected
    assert (other in at_and_above(pointer)) is expected


@pytest.mark.parametrize(
    ("pattern", "pointer", "expected"),
    [
        ("/spec/replicas", "/spec/replicas", True),
        ("/webhooks/*/clientConfig", "/webhooks/0/clientConfig", True),
        ("/webhooks/*/clientConfig", "/webhooks/clientConfig", False),
        ("/spec/template/**", "/spec/template", True),
        ("/spec/template/**", "/spec/template/spec/containers/0", True),
        ("/spec/template/**", "/spec/templates", False),
        ("/spec/**/name", "/spec/listeners/0/tls/name", True),
        ("/metadata/annotations/a~1b", "/metadata/annotations/a~1b", True),
        ("/metadata/annotations/*", "/metadata/annotations/a~1b", True),
        ("", "", True),
        ("", "/spec", False),
    ],
)
def test_stars_of_a_pattern_stand_for_tokens(pattern: str, pointer: str, expected: bool) -> None:
    assert fits(pattern, pointer) is expected


def test_words_beyond_the_limit_are_counted() -> None:
    words = ["a", "b", "c", "d", "e"]
    assert enumerated([], "field") == ""
    assert enumerated(words[:1], "field") == "a"
    assert enumerated(words[:2], "field") == "a and b"
    assert enumerated(words[:3], "field") == "a, b and c"
    assert enumerated(words[:4], "field") == "a, b, c and 1 more field"
    assert enumerated(words, "field") == "a, b, c and 2 more fields"
    assert enumerated(words, limit=2) == "a, b and 3 more"
    assert enumerated(words, limit=None) == "a, b, c, d and e"


@pytest.mark.parametrize(
    ("pointers", "place"),
    [
        (["/spec/a~1b"], "/spec/a~1b"),
        (["/spec/a", "/spec/a/b", "/spec/a/c"], "/spec/a"),
        (["/spec/a/b/x", "/spec/a/c/x", "/spec/a/b/y"], "/spec/a"),
        (["/spec/ab", "/spec/ac"], "/spec"),
        (["/spec", "/data"], ""),
        ([], ""),
    ],
)
def test_the_common_place_of_pointers_contains_each_of_them(pointers: list[str], place: str) -> None:
    assert common_pointer(pointers) == place
