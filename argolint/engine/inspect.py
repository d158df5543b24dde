"""Runs the rules on one application: checks, settles, verifies by replay, and masks secrets. Pure."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

import msgspec

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.edits.consequences import with_consequences
from argolint.engine.guard import Guard, crash_failure
from argolint.engine.plan import ChosenRule
from argolint.engine.settle import settle
from argolint.engine.stamp import stamp
from argolint.errors import UnreadableStateError
from argolint.host.timing import charged
from argolint.model import Fact, Failure, Finding, Note, ResourceId, ResourceKey, Symptom
from argolint.model.fingerprint import subject
from argolint.model.results import AppResult
from argolint.proof import needs
from argolint.proof.afterwards import prediction_of
from argolint.proof.clashes import with_clash_notes
from argolint.proof.handover import with_trials
from argolint.proof.replay import same_fault
from argolint.proof.verify import ApplicationCache, Render, verify
from argolint.redaction import without_secrets
from argolint.suppression.annotations import notes
from argolint.values.memo import by_identity

_LOG = logging.getLogger(__name__)


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
    by_id = _by_id(rules)
    kept = settle(findings, _ranks(rules))
    kept = list(_reported_again(kept, findings, app, fleet, by_id, failures))
    cache, own = ApplicationCache(), _OwnRule(fleet)
    guard = Guard(app)
    others = _OtherRules(findings, own, rules, failures)
    facts = list(_with_trials(facts, app, fleet, by_id, others, failures, render))
    verified: list[Finding] = []
    proofs: Counter[ResourceId | None] = Counter()
    for finding in kept:
        proofs[finding.at.resource] += bool(finding.fixes)
        if proofs[finding.at.resource] > _PROOFS:
            fixes = (replace(fix, verified=None, unverified=_LATER, proof=None) for fix in finding.fixes)
            verified.append(replace(finding, fixes=tuple(fixes)))
            continue
        with charged("verify", finding.rule):
            verified.append(
                _with_proven_fixes(finding, app, fleet, by_id[finding.rule], failures, render, cache, own, others)
            )
    with charged("redact"):
        proven = [guard.finding(finding) for finding in with_clash_notes(verified)]
    unused: tuple[Note, ...] = ()
    try:
        unused = tuple(notes(app))
    except UnreadableStateError as error:
        failures.append(Failure("states", error.message, error.hint, app.ref))
    shown = app.sync_status, app.health.status
    return AppResult(
        app.ref,
        len(app.resources),
        tuple(proven),
        tuple(facts),
        tuple(failures),
        unused,
        sync=shown[0],
        health=shown[1],
        version=fleet.version,
    )


_PROOFS = 30
"""Most findings of one object, or of the Application, whose fixes are replayed: each replay handles the whole object."""
_LATER = f"only the fixes of the first {_PROOFS} findings of an object are replayed"


@by_identity(4)
def _by_id(rules: Sequence[ChosenRule]) -> Mapping[str, ChosenRule]:
    return {chosen.rule.id: chosen for chosen in rules}


@by_identity(4)
def _ranks(rules: Sequence[ChosenRule]) -> Mapping[str, int]:
    return {chosen.rule.id: chosen.rule.rank for chosen in rules}


def _collected(chosen: ChosenRule, app: App, fleet: Fleet) -> Iterable[Fact]:
    collect = chosen.rule.collect
    return collect(app, fleet, chosen.options) if collect else ()


_MOST_TRIED = 10
"""Most objects of one application whose trials are run: each trial runs all rules."""


def _with_trials(
    facts: Iterable[tuple[str, Fact]],
    app: App,
    fleet: Fleet,
    by_id: Mapping[str, ChosenRule],
    others: _OtherRules,
    failures: list[Failure],
    render: Render | None,
) -> Iterator[tuple[str, Fact]]:
    """The facts, the first ones with trials with their results."""
    left = _MOST_TRIED
    for id_, fact in facts:
        chosen = by_id[id_]
        if not fact.trials or not left:
            yield id_, fact
            continue
        left -= 1
        try:
            with charged("verify", id_):
                found = with_trials(fact, app, fleet, partial(_collected, chosen), others, render)
        except BaseException as error:  # a rule's crash on the state after a trial becomes a Failure that names it
            failures.append(crash_failure(chosen.rule, app, "verify", error))
            found = fact
        yield id_, found


def _reported_again(
    kept: Sequence[Finding],
    findings: Iterable[Finding],
    app: App,
    fleet: Fleet,
    by_id: Mapping[str, ChosenRule],
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
            for reported in _reported_without(answered, app, fleet, by_id[id_]):
                again[id_, reported.at.resource, frozenset(reported.explains)] = reported
        except BaseException as error:  # a rule's crash with fewer differences becomes a Failure that names it
            failures.append(crash_failure(by_id[id_].rule, app, "check", error))
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


def _with_proven_fixes(
    finding: Finding,
    app: App,
    fleet: Fleet,
    chosen: ChosenRule,
    failures: list[Failure],
    render: Render | None,
    cache: ApplicationCache,
    own: _OwnRule,
    others: _OtherRules,
) -> Finding:
    """The finding with its fixes replayed; a fix that does not work is removed."""
    try:
        fixes = [
            verify(
                fix,
                finding,
                app,
                fleet,
                own.about(finding, number, chosen),
                render,
                cache,
                others.about(finding, number),
                prediction_of(chosen.rule, finding, fleet),
            )
            for number, fix in enumerate(finding.fixes)
        ]
    except BaseException as error:  # a rule's crash on the state after its fix becomes a Failure that names it
        failures.append(crash_failure(chosen.rule, app, "verify", error))
        return finding
    for fix in fixes:
        if fix.verified is False and _LOG.isEnabledFor(logging.DEBUG):
            why = without_secrets(f"{fix.title!r} of {app.ref}: {fix.unverified}")
            _LOG.debug("%s: dropped the fix %s", finding.rule, why)
    return replace(finding, fixes=needs.ordered_fixes(fix for fix in fixes if fix.verified is not False))


def _examination_cost(finding: Finding, after: App) -> int:
    """The cost of examining an application: its objects, plus the differences of the finding's object if they are many."""
    resource = after.resource(finding.at.resource.key) if finding.at.resource else None
    return len(after.resources) + (len(resource.changes) // _FEW if resource else 0)


_FEW = 10


class _OwnRule:
    """Checks whether a finding's own rule finds the same fault in another state of the application.

    The rule then looks at all objects, so for many findings with one cause only the first ones are checked.
    """

    _LOOKS = 1_000
    """Objects to look at for all fixes of a cause; at least one look covers all objects."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._seen: dict[object, tuple[int, bool]] = {}
        self._last: tuple[App, ChosenRule, tuple[Finding, ...]] | None = None

    def about(self, finding: Finding, number: int, chosen: ChosenRule) -> Callable[[App], Iterator[Finding]] | None:
        """The check for one fix of the finding; None for a rule that does not look at single applications."""
        check = chosen.rule.check
        if check is None:
            return None
        kind = (finding.rule, finding.cause, number)

        def look(after: App) -> Iterator[Finding]:
            spent, speaks = self._seen.get(kind, (0, False))
            if spent < self._LOOKS:
                found = tuple(check(after, self._fleet, chosen.options))
                self._last = after, chosen, found
                speaks = any(same_fault(other, finding) for other in found)
                self._seen[kind] = spent + _examination_cost(finding, after), speaks
            if speaks:
                yield finding

        return look

    def reported(self, after: App, chosen: ChosenRule) -> Iterable[Finding]:
        """What any rule finds in that state; the own rule, which was just asked, is not asked again."""
        if self._last is not None and self._last[0] is after and self._last[1] is chosen:
            return self._last[2]
        check = chosen.rule.check
        return check(after, self._fleet, chosen.options) if check else ()


class _OtherRules:
    """Finds what any rule reports in another state of an application, but does not report now.

    A claim that another finding explains now may become a finding then; that is not new. All rules look at all objects for each working
    fix, so for many similar findings only the first ones are checked.
    """

    _LOOKS = 1_000
    """Objects to look at for all fixes; four times as many for the first fix of each kind."""

    def __init__(
        self, findings: Iterable[Finding], own: _OwnRule, rules: Sequence[ChosenRule], failures: list[Failure]
    ) -> None:
        self._findings, self._own, self._rules, self._failures = findings, own, rules, failures
        self._spent = 0
        self._seen: dict[object, tuple[Finding, ...]] = {}

    def about(self, finding: Finding, number: int) -> Callable[[App], Iterator[Finding]]:
        """The check for one fix of the finding."""
        kind = (finding.rule, finding.cause, number)

        def look(after: App) -> Iterator[Finding]:
            allowed = self._LOOKS if kind in self._seen else 4 * self._LOOKS
            if self._spent < allowed:
                self._spent += _examination_cost(finding, after)
                self._seen[kind] = tuple(self(after))
            yield from self._seen.get(kind, ())

        return look

    @cached_property
    def _known(self) -> frozenset[tuple[str, ...]]:
        return frozenset(subject(finding.rule, finding) for finding in self._findings)

    def __call__(self, after: App) -> Iterator[Finding]:
        reported: list[tuple[ChosenRule, Finding, bool]] = []
        for chosen in self._rules:
            try:
                found = self._own.reported(after, chosen)
                reported += [(chosen, finding, subject(chosen.rule.id, finding) in self._known) for finding in found]
            except BaseException as error:  # a rule's crash on the state after a fix becomes a Failure that names it
                self._failures.append(crash_failure(chosen.rule, after, "verify", error))
        if all(known for _, _, known in reported):
            return
        stamped = [stamp(with_consequences(finding, after), chosen, after) for chosen, finding, _ in reported]
        for finding in settle(stamped, _ranks(self._rules)):
            if subject(finding.rule, finding) not in self._known:
                yield finding
