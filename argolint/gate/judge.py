"""The verdict on a change: the same rules run on the applications before and after it.

sides → examine both → join both → what is new, fixed, unchanged
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from argolint.application.fleet import Fleet
from argolint.engine.join import join
from argolint.engine.load import read_fleet
from argolint.engine.plan import Plan
from argolint.gate.change import Change
from argolint.gate.crossings import CrossingFindings
from argolint.gate.examine import Examined, examined
from argolint.gate.sides import GatedServer, gated_server
from argolint.gate.verdict import Verdict, mark
from argolint.model import Finding
from argolint.model.results import AppResult, Outcome, finding_order
from argolint.server.transport import Transport


def judge(t: Transport, change: Change, plan: Plan) -> Verdict:
    """The verdict on a change. Raises UsageError if the repository has no application here, or if the revisions do not exist."""
    fleet, failures = read_fleet(t)
    gated = gated_server(t, fleet, change, plan)
    gated = replace(gated, failures=(*failures, *gated.failures))
    return verdict_of((fleet,), (gated,), (examined(gated, plan),), plan, CrossingFindings())


def verdict_of(
    fleets: Sequence[Fleet],
    gated_servers: Sequence[GatedServer],
    found: Sequence[Examined],
    plan: Plan,
    shared: CrossingFindings,
) -> Verdict:
    """The verdict from the findings of all Argo CDs that the change concerns. `fleets`: all that were read."""
    base = _joined((r for one in found for r in one.before), plan)
    head = _joined((r for one in found for r in one.after), plan)
    known = {mark(f) for f in base.findings}
    base = replace(base, findings=_sorted((*base.findings, *(f for f in shared.old if mark(f) not in known))))
    grown = {mark(f): f for f in shared.new}
    head = replace(head, findings=_sorted(grown.get(mark(f), f) for f in head.findings))
    families = {c.rule.id: c.rule.family for c in plan.rules}
    more = [(*one.failures, *examined.failures) for one, examined in zip(gated_servers, found, strict=True)]
    return Verdict(
        tuple(fleets),
        base.showing(plan.shown, families),
        head.showing(plan.shown, families),
        gated_servers[0].base_name,
        tuple(sorted((j for one in gated_servers for j in one.judged), key=lambda j: j.ref)),
        tuple(dict.fromkeys(f for failures in more for f in failures)),
        tuple(line for one in gated_servers for line in one.unlisted),
        {ref: files for one in gated_servers for ref, files in one.files.items()},
        frozenset(grown),
    )


def _joined(results: Iterable[AppResult], plan: Plan) -> Outcome:
    """The outcome without findings of the rules that describe standing conditions: they have explained their symptoms, but are no news of a change."""
    outcome = join(results, plan.rules)
    standing = frozenset(c.rule.id for c in plan.rules if c.rule.standing)
    return replace(outcome, findings=tuple(f for f in outcome.findings if f.rule not in standing))


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=finding_order))
