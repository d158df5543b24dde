"""Verifies the fixes of one application's findings, and says what each rule finds in the state after a fix."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.edits.consequences import with_consequences
from argolint.engine.guard import crash_failure
from argolint.engine.plan import ChosenRule
from argolint.engine.settle import settle
from argolint.engine.stamp import stamp
from argolint.host.timing import charged
from argolint.model import Fact, Failure, Finding, ResourceId
from argolint.model.fingerprint import subject
from argolint.proof import needs
from argolint.proof.afterwards import prediction_of
from argolint.proof.handover import with_trials
from argolint.proof.replay import Checks, same_fault
from argolint.proof.verify import ApplicationCache, Render, verify
from argolint.redaction import without_secrets
from argolint.values.memo import by_identity

_LOG = logging.getLogger(__name__)
_PROOFS = 30
"""Most findings of one object, or of the Application, whose fixes are replayed: each replay handles the whole object."""
_LATER = f"only the fixes of the first {_PROOFS} findings of an object are replayed"
_MOST_TRIED = 10
"""Most objects of one application whose trials are run: each trial runs all rules."""


@by_identity(4)
def by_id(rules: Sequence[ChosenRule]) -> Mapping[str, ChosenRule]:
    """The rules by their id."""
    return {chosen.rule.id: chosen for chosen in rules}


@by_identity(4)
def ranks(rules: Sequence[ChosenRule]) -> Mapping[str, int]:
    """The rank of each rule."""
    return {chosen.rule.id: chosen.rule.rank for chosen in rules}


class Proofs:
    """Verifies fixes and trials on one application. `failures` gets the crashes of rules on a state after a fix."""

    def __init__(
        self,
        app: App,
        fleet: Fleet,
        rules: Sequence[ChosenRule],
        findings: Sequence[Finding],
        failures: list[Failure],
        render: Render | None,
    ) -> None:
        self._app, self._fleet, self._by_id, self._failures, self._render = app, fleet, by_id(rules), failures, render
        self._cache, self._own = ApplicationCache(), _OwnRule(fleet)
        self._others = _OtherRules(findings, self._own, rules, failures)

    def with_trials(self, facts: Iterable[tuple[str, Fact]]) -> Iterator[tuple[str, Fact]]:
        """The facts, the first ones with trials with their results."""
        left = _MOST_TRIED
        for id_, fact in facts:
            if not fact.trials or not left:
                yield id_, fact
                continue
            left -= 1
            chosen = self._by_id[id_]
            try:
                with charged("verify", id_):
                    collect = partial(_collected, chosen)
                    found = with_trials(fact, self._app, self._fleet, collect, self._others, self._render)
            except BaseException as error:  # a rule's crash on the state after a trial becomes a Failure that names it
                self._failures.append(crash_failure(chosen.rule, self._app, "verify", error))
                found = fact
            yield id_, found

    def with_proven_fixes(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """The findings with their fixes replayed, without those that do not work."""
        proofs: Counter[ResourceId | None] = Counter()
        for finding in findings:
            proofs[finding.at.resource] += bool(finding.fixes)
            if proofs[finding.at.resource] > _PROOFS:
                fixes = (replace(fix, verified=None, unverified=_LATER, proof=None) for fix in finding.fixes)
                yield replace(finding, fixes=tuple(fixes))
                continue
            with charged("verify", finding.rule):
                proven = self._proven(finding)
            yield proven

    def _proven(self, finding: Finding) -> Finding:
        app, fleet, chosen = self._app, self._fleet, self._by_id[finding.rule]
        then = prediction_of(chosen.rule, finding, fleet)
        try:
            fixes = []
            for number, fix in enumerate(finding.fixes):
                checks = Checks(self._own.about(finding, number, chosen), self._others.about(finding, number), then)
                fixes.append(verify(fix, finding, app, fleet, checks, self._render, self._cache))
        except BaseException as error:  # a rule's crash on the state after its fix becomes a Failure that names it
            self._failures.append(crash_failure(chosen.rule, app, "verify", error))
            return finding
        for fix in fixes:
            if fix.verified is False and _LOG.isEnabledFor(logging.DEBUG):
                why = without_secrets(f"{fix.title!r} of {app.ref}: {fix.unverified}")
                _LOG.debug("%s: dropped the fix %s", finding.rule, why)
        return replace(finding, fixes=needs.ordered_fixes(fix for fix in fixes if fix.verified is not False))


def _collected(chosen: ChosenRule, app: App, fleet: Fleet) -> Iterable[Fact]:
    collect = chosen.rule.collect
    return collect(app, fleet, chosen.options) if collect else ()


def _examination_cost(finding: Finding, after: App) -> int:
    """The cost of examining an application: its objects, plus the differences of the finding's object if they are many."""
    resource = after.held(finding.at.resource)
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
        for finding in settle(stamped, ranks(self._rules)):
            if subject(finding.rule, finding) not in self._known:
                yield finding
