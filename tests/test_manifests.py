"""YAML of others: read as Kubernetes reads it, within bounds, whatever it is."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from argolint.values import manifests
from argolint.values.manifests import ManifestError, documents, mapping_of, objects


def bomb(of: str) -> str:
    """Nine levels, each nine times the one before."""
    names = "abcdefghij"
    return f"a: &a {of}\n" + "".join(
        f"{name}: &{name} {form.format(','.join(['*' + before] * 9))}\n"
        for before, name in itertools.pairwise(names)
        for form in ["{{<<: [{}]}}" if of.startswith("{") else "[{}]"]
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (bomb("[1,1,1,1,1,1,1,1,1]"), "it expands to more than 2,000,000 values (line 7)"),
        (bomb("{p: 1, q: 2, r: 3, s: 4}"), "it expands to more than 2,000,000 values (line 7)"),
        ("[" * 100_000, "it is nested more than 128 levels deep (line 1)"),
        ("{a: " * 100_000, "it is nested more than 128 levels deep (line 1)"),
        ("- " * 100_000, "it is nested more than 128 levels deep (line 1)"),
        ("a: &a\n  b: *a\n", "it uses an alias within what the alias names (line 2)"),
        ("a: *b\n", "it uses an alias that names nothing (line 1)"),
        (
            "a: &a\n" + "".join(f"{' ' * n}- \n" for n in range(1, 120)) + "b: [[[[[[[[[[*a]]]]]]]]]]\n",
            "it is nested more than 128 levels deep (line 121)",
        ),
        ("a: 1\n? [b]\n: 2\n", "a key is neither text nor a number (line 2)"),
        ("a: .inf", "a number is infinite or none, which JSON cannot say (line 1)"),
        ("a: !!int x", "what is tagged !!int is none (line 1)"),
        ("a: !!binary '@'", "!!binary is no base64 (line 1)"),
        ("<<: [1]\n", "what << merges is no map (line 1)"),
        ("a: [\n", "did not find expected node content (line 2)"),
        ("a: \x00", "it holds characters that YAML does not allow"),
        ("a: \ud800", "it holds characters that YAML does not allow"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text: str, why: str) -> None:
    with pytest.raises(ManifestError) as refused:
        documents(text)
    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-01-01", "2026-01-01"),
        ("2026-99-99", "2026-99-99"),
        ("!!timestamp x", "x"),
        ("1:30", "1:30"),
        ("0x10", 16),
        ("0o17", 15),
        ("017", 15),
        ("08", 8),
        ("1e3", 1000),
        ("1_000", 1000),
        ("9" * 5000, "9" * 5000),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", float(2**64)),
        ("1e400", "1e400"),
        ("y", True),
        ("'y'", "y"),
        ("!!str 1", "1"),
        ("!own 1", "1"),
        ("!!binary aGk=", "hi"),
        ("!!python/object/apply:os.system [x]", ["x"]),
        ("~", None),
    ],
)
def test_values_are_those_of_kubernetes(text: str, value: object) -> None:
    assert documents(f"a: {text}\n") == ({"a": value},)


def test_keys_are_texts_and_the_last_of_two_counts_unless_it_is_to_be_edited() -> None:
    assert documents("1: a\ny: b\n0x10: c\na: 1\na: 2\n") == ({"1": "a", "true": "b", "16": "c", "a": 2},)
    assert documents("y: b\n0x10: c\n", for_editing=True) == ({"y": "b", "0x10": "c"},)
    with pytest.raises(ManifestError, match=r"the key 'a' occurs twice \(line 2\)"):
        documents("a: 1\na: 2\n", for_editing=True)


def test_merged_maps_say_less_than_the_map_itself_and_the_first_of_a_list_most() -> None:
    text = "a: &a {x: 1, y: 2}\nb: &b {x: 3, z: 4}\nc: {<<: [*a, *b], x: 5}\nd:\n  <<: [*b, *a]\n"
    found = mapping_of(text)
    assert found["c"] == {"x": 5, "true": 2, "z": 4}
    assert found["d"] == {"x": 3, "true": 2, "z": 4}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("c: {x: 5, <<: {x: 1}}", "<< comes after the key 'x', and readers differ in which of the two counts (line 1)"),
        (
            "c:\n  <<: {x: 5}\n  <<: {x: 1}\n",
            "<< comes after the key 'x', and readers differ in which of the two counts (line 3)",
        ),
        ("1: a\n'1': b\n", "the key '1' occurs twice (line 2)"),
        ("'true': a\nyes: b\n", "the key 'true' occurs twice (line 2)"),
    ],
)
def test_what_go_s_readers_read_differently_is_refused(text: str, why: str) -> None:
    with pytest.raises(ManifestError, match=re.escape(why)):
        documents(text)
    assert documents("c: {x: 5, <<: {x: 5, z: 1}}\na: 1\na: 2\n") == ({"c": {"x": 5, "z": 1}, "a": 2},)


def test_an_alias_is_a_copy() -> None:
    found = mapping_of("a: &a {b: [1]}\nc: *a\n")
    found["a"]["b"].append(2)
    assert found["c"] == {"b": [1]}


def test_lists_are_as_many_manifests_as_they_hold() -> None:
    text = "kind: A\n---\n---\n- 1\n---\nkind: BList\nitems: [{kind: B}, 5, {name: none}]\n---\nx: 1\n"
    assert list(objects(documents(text))) == [{"kind": "A"}, {"kind": "B"}]


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.text(max_size=8)
    | st.floats(allow_nan=False, allow_infinity=False, width=32),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_json_comes_back_as_it_was(value: Any) -> None:
    assert documents(json.dumps(value).replace("\\ud", "\\uE")) == (
        json.loads(json.dumps(value).replace("\\ud", "\\uE")),
    )


@given(st.text("abyn01 .:-_[]{}&*!'\"\n#|>~<?%@\t", max_size=60))
def test_any_text_is_read_or_refused_as_the_library_does(text: str) -> None:
    """What PyYAML cannot parse is refused; what it can comes out as JSON, or is refused for what JSON cannot say."""
    try:
        list(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
        parses = True
    except yaml.YAMLError:
        parses = False
    try:
        found = documents(text)
    except ManifestError:
        return
    assert parses
    json.dumps(found, allow_nan=False)


@given(
    st.lists(
        st.sampled_from(
            ["a: &x ", "b: *x", "- ", "  ", "\n", "[", "]", "{", "}", ",", "<<: ", "*x", "&x ", "1", "k: "]
        ),
        max_size=30,
    ).map("".join)
)
def test_no_mixture_of_aliases_brings_more_than_a_refusal(text: str) -> None:
    with contextlib.suppress(ManifestError):
        json.dumps(documents(text))


def test_the_bounds_hold_real_manifests() -> None:
    assert manifests.MAX_DEPTH > 100
    deep = "".join(f"{' ' * n}a:\n" for n in range(manifests.MAX_DEPTH - 1)) + " " * manifests.MAX_DEPTH + "a: 1\n"
    assert documents(deep)
