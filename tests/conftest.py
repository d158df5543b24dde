"""Where the recordings are, and whether they are there."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RECORDINGS = ROOT.parent / "shared" / "recordings"


def recording(name: str) -> Path:
    """A recorded phase such as `harbourline/1-first-sync`; the test is skipped, aloud, where recordings are not at hand."""
    path = RECORDINGS / name
    if not path.exists():
        pytest.skip(f"recording {name} is not beside this checkout")
    return path
