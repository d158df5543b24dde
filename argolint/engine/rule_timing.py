"""`--timings`: measures the time of each rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from argolint.application.rule import Rule
from argolint.host.timing import charged


def watched(rule: Rule) -> Rule:
    """The rule with its functions wrapped to measure their time."""

    def lazily(stage: str, function: Callable[..., Iterable[Any]]) -> Callable[..., Iterable[Any]]:
        def run(*arguments: Any) -> Iterable[Any]:
            with charged(stage, rule.id):
                return list(function(*arguments))

        return run

    def reads(*arguments: Any) -> bool:
        with charged("reads", rule.id):
            return bool(rule.reads and rule.reads(*arguments))

    return replace(
        rule,
        check=rule.check and lazily("check", rule.check),
        wants=rule.wants and lazily("wants", rule.wants),
        collect=rule.collect and lazily("collect", rule.collect),
        reads=rule.reads and reads,
    )
