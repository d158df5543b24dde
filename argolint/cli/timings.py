"""`--timings`: the cost of a run by stage and by rule, for people and for the report's stats."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import click
import msgspec

from argolint.host.timing import summed
from argolint.model.stats import Cost, Spent, Stats

_STAGES = ("reads", "wants", "check", "collect", "verify", "join")
"""The measured stages, in the order of a run."""
_SHOWN = 20
"""How many of the costliest rules are shown."""
_WHAT = {
    "list": "the list of applications, settings, projects, clusters",
    "decide": "whether an application is looked into",
    "read": "states and trees, asked for and waited for",
    "evidence": "Events and objects that rules want, asked for",
    "decode": "objects made of JSON",
    "compare": "what Git wants against what is live",
    "inspect": "what rules share",
    "reads": "rules: whether to look into it",
    "wants": "rules: which evidence to ask for",
    "check": "rules: findings of one application",
    "collect": "rules: facts about it for others",
    "verify": "rules: fixes tried in memory",
    "redact": "secrets taken out of findings",
    "join": "findings that take several applications, and the report made",
    "report": "the report written",
}

option = click.option(
    "--timings",
    is_flag=True,
    help="Show the time of each stage and each rule, on standard error and in the JSON report.",
)


def with_costs(stats: Stats, *costs: Iterable[Cost]) -> Stats:
    """The stats with the cost of each stage and each rule, the costliest first; unchanged if nothing was measured."""
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


def show(stats: Stats, later: Iterable[Cost] = ()) -> None:
    """Print the costs as two tables to standard error, if they were measured; `later`: the costs of writing the report."""
    if stats.stages:
        stages = {**stats.stages, **{cost.stage: Spent(cost.cpu_s, cost.seconds) for cost in later}}
        for line in _lines(_sorted(stages), stats.rules or {}, stats.seconds):
            click.echo(line, err=True)


def _sorted(stages: Mapping[str, Spent]) -> dict[str, Spent]:
    return dict(sorted(stages.items(), key=lambda item: (-item[1].seconds, item[0])))


def _lines(stages: Mapping[str, Spent], rules: Mapping[str, Mapping[str, float]], seconds: float) -> Iterator[str]:
    """Both tables. Shares refer to the processor seconds of all stages plus what this process and its children spent otherwise."""
    staged = sum(spent.cpu for spent in stages.values())
    other = max(0.0, _own_cpu_s() - staged)
    whole = (staged + other) or 1.0
    yield f"{'stage':40} {'cpu':>9} {'share':>6} {'+ waiting':>11}  what it is"
    for stage, spent in stages.items():
        what = _WHAT.get(stage, "")
        yield f"{stage:40} {spent.cpu:7.3f} s {spent.cpu / whole:6.1%} {spent.seconds:9.3f} s  {what}".rstrip()
    if other:  # remote workers report only their stages, which then take more than this process in all
        yield f"{'other':40} {other:7.3f} s {other / whole:6.1%} {'':11}  start, imports, handing out, progress"
    waited = sum(spent.seconds for spent in stages.values())
    busy = f"{seconds:.1f} s: {whole / (seconds or 1.0):.1f} cores busy"
    yield f"{'sum':40} {whole:7.3f} s {1:6.1%} {waited:9.3f} s  of all threads and workers, within {busy}"
    yield f"{'rule':40} {'cpu':>9} {'share':>6}  of it"
    for rule in list(rules)[:_SHOWN]:
        of = rules[rule]
        parts = ", ".join(f"{stage} {of[stage]:.3f}" for stage in _STAGES if of.get(stage, 0.0) >= 0.0005)
        cpu = sum(of.values())
        yield f"{rule:40} {cpu:7.3f} s {cpu / whole:6.1%}  {parts}".rstrip()
    if rest := list(rules.values())[_SHOWN:]:
        cpu = sum(sum(of.values()) for of in rest)
        yield f"{f'{len(rest)} more rules':40} {cpu:7.3f} s {cpu / whole:6.1%}  each is in the JSON report, under stats.rules"


def _own_cpu_s() -> float:
    """Processor seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
