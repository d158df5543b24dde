"""`argolint compare` and `argolint explain` as a person reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran, run_argolint


@pytest.fixture(scope="module")
def reports(report_of: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Those of two recorded phases, and of a later moment at which some faults are gone."""
    two = tuple(report_of(f"harbourline/{phase}") for phase in ("2-after-mutate", "3-after-commits"))
    last = {**json.loads(two[0].read_text()), "started_at": "2027-01-01T00:00:00Z"}
    third = tmp_path_factory.mktemp("reports") / "third.json"
    third.write_text(json.dumps(last))
    return (*two, third)


def compare(*args: str | Path) -> Ran:
    return run_argolint("compare", *args, env={"COLUMNS": "100"})


def test_what_is_new_stands_under_its_cause_with_the_fix(reports: tuple[Path, ...]) -> None:
    ran = compare(reports[0], reports[1])
    assert ran.code == 1
    block = next(b for b in ran.out.split("\n\n") if "too little ephemeral-storage" in b)
    assert block.startswith(
        "+ new\nerror    argocd/keycloak, argocd/tracking-rabbitmq · fixes both\n"
        "         The nodes of cluster https://kubernetes.default.svc have too little ephemeral-storage for\n"
    )
    assert "3 findings" in block
    assert "fix: Leave ephemeral-storage out of requests and limits, since no node offers enough of it" in block
    assert max(len(line) for line in ran.out.splitlines() if line[:1] in "+-0123456789e") <= 100


def test_several_reports_give_a_trend(reports: tuple[Path, ...]) -> None:
    made = [json.loads(file.read_text()) for file in reports]
    lines = compare(*reports).out.splitlines()[:3]
    for line, one in zip(lines, made, strict=True):
        assert line.startswith(f"{one['started_at']}  {one['summary']['findings']['error']} errors, ")
        assert line.endswith(f"{len(one['causes'])} causes")
    data = json.loads(compare(*reports, "-o", "json").out)
    assert [t["causes"] for t in data["trend"]] == [len(one["causes"]) for one in made]
    assert sum(c["findings"] for c in data["causes"]) == len(data["new"])


def test_one_report_is_not_enough(reports: tuple[Path, ...]) -> None:
    ran = compare(reports[0])
    assert (ran.code, ran.out) == (2, "")
    assert "compare needs two reports" in ran.err


def test_a_page_has_headings_and_the_terminals_width() -> None:
    lines = run_argolint("explain", "comparison-error", env={"COLUMNS": "60"}).out.splitlines()
    headings = ["What it finds", "Why it hurts", "How to fix"]
    assert [lines[lines.index(heading) - 1] for heading in headings] == ["", "", ""]
    assert max(map(len, lines)) <= 60


def test_a_family_and_a_condition_are_explained_by_their_rules() -> None:
    assert "pod-unschedulable  (error)  " in run_argolint("explain", "health").out
    condition = run_argolint("explain", "SharedResourceWarning").out
    assert "shared-resource" in condition
    assert "phantom-owner" in condition
    assert "did you mean 'health'?" in run_argolint("explain", "helth").err


def test_the_list_of_rules_fits_the_terminal() -> None:
    assert max(map(len, run_argolint("rules", env={"COLUMNS": "60"}).out.splitlines())) <= 60
