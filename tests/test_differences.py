"""What of two states differs: lists of the same items in another order, and lists too long to align."""

from __future__ import annotations

from argolint import MISSING
from argolint.comparison import differences, reordered
from argolint.comparison.three_way import completed
from argolint.reports.document import GateField
from argolint.reports.formats.hunks import hunk


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


def test_items_of_a_replaced_list_keep_what_the_api_server_filled_in() -> None:
    live = {"ports": [{"port": 80, "protocol": "TCP", "name": "old"}], "type": "ClusterIP"}
    desired, applied = {"ports": [{"port": 81}]}, {"ports": [{"port": 80, "name": "old"}]}
    assert completed(desired, live, applied) == {"ports": [{"port": 81, "protocol": "TCP"}]}
    assert completed(desired, live) == {"ports": [{"port": 81, "protocol": "TCP", "name": "old"}]}
    two = {"ports": [{"port": 81}, {"port": 82}]}
    assert completed(two, live, applied) == two
    assert completed(desired, live, two) == {"ports": [{"port": 81, "protocol": "TCP", "name": "old"}]}


def test_changed_fields_are_a_diff_with_each_key_above_once() -> None:
    fields = (
        GateField("/spec/ports/10/port", "80", "81"),
        GateField("/spec/ports/2/name", None, '"web"'),
        GateField("/spec/replicas", "1", None),
        GateField("/kind", '"A"', '"B"'),
    )
    assert list(hunk(fields)) == [
        "- kind: A",
        "+ kind: B",
        "  spec:",
        "    ports:",
        "      - # item 2",
        "+       name: web",
        "      - # item 10",
        "-       port: 80",
        "+       port: 81",
        "-   replicas: 1",
    ]
