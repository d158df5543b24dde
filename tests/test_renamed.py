"""Names that one revision renders otherwise each time, and names that only look like it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from argolint_rules.nondeterminism._renamed import is_random_rename, name_shapes

from argolint import testing
from argolint.plugins import load_rules


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("web-migrate-x7k2p", "web-migrate-q9d4z"),
        ("web-2026-01-01-11-58", "web-2026-01-01-12-03"),
        ("web-1735732800-init", "web-1735736400-init"),
        ("web-8f3a91c2-init", "web-0b77de41-init"),
    ],
)
def test_a_time_or_a_random_word_in_a_name(one: str, other: str) -> None:
    assert is_random_rename(one, other)
    assert set(name_shapes(one)) & set(name_shapes(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("web-1", "web-2"),
        ("web-v1-30-1", "web-v1-31-0"),
        ("web-blue", "web-plum"),
        ("a" * 252 + "1", "a" * 252 + "2"),
        ("web-0001", "web-0002"),
        ("web-staging", "web-testing"),
    ],
)
def test_a_counter_a_version_or_another_word_is_none(one: str, other: str) -> None:
    assert not (is_random_rename(one, other) and set(name_shapes(one)) & set(name_shapes(other)))


def _found(tmp_path: Path, wanted: list[str], live: list[str], synced: list[str]) -> list[str]:
    job = {"apiVersion": "batch/v1", "kind": "Job"}
    rows = [{"group": "batch", "kind": "Job", "namespace": "shop", "name": name, "status": "Synced"} for name in synced]
    operation = {
        "phase": "Succeeded",
        "syncResult": {"revision": "1f0e3dad99908345f7439f8ffabdffc4c1a0b0d5", "resources": rows},
    }
    resources: list[dict[str, Any]] = [
        *({"desired": {**job, "metadata": {"name": name, "namespace": "shop"}}} for name in wanted),
        *({"live": {**job, "metadata": {"name": name, "namespace": "shop"}}} for name in live),
    ]
    app = {
        "name": "shop",
        "spec": {"destination": {"namespace": "shop"}, "source": {"path": "chart"}},
        "status": {"sourceType": "Helm", "operationState": operation},
        "resources": resources,
    }
    path = tmp_path / "names.yaml"
    path.write_text(json.dumps({"about": "names", "apps": [app]}))
    report = testing.check(testing.load_fixture(path), list(load_rules().values()))
    return sorted(f.resource.name for f in report.findings if f.rule == "nondeterministic-field" and f.resource)


def test_two_candidates_for_one_name_are_no_answer(tmp_path: Path) -> None:
    assert _found(tmp_path, ["m-x7k2p"], ["m-q9d4z"], ["m-q9d4z"]) == ["m-x7k2p"]
    assert _found(tmp_path, ["m-x7k2p"], ["m-q9d4z", "m-b8w1t"], ["m-q9d4z", "m-b8w1t"]) == []
    assert _found(tmp_path, ["m-x7k2p", "m-h4n0s"], ["m-q9d4z"], ["m-q9d4z"]) == []


def test_an_object_that_the_sync_brought_and_somebody_deleted_is_not_renamed(tmp_path: Path) -> None:
    assert _found(tmp_path, ["m-x7k2p"], ["m-q9d4z"], ["m-x7k2p", "m-q9d4z"]) == []
