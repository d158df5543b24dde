"""Runs the rules on one application: checks, settles, verifies by replay, and masks secrets. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.edits.consequences import with_consequences
from argolint.engine.guard import Guard, crash_failure
from argolint.engine.plan import ChosenRule
from argolint.engine.proving import Proofs, by_id, ranks
from argolint.engine.settle import settle
from argolint.engine.stamp import stamp
from argolint.errors import UnreadableStateError
from argolint.host.timing import charged
from argolint.model import Fact, Failure, Finding, Note, ResourceId, ResourceKey, Symptom
from argolint.model.results import AppResult
from argolint.proof.clashes import with_clash_notes
from argolint.proof.verify import Render
from argolint.suppression.annotations import notes


def inspect(app: App, fleet: Fleet, rules: Sequence[ChosenRule], render: Render | None = None) -> AppResult:
    """Findings and facts of one application. Pure: no I/O and no clock, except `render`, which verifies Helm values."""
    findings: list[Finding] = []
    facts: list[tuple[str, Fact]] = []
    failures: list[Failure] = []
    for chosen in rules:
        rule = chosen.rule
        try:
            if rule.check is not None:
                reported = rule.check(app, fleet, chosen.options)
                findings += [stamp(with_consequences(f, app), chosen, app) for f in reported]
            if rule.collect is not None:
                facts += [(rule.id, fact) for fact in rule.collect(app, fleet, chosen.options)]
        except BaseException as error:  # a rule's crash becomes a Failure that names it; the other rules go on
            failures.append(crash_failure(rule, app, "check", error))
    settled = settle(findings, ranks(rules))
    kept = list(_reported_again(settled, findings, app, fleet, by_id(rules), failures))
    proofs = Proofs(app, fleet, rules, findings, failures, render)
    facts = list(proofs.with_trials(facts))
    verified = list(proofs.with_proven_fixes(kept))
    guard = Guard(app)
    with charged("redact"):
        proven = [guard.finding(finding) for finding in with_clash_notes(verified)]
    unused: tuple[Note, ...] = ()
    try:
        unused = tuple(notes(app))
    except UnreadableStateError as error:
        failures.append(Failure("states", error.message, error.hint, app.ref))
    return AppResult(
        app.ref,
        len(app.resources),
        tuple(proven),
        tuple(facts),
        tuple(failures),
        unused,
        sync=app.sync_status,
        health=app.health.status,
        version=fleet.version,
    )


def _reported_again(
    kept: Sequence[Finding],
    findings: Iterable[Finding],
    app: App,
    fleet: Fleet,
    rules_by_id: Mapping[str, ChosenRule],
    failures: list[Failure],
) -> Iterator[Finding]:
    """The kept findings. If another finding took over some of the differences, the rule runs again without these.

    Message, place, evidence and fixes then refer to the remaining differences only. If the rule then has no such finding, the original
    stays.
    """
    claimed = {(f.rule, f.at, f.message): f.explains for f in findings}
    lost: dict[str, dict[ResourceKey | None, list[str]]] = defaultdict(lambda: defaultdict(list))
    for finding in kept:
        own = frozenset(finding.explains)
        for claim in claimed[finding.rule, finding.at, finding.message]:
            if claim.kind == "change" and claim not in own:
                lost[finding.rule][claim.resource].append(claim.detail)
    again: dict[tuple[str, ResourceId | None, frozenset[Symptom]], Finding] = {}
    for id_, answered in lost.items():
        try:
            for reported in _reported_without(answered, app, fleet, rules_by_id[id_]):
                again[id_, reported.at.resource, frozenset(reported.explains)] = reported
        except BaseException as error:  # a rule's crash with fewer differences becomes a Failure that names it
            failures.append(crash_failure(rules_by_id[id_].rule, app, "check", error))
    for finding in kept:
        whole = claimed[finding.rule, finding.at, finding.message] == finding.explains
        subject = (finding.rule, finding.at.resource, frozenset(finding.explains))
        yield finding if whole else again.get(subject, finding)


def _reported_without(
    answered: Mapping[ResourceKey | None, Sequence[str]], app: App, fleet: Fleet, chosen: ChosenRule
) -> Iterator[Finding]:
    """The rule's findings for the application without these differences."""
    resources = tuple(
        msgspec.structs.replace(r, answered=tuple(answered[r.key])) if r.key in answered else r for r in app.resources
    )
    check = chosen.rule.check
    for reported in check(replace(app, resources=resources), fleet, chosen.options) if check else ():
        yield stamp(with_consequences(reported, app), chosen, app)
