"""Which findings a report shows. Every rule runs and explains all the same: what is hidden never returns under another name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from argolint.model import SEVERITIES, Severity

if TYPE_CHECKING:
    from argolint.engine.plan import Outcome

_CRASHED = frozenset({"check", "wants", "verify", "join"})
"""Stages of failures that are a rule's own."""


class Shown(msgspec.Struct, frozen=True):
    """The findings that are shown: `select` and `ignore` hold rule ids, families and severities; nothing selected is all."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    min_severity: Severity = "info"

    def takes(self, rule: str, family: str, severity: Severity) -> bool:
        """True for a finding of that rule and severity."""
        words = {rule, family, severity}
        return (
            (not self.select or not words.isdisjoint(self.select))
            and words.isdisjoint(self.ignore)
            and SEVERITIES.index(severity) >= SEVERITIES.index(self.min_severity)
        )

    def may_take(self, rule: str, family: str) -> bool:
        """True for a rule of whose findings some may be shown."""
        return any(self.takes(rule, family, severity) for severity in SEVERITIES)

    def of(self, outcome: Outcome, families: Mapping[str, str]) -> Outcome:
        """The outcome with what is shown, and without crashes of rules none of whose findings would be; `families` by rule."""
        if self == Shown():
            return outcome
        return replace(
            outcome,
            findings=tuple(f for f in outcome.findings if self.takes(f.rule, f.family, f.severity or "warning")),
            failures=tuple(
                f
                for f in outcome.failures
                if f.stage not in _CRASHED or f.rule is None or self.may_take(f.rule, families.get(f.rule, ""))
            ),
        )
