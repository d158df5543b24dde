"""Compares the findings of both sides by fingerprint, and describes the result for the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from argolint.application.fleet import Fleet
from argolint.comparison.diff import differences
from argolint.gate.change import GatedChange
from argolint.gate.deletes import deletion_sentences
from argolint.gate.delta import successors
from argolint.gate.touched import Touched
from argolint.model import MISSING, SEVERITIES, AppRef, Failure, Finding, Object, ResourceId, ResourceKey
from argolint.model.fingerprint import identity
from argolint.model.results import Outcome, apps_of
from argolint.redaction import in_name, show_sides, without_secrets
from argolint.reports import assemble, document
from argolint.suppression import suppress
from argolint.suppression.suppress import Suppressions

Mark = tuple[str, str, str | None]
"""Argo CD, fingerprint and cause of a finding."""


@dataclass(frozen=True)
class Verdict:
    """`base` and `head`: whole outcomes of the same applications; `unlisted`: what was left out, and why.

    `fleets`: those of all Argo CDs that were read. `files`: the changed files that each application reads, if a checkout shows that.
    `unchecked`: what only the cluster can answer.
    `grown`: findings of head that base has with fewer objects; they are about the added objects.
    """

    fleets: tuple[Fleet, ...]
    base: Outcome
    head: Outcome
    base_name: str
    apps: tuple[Touched, ...]
    failures: tuple[Failure, ...]
    unlisted: tuple[str, ...] = ()
    files: Mapping[AppRef, tuple[str, ...]] = field(default_factory=dict)
    grown: frozenset[Mark] = frozenset()
    unchecked: tuple[str, ...] = ()

    @property
    def new(self) -> tuple[Finding, ...]:
        """Findings that base does not have, in the order of every report; a finding that affects another application or becomes more severe is new."""
        known = {mark(f): f for f in self.base.findings}
        return tuple(f for f in self.head.findings if mark(f) in self.grown or _is_new_party(f, known.get(mark(f))))

    @property
    def fixed(self) -> tuple[Finding, ...]:
        left = {mark(f) for f in self.head.findings}
        return tuple(f for f in self.base.findings if mark(f) not in left)

    def outcome(self, suppressions: Suppressions, once_merged: Suppressions) -> Outcome:
        """The new findings as an outcome, suppressed as base's own annotations, configuration and baseline say.

        Head's suppressions do not count, since a change cannot excuse itself. A finding that they would suppress after the merge says so.
        """
        new = replace(
            self.head,
            findings=self.new,
            failures=(*self.failures, *self.head.failures),
            apps=tuple(j.ref for j in self.apps),
            resources=sum(len(j.after.resources) for j in self.apps if j.after is not None),
            notes=self.base.notes,
        )
        done = suppress.apply(new, replace(suppressions, whole=False))
        findings = tuple(f for f in done.findings if f.family != suppress.UNUSED.family)
        later = suppress.apply(
            replace(new, findings=findings, notes=self.head.notes), replace(once_merged, whole=False)
        )
        excuses = {identity(f): f.suppressed for f in later.findings}
        return replace(done, findings=tuple(_with_excuse(f, excuses.get(identity(f))) for f in findings))

    @property
    def unchanged(self) -> int:
        """The number of findings on both sides that name a touched application."""
        refs = {t.ref for t in self.apps}
        known = {mark(f) for f in self.head.findings} - {mark(f) for f in self.new}
        return len({own for f in self.base.findings if apps_of(f) & refs and (own := mark(f)) in known})


def mark(finding: Finding) -> Mark:
    """The key for news: the same object with another cause is news."""
    return *identity(finding), finding.cause


def _with_excuse(finding: Finding, by: Mapping[str, str] | None) -> Finding:
    """The finding with a note on the change's own suppression of it; in the message, since every format shows that."""
    if finding.suppressed is not None or by is None:
        return finding
    note = f"The change itself adds a suppression of this ({by['by']} {by['where']}: {by['reason']}), which counts once it is merged"
    return replace(finding, message=f"{finding.message.rstrip('.')}. {note}")


def _is_new_party(finding: Finding, before: Finding | None) -> bool:
    if before is None or not apps_of(finding) <= apps_of(before):
        return True
    return SEVERITIES.index(finding.severity or "info") > SEVERITIES.index(before.severity or "info")


def gate_report(verdict: Verdict, change: GatedChange) -> document.Gate:
    """The verdict for the report: counts, and what changes in each application."""
    return document.Gate(
        verdict.base_name or "HEAD",
        change.head,
        len(verdict.new),
        len(verdict.fixed),
        verdict.unchanged,
        tuple(_app_report(j) for j in verdict.apps),
        without_secrets(change.repo),
        tuple(assemble.finding(f) for f in verdict.fixed),
        verdict.unlisted,
        deletes=deletion_sentences(verdict.apps, verdict.fleets) or msgspec.UNSET,
        unchecked=verdict.unchecked or msgspec.UNSET,
    )


def _app_report(judged: Touched) -> document.GateApp:
    change = judged.delta
    renamed = successors(change)
    rows: list[tuple[ResourceKey, Literal["added", "removed", "changed"], tuple[document.GateField, ...]]] = [
        *((key, "added", ()) for key in change.added if key not in renamed.values()),
        *((key, "removed", ()) for key in change.removed if key not in renamed),
        *((new, "changed", tuple(_fields(change.removed[old], change.added[new]))) for old, new in renamed.items()),
        *((key, "changed", tuple(_fields(edit.base, edit.head))) for key, edit in change.changed.items()),
    ]
    changes = tuple(
        document.GateChange(assemble.resource(_id(key, judged)), what, fields)
        for key, what, fields in sorted(
            rows, key=lambda row: (row[0].kind, row[0].namespace, row[0].name, row[0].group)
        )
    )
    return document.GateApp(assemble.app(judged.ref), judged.what, changes, judged.notes)


def _id(key: ResourceKey, judged: Touched) -> ResourceId:
    found = next((r for a in (judged.after, judged.before) if a is not None and (r := a.resource(key))), None)
    return found.id if found else key.id


def _fields(one: Object, other: Object) -> Iterator[document.GateField]:
    for pointer, after, before in sorted(differences(other, one), key=lambda pair: pair[0]):
        if pointer == _TRACKED:
            continue  # it follows the name
        base, head = show_sides(pointer, (before, one), (after, other), limit=200)
        yield document.GateField(
            in_name(pointer), None if before is MISSING else base, None if after is MISSING else head
        )


_TRACKED = "/metadata/annotations/argocd.argoproj.io~1tracking-id"
