"""Nothing that others wrote acts on a terminal, on a reader's eyes or on the runner of a job, in no format."""

from __future__ import annotations

import io
import json
import re
import sys
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from argolint.host.plain_text import Stream, harmless, plain
from argolint.reports import document as report
from argolint.reports.formats import FORMATS, Style, render


def _unseen(characters: Iterable[int]) -> list[str]:
    return [chr(n) for n in characters if unicodedata.category(chr(n)) in ("Cc", "Cf", "Cs", "Zl", "Zp")]


@cache
def unseen() -> frozenset[str]:
    """Of all characters; and letters and marks that have no shape."""
    shapeless = "\u034f\u115f\u1160\u17b4\u180b\u3164\uffa0\U000e0100\U000e01ef"
    return frozenset((*_unseen(range(sys.maxunicode + 1)), *shapeless))


EVIL = (
    "a\x1b[2J\x1b]8;;http://evil/\x07\x9b5m\r\b\u202eb\u2066\u061c\u200f\u00ad\ufeff\U000e0041\u2028c\n::error file=a::owned\n"
    "  ::stop-commands::x ::add-mask::y ##vso[task.setvariable]z ##[error]q ##teamcity[x]"
)
TEXTS = st.text(
    st.sampled_from(
        [*_unseen(range(0x2000))[:80], "\u202e", "\U000e0041", ":", "#", "[", "a", " ", "\n", "\\", "é", "😀", '"']
    ),
    max_size=30,
)
COMMAND = re.compile(r"^\s*::[A-Za-z]|#(?=#\w{0,20}\[)", re.MULTILINE)


def test_every_control_and_format_character_is_shown_by_its_number() -> None:
    for character in unseen():
        assert character not in plain(f"a{character}b")
        assert character in "\n\t" or character not in harmless(f"a{character}b")


@given(TEXTS)
@example(EVIL)
def test_one_line_comes_out_and_is_seen_as_it_is(text: str) -> None:
    shown = plain(text)
    assert not set(shown) & unseen()
    assert not re.search(r"#(?=#\w{0,20}\[)", shown)
    assert plain(shown) == shown


@given(TEXTS)
@example(EVIL)
def test_whole_texts_keep_their_lines_and_no_line_is_a_command(text: str) -> None:
    shown = harmless(text)
    assert not set(shown) & unseen() - {"\n", "\t"}
    assert not COMMAND.search(shown)
    assert shown.count("\n") == text.count("\n")
    assert harmless(shown) == shown


@given(st.dictionaries(TEXTS, TEXTS, max_size=3))
def test_json_stays_the_same_json(value: dict[str, str]) -> None:
    assert json.loads(harmless(json.dumps(value, ensure_ascii=False, indent=1))) == value


@given(st.lists(TEXTS, max_size=6))
def test_a_stream_is_harmless_however_its_text_comes(parts: list[str]) -> None:
    behind = io.StringIO()
    stream = Stream(behind)
    for part in parts:
        stream.write(part)
    assert not COMMAND.search(behind.getvalue())


def test_a_stream_lets_our_own_colours_progress_and_commands_pass() -> None:
    behind = io.StringIO()
    stream = Stream(behind)
    stream.write("\r1/2")
    stream.write("\n\x1b[1m\x1b[31mred\x1b[0m\x1b[8mhidden")
    stream.write("\n")
    stream.write_commands("::notice::meant\n")
    stream.write("::notice::not meant\n")
    assert behind.getvalue() == (
        "\r1/2\n\x1b[1m\x1b[31mred\x1b[0m\\u001b[8mhidden\n::notice::meant\n\\u003a:notice::not meant\n"
    )


@dataclass
class Hostile:
    """A value of any type of the report, with the same text in every place that takes a text of others."""

    closed: dict[str, Any] = field(default_factory=dict)

    def of(self, kind: Any, name: str = "") -> Any:
        if name in self.closed:
            return self.closed[name]
        node = msgspec.inspect.type_info(kind) if not isinstance(kind, msgspec.inspect.Type) else kind
        match node:
            case msgspec.inspect.StructType():
                return node.cls(**{f.name: self.of(f.type, f.name) for f in node.fields})
            case msgspec.inspect.VarTupleType() | msgspec.inspect.ListType():
                return (self.of(node.item_type),)
            case msgspec.inspect.UnionType():
                return self.of(next(t for t in node.types if not isinstance(t, msgspec.inspect.NoneType)))
            case msgspec.inspect.DictType():
                return {"by": EVIL}
            case msgspec.inspect.LiteralType():
                return node.values[0]
            case msgspec.inspect.IntType():
                return 1
            case msgspec.inspect.FloatType():
                return 1.0
            case msgspec.inspect.BoolType():
                return True
        return EVIL


@pytest.mark.parametrize(
    "edit",
    [
        {"kind": "text", "content": EVIL},
        {"kind": "json-patch", "content": [{"op": "add", "path": f"/{EVIL}", "value": {EVIL: EVIL}}]},
    ],
)
@pytest.mark.parametrize("name", FORMATS)
def test_no_field_of_a_report_acts_in_any_format(name: str, edit: dict[str, Any]) -> None:
    made = Hostile({"edit": report.ReportedEdit(**edit), "suppressed": None}).of(report.Report)
    for style in (Style(), Style(verbose=True, width=20)):
        text = render(made, name, style)
        assert not set(text) & unseen() - {"\n"}
        assert "##vso[" not in text
        if name == "github":
            assert all(line.startswith("::") for line in text.splitlines())
        else:
            assert not COMMAND.search(text)
        if name in ("sarif", "gitlab"):  # what code scanning shows is what the JSON stands for
            assert not set(_texts(json.loads(text))) & unseen() - {"\n"}
        if name == "junit":
            assert not set("".join(ET.fromstring(text).itertext())) & unseen() - {"\n"}


def _texts(node: Any) -> str:
    if isinstance(node, dict):
        return "".join(map(_texts, [*node, *node.values()]))
    return "".join(map(_texts, node)) if isinstance(node, list) else str(node)
