"""What is known of the messages that programs around Argo CD can write does not become less: tests/census.yaml against the census."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from argolint.values import knowledge

ROOT = Path(__file__).parent.parent
CENSUS = ROOT.parent / "shared" / "census"
KEPT: dict[str, Any] = knowledge.parse((ROOT / "tests" / "census.yaml").read_bytes())


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("census", ROOT / "scripts" / "census.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_group_of_programs_is_known_less_than_before() -> None:
    """Counts of `named`, and of `named` and `sorted` together, are at least those that are kept."""
    if not (CENSUS / "templates.yaml").is_file():
        pytest.skip(f"no census at {CENSUS}: the coverage that tests/census.yaml keeps is not compared")
    script = _script()
    now = script.coverage(script.cases(CENSUS, KEPT["every"]))
    for group, kept in KEPT["groups"].items():
        assert now[group]["named"] >= kept["named"], group
        assert now[group]["named"] + now[group]["sorted"] >= kept["named"] + kept["sorted"], group


def test_the_coverage_is_kept_for_every_group() -> None:
    assert set(KEPT["groups"]) == {
        *("Argo CD", "External Secrets", "Kubernetes", "health checks", "network", "operators", "rendering")
    }
    assert all(sum(counts.values()) > 0 for counts in KEPT["groups"].values())
