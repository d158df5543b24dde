"""What a run cost, by stage and by rule, for people and in the report's stats: `--timings`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import click
import msgspec

from argolint.reports.document import Spent, Stats
from argolint.timing import Cost, summed

_STAGES = ("reads", "wants", "check", "collect", "verify", "join")
"""What is charged to a rule, in the order of a run."""

option = click.option(
    "--timings",
    is_flag=True,
    help="Tell what each stage and each rule costs, on standard error and in the JSON report.",
)


def with_costs(stats: Stats, *costs: Iterable[Cost]) -> Stats:
    """The stats with what each stage and each rule cost, the costliest first; the same where nothing was measured."""
    found = summed(*costs)
    if not found:
        return stats
    stages: dict[str, Spent] = {}
    rules: dict[str, dict[str, float]] = defaultdict(dict)
    for cost in found:
        before = stages.get(cost.stage, Spent(0.0, 0.0))
        stages[cost.stage] = Spent(before.cpu + cost.cpu_s, before.seconds + cost.seconds)
        if cost.rule:
            rules[cost.rule][cost.stage] = round(cost.cpu_s, 4)
    by_rule = sorted(rules.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    return msgspec.structs.replace(
        stats,
        stages={stage: Spent(round(spent.cpu, 4), round(spent.seconds, 4)) for stage, spent in _sorted(stages).items()},
        rules=dict(by_rule),
    )


def tell(stats: Stats, later: Iterable[Cost] = ()) -> None:
    """The costs as two tables on standard error, where they were measured; `later` are those of writing the report."""
    if stats.stages:
        stages = {**stats.stages, **{cost.stage: Spent(cost.cpu_s, cost.seconds) for cost in later}}
        for line in _lines(_sorted(stages), stats.rules or {}):
            click.echo(line, err=True)


def _sorted(stages: Mapping[str, Spent]) -> dict[str, Spent]:
    return dict(sorted(stages.items(), key=lambda item: (-item[1].seconds, item[0])))


def _lines(stages: Mapping[str, Spent], rules: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    whole = sum(spent.cpu for spent in stages.values()) or 1.0
    yield f"{'stage':40} {'cpu':>9} {'share':>6} {'in all':>9}"
    for stage, spent in stages.items():
        yield f"{stage:40} {spent.cpu:7.3f} s {spent.cpu / whole:6.1%} {spent.seconds:7.3f} s"
    yield f"{'rule':40} {'cpu':>9} {'share':>6}  of it"
    for rule, of in rules.items():
        parts = ", ".join(f"{stage} {of[stage]:.3f}" for stage in _STAGES if of.get(stage, 0.0) >= 0.0005)
        cpu = sum(of.values())
        yield f"{rule:40} {cpu:7.3f} s {cpu / whole:6.1%}  {parts}".rstrip()
