"""`check --timings`: what each stage and each rule cost, beside a report that stays as it is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from argolint.cli.group import cli
from argolint.host.timing import Ledger, charged, measured, summed
from argolint.model.stats import Cost
from tests.small import write_snapshot


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_snapshot(tmp_path_factory.mktemp("small") / "snapshot")


def _check(snapshot: Path, *options: str) -> Result:
    done = CliRunner().invoke(cli, ["check", "--snapshot", str(snapshot), "--deep", "--fail-on", "never", *options])
    assert done.exit_code in (0, 3), done.output
    return done


def _report(snapshot: Path, *options: str) -> dict[str, Any]:
    return dict(json.loads(_check(snapshot, "-o", "json", *options).stdout))


def test_each_stage_and_the_costliest_rules_are_told_on_standard_error_and_sum_up(small: Path) -> None:
    told = _check(small, "--timings").stderr.splitlines()
    assert told[0].split() == ["stage", "cpu", "share", "+", "waiting", "what", "it", "is"]
    middle = next(number for number, line in enumerate(told) if line.startswith("rule "))
    *stages, other, whole = (line.split() for line in told[1:middle])
    assert {"list", "decide", "read", "evidence", "check", "inspect", "join", "report"} <= {
        words[0] for words in stages
    }
    waiting = [float(words[4]) for words in stages]
    assert waiting == sorted(waiting, reverse=True)
    assert (other[0], whole[0], whole[3]) == ("other", "sum", "100.0%")
    assert sum(float(words[1]) for words in (*stages, other)) == pytest.approx(float(whole[1]), abs=0.02)
    assert sum(waiting) == pytest.approx(float(whole[4]), abs=0.02)
    assert whole[-2:] == ["cores", "busy"]
    assert len({line.split("  ")[-1] for line in told[1:middle]}) == len(told[1:middle])  # each says what it is
    *rules, rest = (line.split() for line in told[middle + 1 :])
    costs = [float(words[1]) for words in rules]
    assert (len(costs), costs) == (20, sorted(costs, reverse=True))
    assert rest[1:3] == ["more", "rules"]


def test_the_list_of_each_of_several_servers_is_charged_and_a_shard_tells_too(small: Path, tmp_path: Path) -> None:
    (tmp_path / "servers.yaml").write_text(
        f"servers:\n- {{name: one, snapshot: {small}}}\n- {{name: two, snapshot: {shutil.copytree(small, tmp_path / 'two')}}}\n"
    )
    options = ["check", "--servers", str(tmp_path / "servers.yaml"), "--timings", "--fail-on", "never"]
    done = CliRunner().invoke(cli, [*options, "-o", "json"])
    alone = json.loads(_check(small, "--timings", "-o", "json").stdout)["stats"]["stages"]["list"]["cpu"]
    assert json.loads(done.stdout)["stats"]["stages"]["list"]["cpu"] > alone / 2
    shard = CliRunner().invoke(cli, [*options, "--shard", "1/2", "-o", f"json={tmp_path / '1.json'}"])
    assert shard.stderr.startswith("stage ")


def test_the_report_carries_them_under_stats_and_is_the_same_elsewhere(small: Path) -> None:
    plain, timed = _report(small), _report(small, "--timings")
    assert set(plain["stats"]) == {"requests", "bytes", "seconds"}
    stats = timed.pop("stats")
    plain.pop("stats")
    assert timed == plain
    assert set(stats["stages"]["list"]) == {"cpu", "seconds"}
    assert {"check", "wants"} <= set(stats["rules"]["autoscaler-replicas"])
    assert {"collect"} <= set(stats["rules"]["shared-resource"])


def test_without_the_flag_nothing_is_said(small: Path) -> None:
    assert _check(small).stderr == ""


def test_shards_carry_them_to_the_merge(small: Path, tmp_path: Path) -> None:
    parts = [tmp_path / f"{index}.json" for index in (1, 2)]
    for index, part in enumerate(parts, start=1):
        _check(small, "--timings", "--shard", f"{index}/2", "-o", f"json={part}")
    merged = CliRunner().invoke(cli, ["merge", *map(str, parts), "-o", "json", "--fail-on", "never"])
    stats = json.loads(merged.stdout)["stats"]
    assert {"list", "check", "join"} <= set(stats["stages"])
    assert set(stats["rules"]) == set(_report(small, "--timings")["stats"]["rules"])


def test_a_stage_is_charged_less_what_is_charged_within_it() -> None:
    clock = iter([(0.0, 0.0), (1.0, 10.0), (3.0, 30.0), (6.0, 60.0), (10.0, 100.0), (15.0, 150.0)])
    ledger = Ledger(lambda: next(clock))
    ledger.enter("inspect", "")
    ledger.enter("check", "a-rule")
    ledger.enter("decode", "")
    for _ in range(3):
        ledger.leave()
    assert ledger.costs == (
        Cost("check", "a-rule", 2.0 + 4.0, 20.0 + 40.0),
        Cost("decode", "", 3.0, 30.0),
        Cost("inspect", "", 1.0 + 5.0, 10.0 + 50.0),
    )


def test_what_a_fix_asks_of_other_rules_is_charged_to_the_fix() -> None:
    with measured(True) as ledger, charged("verify", "a-rule"), charged("check", "other"), charged("decode"):
        pass
    assert [(cost.stage, cost.rule) for cost in ledger.costs] == [("verify", "a-rule")]


def test_nothing_is_measured_unless_it_is_wanted() -> None:
    with measured(False) as ledger, charged("check", "a-rule"):
        pass
    assert ledger.costs == ()


def test_costs_of_several_applications_are_added_up() -> None:
    one, two = Cost("check", "a-rule", 1.0, 2.0), Cost("list", "", 4.0, 8.0)
    assert summed([one, two], [one]) == (Cost("check", "a-rule", 2.0, 4.0), two)
