"""Joins the applications' results: runs the fleet-wide rules and keeps the best explanation of each symptom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from argolint.engine.causes import with_causes
from argolint.engine.guard import crash_failure
from argolint.engine.plan import ChosenRule
from argolint.engine.settle import settle
from argolint.engine.stamp import stamp
from argolint.host.timing import charged
from argolint.model import AppRef, Fact, Finding
from argolint.model.results import AppResult, Looked, Outcome, apps_of, finding_order
from argolint.proof import needs
from argolint.proof.verify import played, verify_together
from argolint.redaction.findings import NOTHING_KNOWN, Known, guarded, secrets_of


def join(results: Iterable[AppResult], rules: Sequence[ChosenRule]) -> Outcome:
    """The outcome: the results with the findings of fleet-wide rules, and the best explanation of each symptom."""
    ordered = sorted(results, key=lambda r: r.ref)
    wanted = [r for r in ordered if not r.alongside]
    refs = {r.ref for r in wanted}
    versions = {r.ref: r.version for r in ordered}
    findings = [f for r in wanted for f in r.findings]
    edits = played(f for r in ordered for f in r.findings)
    failures = [f for r in ordered for f in r.failures]
    chosen_by_id = {c.rule.id: c for c in rules}
    groups: dict[tuple[str, str, str], list[Fact]] = defaultdict(list)
    for result in ordered:
        for rule_id, fact in result.facts:
            groups[rule_id, fact.key, "" if chosen_by_id[rule_id].rule.across else fact.app.server].append(fact)
    for (rule_id, key, _), facts in sorted(groups.items()):
        chosen = chosen_by_id[rule_id]
        known = NOTHING_KNOWN
        try:
            with charged("join", rule_id):
                for joined_finding in _joined(chosen, key, facts):
                    stamped = stamp(joined_finding, chosen, None, key)
                    if refs & apps_of(stamped):
                        known = known if known is not NOTHING_KNOWN else _secrets_of_facts(facts)
                        of = tuple(sorted({versions.get(fact.app, "") for fact in facts}))
                        again = partial(_joined, chosen, key)
                        fixes = (verify_together(fix, stamped, facts, again, edits, of) for fix in stamped.fixes)
                        findings.append(guarded(replace(stamped, fixes=needs.ordered_fixes(fixes)), known))
        except BaseException as error:  # a rule's crash becomes a Failure that names it; the other rules go on
            failures.append(crash_failure(chosen.rule, None, "join", error, _secrets_of_facts(facts)))
    kept = settle(findings, {c.rule.id: c.rule.rank for c in rules})
    explained, causes = with_causes(sorted(kept, key=finding_order))
    return Outcome(
        explained,
        tuple(
            sorted(
                failures,
                key=lambda f: (f.app is not None, f.app or AppRef("", ""), f.server, f.stage, f.rule or "", f.error),
            )
        ),
        tuple(r.ref for r in wanted),
        sum(r.resources for r in wanted),
        tuple(sorted((n for r in ordered for n in r.notes), key=lambda n: (n.app, str(n.resource), n.rule))),
        tuple(Looked(r.ref, r.resources, r.sync, r.health, r.unread, r.labels) for r in wanted),
        causes,
    )


def _joined(chosen: ChosenRule, key: str, facts: Sequence[Fact]) -> Iterable[Finding]:
    return chosen.rule.join(key, facts, chosen.options) if chosen.rule.join else ()


def _secrets_of_facts(facts: Iterable[Fact]) -> Known:
    """The secrets of the manifests in facts. Keys of the facts themselves are the rule's words: one may be called `secret`."""
    return Known(secret for fact in facts for value in fact.data.values() for secret in secrets_of(value))
