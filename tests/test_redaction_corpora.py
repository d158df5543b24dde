"""Two lists: secrets that must go, and texts that must stay."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from argolint.redaction import HIDDEN, PRINTED, show_sides, without_secrets
from argolint.values import get
from argolint.values.knowledge import parse

HERE = Path(__file__).parent
GOES: dict[str, Any] = parse((HERE / "redaction_goes.yaml").read_bytes())
STAYS: dict[str, Any] = parse((HERE / "redaction_stays.yaml").read_bytes())
SECRETS = ("tidyheron482", "mossy7quartz", "Plum93Kettle")
DRAWN = ("kR9vT2mLx8QpW4nZ", "chMc4H56wjuKRHA8yC6NviLX")


def _sides(case: Any) -> list[str]:
    pointer = case["pointer"]
    return show_sides(pointer, *((get(case[side], pointer), case[side]) for side in ("one", "other")), limit=1000)


@pytest.mark.parametrize("secret", SECRETS)
def test_what_must_go_goes(secret: str) -> None:
    def planted(node: Any) -> Any:
        return json.loads(re.sub(r"\bSECRET\b", secret, json.dumps(node)))

    told = {text: without_secrets(text) for text in planted(GOES["texts"])}
    told |= {json.dumps(value): json.dumps(PRINTED.value(value)) for value in planted(GOES["values"])}
    for case in planted(GOES["sides"]):
        for sides in (_sides(case), _sides({**case, "one": case["other"], "other": case["one"]})):
            told[json.dumps([case, sides])] = " ".join(sides)
    assert [text for text, printed in told.items() if any(word in printed for word in (secret, *DRAWN))] == []
    assert all(HIDDEN in printed for printed in told.values())


def test_what_must_stay_stays() -> None:
    assert [text for text in STAYS["texts"] if without_secrets(text) != text] == []
    assert [value for value in STAYS["values"] if PRINTED.value(value) != value] == []
    assert [case for case in STAYS["sides"] if HIDDEN in "".join(_sides(case))] == []
