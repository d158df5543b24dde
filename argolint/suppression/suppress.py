"""Suppresses findings that the user accepted: by annotations, configuration entries, a baseline.

One function applies all three. A suppressed finding stays in the report with the place and the reason of its suppression; a suppression
without a reason, without a match or after its expiry becomes a finding of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fnmatch import fnmatchcase

from argolint.application.rule import Rule
from argolint.model import AppRef, Finding, Location, Note, Severity, Source
from argolint.model.fingerprint import Identity, fingerprint
from argolint.model.results import Outcome, finding_order
from argolint.redaction import without_secrets
from argolint.suppression.annotations import PREFIX
from argolint.suppression.baseline import Accepted, Baseline, stale
from argolint.suppression.entries import Entry, Ignore
from argolint.values import below, join_pointer, plain

UNUSED = Rule(
    id="suppression-unused",
    family="suppression",
    severity="warning",
    causes=("annotation", "configuration", "baseline", "expired"),
    doc="""A suppression that suppresses nothing

What it finds: an `argolint.dev/ignore.<rule>` annotation, an `ignore` entry of the configuration, or an entry of the baseline
that no finding matches any more, or that has expired.

Why it hurts: the fault is gone, but the next one like it will be hidden by what was left behind.

How to fix: remove it. For a baseline, `argolint baseline -o FILE --prune` drops what is gone.
""",
)


INVALID = Rule(
    id="suppression-invalid",
    family="suppression",
    severity="error",
    causes=("no-reason", "unknown-rule"),
    doc="""A suppression that cannot count

What it finds: an `argolint.dev/ignore.<rule>` annotation without a reason, or for a rule that does not exist. It is not
applied.

Why it hurts: no one will know next year whether it may go, and a typo hides nothing.

How to fix: write the reason as the annotation's value, and the rule's id as `argolint rules` lists it.
""",
)


@dataclass(frozen=True)
class Suppressions:
    """All suppressions: entries of the configuration, the baseline, and facts on the run.

    `whole`: every application was looked at, so that an entry without a match is really unused. `servers`: the URLs of the Argo CDs that
    were read, with their names, which are empty in a run of one. `across`: the rules that need several of them.
    """

    entries: tuple[Entry, ...] = ()
    baseline: Baseline | None = None
    known_rules: frozenset[str] = frozenset()
    now: datetime | None = None
    whole: bool = True
    severities: Mapping[str, Severity] = field(default_factory=dict)
    servers: Mapping[str, str] = field(default_factory=dict)
    across: frozenset[str] = frozenset()


def apply(outcome: Outcome, suppressions: Suppressions) -> Outcome:
    """The same findings, suppressed where the user accepted them, and findings about wrong suppressions."""
    used: set[object] = set()
    accepted = suppressions.baseline.of(suppressions.servers) if suppressions.baseline else {}
    findings = [_suppressed_finding(f, outcome.notes, suppressions, accepted, used) for f in outcome.findings]
    more = [
        replace(f, rule=rule.id, family=rule.family, severity=suppressions.severities.get(rule.id, rule.severity))
        for rule, f in _suppression_findings(outcome, suppressions, used)
    ]
    return replace(outcome, findings=tuple(sorted((*findings, *more), key=finding_order)))


def _suppressed_finding(
    finding: Finding,
    all_notes: Sequence[Note],
    suppressions: Suppressions,
    accepted: Mapping[Identity, Accepted],
    used: set[object],
) -> Finding:
    if suppressions.baseline is not None:
        mark = (
            without_secrets(finding.at.app.server) if any(suppressions.servers.values()) else "",
            fingerprint(finding),
        )
        if mark in accepted:
            used.add(mark)
            by = {
                "by": "baseline",
                "where": suppressions.baseline.file,
                "reason": f"accepted on {suppressions.baseline.written_at[:10]}",
            }
            finding = replace(finding, suppressed=by)
    for index, entry in enumerate(suppressions.entries):
        own = entry.ignore
        if not _expired(own, suppressions) and _fits(own, finding, suppressions.servers):
            used.add(index)
            by = {"by": "configuration", "where": entry.place, "reason": own.reason}
            finding = replace(finding, suppressed=by)
    for note in all_notes:
        if note.rule == finding.rule and note.reason.strip() and _is_noted(note, finding):
            used.add(note)
            where = f"{note.resource.kind}/{note.resource.name}" if note.resource else f"Application/{note.app.name}"
            finding = replace(finding, suppressed={"by": "annotation", "where": where, "reason": plain(note.reason)})
    return finding


def _expired(entry: Ignore, suppressions: Suppressions) -> bool:
    return entry.expires is not None and suppressions.now is not None and suppressions.now.date() >= entry.expires


def _is_requested(entry: Ignore, suppressions: Suppressions) -> bool:
    """False for an entry of another Argo CD, in a run of one."""
    alone = suppressions.servers and not any(suppressions.servers.values())
    return not alone or entry.server is None or any(fnmatchcase(url, entry.server) for url in suppressions.servers)


def _is_noted(note: Note, finding: Finding) -> bool:
    places = {(finding.at.app, finding.at.resource.key if finding.at.resource else None)}
    places |= {(r.app, r.resource.key if r.resource else None) for r in finding.related if finding.key}
    return any(app == note.app and (note.resource is None or note.resource.key == key) for app, key in places)


def _fits(entry: Ignore, finding: Finding, servers: Mapping[str, str]) -> bool:
    at = finding.at
    places = filter(None, (at.app.server, servers.get(at.app.server)))
    kind, namespace, name = (at.resource.kind, at.resource.namespace, at.resource.name) if at.resource else ("", "", "")
    return (
        fnmatchcase(finding.rule, entry.rule)
        and entry.cause in (None, finding.cause)
        and (entry.server is None or any(fnmatchcase(place, entry.server) for place in places))
        and (entry.app is None or any(fnmatchcase(text, entry.app) for text in (at.app.name, str(at.app))))
        and (
            entry.resource is None
            or any(fnmatchcase(text, entry.resource) for text in (f"{kind}/{name}", f"{kind}/{namespace}/{name}"))
        )
        and (entry.pointer is None or below(at.pointer, entry.pointer))
    )


def _suppression_findings(
    outcome: Outcome, suppressions: Suppressions, used: set[object]
) -> Iterator[tuple[Rule, Finding]]:
    failed = {f.app for f in outcome.failures}
    for note in outcome.notes:
        at = Location(note.app, note.resource, join_pointer("metadata", "annotations", PREFIX + note.rule))
        if note.rule not in suppressions.known_rules:
            yield (
                INVALID,
                Finding(
                    f"annotation {PREFIX}{plain(note.rule)} names no rule, so it suppresses nothing", at, "unknown-rule"
                ),
            )
        elif not note.reason.strip():
            yield (
                INVALID,
                Finding(f"annotation {PREFIX}{note.rule} gives no reason, so it is not applied", at, "no-reason"),
            )
        elif note not in used and note.app not in failed:
            yield UNUSED, Finding(f"annotation {PREFIX}{note.rule} matches no finding", at, "annotation")
    config = Location(AppRef("argolint", "configuration"))
    for index, placed in enumerate(suppressions.entries):
        entry = placed.ignore
        source = Source(file=placed.file, line=placed.line)
        what = f"ignore entry for {entry.rule} in {placed.place}"
        at = replace(config, pointer=f"/ignore/{index}")
        if _expired(entry, suppressions):
            yield (
                UNUSED,
                Finding(
                    f"{what} expired on {entry.expires}, so its findings are reported again",
                    at,
                    "expired",
                    source=source,
                ),
            )
        elif index not in used and suppressions.whole and not outcome.failures and _is_requested(entry, suppressions):
            yield UNUSED, Finding(f"{what} matches no finding", at, "configuration", source=source)
    if suppressions.baseline is not None and suppressions.whole and not outcome.failures:
        gone = stale(suppressions.baseline, used, suppressions.servers, suppressions.across)
        if gone:
            yield (
                UNUSED,
                Finding(
                    f"{len(gone)} of {len(suppressions.baseline.findings)} entries of {suppressions.baseline.file} match no finding",
                    replace(config, pointer="/baseline"),
                    "baseline",
                    evidence=tuple(" ".join(filter(None, (a.rule, a.app, a.resource, a.pointer))) for a in gone),
                ),
            )
