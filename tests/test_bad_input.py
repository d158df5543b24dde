"""What comes from outside may be of any type, and what goes out may find no room: told in a line, never a traceback."""

from __future__ import annotations

import copy
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from argolint import testing
from argolint.cli.demo import RECORDING
from argolint.engine import pipeline as lint
from argolint.engine.plan import ChosenRule, Plan
from argolint.plugins import load_rules
from argolint.server.transport import Answer, Query
from argolint.snapshots.reader import SnapshotTransport
from argolint.suppression import suppress
from tests.conftest import ROOT, run_argolint

WRONG: tuple[Any, ...] = (None, 0, 1.5, True, "", "a/b:c", [], [None], ["x"], [1], {}, {"a": None}, [{}], [[]])
STATES = ("targetState", "liveState", "normalizedLiveState", "predictedLiveState")


class Distorted:
    """A snapshot of which one value in twenty has another type."""

    offline = True

    def __init__(self, end: str, seed: int) -> None:
        self.inner = SnapshotTransport([RECORDING])
        self.server, self.stats = self.inner.server, self.inner.stats
        self.end, self.random = end, random.Random(seed)

    def now(self) -> datetime:
        return self.inner.now()

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        answer = self.inner.get(path, query, anonymous=anonymous)
        if answer.status != 200 or not path.endswith(self.end):
            return answer
        body = json.loads(answer.body)
        for item in body.get("items") or body.get("nodes") or ():
            states = [name for name in STATES if item.get(name, "null") != "null"]
            for name in states:
                item[name] = json.dumps(self.distorted(json.loads(item[name])))
            if not states:
                self.distorted(item)
        return Answer(answer.status, answer.content_type, json.dumps(body).encode())

    def distorted(self, node: Any) -> Any:
        places = list(_places(node))
        for holder, key in self.random.sample(places, len(places) // 20):
            if key not in ("apiVersion", "kind", "name"):
                holder[key] = copy.deepcopy(self.random.choice(WRONG))
        return node


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    for key, child in list(node.items() if isinstance(node, dict) else enumerate(node)):
        yield node, key
        if isinstance(child, dict | list):
            yield from _places(child)


@pytest.mark.parametrize("end", ["/managed-resources", "/resource-tree", "/events", "/projects", "/clusters"])
@pytest.mark.parametrize("seed", [1, 2])
def test_values_of_wrong_types_fail_no_rule(end: str, seed: int) -> None:
    rules = tuple(ChosenRule(r, r.default_options) for r in load_rules().values())
    part = lint.examine_shard(Distorted(end, seed), Plan(rules, workers=1, deep=True, shard=(seed, 3)))
    outcome = lint.conclude(part, rules, suppress.Suppressions())
    assert [(f.rule, f.error) for f in outcome.failures if f.rule] == []
    assert outcome.findings


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("args", [["rules"], ["check", "--snapshot", "PAIR"]])
def test_a_full_disk_is_told_in_two_lines(pair: Path, args: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "argolint", *(str(pair) if word == "PAIR" else word for word in args)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=ROOT,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("argolint: cannot read or write: No space left on device\n")
    assert len(done.stderr.splitlines()) == 2


def test_a_terminal_without_unicode_gets_the_report_all_the_same(pair: Path) -> None:
    ran = run_argolint("check", "--snapshot", pair, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (ran.code, ran.err) == (1, "")
    assert "applications, " in ran.out


def test_a_selection_that_fits_nothing_is_no_clean_run() -> None:
    for selection in (("--project", "no-such-project"), ("no-such-*",)):
        ran = run_argolint("check", "--snapshot", RECORDING, *selection)
        assert (ran.code, ran.out) == (2, "")
        assert "no application of https://argocd.example.com fits this selection" in ran.err


def test_a_message_is_one_line_whatever_a_revision_holds() -> None:
    app = {"name": "web", "spec": {"source": {"targetRevision": "main\n::error::x"}}}
    twin = {**app, "name": "web-2"}
    found = testing.check(
        testing.Fixture(Path("inline"), {"about": "a revision with a line break", "apps": [app, twin]}),
        list(load_rules().values()),
    )
    told = [f.message for f in found.findings if "::error::x" in f.message]
    assert told
    assert all(len(message.splitlines()) == 1 for message in told)


def test_an_option_that_has_no_effect_is_never_suggested() -> None:
    assert run_argolint("check", "--log-level").err.splitlines()[-1] == "Error: No such option '--log-level'."
    assert "'--server'" in run_argolint("check", "--servr").err
