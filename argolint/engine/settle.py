"""Assigns each symptom to the claim of the highest rank."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from argolint.model import Finding, Symptom
from argolint.model.results import apps_of


def settle(findings: Sequence[Finding], ranks: Mapping[str, int]) -> list[Finding]:
    """The findings after each symptom went to the rule of the highest rank.

    A claim loses to a claim that covers it and comes from a rule of higher rank. Among equals a Change goes to the more specific pointer,
    then to the first rule id, while health, operations and conditions may have several findings. A finding that loses all its claims is
    dropped; one that loses some keeps the others.
    """
    rivals = {app: _Rivals(ranks) for finding in findings for app in apps_of(finding)}
    for finding in findings:
        for app in apps_of(finding):
            rivals[app].add(finding)
    kept: list[Finding] = []
    for finding in findings:
        if not finding.explains:
            kept.append(finding)
            continue
        left = tuple(
            claim
            for claim in finding.explains
            if not all(rivals[app].beats(finding.rule, claim) for app in apps_of(finding))
        )
        if left:
            kept.append(finding if left == finding.explains else replace(finding, explains=left))
    return kept


class _Rivals:
    """The claims on an application's symptoms, indexed by object and then by detail, of which there may be many."""

    def __init__(self, ranks: Mapping[str, int]) -> None:
        self._ranks = ranks
        self._rules: dict[tuple[object, object], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._lengths: dict[tuple[object, object], set[int]] = defaultdict(set)

    def add(self, finding: Finding) -> None:
        for claim in finding.explains:
            about = claim.kind, claim.resource
            self._rules[about][claim.detail].add(finding.rule)
            self._lengths[about].add(len(claim.detail))

    def beats(self, rule: str, claim: Symptom) -> bool:
        """True if a claim of another rule covers this one (`Symptom.covers`) and has a higher rank."""
        about = claim.kind, claim.resource
        rules = self._rules[about]
        own_rank = self._ranks.get(rule, 0)
        for length in self._lengths[about]:
            detail = claim.detail[:length] if claim.is_part(length) else None
            for other in rules.get(detail, ()) if detail is not None else ():
                other_rank = self._ranks.get(other, 0)
                if other != rule and (
                    other_rank > own_rank
                    or (other_rank == own_rank and claim.kind == "change" and detail == claim.detail and other < rule)
                ):
                    return True
        return False
