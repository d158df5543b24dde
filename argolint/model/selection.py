"""The findings that a report shows. All rules run and claim symptoms anyway, so a hidden fault does not return as another rule's finding."""

from __future__ import annotations

import msgspec

from argolint.model import SEVERITIES, Severity


class FindingFilter(msgspec.Struct, frozen=True):
    """A filter of findings: `select` and `ignore` have rule ids, families and severities; an empty `select` means all.

    `unasked`: pedantic rules that no option names.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    min_severity: Severity = "info"
    unasked: tuple[str, ...] = ()

    def takes(self, rule: str, family: str, severity: Severity) -> bool:
        """True if findings of that rule and severity are shown."""
        words = {rule, family, severity}
        return (
            rule not in self.unasked
            and (not self.select or not words.isdisjoint(self.select))
            and words.isdisjoint(self.ignore)
            and SEVERITIES.index(severity) >= SEVERITIES.index(self.min_severity)
        )

    def may_take(self, rule: str, family: str) -> bool:
        """True if some findings of the rule may be shown."""
        return any(self.takes(rule, family, severity) for severity in SEVERITIES)
