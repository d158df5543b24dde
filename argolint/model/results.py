"""What a run gives: a result for each application, and the outcome of all. Plain data that a shard can carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from argolint.model import AppRef, Fact, Failure, Finding, Note
from argolint.model.fingerprint import Identity
from argolint.model.selection import Shown
from argolint.model.stats import Cost, Number


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


def apps_of(finding: Finding) -> frozenset[AppRef]:
    """The applications that a finding answers for: a fleet finding for every one that it names."""
    related = (r.app for r in finding.related) if finding.key else ()
    return frozenset((finding.at.app, *related))


@dataclass(frozen=True)
class Causes:
    """What follows from what, also for findings that are not shown later: `title` of each that is a cause."""

    parent: Mapping[Identity, Identity] = field(default_factory=dict)
    title: Mapping[Identity, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AppResult:
    """What inspecting one application gave; plain data that a shard can carry.

    `alongside` says that it was not asked for: it shares objects with one that was, and only its facts count. `unread` says that it
    has objects whose states no one asked for, since Argo CD shows it as fine.
    """

    ref: AppRef
    resources: Number = 0
    findings: tuple[Finding, ...] = ()
    facts: tuple[tuple[str, Fact], ...] = ()
    failures: tuple[Failure, ...] = ()
    notes: tuple[Note, ...] = ()
    alongside: bool = False
    sync: str = ""
    health: str = ""
    spent: tuple[Cost, ...] = ()
    unread: bool = False
    labels: tuple[tuple[str, str], ...] = ()
    version: str = ""
    """Of the Argo CD that has it."""


@dataclass(frozen=True)
class ServerRead:
    """An Argo CD that was read: its own URL, and its name where a run reads several."""

    url: str
    version: str
    name: str = ""


@dataclass(frozen=True)
class Looked:
    """One application that was looked at, and how Argo CD shows it; `unread`: by what the list tells alone."""

    ref: AppRef
    resources: int = 0
    sync: str = ""
    health: str = ""
    unread: bool = False
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Outcome:
    """Findings and failures of a whole run, sorted. `causes` knows those of findings that were left out as well."""

    findings: tuple[Finding, ...]
    failures: tuple[Failure, ...]
    apps: tuple[AppRef, ...]
    resources: int
    notes: tuple[Note, ...] = ()
    looked: tuple[Looked, ...] = ()
    causes: Causes = field(default_factory=Causes)

    def showing(self, shown: Shown, families: Mapping[str, str]) -> Outcome:
        """What is shown of it, without crashes of rules none of whose findings would be; `families` by rule."""
        if shown == Shown():
            return self
        return replace(
            self,
            findings=tuple(f for f in self.findings if shown.takes(f.rule, f.family, f.severity or "warning")),
            failures=tuple(
                f
                for f in self.failures
                if f.stage not in _CRASHED or f.rule is None or shown.may_take(f.rule, families.get(f.rule, ""))
            ),
        )


_CRASHED = frozenset({"check", "wants", "verify", "join"})
"""Stages of failures that are a rule's own."""
