"""What of two states differs: lists of the same items in another order, and lists too long to align."""

from __future__ import annotations

import pytest

from argolint import MISSING, Json
from argolint.comparison import differences, reordered


def test_the_same_items_in_another_order_differ_as_one_list() -> None:
    found = list(differences({"a": [{"x": 1}, {"x": 2}, {"x": 2}]}, {"a": [{"x": 2}, {"x": 1}, {"x": 2}]}))
    assert found == [("/a", [{"x": 1}, {"x": 2}, {"x": 2}], [{"x": 2}, {"x": 1}, {"x": 2}])]


def test_other_items_are_no_order() -> None:
    assert list(differences([1, 2, 2], [2, 1, 1])) == [("/0", 1, 2), ("/1", 2, 1), ("/2", 2, 1)]
    assert not reordered([1, 2], [1, 2])
    assert not reordered([1], [True])


def test_one_is_no_boolean_and_equals_itself_as_a_fraction() -> None:
    found = list(differences({"a": True, "b": 1.0, "c": 1}, {"a": 1, "b": 1, "c": 2}))
    assert sorted(found) == [("/a", True, 1), ("/c", 1, 2)]


def test_long_lists_are_one_difference_rather_than_aligned() -> None:
    """Ten thousand items in another order, or with one more: the aligner's time would grow with the square."""
    many = [{"n": n} for n in range(10_000)]
    assert list(differences(many, many[::-1])) == [("", many, many[::-1])]
    other = [*many[::-1], {"n": -1}]
    assert list(differences(many, other)) == [("", many, other)]
    assert list(differences([{"n": 1}], [{"n": 1}, {"n": 2}])) == [("/1", MISSING, {"n": 2})]


@pytest.mark.parametrize(
    ("desired", "live", "found"),
    [
        (["a", "c"], ["a", "b", "c"], [("/1", MISSING, "b")]),
        (["a", "x", "c"], ["b", "a", "c", "d"], [("/0", "a", "b"), ("/1", "x", "a"), ("/3", MISSING, "d")]),
        (["a", "d"], ["b", "c", "d"], [("/0", "a", "b"), ("/1", MISSING, "c")]),
        (["b", "a", "a"], ["c", "b", "c", "a"], [("/0", MISSING, "c"), ("/2", "a", "c")]),
        ([1, "d"], [True, 1, "d"], [("/0", MISSING, True)]),
        ([1.0, 2], [1], [("/1", 2, MISSING)]),
        ([["a"], {"x": 1}], [["a", "b"]], [("/0/1", MISSING, "b"), ("/1", {"x": 1}, MISSING)]),
        ([{"x": 1, "y": [3]}], [{"x": 2, "y": [3]}, 4], [("/0/x", 1, 2), ("/1", MISSING, 4)]),
        ([], ["a", "b"], [("/0", MISSING, "a"), ("/1", MISSING, "b")]),
    ],
)
def test_items_without_a_name_are_aligned(desired: list[Json], live: list[Json], found: list[object]) -> None:
    """Scalars by the alignment that shows fewer differences, everything else by position. An index is that of live, or of desired for what only desired has."""
    assert list(differences(desired, live)) == found
