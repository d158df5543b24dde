"""What the fuzzer found before, and where it starts from: every input goes through its target again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.targets import LONGEST, TARGETS

CORPUS = Path(__file__).parent / "fuzz" / "corpus"


@pytest.mark.parametrize("target", TARGETS)
def test_the_corpus_finds_nothing(target: str) -> None:
    inputs = sorted((CORPUS / target).iterdir())
    assert inputs
    for one in inputs:
        TARGETS[target](one.read_bytes()[:LONGEST])
