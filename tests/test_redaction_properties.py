"""What holds of everything that is printed or kept: drawn words are found wherever they stand, and plain ones stay."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from argolint.redaction import HIDDEN, PRINTED, excerpt, without_secrets
from argolint.redaction.random_words import is_open
from argolint.snapshots.mask import Masker

PROPERTY = settings(max_examples=25, deadline=None, derandomize=True, database=None)
DRAWN = st.lists(
    st.tuples(
        st.sampled_from(string.ascii_uppercase), st.sampled_from("23456789"), st.sampled_from(string.ascii_lowercase)
    ),
    min_size=4,
    max_size=12,
).map(lambda random_words: "".join(map("".join, random_words)))
"""Capitals, digits and small letters in turn."""
NAMES = st.text(string.ascii_letters + string.digits + "_-.", min_size=1, max_size=20).filter(
    lambda name: not is_open(name)
)
SECRET_NAMES = st.tuples(
    st.sampled_from(("db.", "smtp_", "Admin-", "KAFKA_", "redis.", "x-", "")),
    st.sampled_from(("password", "Password", "PASSWD", "token", "api_key", "secretKey", "clientSecret", "passphrase")),
    st.sampled_from(("", "_1", "-prod", "Value")),
).map("".join)
PLAIN = st.one_of(
    st.from_regex(r"[a-z]{1,12}(-[a-z]{1,8}){0,3}", fullmatch=True),
    st.from_regex(r"v?[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,3})?", fullmatch=True),
    st.from_regex(r"[0-9]{1,6}(m|Mi|Gi|s|h|%)?", fullmatch=True),
    st.from_regex(r"[a-z]{2,8}\.[a-z]{2,8}\.svc:[0-9]{2,4}", fullmatch=True),
    st.from_regex(r"[A-Z][a-z]{2,9}([A-Z][a-z]{2,9}){0,3}", fullmatch=True),
    st.from_regex(r"/[a-z]{2,8}(/[a-z]{2,8}){0,3}", fullmatch=True),
)
SIBLINGS = (
    ("name", "value"),
    ("key", "value"),
    ("propertyName", "propertyValue"),
    ("ParameterKey", "ParameterValue"),
    ("header", "value"),
)


def _around(value: str, names: list[str], shape: str) -> Any:
    """The value somewhere in an object: below these names, in a text of one of these kinds."""
    inner: Any = value
    for name in names:
        inner = {name: inner, "other": 1} if len(name) % 2 else [{name: inner}, "x"]
    match shape:
        case "json":
            return {"file": json.dumps(inner)}
        case "yaml":
            return {"file": yaml.safe_dump(inner)}
        case "line":
            return {"a.conf": f"one = 1\n{names[0]} = {value}\n[two]\nthree: 3\n"}
        case "argument":
            return {"args": ["run", f"--{names[0]}={value}", "-x"]}
        case "sentence":
            return {"message": f"cannot use {value} for {names[0]}, try again"}
    return inner


@PROPERTY
@given(
    DRAWN,
    st.lists(NAMES, min_size=1, max_size=4),
    st.sampled_from(("object", "json", "yaml", "line", "argument", "sentence")),
)
def test_a_drawn_word_stands_nowhere_in_what_is_printed_or_kept(value: str, names: list[str], shape: str) -> None:
    found = _around(value, names, shape)
    assert value not in json.dumps(PRINTED.value(found))
    assert value not in without_secrets(json.dumps(found))
    body = json.dumps({"items": [{"liveState": json.dumps(found)}]}).encode()
    assert value not in Masker()(body, "/api/v1/applications/web/managed-resources").decode()


@PROPERTY
@given(SECRET_NAMES, st.from_regex(r"[a-z]{5,9}[0-9]{3,4}", fullmatch=True), st.sampled_from(SIBLINGS))
def test_what_a_sibling_calls_a_secret_is_hidden_however_it_looks(
    name: str, value: str, sibling: tuple[str, str]
) -> None:
    called, holds = sibling
    assert PRINTED.value([{called: name, holds: value}]) == [{called: name, holds: HIDDEN}]
    assert value not in json.dumps(PRINTED.value({name: value, "file": yaml.safe_dump([{holds: value, called: name}])}))


@PROPERTY
@given(NAMES, PLAIN, PLAIN)
def test_plain_words_numbers_and_addresses_stay(name: str, one: str, other: str) -> None:
    assume(PRINTED.value({name: "hunter2288x"}) != {name: HIDDEN})
    for value in (
        {name: one},
        [{"name": one, "value": other}],
        {"args": [f"--level={one}", other]},
        {"file": f"level: {one}\nmode: {other}\n"},
    ):
        assert PRINTED.value(value) == value


@pytest.mark.parametrize("text", [without_secrets, excerpt, PRINTED.document])
@PROPERTY
@given(
    st.lists(
        st.one_of(
            DRAWN,
            SECRET_NAMES,
            PLAIN,
            st.sampled_from(["=", ": ", "\n", "://", "@", '"', " ", "{", "}", "--", "'", "\\"]),
        ),
        max_size=12,
    ).map("".join)
)
def test_what_is_printed_once_is_printed_alike_again(text: Any, said: str) -> None:
    once = text(said)
    assert text(once) == once
