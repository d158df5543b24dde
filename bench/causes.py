"""The cost of causes, as a share of a check of the demo's recording: `python bench/causes.py`.

    link    `follows` of all findings resolved, over all applications
    group   the report's causes and counts made of them

The goal is under 5 % of the check; the script does not fail above it.
"""

from __future__ import annotations

import time
from statistics import median

from argolint.cli.demo import RECORDING
from argolint.engine import pipeline
from argolint.engine.causes import with_causes
from argolint.engine.join import join
from argolint.engine.plan import ChosenRule, Plan
from argolint.plugins import load_rules
from argolint.reports import assemble, causes
from argolint.snapshots.reader import SnapshotTransport

RUNS = 5


def main() -> None:
    rules = tuple(ChosenRule(rule, rule.default_options) for rule in load_rules().values())
    took: dict[str, list[float]] = {"check": [], "link": [], "group": []}
    for _ in range(RUNS):
        start = time.perf_counter()
        part = pipeline.examine_shard(SnapshotTransport([RECORDING]), Plan(rules, workers=1))
        outcome = join(part.results, rules)
        took["check"].append(time.perf_counter() - start)
        start = time.perf_counter()
        with_causes(outcome.findings)
        took["link"].append(time.perf_counter() - start)
        found = [assemble.finding(finding) for finding in outcome.findings]
        start = time.perf_counter()
        linked = causes.with_shown_causes(found, outcome.causes.parent, outcome.causes.title)
        causes.causes(linked, outcome.causes.title)
        took["group"].append(time.perf_counter() - start)
    check, link, group = (median(took[name]) for name in ("check", "link", "group"))
    print(f"check    {check:.2f} s  {len(outcome.findings)} findings")
    print(f"link     {link * 1e3:.1f} ms  {link / check:.1%} of the check")
    print(f"group    {group * 1e3:.1f} ms  {group / check:.1%} of the check  (goal 5 % for both)")


if __name__ == "__main__":
    main()
