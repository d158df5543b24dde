"""Which findings a report shows. Every rule runs and explains all the same: what is hidden never returns under another name."""

from __future__ import annotations

import msgspec

from argolint.model import SEVERITIES, Severity


class Shown(msgspec.Struct, frozen=True):
    """The findings that are shown: `select` and `ignore` hold rule ids, families and severities; nothing selected is all.

    `unasked` are pedantic rules that nothing asks for.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    min_severity: Severity = "info"
    unasked: tuple[str, ...] = ()

    def takes(self, rule: str, family: str, severity: Severity) -> bool:
        """True for a finding of that rule and severity."""
        words = {rule, family, severity}
        return (
            rule not in self.unasked
            and (not self.select or not words.isdisjoint(self.select))
            and words.isdisjoint(self.ignore)
            and SEVERITIES.index(severity) >= SEVERITIES.index(self.min_severity)
        )

    def may_take(self, rule: str, family: str) -> bool:
        """True for a rule of whose findings some may be shown."""
        return any(self.takes(rule, family, severity) for severity in SEVERITIES)
