"""JSON that somebody else wrote, decoded."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import ROOT


def test_types_that_many_threads_decode_at_once_for_the_first_time_kill_no_process() -> None:
    race = [sys.executable, str(ROOT / "scripts" / "race.py"), "8"]
    done = subprocess.run(race, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("0 of 8 processes died\n", "")
