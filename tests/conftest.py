"""Where the recordings are, and whether they are there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RECORDINGS = ROOT.parent / "shared" / "recordings"


def recording(name: str) -> Path:
    """A recorded phase such as `harbourline/1-first-sync`.

    Where recordings are not at hand the test is skipped, aloud; where they must be (ARGOLINT_REQUIRE_RECORDINGS), it fails.
    """
    path = RECORDINGS / name
    if not path.exists() and os.environ.get("ARGOLINT_REQUIRE_RECORDINGS"):
        pytest.fail(f"recording {name} must be here and is not")
    if not path.exists():
        pytest.skip(f"recording {name} is not beside this checkout")
    return path
