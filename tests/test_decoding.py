"""JSON that somebody else wrote, decoded."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from argolint.decoding import json_value
from tests.conftest import ROOT


def test_types_that_many_threads_decode_at_once_for_the_first_time_kill_no_process() -> None:
    race = [sys.executable, str(ROOT / "scripts" / "race.py"), "8"]
    done = subprocess.run(race, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("0 of 8 processes died\n", "")


@pytest.mark.parametrize("kind", [str, bytes])
@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"a\ud800b"', "a\ufffdb"),
        (r'"\udc00\ud83d\ude00"', "\ufffd\U0001f600"),
        (r'"\\ud800 \\\ud800"', "\\ud800 \\\ufffd"),
        (r'{"a": ["\uDBFF"]}', {"a": ["\ufffd"]}),
    ],
)
def test_half_a_character_is_read_as_go_reads_it(kind: type, text: str, value: object) -> None:
    assert json_value(text if kind is str else text.encode()) == value


@pytest.mark.parametrize("text", [b'"\xff"', b'"\xff \\ud800"', b'"\\ud800', b'"\\ud8"'])
def test_what_is_no_json_stays_none(text: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        json_value(text)
