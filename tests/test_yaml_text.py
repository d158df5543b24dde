"""Patches change the lines they must and no other byte."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from argolint.sources.yaml_text import EditError, documents, patch


def text(source: str) -> str:
    return textwrap.dedent(source).lstrip("\n")


def add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def replace(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


def remove(path: str) -> dict[str, Any]:
    return {"op": "remove", "path": path}


KEPT = """
# who owns this: team-web
kind: Deployment   # odd   spacing
spec:
    replicas: 3  # tuned by hand

    # the name of the game
    name:   'quoted'
    deep:
        items:
            - 1
    list: [ a,  b ]

    tail: |
        block

---
# second
kind: Service
"""


@pytest.mark.parametrize(
    ("operation", "old", "new"),
    [
        (replace("/spec/replicas", 5), "replicas: 3  # tuned", "replicas: 5  # tuned"),
        (replace("/spec/name", "it's"), "'quoted'", "'it''s'"),
        (replace("/spec/list/1", "yes"), "[ a,  b ]", "[ a,  'yes' ]"),
        (remove("/spec/list/0"), "[ a,  b ]", "[ b ]"),
        (add("/spec/list/-", "c d"), "b ]", "b, c d ]"),
        (remove("/spec/replicas"), "    replicas: 3  # tuned by hand\n", ""),
        (add("/spec/last", {"a": [1]}), "        block\n", "        block\n    last:\n        a:\n            - 1\n"),
        ({"op": "move", "from": "/spec/tail", "path": "/spec/end"}, "tail: |", "end: |"),
        (add("/apiVersion", "apps/v1"), "kind: Deployment", "apiVersion: apps/v1\nkind: Deployment"),
    ],
    ids=lambda value: value["op"] + value["path"] if isinstance(value, dict) else "",
)
def test_all_but_the_field_stays_byte_for_byte(operation: dict[str, Any], old: str, new: str) -> None:
    assert patch(KEPT, 0, [operation]) == KEPT.replace(old, new, 1)


@pytest.mark.parametrize(
    ("before", "operation", "after"),
    [
        ("a:\n- x\n- y # why\n- z\n", remove("/a/1"), "a:\n- x\n- z\n"),
        ("a:\n- x\nb: 1\n", add("/a/-", {"k": 1, "m": [2]}), "a:\n- x\n- k: 1\n  m:\n  - 2\nb: 1\n"),
        ("a:\n  - x\n", add("/a/0", "w"), "a:\n  - w\n  - x\n"),
        ("a:\n  - n: 1\n    m: 2\n", remove("/a/0/n"), "a:\n  - m: 2\n"),
        ("a:\n  b: 1\nc: 2\n", remove("/a/b"), "a: {}\nc: 2\n"),
        ("a:\n  - 1\nc: 2\n", remove("/a/0"), "a: []\nc: 2\n"),
        ("a: {}\nc: 2\n", add("/a/b", 1), "a:\n  b: 1\nc: 2\n"),
        ("a:\nc: 2\n", replace("/a", {"b": 1}), "a:\n  b: 1\nc: 2\n"),
        ("a: 1", add("/b", 2), "a: 1\nb: 2"),
        ("a: 1\r\nb: 2\r\n", add("/c", {"d": 3}), "a: 1\r\nb: 2\r\nc:\r\n  d: 3\r\n"),
        ("a:\n  b: 1\n\n# of c\nc: 2\n", add("/a/d", 2), "a:\n  b: 1\n  d: 2\n\n# of c\nc: 2\n"),
        ("a: {b: 1, c: 2}\n", replace("/a", {"b": 1, "c": 3}), "a: {b: 1, c: 3}\n"),
        ('{"a": [1, 2], "b": "x"}\n', replace("/b", "y"), '{"a": [1, 2], "b": "y"}\n'),
        ("# only a comment\n", add("/a", 1), "# only a comment\na: 1\n"),
        ("a:\n- b: |\n    x\n    y\n\n- c\n", replace("/a/0/b", "z"), "a:\n- b: z\n\n- c\n"),
        ("a:\n  - 1\n  - 2\n", replace("/a", [1, 3, 4]), "a:\n  - 1\n  - 3\n  - 4\n"),
    ],
)
def test_new_lines_follow_the_files_own_layout(before: str, operation: dict[str, Any], after: str) -> None:
    assert patch(before, 0, [operation]) == after


@pytest.mark.parametrize(
    "value", ["yes", "y", "1e3", "0644", "12:30", "null", "~", "", " x", "a: b", "#c", "- x", "*a"]
)
def test_text_is_written_so_that_kubernetes_reads_text(value: str) -> None:
    written = patch("a: x\n", 0, [add("/b", value)])
    assert written.startswith("a: x\nb: ")
    assert documents(written)[0].data["b"] == value
    if value in ("yes", "y", "1e3", "0644", "null", "~"):
        assert written.endswith(f"'{value}'\n")


def test_the_other_documents_are_not_read_anew() -> None:
    both = "a: 1\n--- # second\nb:   [ x ]\n---\n"
    assert patch(both, 1, [replace("/b/0", "z")]) == "a: 1\n--- # second\nb:   [ z ]\n---\n"


@pytest.mark.parametrize(
    ("source", "operation", "why"),
    [
        ("a: &x {b: 1}\nc: *x\n", replace("/c/b", 2), "shared with another place through a YAML anchor"),
        ("a: &x {b: 1}\nc: *x\n", replace("/a/b", 2), "does not let one field be changed alone"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", remove("/c/b"), "nothing at /c/b of its own"),
        ("a: 1\n", remove("/b"), "the patch does not apply|nothing at /b"),
        ("a: 1\n", {"op": "test", "path": "/a", "value": 2}, "the patch does not apply"),
        ("a: 1\na: 2\n", replace("/a", 3), "the key 'a' occurs twice"),
        ("a: [1\n", replace("/a", 3), "no valid YAML"),
        ("a: 1\n", replace("", 3), "a whole document is no field"),
        ('{"a"}\n', replace("/a", 3), "the key 'a' has no colon"),
        ("# nothing\n", remove("/a"), "nothing at the top|does not apply"),
        ("{{ if .Values.x }}\na: 1\n{{ end }}\n", replace("/a", 3), "no valid YAML"),
    ],
)
def test_what_cannot_be_changed_alone_is_refused(source: str, operation: dict[str, Any], why: str) -> None:
    with pytest.raises(EditError, match=why):
        patch(source, 0, [operation])


def test_an_alias_bomb_is_refused() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
    )
    with pytest.raises(EditError, match="expands to more than"):
        documents(bomb)[0].data  # noqa: B018  reading is what is refused


def test_a_value_that_no_object_could_hold_is_refused() -> None:
    large = {"op": "replace", "path": "/spec", "value": {"key": "x" * 2_000_000}}
    with pytest.raises(EditError, match="the value at /spec has 2,000,011 characters, more than 2,000,000"):
        patch("spec: {}\n", 0, [large])
