"""The plan of a move: steps, objections and remarks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from argolint.application.app import App
from argolint.forecast.fate import FAMILY, Effect
from argolint.model import Finding, Location, ResourceId, Severity

RULE = "forecast-move"
EFFECT: Mapping[str, Effect] = {
    "name-taken": "refuses",
    "target-unknown": "refuses",
    "template-differs": "refuses",
    "application-deleting": "refuses",
    "same-place": "refuses",
    "set-deletes-objects": "refuses",
    "set-makes-it-again": "refuses",
    "parent-deletes-objects": "refuses",
    "shared-objects": "refuses",
    "other-cluster": "refuses",
    "project-forbids": "refuses",
    "kinds-not-served": "refuses",
    "other-api-server": "breaks",
    "data-stays": "breaks",
    "release-name": "breaks",
    "namespace-differs": "breaks",
}
_SEVERITY: Mapping[str, Severity] = {"refuses": "error", "breaks": "warning"}
Where = Literal["rename", "to", "to-set", "to-cluster", "to-argocd"]


@dataclass(frozen=True)
class Step:
    what: str
    command: str = ""
    check: str = ""


@dataclass(frozen=True)
class Plan:
    """The steps, empty if something forbids the move, and the findings."""

    about: str
    steps: tuple[Step, ...] = ()
    findings: tuple[Finding, ...] = field(default_factory=tuple)


def move_finding(cause: str, app: App, message: str, at: ResourceId | None = None, **more: Any) -> Finding:
    """A finding of this move; `more`: further fields of it."""
    severity = _SEVERITY[EFFECT[cause]]
    return Finding(message, Location(app.ref, at), cause=cause, severity=severity, rule=RULE, family=FAMILY, **more)
