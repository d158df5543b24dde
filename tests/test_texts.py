"""Texts that a person reads with ten seconds to spare: a finding's message is one short sentence, without words that we have coined."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median

import pytest
from argolint_rules.shared.messages import catalogue

from argolint.messages import WORDS, quoting, telling
from argolint.plugins import load_rules
from argolint.values import knowledge

FIXTURES = Path(__file__).parent / "rules"
RULES = load_rules()
DONE = frozenset({"drift", "health", "nondeterminism", "ownership", "secrets", "sync"})
"""Families whose messages are held to the length. Add yours when it is done."""
_QUOTED = re.compile(r'"[^"]*"|\'[^\']*\'|\([^()]*\)')
_COINED = re.compile(r"\b(?:frees|remarks?|would speak|speaks for)\b")


def _messages() -> Iterator[tuple[str, str]]:
    """(fixture, message) of every finding that a fixture expects of a family that is done."""
    for path in sorted(FIXTURES.glob("*/bad-*.yaml")):
        rule = RULES.get(path.parent.name)
        if rule is not None and rule.family in DONE:
            for finding in knowledge.parse(path.read_bytes()).get("expect") or ():
                yield f"{path.parent.name}/{path.stem}", str(finding["message"])


@cache
def messages() -> list[tuple[str, str]]:
    """Read once, and only where a test asks."""
    return list(_messages())


def test_a_message_has_at_most_25_words() -> None:
    assert [(where, text) for where, text in messages() if len(text.split()) > WORDS] == []


def test_half_of_the_messages_have_fewer_than_twenty_words() -> None:
    assert median(len(text.split()) for _, text in messages()) < 20


def test_a_message_is_one_sentence() -> None:
    """It ends once, with a full stop; what a server says stands in quotes."""
    bare = [(where, text, _QUOTED.sub("x", text)) for where, text in messages()]
    assert [(where, text) for where, text, b in bare if not b.endswith(".") or re.search(r"[.!?]\s+[A-Z]", b)] == []


def test_a_message_has_no_coined_word() -> None:
    assert [(where, text) for where, text in messages() if _COINED.search(_QUOTED.sub("x", text))] == []


def test_what_a_message_of_a_server_means_is_said_in_few_words() -> None:
    assert [(e.id, e.says) for e in catalogue().entries if len(e.says.split()) > 26] == []
    short = [e for e in catalogue().entries if e.rule in ("comparison-error", "sync-failed")]
    assert [(e.id, e.says) for e in short if len(e.says.split()) > 15] == []


@pytest.mark.parametrize("package", ["argolint_rules.sync", "argolint.relations"])
def test_a_fix_has_a_short_title_and_says_in_a_sentence_what_it_costs(package: str) -> None:
    entries = [(topic, e) for topic, found in knowledge.load(package, "advice.yaml").items() for e in found]
    assert [(topic, e["title"]) for topic, e in entries if len(e["title"].split()) > 14] == []
    assert [(topic, e["caveat"]) for topic, e in entries if len(e.get("caveat", "").split()) > 26] == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "Failed to load target state: rpc error: code = Unknown desc = `helm template .` failed exit status 1: Error: execution error at (quay/templates/a.yaml:1:1): image.tag must be set",
            "image.tag must be set",
        ),
        (
            'Service "relay" is invalid: spec.ports[0].nodePort: Invalid value: 30444: provided port is already allocated',
            "spec.ports[0].nodePort: provided port is already allocated",
        ),
        (
            'Get "https://10.9.8.7:6443/version?timeout=32s": dial tcp 10.9.8.7:6443: connect: no route to host (retried 5 times).',
            "dial tcp 10.9.8.7:6443: connect: no route to host",
        ),
        (
            "one two three four five six seven eight nine ten eleven",
            "one two three four five six seven eight nine ten…",
        ),
        ("", ""),
    ],
)
def test_of_a_servers_text_the_innermost_part_is_quoted(text: str, wanted: str) -> None:
    assert telling(text) == wanted


def test_a_quotation_gets_the_words_that_are_left() -> None:
    said = "a " * 20 + "b"
    assert quoting("Nothing goes", "the pier is closed") == 'Nothing goes: "the pier is closed".'
    assert quoting(said, "the pier is closed") == f'{said}: "the pier is closed".'
    assert quoting(f"{said} c d", "the pier is closed") == f"{said} c d."
