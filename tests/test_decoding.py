"""JSON that somebody else wrote, decoded."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from argolint.values.decoding import json_value
from tests.conftest import ROOT


def test_types_that_many_threads_decode_at_once_for_the_first_time_kill_no_process() -> None:
    race = [sys.executable, str(ROOT / "scripts" / "race.py"), "4"]
    done = subprocess.run(race, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("0 of 4 processes died\n", "")


@pytest.mark.parametrize("text", [b'"\xff"', b'"\\ud800"', b'{"\\udc00": 1}', b'"\\ud8"'])
def test_what_go_never_writes_is_refused_as_no_json(text: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        json_value(text)
