"""Messages of Argo CD and the API server for a failed comparison or sync."""

from __future__ import annotations

import re
from collections.abc import Iterator

from argolint import App, Symptom
from argolint.edits.consequences import consequences
from argolint.quick.records import dataclass


@dataclass(frozen=True)
class Refusal:
    """A message and its symptom."""

    message: str
    symptom: Symptom


def refusals(app: App, pattern: re.Pattern[str]) -> Iterator[Refusal]:
    """Error conditions that match (a ComparisonError also explains an Unknown sync status), then the failed operation with all its consequences,
    if its message or one of its results matches."""
    for condition in app.conditions:
        if condition.is_error and pattern.search(condition.message):
            yield Refusal(condition.message, condition.symptom)
            if condition.type == "ComparisonError":
                yield Refusal(condition.message, Symptom.sync())
    operation = app.operation
    if operation is None or operation.phase in ("Succeeded", ""):
        return
    texts = (operation.message, *(str(result.get("message") or "") for result in operation.results))
    found = next((text for text in texts if pattern.search(text)), None)
    if found is not None:
        for symptom in consequences(app):
            yield Refusal(found, symptom)
