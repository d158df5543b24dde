"""The catalogue of messages: each entry wins what it was made from, precedence is declared, and looking up stays cheap."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template
from typing import Any

import pytest
from argolint_rules.shared.messages import catalogue

from argolint.messages import Catalogue, CatalogueError, field_errors, unwrap
from argolint.messages.literals import key_of, known_words, literals
from argolint.plugins import load_rules
from argolint.values.knowledge import dump, load


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a package with messages beside its rules, as a third party would, and gives its name."""

    def made(*entries: dict[str, Any], **defaults: Any) -> str:
        folder = tmp_path / f"messages_{len(list(tmp_path.iterdir()))}_{tmp_path.name}".replace("-", "_")
        folder.mkdir()
        (folder / "__init__.py").touch()
        document = {"defaults": defaults, "entries": list(entries)}
        (folder / "tides.yaml").write_text(dump([document]), encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        return folder.name

    return made


def test_each_entry_answers_what_it_was_made_from_and_says_which_it_precedes() -> None:
    assert list(catalogue().ties()) == []
    assert [entry.id for entry in catalogue().entries if not entry.seen] == []


def test_a_clause_is_filled_with_what_its_message_names() -> None:
    left = {}
    for entry in catalogue().entries:
        stage = entry.seen[0].stage or next(iter(sorted(entry.when.stage)))
        kind = entry.seen[0].kind or next(iter(sorted(entry.when.kinds)), "")
        group = next(iter(sorted(entry.when.groups)), "")
        facts = {name: True for name in entry.needs if not name.startswith("-")}
        found = catalogue().match(entry.seen[0].text, stage, kind=kind, group=group, facts=facts)
        if empty := {name for name in Template(entry.says).get_identifiers() if found and not found.facts[name]}:
            left[entry.id] = empty
    assert left == {}


def test_entries_name_rules_causes_and_stages_that_exist() -> None:
    rules = load_rules()
    assert {e.rule for e in catalogue().entries} - set(rules) == set()
    pods = {"pod", "scheduling"}
    wrong = [
        e.id
        for e in catalogue().entries
        if e.cause and rules[e.rule].causes and e.cause not in rules[e.rule].causes and not e.when.stage & pods
    ]
    assert wrong == []


def test_an_entry_of_somebody_else_is_found_by_its_words(package: Any) -> None:
    name = package(
        {"id": "tide/low", "match": [r"water of (?P<pier>\S+) is too low"], "says": "$pier has no water"},
        {"id": "tide/any", "match": ["water"], "knows": "sort"},
        {"id": "tide/ship", "match": ["water"], "when": {"kinds": ["Ship"]}, "before": ["tide/low"]},
        {"id": "tide/owned", "match": ["water"], "needs": ["owned", "-leaks"], "before": ["tide/ship"]},
        rule="tides",
    )
    tides = Catalogue.of(name)
    low = "Failed sync attempt to abc: water of Pier-7 is too low"
    found = tides.match(low)
    assert found is not None
    assert (found.entry.id, found.says, found.facts) == ("tide/low", "Pier-7 has no water", {"pier": "Pier-7"})
    assert [m.entry.id for m in tides.matches(low, kind="Ship")] == ["tide/ship", "tide/low", "tide/any"]
    ids = [tides.match(low, facts={"owned": 1, "leaks": leaks}) for leaks in ("", "yes")]
    assert [m.entry.id for m in ids if m] == ["tide/owned", "tide/low"]
    assert tides.match("the moon is full") is None


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ([{"id": "a/b", "match": ["x+"]}], "no word can be read"),
        ([{"id": "a/b", "match": ["(abc"]}], "is no regular expression"),
        ([{"id": "a/b", "match": ["abc"]}, {"id": "a/b", "match": ["abd"]}], "is there twice"),
        ([{"id": "a/b", "match": ["abc"], "before": ["a/c"]}], "which is not there"),
        (
            [{"id": "a/a", "match": ["abc"]}, {"id": "a/b", "match": ["abc"], "before": ["a/b"]}],
            "entry a/b: `before` leads in a circle",
        ),
        ([{"id": "a/b", "match": ["abc"], "when": {"stage": ["noon"]}}], "no stage is called noon"),
        ([{"id": "a/b", "match": ["abc"], "cuase": "x"}], "cuase"),
        ([{"match": ["abc"]}], "id"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(package: Any, entries: list[dict[str, Any]], says: str) -> None:
    name = package(*entries)
    with pytest.raises(CatalogueError, match=re.escape(says)) as error:
        Catalogue.of(name)
    assert name in error.value.message


def test_two_entries_of_which_none_is_first_are_told(package: Any) -> None:
    tides = Catalogue.of(
        package(
            {"id": "a/b", "match": ["low water"], "seen": [{"text": "low water"}]},
            {"id": "a/c", "match": ["water"], "seen": [{"text": "low water"}]},
        )
    )
    assert sorted(tie.partition(":")[0] for tie in tides.ties()) == ["a/b or a/c", "a/c"]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"fail(?:ed|s) to (get|list) x", {f"fail{a} to {b} x" for a in ("ed", "s") for b in ("get", "list")}),
        (r"\d{1,5} (?P<a>\S+) not found", {" not found"}),
        (r"[Nn]ot (?=.*allowed)", {"allowed"}),
        (r"x|lookup", set()),
        (r"(?:abc)+", {"abc"}),
        (r"\b50[234]\b", {"502", "503", "504"}),
    ],
)
def test_words_are_read_from_patterns(pattern: str, words: set[str]) -> None:
    assert {word for word in literals(pattern) if len(word) >= 3} == words


def test_words_kept_beside_the_messages_are_those_of_the_patterns() -> None:
    kept = known_words("argolint_rules.shared.messages")
    read = {key_of(p.pattern): literals(p.pattern) for _, _, p in catalogue().patterns()}
    assert kept
    assert {key: words for key, words in kept.items() if read.get(key, words) != words} == {}


def test_a_long_message_is_tried_against_few_patterns() -> None:
    """Counted, not timed: of all patterns those are tried whose words stand in the text."""
    tried = 0
    for entry in catalogue().entries:
        lower = entry.seen[0].text.lower()
        tried += sum(any(word in lower for word in pattern.words) for pattern in catalogue()._patterns)
    assert tried / len(catalogue().entries) < 20


def test_wrappers_have_their_shape() -> None:
    held = load("argolint.messages", "wrappers.yaml")
    assert set(held) == {"before", "through", "remarks", "stages", "weaker"}
    assert all(set(stage) == {"name", "match"} for stage in held["stages"])


def test_a_text_is_taken_apart_once() -> None:
    text = (
        "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = "
        "`helm template .` failed exit status 1: Error: no"
    )
    found = unwrap(text)
    assert (found.stage, found.said, found.innermost) == ("target-state", "no", "no")
    assert unwrap(text) is found
    assert unwrap("x" * 1_000_000).said == "x" * 65_536


def test_fields_are_read_wherever_they_stand() -> None:
    (error,) = field_errors('admission webhook "v.example.com" denied the request: spec.ports[0].name: Required value')
    assert (error.pointer, error.sort) == ("/spec/ports/0/name", "Required value")


def test_wrappers_go_one_after_the_other() -> None:
    around = "ComparisonError: Failed to load target state: failed to generate manifest for source 1 of 1: "
    assert unwrap(f"{around}app path does not exist").innermost == "app path does not exist"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: x"', "transport: Error while dialing: x"),
        ('error when replacing "/dev/shm/1": "a" is not "b"', 'error when replacing "/dev/shm/1": "a" is not "b"'),
        ('"a" is not "b"', '"a" is not "b"'),
    ],
)  # fmt: skip
def test_quotes_around_the_whole_of_a_text_are_those_of_the_sentence(text: str, said: str) -> None:
    assert unwrap(text).said == said
