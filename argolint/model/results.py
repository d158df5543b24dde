"""The results of a run: one per application, and the overall outcome. Plain data for shard files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from argolint.model import AppRef, Fact, Failure, Finding, Note
from argolint.model.fingerprint import Identity
from argolint.model.selection import FindingFilter
from argolint.model.stats import Cost, Number
from argolint.quick.records import dataclass


def finding_order(finding: Finding) -> tuple[object, ...]:
    """The sort key of every report: applications by name, then resources, then rules."""
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
    """The applications that a finding is about: for a fleet finding, all that it names."""
    related = (r.app for r in finding.related) if finding.key else ()
    return frozenset((finding.at.app, *related))


@dataclass(frozen=True)
class Causes:
    """The cause of each finding, even of findings that are not shown; `title`: the title of each cause."""

    parent: Mapping[Identity, Identity] = field(default_factory=dict)
    title: Mapping[Identity, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AppResult:
    """The result of inspecting one application; plain data for shard files.

    `alongside`: it was not requested, but shares objects with a requested one; only its facts count. `unread`: its objects' states were not
    read, since Argo CD shows it as healthy and synced.
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
    """The version of its Argo CD."""


@dataclass(frozen=True)
class ServerRead:
    """An Argo CD that was read: its own URL, and its name if a run reads several."""

    url: str
    version: str
    name: str = ""


@dataclass(frozen=True)
class Looked:
    """One application that was looked at, with its status in Argo CD; `unread`: only the list was used."""

    ref: AppRef
    resources: int = 0
    sync: str = ""
    health: str = ""
    unread: bool = False
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Outcome:
    """Findings and failures of a whole run, sorted. `causes` includes those of findings that were left out."""

    findings: tuple[Finding, ...]
    failures: tuple[Failure, ...]
    apps: tuple[AppRef, ...]
    resources: int
    notes: tuple[Note, ...] = ()
    looked: tuple[Looked, ...] = ()
    causes: Causes = field(default_factory=Causes)

    def showing(self, shown: FindingFilter, families: Mapping[str, str]) -> Outcome:
        """The part to show, without crashes of rules whose findings are all hidden; `families` by rule."""
        if shown == FindingFilter():
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
"""Stages of failures that a rule caused."""
