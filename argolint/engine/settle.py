"""Each symptom is answered by the rule of highest rank; the order of every report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from argolint.engine.causes import apps_of
from argolint.model import AppRef, Finding, Symptom


def finding_order(finding: Finding) -> tuple[object, ...]:
    """Applications by name, then resources, then rules: the order of every report."""
    at = finding.at
    return (
        at.app,
        at.resource is not None,
        at.resource.key if at.resource else ("",) * 5,
        at.pointer,
        finding.rule,
        finding.cause or "",
        finding.key,
        finding.message,
    )


def settle(findings: Sequence[Finding], ranks: Mapping[str, int]) -> list[Finding]:
    """Each symptom is answered by the rule of highest rank.

    A claim is lost to a claim that covers it and comes from a rule of higher rank; among equals a Change goes to the more
    specific pointer, then to the first rule id, while health, operations and conditions may have several answers.
    A finding that loses all its claims is dropped, one that loses some keeps the others.
    """
    by_app: dict[AppRef, list[tuple[Finding, Symptom]]] = defaultdict(list)
    for finding in findings:
        for app in apps_of(finding):
            by_app[app] += [(finding, claim) for claim in finding.explains]
    by_subject = {app: _group(claims) for app, claims in by_app.items()}
    kept: list[Finding] = []
    for finding in findings:
        if not finding.explains:
            kept.append(finding)
            continue
        left = tuple(
            claim
            for claim in finding.explains
            if not all(
                any(
                    _beats(other, rival, finding, claim, ranks)
                    for other, rival in by_subject[app][claim.kind, claim.resource]
                )
                for app in apps_of(finding)
            )
        )
        if left:
            kept.append(finding if left == finding.explains else replace(finding, explains=left))
    return kept


def _group(claims: Sequence[tuple[Finding, Symptom]]) -> Mapping[tuple[object, object], list[tuple[Finding, Symptom]]]:
    found: dict[tuple[object, object], list[tuple[Finding, Symptom]]] = defaultdict(list)
    for finding, claim in claims:
        found[claim.kind, claim.resource].append((finding, claim))
    return found


def _beats(other: Finding, rival: Symptom, finding: Finding, claim: Symptom, ranks: Mapping[str, int]) -> bool:
    if other is finding or other.rule == finding.rule or not rival.covers(claim):
        return False
    mine, theirs = ranks.get(finding.rule, 0), ranks.get(other.rule, 0)
    if mine != theirs:
        return theirs > mine
    return claim.kind == "change" and rival.detail == claim.detail and other.rule < finding.rule
