"""Parses Argo CD's SharedResourceWarning (CompareAppState in controller/state.go)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from argolint.application.app import App
from argolint.application.operation import Condition
from argolint.model import Object
from argolint.values import items
from argolint.values.patterns import regex


@dataclass(frozen=True)
class SharedWarning:
    """A parsed SharedResourceWarning; it has neither group nor namespace of the object."""

    condition: Condition
    kind: str
    name: str
    owner: str


_SHARED = regex(
    r"(?<![^/\s])(?P<kind>[^/\s]+)/(?P<name>.{1,300}?) is part of applications (?P<this>\S+) and (?P<owner>.+)"
)


def without_conditions(raw: Object, unwanted: Callable[[Object], bool]) -> Object:
    """An Application without the conditions that `unwanted` selects; the same object if there are none."""
    conditions = items(raw, "status", "conditions")
    kept = [c for c in conditions if not unwanted(c)]
    return raw if len(kept) == len(conditions) else {**raw, "status": {**raw["status"], "conditions": kept}}


def without_warnings(app: App, is_over: Callable[[SharedWarning], bool]) -> App:
    """The application without outdated SharedResourceWarnings: Argo CD rewrites them at each comparison."""
    ended = {warning.condition.message for warning in shared_warnings(app) if is_over(warning)}

    def unwanted(condition: Object) -> bool:
        return condition.get("type") == "SharedResourceWarning" and condition.get("message") in ended

    raw = without_conditions(app.raw, unwanted)
    return app if raw is app.raw else app.with_raw(raw)


def shared_warnings(app: App) -> Iterator[SharedWarning]:
    """`<Kind>/<name> is part of applications <this> and <owner>`: the owner is `name`, or `<namespace>/<name>`."""
    for condition in app.conditions:
        found = _SHARED.fullmatch(condition.message) if condition.type == "SharedResourceWarning" else None
        if found:
            yield SharedWarning(condition, found["kind"], found["name"], found["owner"].strip())
