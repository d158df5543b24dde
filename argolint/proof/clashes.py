"""Finds fixes whose patches create the same list or map: the second one would overwrite the first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from argolint.model import Finding, Fix, Json, ResourceKey
from argolint.values import joined

Place = tuple[ResourceKey | None, str]
"""A pointer into a manifest, or, without one, into the Application."""


def with_clash_notes(findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings of one application; a fix gets a note if another finding's fix creates the same list or map with other content."""
    makers: dict[Place, list[tuple[int, Json]]] = defaultdict(list)
    for number, finding in enumerate(findings):
        for fix in finding.fixes:
            for place, value in _created_values(fix, finding):
                makers[place].append((number, value))
    for number, finding in enumerate(findings):
        fixes = tuple(_with_clash_note(fix, finding, makers, number) for fix in finding.fixes)
        yield finding if fixes == finding.fixes else replace(finding, fixes=fixes)


def _with_clash_note(
    fix: Fix, finding: Finding, makers: Mapping[Place, Sequence[tuple[int, Json]]], number: int
) -> Fix:
    rivals = sorted(
        place[1]
        for place, value in _created_values(fix, finding)
        if any(maker != number and other != value for maker, other in makers[place])
    )
    if not rivals:
        return fix
    says = f"put it together with the other patch of {rivals[0]}"
    return replace(fix, caveat=joined(fix.caveat, says))


def _created_values(fix: Fix, finding: Finding) -> Iterator[tuple[Place, Json]]:
    """The lists and maps that the patch creates, and their content."""
    if fix.edit.kind != "json-patch" or fix.target not in ("application", "manifest"):
        return
    target = finding.edits(fix)
    document = target.key if target and fix.target == "manifest" else None
    for operation in fix.edit.content:
        made = operation.get("op") == "add" and isinstance(operation.get("value"), list | dict)
        if made and not str(operation["path"]).endswith("/-"):
            yield (document, str(operation["path"])), operation["value"]
